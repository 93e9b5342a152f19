"""Readers of other programs' files, one module for a family of formats."""
