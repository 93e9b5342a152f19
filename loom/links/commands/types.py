"""The link types of a grove: made, renamed, coloured, archived. Each change is an event of the
grove; links keep what they store, so none is rewritten."""

from typing import Any

from loom.access import Actor
from loom.engine import registry
from loom.engine.actions import RunningAction, action
from loom.engine.arguments import Args
from loom.engine.execute import execute
from loom.errors import CommandError
from loom.language.refs import WORDS
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
from loom.links.vocabulary import type_of
from loom.people.commands.groves import begins_grove
from loom.people.models import Grove
from loom.people.participant_fields import ARCHETYPES
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


@action("add_link_type", stream="grove", role="writer")
def _add_type(change: RunningAction, args: NewType) -> Type:
    """Adds a link type."""
    rows = _rows(change.grove)
    if len(rows) >= MOST_TYPES:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"A grove has at most {MOST_TYPES} link types.",
            hint="rename one, or restore an archived one",
        )
    values = args.model_dump()
    values["reverse"] = values["reverse"] or values["name"]
    taken = {one.key for one in rows}
    name = demand_name(args.name, reserved_words())
    made = changed(Type(_key(name, taken), name, name), values, reserved_words())
    demand_free(made, map(type_of, rows))
    row = LinkType(grove=change.grove)
    _store(change, row, made, [*rows, row])
    change.writer.append("type.added", {"type": type_body(made)})
    return made


@action("change_link_type", stream="grove", role="owner")
def _change_type(change: RunningAction, args: TypeChange) -> Type:
    """Renames, colours, archives or restores a link type, or says who sees it."""
    rows = _rows(change.grove)
    word = args.type.lower()
    row = next((one for one in rows if word in (one.name, one.reverse)), None)
    if row is None:
        known = ", ".join(sorted(one.name for one in rows))
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
    demand_free(after, (type_of(one) for one in rows if one is not row))
    _store(change, row, after, rows)
    change.writer.append("type.changed", {"type": type_body(after), "was": before.name})
    return after


@begins_grove
def begin(grove: Grove) -> None:
    """Gives a grove without link types of its own the standard list, as rows."""
    rows = (LinkType(grove=grove, **_columns(one)) for one in STANDARD.types)
    LinkType.objects.bulk_create(rows)
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


def type_body(one: Type) -> dict[str, Any]:
    """A link type as API and events show it."""
    return {
        "name": one.name,
        "reverse": one.reverse,
        "symmetric": one.symmetric,
        "group": one.group,
        "colour": one.colour,
        "archetypes": list(one.archetypes),
        "archived": one.archived,
    }


def _rows(grove: Grove) -> list[LinkType]:
    """The link types of a grove, whose stream is locked."""
    if not LinkType.objects.filter(grove=grove).exists():
        begin(grove)
    return list(LinkType.objects.filter(grove=grove))


def _store(change: RunningAction, row: LinkType, made: Type, rows: list[LinkType]) -> None:
    columns = _columns(made)
    archived = row.archived_at or change.now
    for name, value in {**columns, "archived_at": archived if made.archived else None}.items():
        setattr(row, name, value)
    row.save()
    digest = Vocabulary(map(type_of, rows)).digest
    Grove.objects.filter(pk=change.grove.pk).update(link_types_digest=digest)
    change.grove.link_types_digest = digest


def _columns(one: Type) -> dict[str, Any]:
    return {
        "key": one.key,
        "name": one.name,
        "reverse": one.reverse,
        "group": one.group,
        "colour": one.colour,
        "archetypes": list(one.archetypes),
    }


def _key(name: str, taken: set[str]) -> str:
    """What links of a new type store: its name, or with a number if a renamed type was called so
    before."""
    key, number = name, 1
    while key in taken:
        number += 1
        key = f"{name[: MAX_NAME - 5]}.{number}"
    return key
