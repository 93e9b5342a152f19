"""The models that refs name for the caller."""

from django.db.models import Q
from django.db.models.functions import Lower

from loom.access import Actor
from loom.engine.context import Context
from loom.errors import not_found
from loom.language.refs import Ref
from loom.people.models import Participant
from loom.platform.prepared_queries import Given, PreparedQuery

_AGENT = PreparedQuery(
    lambda: (
        Participant.objects.filter(grove=Given("grove"), kind="model", archived_at__isnull=True)
        .alias(lowered=Lower("name"))
        .filter(Q(uid=Given("word")) | Q(lowered=Lower(Given("word"))))
    )
)


def get_agents(context: Context, refs: tuple[Ref, ...]) -> list[Participant]:
    """The model participants of the grove that `agent:"…"` refs name, in their order."""
    agents: list[Participant] = []
    for ref in refs:
        word = ref.name or ref.id
        named = _AGENT.all(grove=context.actor.grove.pk, word=word)
        if not named:
            raise not_found(f'agent:"{word}"', _agents_hint(context.actor))
        # An id comes before a name, in case a name equals the id of somebody else.
        agents.append(next((agent for agent in named if agent.uid == word), named[0]))
    return agents


def _agents_hint(actor: Actor) -> str:
    names = Participant.objects.filter(
        grove=actor.grove, kind="model", archived_at__isnull=True
    ).values_list("name", flat=True)[:10]
    return (
        "there are " + ", ".join(f'agent:"{name}"' for name in names)
        if names
        else ("an owner adds a model under Participants")
    )
