"""The map by meaning: the texts of a tree or grove as a landscape.

Removing this folder and its line in config/settings.py removes it."""

from importlib import import_module

from django.apps import AppConfig


class LandscapeConfig(AppConfig):
    """The map by meaning: the texts of a tree or grove as a landscape."""

    name = "loom.landscape"
    label = "landscape"

    def ready(self) -> None:
        from loom.site.routes import add_routes
        from loom.site.slots import add_to_slot

        add_routes("loom.landscape.urls")
        add_to_slot("tree-menu", "landscape/menu.html")
        for module in (
            "loom.landscape.effects",
            "loom.landscape.tasks",
            "loom.landscape.title_requests",
        ):
            import_module(module)
