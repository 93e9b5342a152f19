"""How anything changes: streams and events, steps, receipts, the registry, undo."""

from importlib import import_module

from django.apps import AppConfig

# The modules that register commands and actions, in the order in which help lists them, and rules
# of trimming.
COMMANDS = (
    "loom.engine.undo",
    "loom.engine.command_reference",
    "loom.engine.trimmed_events",
    "loom.engine.old_steps",
)


class EngineConfig(AppConfig):
    """How anything changes: streams and events, steps, receipts, the registry, undo."""

    name = "loom.engine"
    label = "engine"

    def ready(self) -> None:
        for module in COMMANDS:
            import_module(module)
