"""What a command gets and returns: its arguments and how they are written on a line, the context
it runs in, the items other than nodes that refs name, and its reply."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Annotated, Any, TypeVar

from django.db.models import Q
from django.db.models.functions import Lower
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, WithJsonSchema

from loom import access
from loom.access import Actor, may_reach
from loom.events import streams
from loom.events.streams import Writer
from loom.grammar.forms import Form, Part, PartKind, ValueKind
from loom.grammar.refs import Ref, print_ref
from loom.grammar.slices import parse_ref
from loom.models import Document, Node, Participant, Step, Task, Tree, Window, Workspace
from loom.models.base import Given, Prepared
from loom.queries import lookup
from loom.queries.documents import document_of
from loom.queries.lookup import NodeRow
from loom.rules import node_values
from loom.rules.errors import CommandError, not_found
from loom.rules.names import tree_named as titled

Op = dict[str, Any]  # one operation of an inverse, see loom.commands.undo


@dataclass(frozen=True)
class Written:
    """How one field is written on the line; the names mean the same as in grammar.forms.Part."""

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
    """Marks a field, in `Annotated`, that no step may store: a password, a key, a link."""


class Args(BaseModel):
    """Base class of all arguments: read-only, and unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


ArgsT = TypeVar("ArgsT", bound=Args)


def checked(kind: type[ArgsT], values: Mapping[str, Any]) -> ArgsT:
    """Arguments from what a form sent, such as `{"n": "3"}`. Raises CommandError INVALID_SYNTAX if
    they are not valid."""
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


# A reference in a command's arguments: text in JSON, a Ref in Python.
RefField = Annotated[Ref, BeforeValidator(_as_ref), WithJsonSchema({"type": "string"})]


def form_of(verb: str, args: type[Args]) -> Form:
    """The written form of a command: one part for each field, in the order of the fields."""
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


# A line while it runs.


@dataclass(frozen=True)
class Request:
    """One line and how it was sent (docs/model.md §14.3): `at` is what `here` means, `key` makes a
    repeat harmless, `dry_run` writes nothing. `turn` (its id) and `place` say which line of which
    turn it is: only one step is ever written for a place, and everything that the line does is
    written with it. `loop` says what it repeats: exact, structural, semantic, or "" for nothing."""

    line: str
    key: str = ""
    at: str = ""
    dry_run: bool = False
    origin: str = ""
    turn: str = ""
    place: str = ""
    loop: str = ""


@dataclass(frozen=True)
class Answer:
    """The answer of a line that ran; `body` is the JSON of docs/model.md §14.3, `step` its step,
    None in a dry run."""

    body: dict[str, Any]
    running: bool = False
    step: Step | None = None

    @property
    def reply(self) -> str:
        """The text a person or model reads."""
        return str(self.body["reply"])


@dataclass(frozen=True)
class Reply:
    """What a command returns: `refs` are local ids in order, `inverse` is what undo would do,
    `items` the ids of the items touched, `generations` the uids of what is still running, `quotes`
    the nodes whose texts `text` may show; the step names them."""

    text: str
    refs: tuple[str, ...] = ()
    generations: tuple[str, ...] = ()
    inverse: tuple[Op, ...] = ()
    items: tuple[int, ...] = ()
    link_type: str = ""
    running: bool = False
    quotes: tuple[Node | NodeRow, ...] = ()


