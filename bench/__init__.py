"""Measurements, each a ratio within one run: medians of interleaved runs."""
