"""Which grammar an agent's answer is held to, and that it is sent."""

from dataclasses import replace

import pytest

from agents.providers.openai import OpenAI
from agents.providers.registry import EMBEDDED, provider_of
from agents.providers.values import Failure, ProviderRequest
from agents.reply_grammar import grammar_for
from loom.access import Actor
from loom.people.models import Participant
from loom.permissions import named
from tests.providers.asking import ask, chat
from tests.providers.scripted import ScriptedProvider

pytestmark = pytest.mark.django_db


def acting(actor: Actor, agent: Participant, *names: str) -> Actor:
    """The agent with these permissions, asked by the owner."""
    return replace(actor, participant=agent, permissions=named(names))


def test_the_grammar_has_what_the_agent_may_use_and_name(actor: Actor, muse: Participant) -> None:
    Participant.objects.create(grove=actor.grove, kind="model", name="Echo", model_ref="openai:x")
    agent = acting(actor, muse, "loom_aware", "loom_generate")
    grammar = grammar_for(agent, EMBEDDED, ["a7x2", "b3k9"])
    assert 'node ::= "a7x2" | "b3k9"' in grammar
    assert 'agent ::= "agent:\\"Echo\\""' in grammar
    assert '"continue"' in grammar
    assert '"annotate"' not in grammar


def test_no_grammar_goes_where_none_is_taken(actor: Actor, muse: Participant) -> None:
    agent = acting(actor, muse, "loom_aware")
    assert grammar_for(agent, provider_of("openai"), []) == ""
    muse.capabilities = ["grammar"]
    assert grammar_for(agent, provider_of("openai"), []).startswith("root ::= item")
    assert grammar_for(agent, EMBEDDED, [], acts=True).startswith('root ::= command "\\n"?\n')
    few = grammar_for(agent, EMBEDDED, [], only_examples=True)
    assert '"view"' in few and '"list"' not in few


async def test_the_grammar_is_sent(provider: ScriptedProvider) -> None:
    await ask(provider, chat(provider, grammar='root ::= "yes"'))
    assert provider.seen[0].json["grammar"] == 'root ::= "yes"'


def test_a_server_that_takes_no_grammar_is_asked_without() -> None:
    adapter = OpenAI()
    body = adapter.body(ProviderRequest("http://x", "m", (), None, grammar='root ::= "yes"'))
    less = adapter.adjusted(body, Failure("invalid", "unknown field: grammar"))
    assert less is not None
    assert "grammar" not in less
    assert adapter.adjusted(less, Failure("invalid", "unknown field: grammar")) is None
