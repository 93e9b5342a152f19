"""The language of live replies, and the grammar that an agent's answer is held to."""

from collections.abc import Collection, Sequence

from agents.providers.registry import Provider
from agents.reply import Language
from loom.access import Actor
from loom.commands import registry
from loom.commands.view import LISTS
from loom.grammar.gbnf import Known, grammar_of
from loom.grammar.lines import Line
from loom.models import Participant
from loom.rules.addresses import STORED


def language() -> Language:
    """All commands there are: what is not permitted is refused when it is said, not unread."""
    return Language(registry.forms(), registry.aliases(), looks)


def looks(line: Line) -> bool:
    """Whether a line looks at something, so that a reply ends at its batch."""
    return registry.find(line.verb, line.form).klass.startswith("look")


def makes_window(line: Line) -> bool:
    """Whether its answer is a result of its own rather than one line."""
    return registry.find(line.verb, line.form).klass == "look"


# The grammar that an agent's answer is held to, where its provider takes one.


CAPABILITY = "grammar"


def grammar_for(
    actor: Actor,
    provider: Provider,
    nodes: Sequence[str],
    *,
    acts: bool = False,
    verbs: Collection[str] = (),
) -> str:
    """What the agent who acts may write: prose, and lines of the commands that are open to
    him and to whoever asked him, about `nodes` (local ids); "" where the provider takes no
    grammar and the participant does not say that its server does.

    With `acts` an answer is one line: a model too small to think of one then acts. With
    `verbs` only these are lines.
    """
    agent = actor.participant
    if not provider.grammar and CAPABILITY not in agent.capabilities:
        return ""
    others = Participant.objects.filter(
        grove_id=agent.grove_id, kind="model", archived_at__isnull=True
    )
    names = others.exclude(pk=agent.pk).values_list("name", flat=True)
    known = Known(tuple(nodes), (*LISTS, *sorted(STORED)), tuple(names))
    open_to = (one for one in registry.every() if one.permissions <= actor.permissions)
    forms = (one.form for one in open_to if not verbs or one.verb in verbs)
    return grammar_of(forms, known, acts=acts)
