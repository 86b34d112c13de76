"""Thin front ends: each parses, calls one `Memory` method, formats."""
