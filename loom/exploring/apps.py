"""Exploring: a tree that grows by itself within a budget."""

from importlib import import_module

from django.apps import AppConfig

# The modules that register effects, commands and tasks; help lists commands in this order.
COMMANDS = (
    "loom.exploring.effects",
    "loom.exploring.commands",
    "loom.exploring.progress",
    "loom.exploring.tasks",
)


class ExploringConfig(AppConfig):
    """Exploring: a tree that grows by itself within a budget."""

    name = "loom.exploring"
    label = "exploring"

    def ready(self) -> None:
        from loom.site.routes import add_routes
        from loom.site.slots import add_to_slot

        add_routes("loom.exploring.urls")
        add_to_slot("tree-menu", "exploring/menu.html")
        for module in COMMANDS:
            import_module(module)
