"""Documents, their revisions, and the room in which several people type.

Removing this folder and its line in config/settings.py removes them."""

from importlib import import_module

from django.apps import AppConfig, apps

# The modules that register effects, commands and actions; help lists commands in this order.
COMMANDS = (
    "loom.documents.effects",
    "loom.documents.commands.writing",
    "loom.documents.commands.annotations",
    "loom.documents.commands.suggestions",
    "loom.documents.commands.augments",
    "loom.documents.commands.patterns",
    "loom.documents.commands.explorations",
    "loom.documents.commands.forms",
    "loom.documents.actions",
    "loom.documents.windows",
    "loom.documents.answers",
    "loom.documents.old_updates",
)


class DocumentsConfig(AppConfig):
    """Documents, their revisions, and the room in which several people type."""

    name = "loom.documents"
    label = "documents"

    def ready(self) -> None:
        from loom.live.kinds import add_sockets
        from loom.site.routes import add_routes
        from loom.site.slots import add_to_slot

        for module in COMMANDS:
            import_module(module)
        if apps.is_installed("loom.claims"):
            import_module("loom.documents.commands.evidence")
        add_routes("loom.documents.urls")
        add_sockets("loom.documents.consumers")
        add_to_slot("grove-tabs", "parts/documents_tab.html")
        add_to_slot("tree-menu", "parts/documents_menu_item.html")
        add_to_slot("tree-bar", "parts/documents_button.html")
        add_to_slot("right-pane", "parts/documents_pane.html")
        add_to_slot("tree-menu", "parts/lore_of_tree.html")
        add_to_slot("trail-acts", "parts/document_of_trail.html")
        add_to_slot("right-pane", "parts/lore_in_text.html")
