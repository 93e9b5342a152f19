"""The one registry: every command and action with its arguments, class and permissions."""

import contextlib
import hashlib
import inspect
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, TypeVar, get_type_hints

from django.db import models, transaction
from django.utils import timezone
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, WithJsonSchema
from pydantic.fields import FieldInfo

from loom.access import Actor, demand_role, get_actor
from loom.events import streams
from loom.events.streams import Writer
from loom.grammar.forms import Form, Part, PartKind, ValueKind, syntax
from loom.grammar.refs import Ref, parse_ref
from loom.models import Grove, Participant, Step, Stream, Tree
from loom.rules.errors import CommandError
from loom.rules.permissions import Permission, Role

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
    but: tuple[str, ...] = ()
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
        but=written.but,
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
    is_first: bool = False,
) -> Callable[[Callable[["Context", ArgsT], "Reply"]], Callable[["Context", ArgsT], "Reply"]]:
    """Registers a function as one form of `verb`; its second parameter's type is its Args. The
    first form that reads a line counts: `is_first` puts it before those that are there."""

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
        several = _commands.setdefault(verb, [])
        several.insert(0 if is_first else len(several), made)
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


def listed() -> list[Command]:
    """All commands as people and models read them: those for documents after the common form of
    their verb, which the parser tries first."""
    first: dict[str, int] = {}
    for place, one in enumerate(every()):
        first.setdefault(one.verb, place)
    return sorted(every(), key=lambda one: (first[one.verb], is_for_documents(one)))


def is_for_documents(command: Command) -> bool:
    """Whether the first thing that a line names is a document."""
    refs = [part.refs for part in command.form.parts if part.kind == "ref"]
    return refs[:1] == [("document",)]


def verbs() -> list[str]:
    """All verbs, in the order of registration."""
    return list(_commands)


# Commands of pages and API that have no line: groves, members, participants, trees, links.


SHORT = 200  # characters of a text that a step keeps as it is; of longer ones it keeps this start
Kind = Literal["grove", "tree"]

R = TypeVar("R")


@dataclass
class Change:
    """One action while it runs. `writer` is the locked stream of `item`; an action that makes
    its item calls `open` first. `author` is who the step names: the actor, or whoever became
    a member by the action. `inverse` is what undo does, and `message` what it was, in words."""

    now: datetime
    member: Actor | None
    item: Grove | Tree | None
    author: Participant | None = None
    inverse: list[dict[str, Any]] = field(default_factory=list)
    message: str = ""
    _writer: Writer | None = None

    @property
    def actor(self) -> Actor:
        """Who acts. Only actions with a role have one."""
        if self.member is None:
            raise RuntimeError("this action is registered without a role, so nobody acts in it")
        return self.member

    @property
    def grove(self) -> Grove:
        """The grove that is changed."""
        assert isinstance(self.item, Grove)
        return self.item

    @property
    def tree(self) -> Tree:
        """The tree that is changed."""
        assert isinstance(self.item, Tree)
        return self.item

    @property
    def writer(self) -> Writer:
        """The locked stream of the item."""
        if self._writer is None:
            raise RuntimeError("this action has to open the stream of what it makes")
        return self._writer

    def lock(self, item: Grove | Tree) -> Writer:
        """Locks the item's stream, which the action writes."""
        self.item = item
        self._writer = streams.lock(item, actor=self.author.uid if self.author else "")
        return self._writer

    def open(self, item: Grove | Tree, author: Participant) -> Writer:
        """Makes and locks the stream of an item that the action has made for `author`."""
        self.author = author
        streams.open_stream(item)
        return self.lock(item)


@dataclass(frozen=True)
class Action(Generic[ArgsT, R]):
    """A command without a line. `stream` is the kind of stream that it writes; `role` what a
    member needs, None where somebody becomes a member by it."""

    name: str
    stream: Kind
    role: Role | None
    args: type[ArgsT]
    run: Callable[[Change, ArgsT], R]
    summary: str


_actions: dict[str, Action[Any, Any]] = {}


