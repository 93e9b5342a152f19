"""The one registry: every command with its arguments, class, permissions and function."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, WithJsonSchema

from loom.grammar.forms import Form, Part, PartKind, ValueKind, syntax
from loom.grammar.refs import Ref, parse_ref
from loom.rules.errors import CommandError
from loom.rules.permissions import Permission

if TYPE_CHECKING:
    from loom.commands.context import Context, Reply


@dataclass(frozen=True)
class Written:
    """How one field is written on the line; names and meaning as in grammar.forms.Part."""

    kind: PartKind
    lead: str = ""
    key: str = ""
    value: ValueKind = "word"
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    many: bool = False
    refs: tuple[str, ...] = ()
    needs: str = ""
    shown: str = ""


class Secret:
    """Marks a field, in `Annotated`, whose value no step may keep: a password, a key, a link."""


class Args(BaseModel):
    """Base of all arguments: read only, nothing unknown."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


ArgsT = TypeVar("ArgsT", bound=Args)


def checked(kind: type[ArgsT], values: Mapping[str, Any]) -> ArgsT:
    """Arguments made of what a form sent, such as `{"n": "3"}`. Raises CommandError
    INVALID_SYNTAX for what they cannot hold."""
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"])
        raise CommandError(
            "INVALID_SYNTAX", f"{name} can't be {first['input']!r}.", hint=first["msg"]
        ) from None


def _as_ref(value: Any) -> Any:
    return parse_ref(value) if isinstance(value, str) else value


# A reference in a command's arguments: on the wire a text, inside a Ref.
RefField = Annotated[Ref, BeforeValidator(_as_ref), WithJsonSchema({"type": "string"})]


def form_of(verb: str, args: type[Args]) -> Form:
    """The written form of a command: one part a field, in the order of the fields."""
    return Form(verb, tuple(_part(name, field) for name, field in args.model_fields.items()))


def _part(name: str, field: Any) -> Part:
    written = next((m for m in field.metadata if isinstance(m, Written)), None)
    if written is None:
        raise TypeError(f"{name} does not say how it is written")
    optional = not field.is_required()
    return Part(
        name=name,
        kind=written.kind,
        optional=optional,
        lead=written.lead,
        key=written.key,
        value=written.value,
        default=field.get_default() if optional else None,
        minimum=written.minimum,
        maximum=written.maximum,
        choices=written.choices,
        many=written.many,
        refs=written.refs,
        needs=written.needs,
        shown=written.shown,
    )


# The one registry: every command with its words, class, permission and function.


Class = Literal["look", "look ✓", "write", "silent"]
StreamKind = Literal["tree", "grove", "workspace"]
Group = Literal["Look", "Move", "Make", "Keep", "Mind", "Meta"]

Run = Callable[["Context", Any], "Reply"]


@dataclass(frozen=True)
class Command:
    """One form of one verb. `summary` is the function's docstring; `stream` is the kind of
    stream that it writes: its tree, the grove of its tree, or only the caller's workspace;
    None of a command that only looks."""

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
            permissions=frozenset(permissions),
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
