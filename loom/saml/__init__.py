"""Signing in by SAML 2.0: with the account that a person has at their organisation."""
