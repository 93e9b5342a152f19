"""Tags of the templates of the second factor."""
