"""Copies of a home: exported as lines, read in again, and backed up as files."""
