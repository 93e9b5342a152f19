"""Tags of the templates of accounts at organisations."""
