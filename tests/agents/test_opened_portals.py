"""What opening a portal leaves: one tree of openings, which the request, the windows, the events,
the trail and the evidence of a claim name alike."""

import re
from typing import Any

import pytest
from django.test import Client

from loom.access import acting_as
from loom.claims.models import Claim
from loom.claims.queries.claims import claim_body
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event
from loom.people.models import User
from loom.trees.commands import node_writer
from loom.trees.models import Tree
from tests.agents.test_exploring import ids, talk  # noqa: F401
from tests.agents.test_windows import Talk
from tests.agents.test_workspace import section

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def explored(talk: Talk, ids: list[str]) -> list[str]:  # noqa: F811
    """An agent that states a claim and follows two links, one from what the other led to."""
    line = f'claim "The lamp is paid." about {ids[0]} cite:{ids[0]}'
    talk.turn(
        f"→ open {ids[0]} keep\n→ {line}\n",
        f'→ expand uses of {ids[0]} because:"who pays"\n',
        f"→ expand supports of {ids[1]}\n",
        "Seen.",
    )
    return ids


def test_a_request_has_windows_with_their_portals_claims_memory_and_status(
    talk: Talk,  # noqa: F811
    explored: list[str],
) -> None:
    sent = talk.sent()
    assert "---WINDOW #" in sent and f"▼ [supports] ──→ [{explored[2]}] #" in sent
    assert f"▶ [evidence] ──→ [{explored[3]}]" in sent  # what may be followed next
    assert "via supports from #" in sent
    assert f"expand {explored[0]}, {explored[1]}" in section(sent, "MEMORY")
    assert re.search(r"steps \d+/\d+ .* tokens \S+/", section(sent, "STATUS"))
    # Sections that did not change are not sent again.
    assert any("The lamp is paid." in section(talk.sent(at), "CLAIMS") for at in (-1, -2, -3))


def test_following_a_link_moves_nobody(talk: Talk, ids: list[str]) -> None:  # noqa: F811
    """What a link leads to is opened in place."""
    talk.turn(f"→ expand uses of {ids[0]}\n", f"→ expand supports of {ids[1]}\n", "Seen.")
    assert [f"You stand at [{ids[0]}]" in talk.sent(at) for at in (-3, -2, -1)] == [True] * 3


def test_windows_events_steps_trail_and_evidence_name_the_same_items(
    talk: Talk,  # noqa: F811
    explored: list[str],
    tree: Tree,
    owner: User,
    client: Client,
) -> None:
    client.force_login(owner)
    view = node_writer.workspace_of(talk.agent, tree)
    address = f"/api/workspaces/{view.uid}"
    rows = client.get(f"{address}/windows").json()["results"]
    windows = {row["ref"]: row for row in rows if row["via"]}
    assert [*windows] == [f"[{ref}] line 1" for ref in explored[1:3]]
    assert [row["via"] for row in windows.values()] == ["uses", "supports"]
    first, second = windows.values()
    assert second["parent"] == first["number"] and first["parent"]
    # The events say what was opened, by which type, and from where.
    events = Event.objects.filter(stream__name=f"workspace:{view.uid}", kind="window.opened")
    told: list[dict[str, Any]] = [event.payload["windows"][0] for event in events.order_by("seq")]
    opened = {window["number"]: window for window in told if window["via"]}
    assert {number: (window["via"], window["parent"]) for number, window in opened.items()} == {
        row["number"]: (row["via"], row["parent"]) for row in rows if row["via"]
    }
    # So does the step of each, which is one of the trail of the turn.
    steps = client.get(f"/api/steps?workspace={view.uid}").json()["results"]
    followed = [step for step in steps if step["link_type"] and step["outcome"] == "ok"]
    assert {step["link_type"] for step in followed} >= {"uses", "supports"}
    trail = str(execute_line(_agent(talk), tree, Request("trail")).body["reply"])
    assert [f"──→ [{ref}]" in trail for ref in explored[:3]] == [False, True, True]
    # And the claim counts both as weak evidence of its author.
    body = claim_body(_agent(talk), Claim.objects.get())
    assert [(row["item"], row["says"]) for row in body["explored"]] == [
        (explored[1], f"explored [uses] of [{explored[0]}]"),
        (explored[2], f"explored [supports] of [{explored[1]}]"),
    ]


def _agent(talk: Talk) -> Any:  # noqa: F811
    return acting_as(talk.actor, talk.agent)


def test_an_agent_finds_texts_that_nobody_linked_for_it(
    talk: Talk,  # noqa: F811
    ids: list[str],  # noqa: F811
    tree: Tree,
) -> None:
    """What it may read, it may find, in other trees of the grove as well."""
    line = f'respond {ids[-1]} "The kestrel owes for oil."'
    far = str(execute_line(talk.actor, tree, Request(line)).body["refs"][0])
    talk.turn('→ find "owes for oil"\n', f"→ expand continued_by of {far}\n", "Found.")
    assert f"[{far}]" in talk.sent(-2)
    assert f"[{ids[-1]}]" in section(talk.sent(), "WINDOWS")
