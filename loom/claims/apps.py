"""Checks of texts; claims with their evidence and commitments."""

from importlib import import_module

from django.apps import AppConfig

# The modules that register commands and actions, in the order in which help lists them.
COMMANDS = ("loom.claims.commands.checks",)


class ClaimsConfig(AppConfig):
    """Checks of texts; claims with their evidence and commitments."""

    name = "loom.claims"
    label = "claims"

    def ready(self) -> None:
        for module in COMMANDS:
            import_module(module)
