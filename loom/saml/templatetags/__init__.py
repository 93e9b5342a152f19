"""Tags of the templates of signing in by SAML."""
