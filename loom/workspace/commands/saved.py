"""What members save under a name (their own searches and arrangements of windows, and presets of
their own or for the grove), and settings that are pinned to a branch."""

from typing import Any, Literal

from django.db.models import Q, QuerySet
from django.utils import timezone

from loom.access import Actor, demand_role, demand_writable
from loom.engine import registry
from loom.engine.actions import RunningAction, action
from loom.engine.arguments import Args
from loom.engine.execute import execute
from loom.errors import CommandError, not_found
from loom.language.lines import read
from loom.language.refs import ParseError
from loom.participants import provider_kinds
from loom.text.hashes import instant
from loom.trees.models import BranchSettings, Node, Tree
from loom.workspace.models import Saved

MAX_NAME = 100
MOST = 200  # per kind, for one person or a grove
SEARCH = ("q", "type", "tag", "author", "since", "in", "sort", "by")
Kind = Literal["search", "preset", "windows"]
MOST_LINES = 40  # per arrangement
LONGEST_LINE = 1_000


def schemas() -> list[Any]:
    """What a body of each kind looks like, as JSON schemas."""
    text = {"type": "string", "minLength": 1, "maxLength": 500}
    line = {"type": "string", "maxLength": LONGEST_LINE}
    bodies: dict[Kind, dict[str, Any]] = {
        "search": {"properties": dict.fromkeys(SEARCH, text), "minProperties": 1},
        "preset": {"properties": provider_kinds.sampler_schemas()},
        "windows": {
            "properties": {
                "lines": {"type": "array", "items": line, "minItems": 1, "maxItems": MOST_LINES}
            },
            "required": ["lines"],
        },
    }
    return [
        {
            "properties": {
                "kind": {"const": kind},
                "body": {"type": "object", "additionalProperties": False, **body},
            }
        }
        for kind, body in bodies.items()
    ]


def saved_by(actor: Actor, kind: Kind) -> "QuerySet[Saved]":
    """What the actor saved of this kind and what is saved for the whole grove, ordered by name."""
    rows = Saved.objects.filter(grove=actor.grove, kind=kind)
    rows = rows.filter(Q(participant=actor.person) | Q(participant__isnull=True))
    return rows.order_by("name", "id")


def body_of(row: Saved) -> dict[str, Any]:
    """A saved thing as the API shows it."""
    return {
        "id": row.uid,
        "kind": row.kind,
        "name": row.name,
        "body": row.body,
        "shared": row.participant_id is None,
        "at": instant(row.at),
    }


def save_own(actor: Actor, kind: Kind, name: str, body: dict[str, Any]) -> Saved:
    """Saves something under a name and replaces what had that name. Only the actor sees it, so no
    stream is written."""
    kept, checked = _name(name), _checked(kind, body)
    rows = Saved.objects.filter(grove=actor.grove, participant=actor.person, kind=kind)
    _demand_room(rows, kept)
    row, _ = Saved.objects.update_or_create(
        grove=actor.grove,
        participant=actor.person,
        kind=kind,
        name=kept,
        defaults={"body": checked, "at": timezone.now()},
    )
    return row


def remove(actor: Actor, uid: str) -> None:
    """Removes something that the actor saved, or a preset of the grove, which is for writers."""
    row = Saved.objects.filter(grove=actor.grove, uid=uid).first()
    if row is None or row.participant_id not in (None, actor.person.pk):
        raise not_found("What you named")
    if row.participant_id is None:
        demand_role(actor, "writer")
        execute(actor, actor.grove, _remove_preset, PresetNamed(preset=uid))
    else:
        row.delete()


def share_preset(actor: Actor, name: str, settings: dict[str, Any]) -> Saved:
    """Saves a preset for all members of the grove. For writers."""
    return execute(actor, actor.grove, _save_preset, Preset(name=name, settings=settings))


class Preset(Args):
    """A preset of the grove: its name and its settings."""

    name: str
    settings: dict[str, Any]


class PresetNamed(Args):
    """A preset of the grove, by id."""

    preset: str


@action("save_preset", stream="grove", role="writer")
def _save_preset(change: RunningAction, args: Preset) -> Saved:
    """Saves a preset for all members of the grove, and replaces the one with that name."""
    name, body = _name(args.name), _checked("preset", args.settings)
    rows = Saved.objects.filter(grove=change.grove, participant__isnull=True, kind="preset")
    _demand_room(rows, name)
    row, _ = Saved.objects.update_or_create(
        grove=change.grove,
        participant=None,
        kind="preset",
        name=name,
        defaults={"body": body, "at": change.now},
    )
    change.writer.append("preset.saved", {"preset": body_of(row)})
    return row


