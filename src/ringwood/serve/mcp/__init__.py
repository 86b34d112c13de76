"""The MCP server: `server.py` answers, `stdio.py` and `http.py` carry, `life.py` keeps time."""
