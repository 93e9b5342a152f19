"""Signing in with a passkey: a key that a device or a password manager keeps, and that a finger, a
face or a PIN opens."""
