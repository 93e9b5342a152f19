"""What is attached to an item: annotations, bookmarks, tags."""

from importlib import import_module

from django.apps import AppConfig

# The modules that register commands and actions, in the order in which help lists them.
COMMANDS = (
    "loom.notes.commands.annotations",
    "loom.notes.commands.marks",
)


class NotesConfig(AppConfig):
    """What is attached to an item: annotations, bookmarks, tags."""

    name = "loom.notes"
    label = "notes"

    def ready(self) -> None:
        for module in COMMANDS:
            import_module(module)
