"""The story of a tree: its main line, chapters in an order of their own, and books."""

from importlib import import_module

from django.apps import AppConfig

# The modules that register effects, commands and actions; help lists commands in this order.
COMMANDS = ("loom.manuscript.commands.main_line",)


class ManuscriptConfig(AppConfig):
    """The story of a tree: its main line, chapters in an order of their own, and books."""

    name = "loom.manuscript"
    label = "manuscript"

    def ready(self) -> None:
        for module in COMMANDS:
            import_module(module)
