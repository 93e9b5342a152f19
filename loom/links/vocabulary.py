"""The link types of a grove, and those that somebody sees."""

from collections import Counter
from functools import lru_cache

from loom.access import Actor
from loom.links.link_types import GROUPS, STANDARD, Type, Vocabulary
from loom.links.models import Link, LinkType
from loom.people.models import Grove

MOST_KEPT = 500  # lists that differ, in one process
LATELY = 200  # links of somebody, by which the types are ordered for them


def vocabulary_of(grove: Grove) -> Vocabulary:
    """The link types of a grove. No query for the standard list or one that this process has read:
    the grove names its list by a digest, so what is kept is never out of date."""
    digest = grove.link_types_digest
    return STANDARD if digest in ("", STANDARD.digest) else _kept(digest, grove.pk)


@lru_cache(MOST_KEPT)
def _kept(digest: str, grove: int) -> Vocabulary:
    return Vocabulary(map(type_of, LinkType.objects.filter(grove=grove)))


def type_of(row: LinkType) -> Type:
    """A stored link type as a value."""
    return Type(
        row.key,
        row.name,
        row.reverse,
        row.group,
        row.colour,
        tuple(row.archetypes),
        row.archived_at is not None,
    )


def archetype_of(actor: Actor) -> str:
    """The archetype that decides which link types somebody is shown: that of who acts."""
    return actor.participant.archetype or "writer"


def keys_for(actor: Actor, grove: Grove) -> frozenset[str]:
    """The stored types of a grove's links that the actor is shown."""
    return vocabulary_of(grove).keys_seen(archetype_of(actor))


def names_for(actor: Actor) -> tuple[str, ...]:
    """What the actor may call a new link in their grove."""
    return vocabulary_of(actor.grove).names(archetype_of(actor))


def link_type(actor: Actor, word: str) -> str:
    """The name or reverse of a link type of the grove, as it is written; INVALID_SYNTAX with the
    list of those that the actor sees if there is none."""
    types = vocabulary_of(actor.grove)
    kind, outward = types.demand(word, archetype_of(actor))
    return kind.read(outward=outward)


def types_for(actor: Actor) -> list[Type]:
    """The link types of the actor's grove that they are shown, archived ones too, as a menu has
    them: by group, and in each group first those that they gave the most of their last links. One
    query."""
    archetype = archetype_of(actor)
    seen = [kind for kind in vocabulary_of(actor.grove).types if archetype in kind.archetypes]
    mine = Link.objects.filter(by=actor.participant).order_by("-id")[:LATELY]
    often = Counter(mine.values_list("type", flat=True))
    return sorted(seen, key=lambda kind: (GROUPS.index(kind.group), -often[kind.key]))
