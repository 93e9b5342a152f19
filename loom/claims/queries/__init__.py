"""Checks and claims as a reader may see them."""
