"""Names that even a hook's process needs. Standard library only, and none of it."""

GLOBAL = "global"
"""The space that every recall looks in besides its own."""
