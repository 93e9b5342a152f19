"""Choices: what a person saw and went on from, and what they tend to choose.

Removing this folder and its line in config/settings.py removes them."""

from importlib import import_module

from django.apps import AppConfig, apps

MODULES = ("loom.choices.commands", "loom.choices.effects")


class ChoicesConfig(AppConfig):
    """Choices: what a person saw and went on from, and what they tend to choose."""

    name = "loom.choices"
    label = "choices"

    def ready(self) -> None:
        from loom.site.routes import add_routes
        from loom.site.slots import add_to_slot

        for module in MODULES:
            import_module(module)
        add_routes("loom.choices.urls")
        add_to_slot("grove-tabs", "choices/tab.html")
        if apps.is_installed("loom.meaning"):  # which shows candidates to skim
            import_module("loom.choices.ordering")
            add_to_slot("skim-orders", "choices/orders.html")
