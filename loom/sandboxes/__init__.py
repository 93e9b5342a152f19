"""Sandboxes: trees that hang at a text and that nobody else sees until they are promoted."""
