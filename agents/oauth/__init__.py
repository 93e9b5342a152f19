"""OAuth: a program asks a person for access in their browser, instead of for a key."""
