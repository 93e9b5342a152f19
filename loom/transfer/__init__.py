"""Import and export: other programs' files and our own, each ending in a report."""
