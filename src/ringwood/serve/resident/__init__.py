"""The resident process: `process` is it, `seat` is why there is one only.

`start` begins it and `wire` speaks to it. These two lie on a hook's path: standard library only.
"""
