"""Signing in by OpenID Connect: with the account that a person has at their organisation."""
