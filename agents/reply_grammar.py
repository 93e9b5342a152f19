"""The grammar to which a local model's reply is held."""

from collections.abc import Sequence

from agents.providers.registry import Provider
from loom.access import Actor
from loom.engine import registry
from loom.language.gbnf import Known, grammar_of
from loom.links.vocabulary import names_for
from loom.people.models import Participant
from loom.trees.lists import LISTS

# The grammar of an agent's answer, for providers that support one.


CAPABILITY = "grammar"


def grammar_for(
    actor: Actor,
    provider: Provider,
    nodes: Sequence[str],
    *,
    acts: bool = False,
    only_examples: bool = False,
) -> str:
    """The GBNF grammar of what the acting agent may write: prose, and lines of the commands that
    the agent and its inviter may use, about `nodes` (local ids); "" if the provider supports no
    grammar and the participant does not say that its server does. With `acts` an answer is a
    single line, so that a model too small to think of one acts at all. With
    `only_examples` only verbs that are taught by an example are lines.
    """
    agent = actor.participant
    if not provider.grammar and CAPABILITY not in agent.capabilities:
        return ""
    others = Participant.objects.filter(
        grove_id=agent.grove_id, kind="model", archived_at__isnull=True
    )
    names = others.exclude(pk=agent.pk).values_list("name", flat=True)
    known = Known(tuple(nodes), (*LISTS, *names_for(actor)), tuple(names))
    open_to = (command for command in registry.listed() if command.permissions <= actor.permissions)
    forms = (command.form for command in open_to if command.facts.example or not only_examples)
    return grammar_of(forms, known, acts=acts)
