"""Writers of files, one module for a family of formats."""
