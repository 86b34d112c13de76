"""What is done to strings: repairing, masking, making inert, cutting, and preparing for search.

Everything in this room is pure: text in, text or plain values out, with no file, database, model or
clock. Offsets are code points of the text that was given.

- `clean`: what may be stored, and what a terminal may be shown.
- `redact`: secrets masked before anything reaches the disk.
- `terms`: the words of a text as the index holds them, and those of a query.
- `sentences`: where a text may be cut.
- `inert`: recalled text that cannot pass for our frame, a role or a system line.
- `echo`: the words of our own frame, and our own recall blocks taken out of what comes back.
- `quotes`: passages that repeat what was recalled, taken out.
- `private`: what a person marked as private, taken out.

`redact`, `echo` and `private` lie on a hook's path and use the standard library only.
"""
