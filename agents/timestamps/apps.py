"""Time stamps of texts by an authority outside (RFC 3161).

Removing this folder and its line in config/settings.py removes them."""

from importlib import import_module

from django.apps import AppConfig

# The modules that register work of the sweeper and what is erased with a tree.
MODULES = ("agents.timestamps.tasks", "agents.timestamps.erasing")


class TimestampsConfig(AppConfig):
    """Time stamps of texts by an authority outside (RFC 3161)."""

    name = "agents.timestamps"
    label = "timestamps"

    def ready(self) -> None:
        from loom.site.routes import add_routes
        from loom.site.slots import add_to_slot

        for module in MODULES:
            import_module(module)
        add_routes("agents.timestamps.urls")
        add_to_slot("provenance", "timestamps/provenance.html")
