"""Commands of checks and claims."""
