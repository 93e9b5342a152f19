"""A second factor for signing in."""

from importlib import import_module

from django.apps import AppConfig

from loom.site.slots import add_to_slot


class SecondFactorConfig(AppConfig):
    """Nothing knows of it: without its line among the installed apps, everything else works as
    before."""

    name = "loom.second_factor"
    label = "second_factor"
    paths_of_pages = "loom.second_factor.pages.PATHS"

    def ready(self) -> None:
        add_to_slot("access-settings", "second_factor/settings.html")
        import_module("loom.second_factor.commands")
