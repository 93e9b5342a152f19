"""The story of a tree: its main line, chapters in an order of their own, and books.

Removing this folder and its line in config/settings.py removes them; the main line of every tree is
then the path written on last."""

from importlib import import_module

from django.apps import AppConfig

# The modules that register effects, commands and actions; help lists commands in this order.
COMMANDS = (
    "loom.manuscript.effects",
    "loom.manuscript.commands.main_line",
    "loom.manuscript.commands.chapters",
)


class ManuscriptConfig(AppConfig):
    """The story of a tree: its main line, chapters in an order of their own, and books."""

    name = "loom.manuscript"
    label = "manuscript"

    def ready(self) -> None:
        from loom.site.routes import add_routes
        from loom.site.slots import add_to_slot
        from loom.trees.feature_parts import add_part

        for module in COMMANDS:
            import_module(module)
        # After the commands: help lists them in the order in which they are imported.
        from loom.manuscript.portable import PART

        add_part("manuscript", PART)
        add_routes("loom.manuscript.urls")
        add_to_slot("tree-menu", "parts/manuscript_of_tree.html")
