"""Import and export: files of other programs and Heddle's own, each ending in a report."""
