"""What checks and claims allow and compute, from plain values."""
