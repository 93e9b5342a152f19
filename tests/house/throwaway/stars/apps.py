"""Stars on nodes."""

from importlib import import_module

from django.apps import AppConfig


class StarsConfig(AppConfig):
    """Stars on nodes."""

    name = "loom.stars"
    label = "stars"

    def ready(self) -> None:
        """Registers the verb, the event, the undo, the button, and what goes with a tree."""
        from loom.site.slots import add_to_slot

        import_module("loom.stars.commands")
        add_to_slot("tree-menu", "stars/button.html")
