"""No query of a page, a command or a turn reads more of the database than it answers."""

from contextlib import suppress
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from bench.trees import grow
from loom import commands
from loom.access import Actor
from loom.commands.context import Request
from loom.commands.execute import execute_line
from loom.commands.node_writer import make_items
from loom.commands.trees import make_public_link
from loom.models import (
    Event,
    Generation,
    Mark,
    Participant,
    Step,
    Stream,
    Tree,
    Turn,
    User,
    Workspace,
)
from loom.models.base import new_uid
from loom.queries.lookup import rows_of
from loom.queries.provenance import pieces_of
from loom.rules.errors import CommandError
from loom.rules.node_values import of_node
from loom.web.live_parts import parts_for
from tests.agents.acting import asked, went
from tests.agents.conftest import agent, model, opening, provider  # noqa: F401 (fixtures)
from tests.interfaces.matrix import LINES, ROWS, filled
from tests.interfaces.world import world  # noqa: F401 (a fixture)
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says
from tests.queries.plans import recorded

pytestmark = pytest.mark.django_db(transaction=True)
commands.load()

PAGES = """
/ /groves/{grove} /groves/{grove}/settings /groves/{grove}/people /groves/{grove}/money
/groves/{grove}/participants /trees/{tree} /trees/{tree}/about /trees/{tree}/share
/trees/{tree}/past?seq=3 /trees/{tree}/past/path?seq=6&node={node} /trees/{tree}/path
/trees/{tree}/path?node={node} /trees/{tree}/weave /trees/{tree}/turns?node={node}
/trees/{tree}/search?q=opening /trees/{tree}/marks /trees/{tree}/bookmarks
/trees/{tree}/history /trees/{tree}/nodes/{node} /trees/{tree}/nodes/{node}/provenance
/trees/{tree}/nodes/{node}/text /trees/{tree}/nodes/{node}/drawn /settings
""".split()
COUNT = 300


@pytest.fixture
def _grown(actor: Actor) -> None:
    """Another tree of the grove, with nodes, steps, events and marks."""
    tree, node = grow(actor, count=COUNT, chain=40)
    view = Workspace.objects.create(participant=actor.participant, tree=tree, position=node)
    stream = Stream.objects.get(name=f"tree:{tree.uid}")
    at = timezone.now() - timedelta(days=9)
    of = of_node(node.pk)
    make_items([of])
    Step.objects.bulk_create(
        Step(workspace=view, seq=seq, actor=actor.participant, line="→ budget", outcome="ok", at=at)
        for seq in range(1, COUNT)
    )
    Event.objects.bulk_create(
        Event(stream=stream, seq=seq, kind="node.flagged", payload={}, at=at)
        for seq in range(10, COUNT)
    )
    Turn.objects.bulk_create(
        Turn(
            uid=new_uid(),
            tree=tree,
            participant=actor.participant,
            invoked_by=actor.participant,
            invoked_at=node,
            answers_below=node,
            preset="quick",
            status="done",
            ended_at=at,
        )
        for _ in range(COUNT)
    )
    Mark.objects.bulk_create(
        Mark(
            uid=new_uid(),
            tree=tree,
            kind="tag",
            item_id=of,
            participant=actor.participant,
            at=at,
            label=str(number),
        )
        for number in range(COUNT)
    )


def test_pages_and_the_api_scan_nothing(
    world: dict[str, str],  # noqa: F811
    owner: User,
    actor: Actor,
    tree: Tree,
    _grown: None,
) -> None:
    _, secret = make_public_link(actor, tree, days=1)
    api, browser = APIClient(), Client()
    api.force_login(owner)
    browser.force_login(owner)
    wrong = []
    with recorded() as queries:
        for row in ROWS:
            if row.method == "GET":
                address, _ = row.filled({**world, "me": "owner"})
                answer = api.get(address)
                if answer.status_code != row.statuses[0]:
                    wrong.append((address, answer.status_code))
        for page in PAGES:
            shown = browser.get(page.format(**world))
            if shown.status_code != 200:
                wrong.append((page, shown.status_code))
        for part in ("", "?node=" + world["node"], "?view=outline"):
            public = Client().get(f"/public/{secret}{part}")
            if public.status_code != 200:
                wrong.append((part, public.status_code))
    assert wrong == []
    queries.demand_no_faults()


def test_commands_scan_nothing(
    world: dict[str, str],  # noqa: F811
    actor: Actor,
    tree: Tree,
    _grown: None,
) -> None:
    with recorded() as queries:
        for line in (filled(one, world) for many in LINES.values() for one in many):
            with suppress(CommandError):  # such as what an earlier line has hidden
                execute_line(actor, tree, Request(line))
    assert len(queries.sent) > 40
    queries.demand_no_faults()


def test_drawing_what_changed_scans_nothing(
    world: dict[str, str],  # noqa: F811
    actor: Actor,
    tree: Tree,
    _grown: None,
) -> None:
    edited = Request(f'edit {world["node"]} "Words." as:version')
    newer = str(execute_line(actor, tree, edited).body["refs"][0])
    lost = Generation.objects.create(
        tree=tree,
        participant=actor.participant,
        asked_by=actor.participant,
        batch="b",
        point_id=tree.nodes.get(local_id=world["node"]).pk,
        index=1,
        lane="lane",
    )
    with recorded() as queries:
        drawn = parts_for(
            tree.uid,
            ["en"],
            near=[world["node"], newer],
            only=[world["note"]],
            points=[newer],
            generations=[lost.uid],
        )
        assert pieces_of(rows_of([tree.nodes.get(local_id=newer).pk]))
    assert drawn["en"]["nodes"] and len(queries.sent) >= 9
    queries.demand_no_faults()


def test_a_turn_scans_nothing(
    client: Client,
    actor: Actor,
    tree: Tree,
    agent: Participant,  # noqa: F811
    provider: ScriptedProvider,  # noqa: F811
    opening: str,  # noqa: F811
    _grown: None,
) -> None:
    provider.script(
        says(f"Let me look.\n→ list {opening}\n→ tree\n"),
        says(f'→ annotate {opening} "why?"\n→ find "Marie"\n'),
        says("Done."),
    )
    with recorded() as queries:
        turn = went(asked(actor, tree, agent, node=opening))
        client.force_login(actor.user)
        page = client.get(f"/trees/{tree.uid}/turns?node={opening}")
        drawn = parts_for(tree.uid, ["en"], turns=[turn.uid])["en"]["turns"][turn.uid]
    assert turn.status == "done"
    assert turn.uid in page.content.decode() and turn.uid in drawn
    assert len(queries.sent) > 40
    queries.demand_no_faults()
