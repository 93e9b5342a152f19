"""Checks of texts; claims with their evidence and commitments."""

from importlib import import_module

from django.apps import AppConfig

# The modules that register effects, commands and actions; help lists commands in this order.
COMMANDS = (
    "loom.claims.effects",
    "loom.claims.erasing",
    "loom.claims.queries.problems",
    "loom.claims.commands.claims",
    "loom.claims.commands.checks",
    "loom.claims.commands.text_tasks",
    "loom.claims.commands.pipes",
)


class ClaimsConfig(AppConfig):
    """Checks of texts; claims with their evidence and commitments."""

    name = "loom.claims"
    label = "claims"

    def ready(self) -> None:
        for module in COMMANDS:
            import_module(module)
