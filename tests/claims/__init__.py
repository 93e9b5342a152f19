"""Checks and claims."""
