"""Trees, nodes, slots, versions and paths."""

from importlib import import_module

from django.apps import AppConfig

# The modules that register effects, commands and actions; help lists commands in this order.
COMMANDS = (
    "loom.trees.grove_settings",
    "loom.trees.effects",
    "loom.trees.commands.nodes",
    "loom.trees.commands.trees",
    "loom.trees.commands.public_links",
    "loom.trees.commands.rights",
    "loom.trees.commands.undoing",
)


class TreesConfig(AppConfig):
    """Trees, nodes, slots, versions and paths."""

    name = "loom.trees"
    label = "trees"

    def ready(self) -> None:
        for module in COMMANDS:
            import_module(module)
