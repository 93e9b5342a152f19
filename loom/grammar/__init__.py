"""Parsing of lines, refs and slices from plain text. No framework, clock or randomness."""
