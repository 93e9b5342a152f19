"""A claim that its agent may not commit is a request to the person who invited it, with buttons."""

import pytest
from django.test import Client

from loom.access import acting_as, get_actor
from loom.claims.models import Claim, Commitment
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event
from loom.notes.models import Mention
from loom.people.models import Grove, Participant, User
from loom.trees.models import Tree
from tests.claims.conftest import Declare, refused
from tests.commands.conftest import Say

pytestmark = pytest.mark.django_db


@pytest.fixture
def agent_says(grove: Grove, writer: User, tree: Tree) -> Say:
    """Runs lines as an agent that the writer has asked."""
    agent = Participant.objects.create(
        grove=grove,
        kind="model",
        name="Marie",
        model_ref="openai:echo-1",
        permissions=["loom_aware", "loom_write"],
    )

    def say_as_agent(line: str, *, dry_run: bool = False) -> object:
        actor = acting_as(get_actor(writer, grove), agent)
        return execute_line(actor, tree, Request(line, dry_run=dry_run))

    return say_as_agent  # type: ignore[return-value]


@pytest.fixture
def waiting(write: Say, agent_says: Say, declare: Declare) -> str:
    """A claim that reaches further than the agent may commit."""
    declare("contains", name="lit", text="lamp")
    texts = [str(write(f"the lamp is lit, says witness {n}")) for n in range(3)]
    opened = agent_says(f'claim "The lamp is lit" scope:tree cite:{texts[0]}')
    claim = str(opened.body["refs"][0])
    for text in texts[1:]:
        agent_says(f"cite {text} for {claim}")
    agent_says(f"check {claim}")
    agent_says(f'conclude {claim} "It is lit."', dry_run=True)
    assert not Mention.objects.exists()
    assert agent_says(f'conclude {claim} "It is lit."').reply.endswith("; asked Writer")
    return claim


def _client(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_the_request_is_in_the_inbox_of_that_person_alone(
    waiting: str, owner: User, writer: User, tree: Tree
) -> None:
    shown = _client(writer).get("/mentions").content.decode()
    assert "The lamp is lit" in shown and "claim to commit" in shown
    assert f'action="/trees/{tree.uid}/claims/{waiting}"' in shown
    assert "Inbox, 1 new" in _client(writer).get("/mentions/unseen").content.decode()
    assert "The lamp is lit" not in _client(owner).get("/mentions").content.decode()
    event = Event.objects.filter(kind="claim.changed").order_by("-seq")[0]
    body = event.payload["claim"]
    person = Participant.objects.get(user=writer).uid
    assert (body["waits_for_a_person"], body["person"]) == (True, person)


def test_its_button_commits_and_the_request_ends(
    waiting: str, writer: User, tree: Tree, agent_says: Say
) -> None:
    why = refused(agent_says, f"commit {waiting}")
    assert (why.code, why.hint) == (
        "NEEDS_ESCALATION",
        "Writer has the request, and gives the commit",
    )
    client = _client(writer)
    address = f"/trees/{tree.uid}/claims/{waiting}"
    client.post(address, {"act": "commit", "level": "moderate"})
    approver = Commitment.objects.get().approved_by
    assert approver is not None and approver.user == writer
    assert "Inbox, 1 new" not in client.get("/mentions/unseen").content.decode()
    shown = client.get("/mentions").content.decode()
    assert "decided" in shown and "Commit, for good" not in shown


def test_it_is_turned_down_with_a_reason(waiting: str, writer: User, tree: Tree) -> None:
    client = _client(writer)
    address = f"/trees/{tree.uid}/claims/{waiting}"
    client.post(address, {"act": "withdraw", "why": "two of them slept"})
    claim = Claim.objects.get()
    assert (claim.state, claim.why) == ("withdrawn", "two of them slept")
    assert Mention.objects.get().seen_at is not None


def test_a_level_that_needs_more_than_was_asked_for_names_whom_to_ask(
    write: Say, agent_says: Say, declare: Declare
) -> None:
    declare("contains", name="lit", text="lamp")
    texts = [str(write(f"the lamp is lit, says witness {n}")) for n in range(10)]
    opened = agent_says(f'claim "The lamp is lit" cite:{texts[0]}')
    claim = str(opened.body["refs"][0])
    for text in texts[1:]:
        agent_says(f"cite {text} for {claim}")
    agent_says(f"check {claim}")
    assert "asked" not in agent_says(f'conclude {claim} "It is lit."').reply
    why = refused(agent_says, f"commit {claim} level:definitive")
    assert why.code == "NEEDS_ESCALATION"
    assert why.hint == f'a person gives the commit: → ask "Writer" "…" at {claim}'