def action(
    name: str, *, stream: Kind, role: Role | None
) -> Callable[[Callable[[Change, ArgsT], R]], Action[ArgsT, R]]:
    """Registers a function as an action; its second parameter's type is its Args. The name
    then refers to the action, so that nobody calls the function without its lock and step."""

    def register(run: Callable[[Change, ArgsT], R]) -> Action[ArgsT, R]:
        if name in _actions:
            raise ValueError(f"there are two actions {name!r}")
        args: type[ArgsT] = get_type_hints(run)["args"]
        made = Action(name, stream, role, args, run, inspect.getdoc(run) or "")
        _actions[name] = made
        return made

    return register


def actions() -> Mapping[str, Action[Any, Any]]:
    """Every action that was imported, by its name."""
    return dict(_actions)


def run_action(
    actor: Actor | None, item: Grove | Tree | None, what: Action[ArgsT, R], args: ArgsT
) -> R:
    """Runs an action, for `loom.commands.execute.execute`: rows, events and the step in one
    transaction.

    The role is checked under the lock, so that two owners cannot take it from each other at
    once.
    """
    try:
        with transaction.atomic():
            change = Change(timezone.now(), actor, item, actor.participant if actor else None)
            if item is not None:
                change.lock(item)
            change.member = _allowed(actor, what)
            value = what.run(change, args)
            done = {"message": change.message, "inverse": change.inverse or None}
            _write_step(change, what, args, outcome="ok", **done)
            change.writer.flush()
            return value
    except CommandError as refused:
        if actor is not None and item is not None:
            _refused(actor, item, what, args, refused)
        raise


def _allowed(actor: Actor | None, what: Action[Any, Any]) -> Actor | None:
    if what.role is None or actor is None:
        if what.role is not None:
            raise RuntimeError(f"{what.name} is for members")
        return actor
    now = get_actor(actor.user, actor.grove)
    demand_role(now, what.role)
    return now


def _refused(
    actor: Actor, item: Grove | Tree, what: Action[Any, Any], args: Args, refused: CommandError
) -> None:
    """Writes the step of a refused action, after its transaction was rolled back; none of
    outsiders, and none where the item is being erased together with its log."""
    with transaction.atomic(), contextlib.suppress(CommandError):
        get_actor(actor.user, actor.grove)
        if not Stream.objects.filter(name=streams.name_of(item), erasing=False).exists():
            return
        change = Change(timezone.now(), actor, item, actor.participant)
        change.lock(item)
        message, hint = _storable(refused.message), _storable(refused.hint)
        _write_step(change, what, args, outcome=refused.code, message=message, hint=hint)
        change.writer.flush()


def _write_step(change: Change, what: Action[Any, Any], args: Args, **fields: Any) -> None:
    """A step of the stream itself: it has no workspace, and is numbered in the stream."""
    writer, author = change.writer, change.author
    assert author is not None
    own = Step.objects.filter(workspace=None, stream=writer.stream.name).order_by("-seq")
    Step.objects.create(
        stream=writer.stream.name,
        seq=(own.values_list("seq", flat=True).first() or 0) + 1,
        actor=author,
        canonical=what.name,
        arguments=recorded(args),
        events=writer.seqs,
        at=change.now,
        **fields,
    )


def recorded(value: Any) -> Any:
    """Arguments as a step keeps them: no secrets, no long texts, rows by their public id."""
    if isinstance(value, BaseModel):
        return {
            name: recorded(getattr(value, name))
            for name, one in type(value).model_fields.items()
            if name in value.model_fields_set and not _is_secret(one)
        }
    if isinstance(value, models.Model):
        return str(getattr(value, "uid", value))
    if isinstance(value, Mapping):
        return {str(name): recorded(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [recorded(one) for one in value]
    if isinstance(value, str):
        return _short(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no such numbers
    return value if value is None or isinstance(value, bool | int | float) else str(value)


def _is_secret(one: FieldInfo) -> bool:
    return any(isinstance(mark, Secret) for mark in one.metadata)


def _short(text: str) -> Any:
    kept = _storable(text)
    if len(text) <= SHORT:
        return kept
    digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()
    return {"start": kept[:SHORT], "length": len(text), "sha256": digest}


def _storable(text: str) -> str:
    """The text without what PostgreSQL and UTF-8 cannot store."""
    return text.replace("\0", "�").encode(errors="replace").decode()
