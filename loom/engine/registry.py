"""The registry of commands: each form of each verb, with what it takes and what it may."""

import contextlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args, get_type_hints

from loom.access import Actor
from loom.engine.arguments import Args, ArgsT, form_of
from loom.engine.context import Context, Reply
from loom.language.forms import Form, syntax
from loom.permissions import Permission
from loom.trees.models import Tree

Class = Literal["look", "look ✓", "write", "silent"]
StreamKind = Literal["tree", "grove", "workspace"]
Group = Literal["Look", "Move", "Make", "Keep", "Mind", "Meta"]

Run = Callable[["Context", Any], "Reply"]
Ahead = Callable[[Actor, Tree, Any], contextlib.AbstractContextManager[None]]


@dataclass(frozen=True)
class Command:
    """One form of one verb. `summary` is the function's docstring; `stream` is the kind of stream
    that it writes: its tree, the grove of its tree, or only the caller's workspace; None for a
    command that only looks. `ahead` does what is long before the stream is locked."""

    verb: str
    group: Group
    klass: Class
    permissions: frozenset[Permission]
    stream: StreamKind | None
    args: type[Args]
    form: Form
    run: Run
    summary: str
    aliases: tuple[str, ...] = ()
    ahead: Ahead | None = None

    @property
    def world(self) -> bool:
        """Whether it changes what everybody sees: a tree or a grove."""
        return self.stream in ("tree", "grove")

    @property
    def syntax(self) -> str:
        """The form as help prints it."""
        return syntax(self.form)


_commands: dict[str, list[Command]] = {}
_aliases: dict[str, str] = {}


def command(
    verb: str,
    *,
    group: Group,
    klass: Class,
    permissions: Iterable[Permission],
    stream: StreamKind | None = None,
    aliases: tuple[str, ...] = (),
    is_first: bool = False,
    ahead: Ahead | None = None,
) -> Callable[[Callable[["Context", ArgsT], "Reply"]], Callable[["Context", ArgsT], "Reply"]]:
    """Registers a function as one form of `verb`; the type of its second parameter is its Args.
    The first form that can read a line is used: `is_first` puts this one before those already
    registered."""

    def register(
        run: Callable[["Context", ArgsT], "Reply"],
    ) -> Callable[["Context", ArgsT], "Reply"]:
        args = get_type_hints(run)["args"]
        made = Command(
            verb=verb,
            group=group,
            klass=klass,
            permissions=frozenset(permissions),
            stream=stream,
            args=args,
            form=form_of(verb, args),
            run=run,
            summary=inspect.getdoc(run) or "",
            aliases=aliases,
            ahead=ahead,
        )
        several = _commands.setdefault(verb, [])
        several.insert(0 if is_first else len(several), made)
        forms.cache_clear()
        _aliases.update(dict.fromkeys(aliases, verb))
        return run

    return register


@cache
def forms() -> Mapping[str, Sequence[Form]]:
    """Every verb with its forms, in the order of registration. Cached: every line is parsed with
    it."""
    return {verb: tuple(one.form for one in many) for verb, many in _commands.items()}


def aliases() -> dict[str, str]:
    """Other words for a verb, such as `go` for `switch`."""
    return dict(_aliases)


def find(verb: str, form: int = 0) -> Command:
    """The command of a verb's form."""
    return _commands[verb][form]


def command_of(run: Callable[..., "Reply"]) -> Command:
    """The command that a function was registered as."""
    return next(one for one in every() if one.run is run)


def every() -> Iterable[Command]:
    """All commands, verb by verb in the order of registration."""
    return (one for many in _commands.values() for one in many)


def listed() -> list[Command]:
    """All commands in the order of help: by group, verb by verb. The forms for documents come
    after the common form of their verb, although the parser tries them first."""
    groups = get_args(Group)
    first: dict[str, tuple[int, int]] = {}
    for place, command in enumerate(every()):
        first.setdefault(command.verb, (groups.index(command.group), place))
    return sorted(every(), key=lambda command: (first[command.verb], is_for_documents(command)))


def is_for_documents(command: Command) -> bool:
    """Whether the first thing that a line names is a document."""
    refs = [part.refs for part in command.form.parts if part.kind == "ref"]
    return refs[:1] == [("document",)]


def verbs() -> list[str]:
    """All verbs, in the order of registration."""
    return list(_commands)
