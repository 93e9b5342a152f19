"""Checks of texts; claims with their evidence and commitments."""
