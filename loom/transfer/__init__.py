"""Other programs' files, and our own: reading and writing, each ending in a report."""
