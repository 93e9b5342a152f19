"""Documents, their revisions, and the room in which several people type."""

from importlib import import_module

from django.apps import AppConfig

# The modules that register effects, commands and actions; help lists commands in this order.
COMMANDS = (
    "loom.documents.effects",
    "loom.documents.commands",
    "loom.documents.actions",
)


class DocumentsConfig(AppConfig):
    """Documents, their revisions, and the room in which several people type."""

    name = "loom.documents"
    label = "documents"

    def ready(self) -> None:
        for module in COMMANDS:
            import_module(module)
