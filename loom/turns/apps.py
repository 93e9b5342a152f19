"""Turns and generations as rows, their budgets and loops."""

from importlib import import_module

from django.apps import AppConfig

# The modules that register effects, commands and actions; help lists commands in this order.
COMMANDS = (
    "loom.turns.grove_settings",
    "loom.turns.effects",
    "loom.turns.stored_events",
    "loom.turns.archiving",
    "loom.turns.erasing",
    "loom.turns.old_calls",
    "loom.turns.commands.continuing",
    "loom.turns.commands.ask",
    "loom.turns.commands.think",
    "loom.turns.commands.budget",
    "loom.turns.commands.undoing",
    "loom.turns.summaries",
    "loom.turns.turn_lifecycle",
)


class TurnsConfig(AppConfig):
    """Turns and generations as rows, their budgets and loops."""

    name = "loom.turns"
    label = "turns"

    def ready(self) -> None:
        for module in COMMANDS:
            import_module(module)
