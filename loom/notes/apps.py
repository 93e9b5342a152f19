"""What is attached to an item: annotations, bookmarks, tags."""

from importlib import import_module

from django.apps import AppConfig

# The modules that register effects, commands and actions; help lists commands in this order.
COMMANDS = (
    "loom.notes.effects",
    "loom.notes.erasing",
    "loom.notes.mention_mails",
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
