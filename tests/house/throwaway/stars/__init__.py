"""Stars on nodes: a feature that is added and thrown away (tests/house/test_addition.py)."""
