"""Finding words in a tree or grove."""

from importlib import import_module

from django.apps import AppConfig

# The modules that register commands and actions, in the order in which help lists them.
COMMANDS = (
    "loom.search.commands",
    "loom.search.listing",
    "loom.search.since",
    "loom.search.digest",
)


class SearchConfig(AppConfig):
    """Finding words in a tree or grove."""

    name = "loom.search"
    label = "search"

    def ready(self) -> None:
        for module in COMMANDS:
            import_module(module)