@dataclass
class Context:
    """One line while it runs. `writer` is the locked tree (None if the command only looks); `at`
    is the local id that `here` means, "" for the position of the workspace."""

    actor: Actor
    tree: Tree
    workspace: Workspace
    at: str
    now: datetime
    origin: str
    turn: str = ""  # the id of the turn whose line it is
    writer: Writer | None = None
    moved_to: Node | None = None
    chosen: dict[int, Node] = field(default_factory=dict)  # slot id → version
    outline: dict[str, Any] | None = None  # the outline as this line leaves it
    augments: dict[str, list[str]] | None = None  # what is loaded after this line
    agent: Participant | None = None  # whose turn is undone: its work does not block it
    steps: list[Step] = field(default_factory=list)  # steps a command wrote itself
    windows: list[Window] = field(default_factory=list)  # that the line opened or changed
    shown: list[Window] | None = None  # the visible windows; None: not read yet
    asides: list[tuple[str, str]] = field(default_factory=list)  # windows it hid, and why
    seen: dict[int, int] = field(default_factory=dict)  # document id → revision that it shows
    tasks: list[Task] = field(default_factory=list)  # that the line added or changed
    # Items of other trees that the line read: its step names them, so that what it quotes can be
    # withheld from those who may no longer see it, and cleared when it is erased.
    far: dict[int, None] = field(default_factory=dict)

    def note_read(self, *items: int) -> None:
        """Notes those of the items that belong to other trees."""
        for item in items:
            if node_values.home_of(item) not in (0, self.tree.pk):
                self.far[item] = None

    @cached_property
    def here(self) -> Node:
        """What `here` means: `at`, otherwise the current version at the position of the workspace,
        or at the nearest visible node above; the root if the workspace is in a tree that the actor
        may no longer read."""
        if not self.at:
            position = lookup.by_id(self.workspace.position_id)
            if not may_reach(self.actor, position.tree_id, here=self.tree):
                return lookup.root_of(self.tree)
            visible = lookup.visible_at_or_above(position, self.workspace)
            return lookup.selected_version(visible.slot_id, self.workspace) or visible
        node = lookup.find_node(self.tree, self.at.lower())
        if node is None:
            raise not_found(f"[{self.at}], where the line was given,")
        return node

    @property
    def own(self) -> list[Participant]:
        """Whose later work does not prevent an undo."""
        return [self.actor.participant, *([self.agent] if self.agent is not None else [])]

    @property
    def world(self) -> Writer:
        """The locked tree. A command that writes it is registered with stream="tree"."""
        if self.writer is None:
            raise RuntimeError("this command is not registered as one that writes the tree")
        return self.writer

    def append(self, item: int, kind: str, payload: dict[str, Any]) -> None:
        """Writes an event to the stream that an item belongs to. For a document that is the stream
        of the grove, which is locked for it if the line writes the tree."""
        is_here = node_values.document_id(item) is None or self.world.stream.name[:6] == "grove:"
        if is_here:
            self.world.append(kind, payload)
        elif not self.world.is_dry:
            with self.grove_stream() as writer:
                writer.append(kind, payload)

    @contextmanager
    def grove_stream(self) -> Iterator[Writer]:
        """The locked stream of the grove, for a line that writes it in addition to its tree."""
        if self.world.stream.name[:6] == "grove:":
            yield self.world
            return
        actor, origin = self.actor.participant.uid, self.world.origin
        writer = streams.lock(self.tree.grove, actor=actor, origin=origin)
        yield writer
        writer.flush()

    def move(self, node: Node) -> None:
        """The workspace will have its position at `node`."""
        self.moved_to = node

    def choose(self, node: Node) -> None:
        """The workspace will have `node` as the current version of its slot."""
        self.chosen[node.slot_id] = node


# Items other than nodes that refs name, and why a ref names none.


MOST_TREES = 10  # that the refusal of an unknown id names
LATER = {"trail": "Trails", "pipe": "Pipes"}
OPEN_ONES = "→ memory windows lists what is open"


def no_node(ref: Ref) -> CommandError:
    """Why a ref of another kind does not name a node."""
    said, node = print_ref(ref), "name a node, such as a7x2 or here"
    if ref.kind == "document":
        message = f"{said} is a document; this command takes a node."
        hint = f"→ view {said} shows it; → write {said} append, at: or replace: changes it"
        return CommandError("INVALID_SYNTAX", message, hint=hint)
    if ref.kind in ("task", "stash"):
        return CommandError("REJECTED", f"{said} shows no node.", hint=node)
    if ref.kind == "augment":
        named = print_ref(Ref("document", name=ref.name or ref.id))
        message = f"{said} is a document here; only the lines of augment name it so."
        return CommandError("INVALID_SYNTAX", message, hint=f"name it {named}")
    if ref.kind == "focus":
        message = "focus is what the last expand opened; this command takes a node."
        hint = "→ expand TYPE of focus, or name one of its windows, such as #4"
        return CommandError("INVALID_SYNTAX", message, hint=hint)
    return CommandError("UNAVAILABLE", f"{LATER[ref.kind]} are not supported yet.", hint=node)


def get_document(context: Context, ref: Ref) -> Document:
    """The document that `ref` names. NOT_FOUND for one that the caller may not read here."""
    return document_of(context.actor, context.tree, ref)


