"""Links between items."""

from importlib import import_module

from django.apps import AppConfig

# The modules that register effects, commands and actions; help lists commands in this order.
COMMANDS = (
    "loom.links.grove_settings",
    "loom.links.effects",
    "loom.links.erasing",
    "loom.links.commands.links",
    "loom.links.commands.types",
    "loom.links.commands.trails",
)


class LinksConfig(AppConfig):
    """Links between items."""

    name = "loom.links"
    label = "links"

    def ready(self) -> None:
        for module in COMMANDS:
            import_module(module)
