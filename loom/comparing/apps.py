"""Comparing models: what each wrote at the same places of a tree, and who contributed when.

Removing this folder and its line in config/settings.py removes them."""

from django.apps import AppConfig


class ComparingConfig(AppConfig):
    """Comparing models: what each wrote at the same places, and who contributed when."""

    name = "loom.comparing"
    label = "comparing"

    def ready(self) -> None:
        from loom.site.routes import add_routes
        from loom.site.slots import add_to_slot

        add_routes("loom.comparing.urls")
        add_to_slot("tree-menu", "comparing/menu.html")
