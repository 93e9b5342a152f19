"""Every change of the world or of a view is a command, and goes through `execute`."""


def load() -> None:
    """Imports every module of commands, so that each registers itself."""
