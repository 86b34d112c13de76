"""The commands by name: what help lists, and where each is found when it is called."""

from __future__ import annotations

COMMANDS = {
    "init": ("Make a home, and offer to take in notes.", "keep"),
    "store": ("Keep one text.", "keep"),
    "import": ("Take in files and folders.", "keep"),
    "recall": ("Find what was kept, with reasons.", "ask"),
    "show": ("Show what lies at an address.", "look"),
    "tree": ("List documents and what is in them.", "look"),
    "recent": ("List the newest documents.", "look"),
    "explain": ("Say why an earlier recall answered as it did.", "ask"),
    "stats": ("Count what the home holds.", "look"),
    "index": ("List the space in a file that an agent reads.", "index"),
    "forget": ("Remove a text and everything derived from it.", "keep"),
    "pause": ("Stop capture.", "consent"),
    "resume": ("Let capture go on.", "consent"),
    "rotate": ("Move documents to the tier of their age.", "upkeep"),
    "compact": ("Make the files as small as what they hold.", "upkeep"),
    "dream": ("Merge duplicates, compare all with all, undo it.", "dream"),
    "reindex": ("Go over to another embedder while recall goes on.", "upkeep"),
    "verify": ("Look whether everything is whole, and mend.", "check"),
    "salvage": ("Make a broken tier anew, also from the mirror.", "check"),
    "backup": ("Copy the home into a folder that opens as a home.", "copies"),
    "export": ("Write all that is kept as lines of JSON.", "copies"),
    "spaces": ("List the spaces of the home.", "look"),
    "config": ("Show or change a setting.", "look"),
    "mcp": ("Serve MCP clients.", "mcp"),
    "dsh": ("Give DeepSeek Harness a memory.", "dsh"),
    "serve": ("Be the resident process of a home.", "serve"),
    "hook": ("Answer one call of an agent host.", "serve"),
}
"""Name -> (one line, module in this folder)."""

_OPTIONS = """\
Options (before or after the command):
  --home DIR       The home to use [RINGWOOD_HOME]; else the platform's data folder.
  --space NAME     The space to use; else that of the working directory.
  --embedder NAME  bundled, words, hashing, ollama:MODEL or openai:MODEL
                   [RINGWOOD_EMBEDDER].
  --json           One JSON object on standard output.
  --quiet          No progress and no remarks.
  --debug          Tracebacks, and a log on standard error.
  --version        Print the version.
  --help           Print this, or the help of a command.
"""

_START = """\
Start:
  ringwood init                          make a home
  ringwood import ~/notes                read a folder of notes
  ringwood recall "why did we ..." --why ask, and see the reasons
"""


def help_text() -> str:
    """Write the help of the whole command."""
    lines = [f"  {name:<9}{line}" for name, (line, _) in COMMANDS.items()]
    return (
        "Usage: ringwood [OPTIONS] COMMAND [ARGUMENTS]\n\n"
        "Long-term memory for AI agents, on your own disk.\n\n"
        "Commands:\n" + "\n".join(lines) + "\n\n" + _OPTIONS + "\n" + _START
    )
