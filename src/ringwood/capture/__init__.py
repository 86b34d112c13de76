"""Where a text comes from. So far: the space that a working directory belongs to."""
