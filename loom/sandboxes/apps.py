"""Sandboxes: trees that only their maker sees, until what they hold is promoted.

Removing this folder and its line in config/settings.py removes them; the condition in `loom.access`
that hides such trees stays."""

from importlib import import_module

from django.apps import AppConfig

# The modules that register commands and sweeps.
COMMANDS = ("loom.sandboxes.commands",)


class SandboxesConfig(AppConfig):
    """Sandboxes: trees that only their maker sees."""

    name = "loom.sandboxes"
    label = "sandboxes"

    def ready(self) -> None:
        for module in COMMANDS:
            import_module(module)
