"""Link types (docs/model.md §8): the standard list, their reverses, the archetypes that see them,
and what a type may be called. Pure."""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, Final

from loom.errors import CommandError
from loom.people.names import TAG_COLOURS
from loom.people.participant_fields import ARCHETYPES

GROUPS: Final = ("structural", "testing", "specification", "evidence", "temporal", "semantic")
# Who sees what an archetype sees: a wider one always sees a superset.
_WIDER: Final[Mapping[str, tuple[str, ...]]] = {
    "reader": ARCHETYPES,
    "writer": ("writer", "editor"),
    "editor": ("editor",),
    "auditor": ("auditor",),
}
COLOURS: Final = TAG_COLOURS
MAX_NAME: Final = 40
MOST_TYPES: Final = 200  # of a grove, archived ones included
NAME: Final = re.compile(r"[^\W\d]+\Z")  # one word without digits; `_` joins two

# Types that are never stored but answered from columns, as `list` and `expand` name them: those
# whose items are nodes, that of documents, and other words for the same.
OF_NODES: Final = (
    "continuations",
    "continued_by",
    "siblings",
    "annotations",
    "annotates",
    "versions",
    "version_of",
    "sources",
    "merges",
    "mentions",
)
MENTIONED_BY: Final = "mentioned_by"
SAME: Final = {
    "continues": "continuations",
    "children": "continuations",
    "parent": "continued_by",
}
DERIVED: Final = frozenset((*OF_NODES, MENTIONED_BY, *SAME))


@dataclass(frozen=True)
class Type:
    """A link type of a grove. `key` is what links store: it never changes, so a renamed type
    rewrites no link. A symmetric type has its own name as its reverse."""

    key: str
    name: str
    reverse: str
    group: str = "semantic"
    colour: str = ""
    archetypes: tuple[str, ...] = ARCHETYPES
    archived: bool = False

    @property
    def symmetric(self) -> bool:
        """Whether it reads the same from both ends."""
        return self.name == self.reverse

    @property
    def shown(self) -> str:
        """The name as shown to readers."""
        return self.name.replace("_", " ")

    def read(self, *, outward: bool) -> str:
        """Its name as read from the source (outward) or from the target."""
        return self.name if outward else self.reverse


def closed(archetypes: Iterable[str]) -> tuple[str, ...]:
    """The archetypes, with every wider one: whoever sees more sees this too."""
    every = {wider for name in archetypes for wider in _WIDER[name]}
    return tuple(name for name in ARCHETYPES if name in every)


def _standard() -> Iterator[Type]:
    everybody, makers = ARCHETYPES, ("writer", "editor")
    judges = ("writer", "editor", "auditor")
    for key, reverse, group, seen in (
        ("contains", "contained_in", "structural", everybody),
        ("imports", "imported_by", "structural", everybody),
        ("calls", "called_by", "structural", everybody),
        ("tests", "tested_by", "testing", judges),
        ("covers", "covered_by", "testing", judges),
        ("implements", "implemented_by", "specification", makers),
        ("specified_by", "specifies", "specification", makers),
        ("derives_from", "derived_by", "temporal", everybody),
        ("evidence", "evidences", "evidence", judges),
        ("supports", "supported_by", "evidence", everybody),
        ("refutes", "refuted_by", "evidence", judges),
        ("undercuts", "undercut_by", "evidence", judges),
        ("extends", "extended_by", "semantic", everybody),
        ("uses", "used_by", "structural", everybody),
        ("evolved_from", "evolved_to", "temporal", everybody),
        ("supersedes", "superseded_by", "temporal", everybody),
        ("requires", "required_by", "structural", everybody),
        ("quotes", "quoted_by", "evidence", everybody),
        ("related", "related", "semantic", everybody),
        ("similar", "similar", "semantic", everybody),
        ("contrasts", "contrasts", "semantic", everybody),
    ):
        yield Type(key, key, reverse, group, archetypes=closed(seen))


