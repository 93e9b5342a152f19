"""The models that refs name for the caller."""

from django.db.models import Q
from django.db.models.functions import Lower

from loom.access import Actor
from loom.engine.context import Context
from loom.errors import not_found
from loom.language.refs import Ref, label_named
from loom.people.models import Participant
from loom.platform.prepared_queries import Given, PreparedQuery

_MODELS = Participant.objects.filter(kind="model", archived_at__isnull=True)
_AGENT = PreparedQuery(
    lambda: (
        _MODELS.filter(grove=Given("grove"))
        .alias(lowered=Lower("name"))
        .filter(Q(uid=Given("word")) | Q(lowered=Lower(Given("word"))))
    )
)


def get_agents(context: Context, refs: tuple[Ref, ...]) -> list[Participant]:
    """The model participants of the grove that `agent:"…"` refs name, in their order."""
    agents: list[Participant] = []
    for ref in refs:
        word = ref.name or ref.id
        named: list[Participant] = [*_AGENT.all(grove=context.actor.grove.pk, word=word)]
        if not named and not word.isascii():  # SQLite's index knows the case of ASCII only
            named = [*_MODELS.filter(grove=context.actor.grove, name__iexact=word)]
        if not named:
            raise not_found(f"agent:{label_named(word)}", _agents_hint(context.actor))
        # An id comes before a name, in case a name equals the id of somebody else.
        agents.append(next((agent for agent in named if agent.uid == word), named[0]))
    return agents


def _agents_hint(actor: Actor) -> str:
    names = _MODELS.filter(grove=actor.grove).values_list("name", flat=True)[:10]
    return (
        "there are " + ", ".join(f"agent:{label_named(name)}" for name in names)
        if names
        else ("an owner adds a model under Participants")
    )
