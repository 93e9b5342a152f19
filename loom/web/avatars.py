"""How pages show participants: a name, initials and a colour each; and the texts that are shown."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from django.utils.translation import gettext, gettext_noop

from loom.access import Actor
from loom.models import Grove, Participant
from loom.rules.names import TAG_COLOURS
from loom.rules.permissions import LOOM
from loom.rules.provider_kinds import LOCAL, samplers_of

WORDS = (
    *(gettext_noop("dialogue"), gettext_noop("buffer")),
    *(gettext_noop("reader"), gettext_noop("writer"), gettext_noop("owner")),
    *(gettext_noop("note"), gettext_noop("question"), gettext_noop("suggestion")),
    gettext_noop("diff"),
    *(gettext_noop("warning"), gettext_noop("objection")),
    *(gettext_noop("human"), gettext_noop("model")),
    *(gettext_noop("collaborator"), gettext_noop("analysis"), gettext_noop("subject")),
    *(gettext_noop("editor"), gettext_noop("auditor")),
    *(gettext_noop("ink"), gettext_noop("blue"), gettext_noop("teal"), gettext_noop("rust")),
    *(gettext_noop("green"), gettext_noop("plum"), gettext_noop("amber"), gettext_noop("rose")),
    *(gettext_noop("quick"), gettext_noop("standard"), gettext_noop("thorough")),
)


# How pages show participants: a name, initials, and one colour each; tags have a colour where an
# owner chose one.


COLOURS = 20  # of the style sheet: static/src/css/tokens.css


@dataclass(frozen=True)
class Who:
    """One participant. `colour` is an index into the colours of the style sheet."""

    uid: str
    name: str
    kind: str
    colour: int
    initials: str
    is_me: bool
    model: str
    is_archived: bool
    is_agent: bool  # may be asked for a turn
    is_toy: bool  # the embedded model, which is for trying things out
    budget: str
    length: int | None  # tokens of an answer at most, of those who write at all
    endpoint: Mapping[str, bool] = field(compare=False)  # what a test of it found

    @property
    def shown(self) -> str:
        """The name, or "You" for the reader."""
        return gettext("You") if self.is_me else self.name

    @property
    def samplers(self) -> str:
        """Those that its endpoint takes, with blanks between."""
        taken = samplers_of(self.model, self.endpoint) if self.kind == "model" else ()
        return " ".join(sorted(taken))


def _initials(participant: Participant) -> str:
    words = participant.name.split() or ["?"]
    if participant.kind == "human":
        return words[0][0].upper()
    return words[0][:2].capitalize()


def cast_of(actor: Actor) -> dict[str, Who]:
    """All participants of the grove by uid, archived ones too, in order of creation.

    The colour follows from the position in that order, so it never changes.
    """
    everybody = Participant.objects.filter(grove=actor.grove).order_by("id")
    return cast_from(everybody, me=actor.participant.pk)


def cast_from(everybody: Iterable[Participant], *, me: int = 0) -> dict[str, Who]:
    """The participants of a grove, given in order of coming; `me` is the row id of who looks,
    0 for nobody in particular."""
    return {
        one.uid: Who(
            uid=one.uid,
            name=one.name,
            kind=one.kind,
            colour=place % COLOURS,
            initials=_initials(one),
            is_me=one.pk == me,
            model=one.model_ref,
            is_archived=one.archived_at is not None,
            is_agent=one.kind == "model" and LOOM in one.permissions,
            endpoint=one.probe.get("found") or {},
            is_toy=one.kind == "model" and one.model_ref.partition(":")[0] == LOCAL,
            budget=one.budget,
            length=one.max_tokens,
        )
        for place, one in enumerate(everybody)
    }


def tag_colour(grove: Grove, tag: str) -> int | None:
    """The colour of a tag, if an owner chose one."""
    chosen = grove.settings.get("tag_colours", {}).get(tag)
    return TAG_COLOURS.index(chosen) if chosen in TAG_COLOURS else None
