"""The language of live replies: the registry's commands, for `agents.reply`."""

from agents.reply import Language
from loom.commands import registry
from loom.grammar.lines import Line


def language() -> Language:
    """All commands there are: what is not permitted is refused when it is said, not unread."""
    return Language(registry.forms(), registry.aliases(), looks)


def looks(line: Line) -> bool:
    """Whether a line looks at something, so that a reply ends at its batch."""
    return registry.find(line.verb, line.form).klass.startswith("look")


def makes_window(line: Line) -> bool:
    """Whether its answer is a result of its own rather than one line."""
    return registry.find(line.verb, line.form).klass == "look"
