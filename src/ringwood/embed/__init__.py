"""Texts to unit rows: one file per provider, behind the protocol in `base.py`."""
