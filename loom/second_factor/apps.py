"""A second factor for signing in."""

from importlib import import_module

from django.apps import AppConfig

from loom.site.slots import add_to_slot


class SecondFactorConfig(AppConfig):
    """Nothing but the pages of operators knows of it."""

    name = "loom.second_factor"
    label = "second_factor"
    paths_of_pages = "loom.second_factor.pages.PATHS"

    def ready(self) -> None:
        add_to_slot("access-settings", "second_factor/settings.html")
        import_module("loom.second_factor.commands")