class Vocabulary:
    """The link types of one grove, in order."""

    def __init__(self, types: Iterable[Type]) -> None:
        self.types = tuple(types)

    @cached_property
    def by_key(self) -> dict[str, Type]:
        """The types by what links store."""
        return {kind.key: kind for kind in self.types}

    @cached_property
    def by_word(self) -> dict[str, tuple[Type, bool]]:
        """Each name and reverse in lower case: its type, and whether it is read from the source.
        A symmetric type counts as read from there."""
        reverses = {kind.reverse.lower(): (kind, False) for kind in self.types}
        return reverses | {kind.name.lower(): (kind, True) for kind in self.types}

    @cached_property
    def digest(self) -> str:
        """What identifies this list: groves with the same list have the same."""
        whole = json.dumps([asdict(kind) for kind in self.types], ensure_ascii=False)
        return hashlib.sha256(whole.encode()).hexdigest()[:32]

    def read(self, key: str, *, outward: bool) -> str:
        """What a stored type is called, read from the source (outward) or from the target; a key
        that the grove does not know is returned as it is."""
        kind = self.by_key.get(key)
        return kind.read(outward=outward) if kind is not None else key

    def colour(self, key: str) -> str:
        """The colour of a stored type; "" if it has none."""
        kind = self.by_key.get(key)
        return kind.colour if kind is not None else ""

    def is_symmetric(self, key: str) -> bool:
        """Whether a stored type reads the same from both ends."""
        kind = self.by_key.get(key)
        return kind is not None and kind.symmetric

    @cached_property
    def _seen(self) -> dict[str, frozenset[str]]:
        return {
            name: frozenset(kind.key for kind in self.types if name in kind.archetypes)
            for name in ARCHETYPES
        }

    def keys_seen(self, archetype: str) -> frozenset[str]:
        """The stored types that an archetype sees."""
        return self._seen[archetype]

    def names(self, archetype: str) -> tuple[str, ...]:
        """What a new link may be called, for an archetype: names as read from the source."""
        seen = (kind for kind in self.types if archetype in kind.archetypes and not kind.archived)
        return tuple(sorted(kind.name for kind in seen))

    def words(self, archetype: str) -> tuple[str, ...]:
        """The names and reverses that an archetype can list and follow."""
        seen = [kind for kind in self.types if archetype in kind.archetypes]
        return tuple(sorted({word for kind in seen for word in (kind.name, kind.reverse)}))

    def demand(self, word: str, archetype: str) -> tuple[Type, bool]:
        """The type with that name or reverse, and whether it was read from the source. Refuses
        with INVALID_SYNTAX and the list what the archetype does not know."""
        entry = self.by_word.get(word.lower())
        if entry is None or archetype not in entry[0].archetypes:
            raise unknown_type(word, self.words(archetype))
        return entry

    def demand_new(self, word: str, archetype: str) -> Type:
        """The type of a new link: a name as read from the source, not archived. INVALID_SYNTAX
        with the list for any other word."""
        entry = self.by_word.get(word.lower())
        known = self.names(archetype)
        if entry is not None and archetype in entry[0].archetypes:
            kind, outward = entry
            if kind.archived:
                raise CommandError(
                    "INVALID_SYNTAX",
                    f"The link type {kind.name!r} is archived.",
                    hint="there are " + ", ".join(known),
                )
            if outward:
                return kind
        raise unknown_type(word, known)


def unknown_type(word: str, known: Iterable[str]) -> CommandError:
    """INVALID_SYNTAX with the list of types."""
    hint = "there are " + ", ".join(known)
    return CommandError("INVALID_SYNTAX", f"There is no link type {word.lower()!r}.", hint=hint)


STANDARD: Final = Vocabulary(_standard())


def arrow(name: str) -> str:
    """How a link is drawn between two ids in a reply: `↔` for the untyped one."""
    return "↔" if name == "related" else f"──[{name}]──→"


# Making and changing types.


def demand_name(word: str, reserved: Collection[str]) -> str:
    """The name as it is stored. INVALID_SYNTAX for what no line could tell from another word:
    more than one word, digits, or a word that lines already use."""
    name = word.strip().lower()
    if not NAME.match(name) or not name.strip("_"):
        raise CommandError(
            "INVALID_SYNTAX",
            f"A link type is one word of letters, not {word[:60]!r}.",
            hint="join words by _, as in answered_by",
        )
    if len(name) > MAX_NAME:
        raise CommandError(
            "LIMIT_EXCEEDED", f"A link type has at most {MAX_NAME} letters.", hint="shorten it"
        )
    if name in reserved or name in DERIVED:
        raise CommandError(
            "INVALID_SYNTAX",
            f"{name!r} already means something on a line.",
            hint="choose another word, such as one with _",
        )
    return name


def changed(old: Type, values: Mapping[str, Any], reserved: Collection[str]) -> Type:
    """A type with other values: name, reverse, group, colour, archetypes, archived. A symmetric
    type stays symmetric if only its name is given."""
    given = dict(values)
    if "name" in given:
        given["name"] = demand_name(given["name"], reserved)
        if old.symmetric and not given.get("reverse"):
            given["reverse"] = given["name"]
    if given.get("reverse"):
        given["reverse"] = demand_name(given["reverse"], reserved)
    if given.get("group", old.group) not in GROUPS:
        raise _no_such("group", given["group"], GROUPS)
    if given.get("colour") and given["colour"] not in COLOURS:
        raise _no_such("colour", given["colour"], COLOURS)
    if "archetypes" in given:
        wrong = next((name for name in given["archetypes"] if name not in ARCHETYPES), None)
        if wrong is not None:
            raise _no_such("archetype", wrong, ARCHETYPES)
        given["archetypes"] = closed(given["archetypes"])
    return replace(old, **given)


def demand_free(kind: Type, others: Iterable[Type]) -> None:
    """CONFLICT if another type of the grove has one of its two names, archived ones included."""
    own = {kind.name, kind.reverse}
    for other in others:
        if taken := own & {other.name, other.reverse}:
            raise CommandError(
                "CONFLICT",
                f"The link type {min(taken)!r} already exists.",
                hint="choose another word" + (", or restore it" if other.archived else ""),
            )


def _no_such(what: str, word: object, known: Iterable[str]) -> CommandError:
    message = f"There is no {what} {str(word)[:40]!r}."
    return CommandError("INVALID_SYNTAX", message, hint=" or ".join(known))
