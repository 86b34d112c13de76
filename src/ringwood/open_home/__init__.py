"""What is open while a memory is: the database, the embedder, the worker, and uses to write down.

Each opens on first use and stays open until `close`. Nothing here knows what a caller wants of it.
"""

from ringwood.open_home.opened import OpenHome

__all__ = ["OpenHome"]
