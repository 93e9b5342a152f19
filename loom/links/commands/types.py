"""The link types of a grove: made, renamed, coloured, archived. Each change is an event of the
grove; links keep what they store, so none is rewritten."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from django.utils.translation import gettext_noop

from loom.access import Actor, demand_role
from loom.engine import registry
from loom.engine.actions import RunningAction, action
from loom.engine.arguments import Args, Written
from loom.engine.context import Context, Reply
from loom.engine.execute import execute
from loom.engine.registry import command, describe_verb
from loom.errors import CommandError
from loom.language.refs import WORDS
from loom.language.verbs import Verb
from loom.links.link_types import (
    MAX_NAME,
    MOST_TYPES,
    STANDARD,
    Type,
    Vocabulary,
    changed,
    demand_free,
    demand_name,
)
from loom.links.models import LinkType
from loom.links.vocabulary import archetype_of, type_of, vocabulary_of
from loom.people.commands.groves import begins_grove
from loom.people.models import Grove
from loom.people.participant_fields import ARCHETYPES
from loom.permissions import LOOM, WRITE
from loom.trees.lists import LISTS


class NewType(Args):
    """A link type: its name, the name as read from the target (empty: symmetric), its group,
    colour, and the archetypes that see it (every wider one does too)."""

    name: str
    reverse: str = ""
    group: str = "semantic"
    colour: str = ""
    archetypes: tuple[str, ...] = ARCHETYPES


class TypeChange(Args):
    """The changes to the link type `type` (its name or reverse); what is None stays."""

    type: str
    name: str | None = None
    reverse: str | None = None
    group: str | None = None
    colour: str | None = None
    archetypes: tuple[str, ...] | None = None
    archived: bool | None = None


def add_type(actor: Actor, args: NewType) -> Type:
    """Adds a link type to the actor's grove. For writers. INVALID_SYNTAX for a word that lines
    use, CONFLICT if a type has it."""
    return execute(actor, actor.grove, _add_type, args)


def change_type(actor: Actor, args: TypeChange) -> Type:
    """Changes or archives a link type of the actor's grove. For owners. NOT_FOUND if there is
    none of that name."""
    return execute(actor, actor.grove, _change_type, args)


@dataclass(frozen=True)
class _TypesWriter:
    """The grove whose types are changed, when, and what writes its events. A dry run stores
    nothing."""

    grove: Grove
    now: datetime
    append: Callable[[str, dict[str, Any]], object]
    is_dry: bool = False


@action("add_link_type", stream="grove", role="writer")
def _add_type(change: RunningAction, args: NewType) -> Type:
    """Adds a link type."""
    return _added(_TypesWriter(change.grove, change.now, change.writer.append), args)


def _added(change: _TypesWriter, args: NewType) -> Type:
    rows = _rows(change)
    if len(rows) >= MOST_TYPES:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"A grove has at most {MOST_TYPES} link types.",
            hint="rename one, or restore an archived one",
        )
    values = args.model_dump()
    values["reverse"] = values["reverse"] or values["name"]
    taken = {row.key for row in rows}
    name = demand_name(args.name, reserved_words())
    kind = changed(Type(_key(name, taken), name, name), values, reserved_words())
    demand_free(kind, map(type_of, rows))
    row = LinkType(grove=change.grove)
    _store(change, row, kind, [*rows, row])
    change.append("type.added", {"type": type_body(kind)})
    return kind


@action("change_link_type", stream="grove", role="owner")
def _change_type(change: RunningAction, args: TypeChange) -> Type:
    """Renames, colours, archives or restores a link type, or says who sees it."""
    return _changed(_TypesWriter(change.grove, change.now, change.writer.append), args)


def _changed(change: _TypesWriter, args: TypeChange) -> Type:
    rows = _rows(change)
    word = args.type.lower()
    row = next((row for row in rows if word in (row.name, row.reverse)), None)
    if row is None:
        known = ", ".join(sorted(row.name for row in rows))
        raise CommandError(
            "NOT_FOUND",
            f"There is no link type {args.type[:MAX_NAME]!r}.",
            hint=f"there are {known}",
        )
    before = type_of(row)
    values = {name: value for name, value in args.model_dump().items() if value is not None}
    values.pop("type")
    after = changed(before, values, reserved_words())
    if after == before:
        return before
    demand_free(after, (type_of(other) for other in rows if other is not row))
    _store(change, row, after, rows)
    change.append("type.changed", {"type": type_body(after), "was": before.name})
    return after


# By line.

describe_verb(
    Verb("linktype", done=gettext_noop("Changed the link types"), past="changed the link types")
)


class AddLinkType(Args):
    """The name of the new type and as it is read from the target (without: symmetric)."""

    add: Annotated[str, Written("word", lead="add")]
    name: Annotated[str, Written("quoted")]
    reverse: Annotated[str, Written("option", key="reverse", value="word")] = ""
    group: Annotated[str, Written("option", key="group", value="word")] = "semantic"
    colour: Annotated[str, Written("option", key="colour", value="word")] = ""


class ChangeLinkType(Args):
    """The type, by its name or reverse, and what is another from now on."""

    change: Annotated[str, Written("word", lead="change")]
    type: Annotated[str, Written("quoted")]
    name: Annotated[str, Written("option", key="name", value="word")] = ""
    reverse: Annotated[str, Written("option", key="reverse", value="word")] = ""
    group: Annotated[str, Written("option", key="group", value="word")] = ""
    colour: Annotated[str, Written("option", key="colour", value="word")] = ""


class ArchiveLinkType(Args):
    """The type, by its name or reverse."""

    archive: Annotated[str, Written("word", lead="archive")]
    type: Annotated[str, Written("quoted")]


class RestoreLinkType(Args):
    """The type, by its name or reverse."""

    restore: Annotated[str, Written("word", lead="restore")]
    type: Annotated[str, Written("quoted")]


class ListLinkTypes(Args):
    """No further arguments."""

    list: Annotated[str, Written("word", lead="list")] = "list"


@command("linktype", group="Make", klass="write", permissions={LOOM, WRITE}, stream="grove")
def linktype_add(context: Context, args: AddLinkType) -> Reply:
    """Adds a link type to the grove."""
    sent = NewType(name=args.name, reverse=args.reverse, group=args.group, colour=args.colour)
    kind = _added(_writer(context), sent)
    return Reply(f"✓ added the link type {_shown(kind)}")


@command("linktype", group="Make", klass="write", permissions={LOOM, WRITE}, stream="grove")
def linktype_change(context: Context, args: ChangeLinkType) -> Reply:
    """Renames a link type, or gives it another reverse, group or colour. For owners."""
    given = {name: getattr(args, name) or None for name in ("name", "reverse", "group", "colour")}
    return _by_owner(context, TypeChange(type=args.type, **given), "changed")


@command("linktype", group="Make", klass="write", permissions={LOOM, WRITE}, stream="grove")
def linktype_archive(context: Context, args: ArchiveLinkType) -> Reply:
    """Archives a link type: its links stay, and no more are made. For owners."""
    return _by_owner(context, TypeChange(type=args.type, archived=True), "archived")


@command("linktype", group="Make", klass="write", permissions={LOOM, WRITE}, stream="grove")
def linktype_restore(context: Context, args: RestoreLinkType) -> Reply:
    """Restores an archived link type. For owners."""
    return _by_owner(context, TypeChange(type=args.type, archived=False), "restored")


@command("linktype", group="Look", klass="look", permissions={LOOM})
def linktype_list(context: Context, args: ListLinkTypes) -> Reply:
    """Lists the link types that you see, by group; archived ones are marked."""
    archetype = archetype_of(context.actor)
    seen = [
        kind for kind in vocabulary_of(context.tree.grove).types if archetype in kind.archetypes
    ]
    lines = []
    for group in dict.fromkeys(kind.group for kind in seen):
        named = ", ".join(_shown(kind) for kind in seen if kind.group == group)
        lines.append(f"{group}: {named}")
    return Reply("\n".join(lines) or "no link types")


def _writer(context: Context) -> _TypesWriter:
    return _TypesWriter(
        context.actor.grove, context.now, context.world.append, context.world.is_dry
    )


def _by_owner(context: Context, sent: TypeChange, done: str) -> Reply:
    demand_role(context.actor, "owner")
    return Reply(f"✓ {done} the link type {_shown(_changed(_writer(context), sent))}")


def _shown(kind: Type) -> str:
    """`supports/supported_by`, `related`, with `(archived)`."""
    name = kind.name if kind.symmetric else f"{kind.name}/{kind.reverse}"
    return f"{name} (archived)" if kind.archived else name


@begins_grove
def begin(grove: Grove) -> None:
    """Gives a grove without link types of its own the standard list, as rows."""
    LinkType.objects.bulk_create(_standard(grove))
    grove.link_types_digest = STANDARD.digest
    grove.save(update_fields=["link_types_digest"])


def reserved_words() -> set[str]:
    """The words that lines use: verbs, flags, options, refs and lists."""
    words = {*registry.verbs(), *registry.aliases(), *WORDS, *LISTS, "all", "focus", "links"}
    for many in registry.forms().values():
        for part in (part for form in many for part in form.parts):
            words |= {part.lead, part.key, *part.choices, *part.refs}
            words |= {part.name} if part.kind == "flag" else set()
    return {word.lower() for word in words if word}


def type_body(kind: Type) -> dict[str, Any]:
    """A link type as API and events show it."""
    return {
        "name": kind.name,
        "reverse": kind.reverse,
        "symmetric": kind.symmetric,
        "group": kind.group,
        "colour": kind.colour,
        "archetypes": list(kind.archetypes),
        "archived": kind.archived,
    }


def _rows(change: _TypesWriter) -> list[LinkType]:
    """The link types of a grove, whose stream is locked; those of the standard list unstored in a
    dry run."""
    if not LinkType.objects.filter(grove=change.grove).exists():
        if change.is_dry:
            return _standard(change.grove)
        begin(change.grove)
    return list(LinkType.objects.filter(grove=change.grove))


def _standard(grove: Grove) -> list[LinkType]:
    return [LinkType(grove=grove, **_columns(kind)) for kind in STANDARD.types]


def _store(change: _TypesWriter, row: LinkType, kind: Type, rows: list[LinkType]) -> None:
    columns = _columns(kind)
    if change.is_dry:
        return
    archived = row.archived_at or change.now
    for name, value in {**columns, "archived_at": archived if kind.archived else None}.items():
        setattr(row, name, value)
    row.save()
    digest = Vocabulary(map(type_of, rows)).digest
    Grove.objects.filter(pk=change.grove.pk).update(link_types_digest=digest)
    change.grove.link_types_digest = digest


def _columns(kind: Type) -> dict[str, Any]:
    return {
        "key": kind.key,
        "name": kind.name,
        "reverse": kind.reverse,
        "group": kind.group,
        "colour": kind.colour,
        "archetypes": list(kind.archetypes),
    }


def _key(name: str, taken: set[str]) -> str:
    """What links of a new type store: its name, or with a number if a renamed type was called so
    before."""
    key, number = name, 1
    while key in taken:
        number += 1
        key = f"{name[: MAX_NAME - 5]}.{number}"
    return key
