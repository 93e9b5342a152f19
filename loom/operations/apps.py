"""The pages of an operator."""

from importlib import import_module

from django.apps import AppConfig

from loom.site.slots import add_to_slot


class OperationsConfig(AppConfig):
    """Nothing else knows of it: without its line among the installed apps, everything else works as
    before."""

    name = "loom.operations"
    label = "operations"
    paths_of_pages = "loom.operations.pages.PATHS"

    def ready(self) -> None:
        add_to_slot("settings-tabs", "operations/settings_tab.html")
        import_module("loom.operations.tasks")
