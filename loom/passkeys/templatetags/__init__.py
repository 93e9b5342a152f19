"""Tags of the templates of passkeys."""