@action("remove_preset", stream="grove", role="writer")
def _remove_preset(change: RunningAction, args: PresetNamed) -> None:
    """Removes a preset of the grove."""
    rows = Saved.objects.filter(grove=change.grove, participant__isnull=True, uid=args.preset)
    row = rows.first()
    if row is None:
        raise not_found("This preset")
    row.delete()
    change.writer.append("preset.removed", {"preset": args.preset, "name": row.name})


def pin_settings(actor: Actor, tree: Tree, node: str, settings: dict[str, Any]) -> dict[str, Any]:
    """Pins settings to the branch that begins with a node; {} removes them. Returns them. For
    writers."""
    return execute(actor, tree, _pin_settings, Pinned(node=node, settings=settings))


class Pinned(Args):
    """The node (local id) where settings are pinned, and the settings."""

    node: str
    settings: dict[str, Any]


@action("pin_settings", stream="tree", role="writer")
def _pin_settings(change: RunningAction, args: Pinned) -> dict[str, Any]:
    """Pins settings to a branch: `continue` uses them for candidates below it."""
    demand_writable(change.tree)
    node = Node.objects.filter(tree=change.tree, local_id=args.node, kind="text").first()
    if node is None:
        raise not_found("This node")
    settings = provider_kinds.checked_samplers(args.settings)
    before = BranchSettings.objects.filter(slot=node.slot_id).first()
    if (before.settings if before else {}) == settings:
        return settings
    BranchSettings.objects.update_or_create(
        slot_id=node.slot_id,
        defaults={
            "tree": change.tree,
            "settings": settings,
            "by": change.actor.participant,
            "at": change.now,
        },
    )
    slot = Node.objects.values_list("local_id", flat=True).get(pk=node.slot_id)
    change.writer.append("settings.pinned", {"node": slot, "settings": settings})
    return settings


def _name(name: str) -> str:
    kept = " ".join(name.split())
    if not kept or len(kept) > MAX_NAME or "\0" in kept:
        raise CommandError(
            "INVALID_SYNTAX", f"A name has 1 to {MAX_NAME} characters.", hint="such as Calm prose"
        )
    return kept


def _demand_room(rows: "QuerySet[Saved]", name: str) -> None:
    if rows.exclude(name=name).count() >= MOST:
        raise CommandError(
            "LIMIT_EXCEEDED", f"At most {MOST} can be kept.", hint="remove one of them first"
        )


def _checked(kind: Kind, body: dict[str, Any]) -> dict[str, Any]:
    if kind == "preset":
        return provider_kinds.checked_samplers(body)
    if kind == "windows":
        return _arrangement(body)
    known = {name: value for name, value in body.items() if name in SEARCH and value}
    if len(known) < len(body) or not all(
        isinstance(value, str) and len(value) <= 500 and "\0" not in value
        for value in known.values()
    ):
        raise CommandError(
            "INVALID_SYNTAX", "A search has these fields, all texts.", hint=", ".join(SEARCH)
        )
    if not known:
        raise CommandError("INVALID_SYNTAX", "The search is empty.", hint="search first")
    return known


def _arrangement(body: dict[str, Any]) -> dict[str, Any]:
    """An arrangement: lines of open or find that open windows again. Whoever runs them needs
    access at that time."""
    lines = body.get("lines")
    fits = isinstance(lines, list) and 0 < len(lines) <= MOST_LINES and set(body) == {"lines"}
    for line in lines if isinstance(lines, list) else ():
        fits = fits and isinstance(line, str) and len(line) <= LONGEST_LINE and _opens(line)
    if not fits:
        raise CommandError(
            "INVALID_SYNTAX",
            f"An arrangement has 1 to {MOST_LINES} lines that open windows.",
            hint='such as {"lines": ["open a7x2 keep"]}; open a window first',
        )
    return {"lines": lines}


def _opens(line: str) -> bool:
    """Whether a line can be parsed, and opens windows."""
    try:
        parsed = read(line, registry.language())
    except ParseError:
        return False
    return registry.find(parsed.verb, parsed.form).opens_windows


def rename(actor: Actor, uid: str, name: str) -> Saved:
    """Renames something that the actor saved. CONFLICT if they have another with that name."""
    rows = Saved.objects.filter(grove=actor.grove, participant=actor.person)
    row, kept = rows.filter(uid=uid).first(), _name(name)
    if row is None:
        raise not_found("What you named")
    if rows.filter(kind=row.kind, name=kept).exclude(pk=row.pk).exists():
        raise CommandError(
            "CONFLICT", f"There is already one called {kept}.", hint="choose another"
        )
    row.name = kept
    row.save(update_fields=["name"])
    return row
