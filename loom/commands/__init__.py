"""Every change of the world or of a view is a command, and goes through `execute`."""

from importlib import import_module

# In the order in which help lists them.
ROOMS = (
    "view",
    "find",
    "web_search",
    "move",
    "continuing",
    "nodes",
    "annotations",
    "links",
    "marks",
    "documents",
    "undo",
    "keeping",
    "memory",
    "augments",
    "todos",
    "command_reference",
)


# Commands without a line, of pages and API.
ACTIONS = (
    "document_actions",
    "groves",
    "participants",
    "put_aside",
    "saved",
    "summaries",
    "trees",
    "turn_lifecycle",
)


def load() -> None:
    """Imports every module of commands, so that each registers itself."""
    for room in (*ROOMS, *ACTIONS):
        import_module(f"loom.commands.{room}")
