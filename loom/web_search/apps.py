"""Searching the web by a line."""

from importlib import import_module

from django.apps import AppConfig

# The modules that register effects, commands and actions; help lists commands in this order.
COMMANDS = ("loom.web_search.effects", "loom.web_search.erasing", "loom.web_search.commands")


class WebSearchConfig(AppConfig):
    """Searching the web by a line."""

    name = "loom.web_search"
    label = "web_search"

    def ready(self) -> None:
        for module in COMMANDS:
            import_module(module)
