"""Refs of windows that show a text outside of trees: in a line about an item they mean that text,
as others mean their node (docs/model.md §4), so that the line takes the form of its verb for such
texts. The feature that has windows says what one shows."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from loom.engine import registry
from loom.engine.context import Context
from loom.engine.registry import Command
from loom.language.forms import write
from loom.language.lines import Line
from loom.language.refs import Ref

# The text that a window shows, as a ref to it for a command; None for other windows.
TextShown = Callable[[Context, Ref, Command], Ref | None]

_shown: list[TextShown] = []


def shows_text(find: TextShown) -> TextShown:
    """Registers what says which text a window shows."""
    _shown[:] = [find]
    return find


def about_text_shown(line: Line, context: Callable[[], Context]) -> Line:
    """The line about the texts that its windows show; the same line if it names no such window.
    Nothing is queried for a line without a window."""
    command = registry.find(line.verb, line.form)
    if not (command.world or command.facts.shown):
        return line
    values = dict(line.values)
    for name, value in line.values.items():
        if not isinstance(value, Ref) or value.kind != "window":
            continue
        if _form_for(command, {**values, name: Ref("document")}) is None:
            continue
        text = next((ref for find in _shown if (ref := find(context(), value, command))), None)
        if text is not None:
            values[name] = text
            command = _form_for(command, values) or command
    if values == line.values:
        return line
    canonical = write(line.verb, command.form, values, because=line.because)
    number = registry.forms()[line.verb].index(command.form)
    shows = command.form.makes_window
    return replace(line, form=number, values=values, canonical=canonical, makes_window=shows)


def _form_for(command: Command, values: Mapping[str, object]) -> Command | None:
    """The form of the verb with the same arguments that is for texts and takes these refs."""
    names = {part.name for part in command.form.parts}
    kinds = {name: value.kind for name, value in values.items() if isinstance(value, Ref)}
    for other in registry.named(command.verb):
        parts = {part.name: part for part in other.form.parts}
        is_for_texts = any(part.refs == ("document",) for part in parts.values())
        takes_all = parts.keys() == names and all(
            parts[name].takes(kind) for name, kind in kinds.items()
        )
        if is_for_texts and takes_all:
            return other
    return None
