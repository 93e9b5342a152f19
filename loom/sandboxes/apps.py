"""Sandboxes: trees that only their maker sees, until what they hold is promoted.

Removing this folder and its line in config/settings.py removes them; the condition in `loom.access`
that hides such trees stays."""

from importlib import import_module

from django.apps import AppConfig

# The modules that register commands and sweeps.
COMMANDS = ("loom.sandboxes.commands",)


class SandboxesConfig(AppConfig):
    """Sandboxes: trees that only their maker sees."""

    name = "loom.sandboxes"
    label = "sandboxes"

    def ready(self) -> None:
        from loom.site.routes import add_routes
        from loom.site.slots import add_to_slot
        from loom.trees.feature_parts import add_part

        add_routes("loom.sandboxes.urls")
        add_to_slot("node-tools", "sandboxes/node_tool.html")
        add_to_slot("tree-notice", "sandboxes/band.html")
        for module in COMMANDS:
            import_module(module)
        from loom.sandboxes.portable import PART

        add_part("sandboxes", PART)
