"""Reading a tree: its pages and API, and the commands that show it."""

from importlib import import_module

from django.apps import AppConfig

# The modules that register effects, commands and actions; help lists commands in this order.
COMMANDS = ("loom.reading.commands.view",)


class ReadingConfig(AppConfig):
    """Reading a tree: its pages and API, and the commands that show it."""

    name = "loom.reading"
    label = "reading"

    def ready(self) -> None:
        for module in COMMANDS:
            import_module(module)
