"""The one registry: every command with its words, class, permission and function.

Parser, help, permission check, schema, completion and manual all read it.
"""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_type_hints

from loom.commands.args import Args, form_of
from loom.grammar.forms import Form, syntax
from loom.rules.permissions import NAMES, Letter

if TYPE_CHECKING:
    from loom.commands.context import Context, Reply

Class = Literal["look", "look ✓", "write", "silent"]
StreamKind = Literal["tree", "grove", "workspace"]
Group = Literal["Look", "Move", "Make", "Keep", "Mind", "Meta"]
ArgsT = TypeVar("ArgsT", bound=Args)
Run = Callable[["Context", Any], "Reply"]


@dataclass(frozen=True)
class Command:
    """One form of one verb. `summary` is the function's docstring; `stream` is the kind of
    stream that it writes: its tree, the grove of its tree, or only the caller's workspace;
    None of a command that only looks."""

    verb: str
    group: Group
    klass: Class
    letters: frozenset[Letter]
    stream: StreamKind | None
    args: type[Args]
    form: Form
    run: Run
    summary: str
    aliases: tuple[str, ...] = ()

    @property
    def world(self) -> bool:
        """Whether it changes what everybody sees: a tree or a grove."""
        return self.stream in ("tree", "grove")

    @property
    def syntax(self) -> str:
        """The form as help prints it."""
        return syntax(self.form)

    @property
    def permissions(self) -> list[str]:
        """The names of the permissions it needs, in the order of the table."""
        return [NAMES[letter] for letter in NAMES if letter in self.letters]


_commands: dict[str, list[Command]] = {}
_aliases: dict[str, str] = {}


def command(
    verb: str,
    *,
    group: Group,
    klass: Class,
    letters: str,
    stream: StreamKind | None = None,
    aliases: tuple[str, ...] = (),
) -> Callable[[Callable[["Context", ArgsT], "Reply"]], Callable[["Context", ArgsT], "Reply"]]:
    """Registers a function as one form of `verb`; its second parameter's type is its Args."""

    def register(
        run: Callable[["Context", ArgsT], "Reply"],
    ) -> Callable[["Context", ArgsT], "Reply"]:
        args = get_type_hints(run)["args"]
        made = Command(
            verb=verb,
            group=group,
            klass=klass,
            letters=frozenset(letters),  # type: ignore[arg-type]
            stream=stream,
            args=args,
            form=form_of(verb, args),
            run=run,
            summary=inspect.getdoc(run) or "",
            aliases=aliases,
        )
        _commands.setdefault(verb, []).append(made)
        _aliases.update(dict.fromkeys(aliases, verb))
        return run

    return register


def forms() -> dict[str, list[Form]]:
    """Every verb with its forms, in the order of registration."""
    return {verb: [one.form for one in many] for verb, many in _commands.items()}


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
    """All commands, in the order of registration."""
    return (one for many in _commands.values() for one in many)


def verbs() -> list[str]:
    """All verbs, in the order of registration."""
    return list(_commands)