def get_window(context: Context, number: int) -> Window:
    """The open window of the workspace with that number. Raises what `no_window` returns."""
    rows = Window.objects.filter(workspace=context.workspace, is_closed=False, number=number)
    found = rows.select_related("item", "step").order_by()[:1]
    if not found:
        raise no_window(context, [number])
    return found[0]


def no_window(context: Context, numbers: Sequence[int], hint: str = OPEN_ONES) -> CommandError:
    """Why none of these numbers is an open window: REJECTED if they were closed, NOT_FOUND if they
    never existed."""
    rows = Window.objects.filter(workspace=context.workspace, is_closed=True, number__in=numbers)
    closed = list(rows.order_by("number").values_list("number", flat=True))
    if not closed:
        return not_found(" ".join(f"#{one}" for one in numbers), hint)
    named = " ".join(f"#{one}" for one in closed)
    said = f"{named} {'was' if len(closed) == 1 else 'were'} closed."
    return CommandError("REJECTED", said, hint="→ open REF opens what it showed in a new window")


def node_shown(context: Context, ref: Ref, *, slices: bool) -> Node:
    """The node that a window shows, as the caller may read it."""
    window = get_window(context, int(ref.id))
    key = node_values.node_id(window.item_id or 0) if window.kind in ("node", "search") else None
    node = lookup.by_id(key) if key is not None else None
    if node is None or not may_reach(context.actor, node.tree_id, here=context.tree):
        raise CommandError(
            "REJECTED", f"#{window.number} shows no node.", hint=f"→ show #{window.number}"
        )
    is_part = (window.first, window.last) != (1, node.text.count("\n") + 1)
    if slices and is_part and ref.slice is None:
        lines = f"lines:{window.first}-{window.last}"
        raise CommandError(
            "REJECTED",
            f"#{window.number} shows a part of [{node.local_id}].",
            hint=f"name it: {lookup.node_ref(node, context.tree.pk)} {lines}",
        )
    return node


def tree_named(actor: Actor, name: str) -> Tree:
    """The one tree of the grove with that title, as far as the actor may see it."""
    found = list(
        access.trees_for(actor)
        .filter(grove=actor.grove, title__iexact=name)
        .select_related("grove")[:10]
    )
    if not found:
        raise not_found(f'tree:"{name}"')
    if len(found) > 1:
        raise CommandError(
            "INVALID_SYNTAX",
            f"{len(found)} trees are called {name!r}.",
            hint=" or ".join(f"tree:{tree.uid}" for tree in found),
        )
    return found[0]


def unknown(context: Context, tree: Tree, ref: Ref) -> CommandError:
    """CROSS_TREE if the id is in another tree that the caller may see, else NOT_FOUND."""
    if tree.pk == context.tree.pk:
        elsewhere = (
            access.trees_for(context.actor)
            .filter(nodes__local_id=ref.id)
            .exclude(pk=tree.pk)
            .order_by("id")[:MOST_TREES]
        )
        names = [f"in {titled(one.title or one.uid)}" for one in elsewhere]
        if names:
            return CommandError(
                "CROSS_TREE",
                f"[{ref.id}] is in another tree.",
                hint=f"add {' or '.join(names)}",
            )
    return not_found(f"[{ref.id}]", "→ find or → tree shows what is here")


_AGENT = Prepared(
    lambda: (
        Participant.objects.filter(grove=Given("grove"), kind="model", archived_at__isnull=True)
        .alias(lowered=Lower("name"))
        .filter(Q(uid=Given("word")) | Q(lowered=Lower(Given("word"))))
    )
)


def get_agents(context: Context, refs: tuple[Ref, ...]) -> list[Participant]:
    """The model participants of the grove that `agent:"…"` refs name, in their order."""
    found: list[Participant] = []
    for ref in refs:
        word = ref.name or ref.id
        named = _AGENT.all(grove=context.actor.grove.pk, word=word)
        if not named:
            raise not_found(f'agent:"{word}"', _agents_hint(context.actor))
        # An id comes before a name, in case a name equals the id of somebody else.
        found.append(next((one for one in named if one.uid == word), named[0]))
    return found


def _agents_hint(actor: Actor) -> str:
    names = Participant.objects.filter(
        grove=actor.grove, kind="model", archived_at__isnull=True
    ).values_list("name", flat=True)[:10]
    return (
        "there are " + ", ".join(f'agent:"{name}"' for name in names)
        if names
        else ("an owner adds a model under Participants")
    )
