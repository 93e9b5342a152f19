"""Tools of outside MCP servers that agents use by a line.

Removing this folder and its line in config/settings.py removes them."""

import logging
from importlib import import_module

from django.apps import AppConfig
from django.utils.translation import ngettext

# The modules that register effects, commands, actions and the section of agents.
COMMANDS = (
    "agents.outside_tools.effects",
    "agents.outside_tools.erasing",
    "agents.outside_tools.commands",
    "agents.outside_tools.calls",
    "agents.outside_tools.section",
)


def _used(times: int) -> str:
    """What a turn did, in the line of prose about it."""
    words = ngettext("used an outside tool", "used outside tools %(n)s times", times)
    return words % {"n": times}


class OutsideToolsConfig(AppConfig):
    """Tools of outside MCP servers that agents use by a line."""

    name = "agents.outside_tools"
    label = "outside_tools"

    def ready(self) -> None:
        from loom.site.routes import add_routes
        from loom.site.slots import add_to_slot
        from loom.turns.pages.turn_sentence import WORDS_OF_VERBS

        # The SDK writes tracebacks and texts of servers; what is of use is said where it is asked.
        logging.getLogger("mcp.client").setLevel(logging.CRITICAL + 1)
        logging.getLogger("httpx2").setLevel(logging.WARNING)
        for module in COMMANDS:
            import_module(module)
        add_routes("agents.outside_tools.urls")
        add_to_slot("grove-settings-links", "outside_tools/settings_link.html")
        add_to_slot("turn-wants", "outside_tools/turn_wants.html")
        WORDS_OF_VERBS["use"] = _used
