"""Whether a home is whole: looked at, mended, and rebuilt where it is broken."""
