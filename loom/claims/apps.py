"""Checks of texts; claims with their evidence and commitments.

Removing this folder and its line in config/settings.py removes them. What is built on them looks
whether they are installed."""

from importlib import import_module

from django.apps import AppConfig

# The modules that register effects, commands and actions; help lists commands in this order.
COMMANDS = (
    "loom.claims.effects",
    "loom.claims.erasing",
    "loom.claims.queries.problems",
    "loom.claims.queries.files",
    "loom.claims.queries.decided_tasks",
    "loom.claims.commands.claims",
    "loom.claims.commands.evidence_views",
    "loom.claims.commands.evidence_windows",
    "loom.claims.commands.checks",
    "loom.claims.commands.text_tasks",
    "loom.claims.commands.pipes",
    "loom.claims.tasks",
)


class ClaimsConfig(AppConfig):
    """Checks of texts; claims with their evidence and commitments."""

    name = "loom.claims"
    label = "claims"

    def ready(self) -> None:
        from loom.site.routes import add_routes
        from loom.site.slots import add_to_slot
        from loom.trees.feature_parts import add_part

        for module in COMMANDS:
            import_module(module)
        # After the commands: help lists them in the order in which they are imported.
        from loom.claims import portable_claims
        from loom.claims.portable import PART

        add_part("tasks", PART)
        add_part("claims", portable_claims.PART)
        add_routes("loom.claims.urls")
        add_to_slot("tree-menu", "claims/menu_item.html")
        add_to_slot("node-tools", "claims/node_tools.html")
        add_to_slot("document-facts", "claims/document_checks.html")
        add_to_slot("trail-acts", "claims/cite_trail.html")
        add_to_slot("grove-settings-links", "claims/settings_links.html")
