"""Memory for DeepSeek Harness: `child.py` answers its plugin, `backfill.py` reads old sessions."""
