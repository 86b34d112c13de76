"""Measurements. Each prints what machine, how many and how well; none is part of the tests."""
