"""No query of a page, a command or a turn reads more of the database than it answers, nor does one
of those that are asked every few seconds.
"""

import json
from contextlib import suppress
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from agents import tasks
from bench.trees import grow
from loom.access import Actor
from loom.documents import log as document_log
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.fields import new_uid
from loom.engine.items import make_items
from loom.engine.models import Event, Step, Stream
from loom.errors import CommandError
from loom.language.ids import of_node
from loom.live import reads
from loom.live.rechecks import Pass, verdicts_of
from loom.notes.models import Mark
from loom.people.models import Participant, User
from loom.reading.pages.live_parts import parts_for
from loom.reading.queries.provenance import pieces_of
from loom.transfer import importing
from loom.trees.commands.public_links import make_public_link
from loom.trees.models import Tree, Workspace
from loom.trees.queries.lookup import rows_of
from loom.turns.models import Generation, Turn
from loom.web_search import commands as web_search
from tests.agents.acting import asked, went
from tests.agents.conftest import agent, model, opening, provider  # noqa: F401 (fixtures)
from tests.interfaces.matrix import LINES, ROWS, filled
from tests.interfaces.world import world  # noqa: F401 (a fixture)
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says
from tests.queries.plans import recorded
from tests.queries.test_equal_counts import PAGES, lengthen

pytestmark = pytest.mark.django_db(transaction=True)
COUNT = 300


@pytest.fixture
def _grown(actor: Actor) -> None:
    """Another tree of the grove, with nodes, steps, events and marks."""
    tree, node = grow(actor, count=COUNT, chain=40)
    at = timezone.now() - timedelta(days=9)
    view = Workspace.objects.create(
        participant=actor.participant, tree=tree, position=node, seen_at=at, seen_seq=1
    )
    stream = Stream.objects.get(name=f"tree:{tree.uid}")
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
    names = lengthen({**world, "me": "owner", "secret": secret}, actor, tree, 9)
    api, browser = APIClient(), Client()
    api.force_login(owner)
    browser.force_login(owner)
    wrong = []
    with recorded() as queries:
        for row in ROWS:
            if row.method == "GET":
                address, _ = row.filled(names)
                answer = api.get(address)
                if answer.status_code != row.statuses[0]:
                    wrong.append((address, answer.status_code))
        for page in PAGES:
            shown = browser.get(page.format(**names), follow=True)
            if shown.status_code != 200:
                wrong.append((page, shown.status_code))
        outline = Client().get(f"/public/{secret}?view=outline")
    assert outline.status_code == 200
    assert wrong == []
    queries.demand_no_faults()


def test_what_changes_by_the_api_scans_nothing(
    world: dict[str, str],  # noqa: F811
    owner: User,
    _grown: None,
) -> None:
    api = APIClient()
    api.force_login(owner)
    changing = [row for row in ROWS if row.method != "GET"]
    with recorded() as queries:
        for row in sorted(changing, key=lambda row: row.method == "DELETE"):
            address, body = row.filled({**world, "me": "owner"})
            api.generic(row.method, address, json.dumps(body), content_type="application/json")
    assert len(queries.sent) > 100
    queries.demand_no_faults()


def test_what_is_asked_every_few_seconds_scans_nothing(
    world: dict[str, str],  # noqa: F811
    owner: User,
    tree: Tree,
    _grown: None,
) -> None:
    """By the worker, which sweeps, and by the hub of sockets, which looks after them."""
    stream = f"tree:{tree.uid}"
    admitted = {Pass(owner.pk, tree.grove_id, tree.pk, key_id=1, session_key="a")}
    with recorded() as queries:
        tasks.try_to_write()
        tasks.sweep()
        importing.sweep()
        web_search.sweep()
        document_log.settle_resting(timezone.now())
        tasks.delete_old()
        assert reads.heads([stream])
        reads.reached([tree.uid])
        reads.running(tree.uid)
        verdicts_of(admitted)
        assert reads.news(stream, 1, 50, admitted)[0]
    assert len(queries.sent) > 15
    queries.demand_no_faults()


def test_commands_scan_nothing(
    world: dict[str, str],  # noqa: F811
    actor: Actor,
    tree: Tree,
    _grown: None,
) -> None:
    with recorded() as queries:
        for line in (filled(template, world) for many in LINES.values() for template in many):
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
