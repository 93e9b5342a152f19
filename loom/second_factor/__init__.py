"""A second factor for signing in: codes of an authenticator app, with recovery codes."""
