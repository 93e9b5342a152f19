"""What an event changes is drawn once for all sockets that ask for it, and for nobody alone."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from loom import access
from loom.access import Actor, get_actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.items import make_items
from loom.engine.models import Event, Step, StepItem
from loom.language.ids import of_node
from loom.live import frames
from loom.live import reads as live_reads
from loom.live.to_render import ToRender, changed_by
from loom.people.models import Participant, User
from loom.reading.pages import live_parts
from loom.reading.pages.node_parts import PageReader, cut, drawn_of, personal
from loom.site.display import cast_from
from loom.site.page_requests import known_node
from loom.trees.models import Tree
from loom.trees.queries.around import Spot
from loom.turns.models import Generation, Turn
from tests.conftest import join, make_user
from tests.live.conftest import Opener, bearer, in_db
from tests.two_groves import SECRET, TITLE, TwoGroves
from tests.web.test_query_counts import first_ref, grow
from tests.web.test_turns import round_of, say, turn_of

pytestmark = pytest.mark.django_db(transaction=True)


def run(actor: Actor, tree: Tree, line: str) -> ToRender:
    """Says a line; what its events change."""
    before = Event.objects.count()
    execute_line(actor, tree, Request(line))
    changed = ToRender()
    for event in Event.objects.order_by("id")[before:]:
        changed |= changed_by(event.kind, event.payload)
    return changed


def parts(tree: Tree, changed: ToRender, languages: tuple[str, ...] = ("en",)) -> Any:
    """What is drawn of it."""
    return live_parts.parts_for(
        tree.uid,
        languages,
        near=changed.near,
        only=changed.only,
        points=changed.points,
        generations=changed.generations,
    )


LINES = {
    "a text": 'respond {at} "Another text."',
    "a sibling": 'respond {middle} "Another text."',
    "a version": 'edit {middle} "Other words." as:version',
    "a note": 'annotate {middle} "Hm."',
    "a bookmark": "bookmark {middle}",
    "a tag": "tag {middle} #there",
    "a link": "link {middle} to {first} as:refutes",
    "a flag": "exclude {middle}",
    "a prune": "prune {at}",
}


@contextmanager
def taken_back() -> Iterator[None]:
    """What is done within is taken back at its end."""
    point = transaction.savepoint()
    try:
        yield
    finally:
        transaction.savepoint_rollback(point)


@pytest.mark.django_db
def test_all_whose_drawing_an_event_changes_are_sent_or_named(actor: Actor, tree: Tree) -> None:
    """The drawing of each node, before and after the event, against what the sockets send."""
    ids = grow(actor, tree, 8)
    named = {"at": ids[-1], "middle": ids[3], "first": ids[0]}
    before = everything(tree)
    for kind, line in LINES.items():
        with taken_back():
            drawing = parts(tree, run(actor, tree, line.format(**named)))["en"]
            after = everything(tree)
        differing = {node for node in after if before.get(node) != after[node]}
        assert differing <= {*drawing["nodes"], *drawing["changed"], *drawing["beside"]}, kind
        assert differing, f"{kind} changed nothing"
        assert all(drawing["nodes"][node] == after[node] for node in drawing["nodes"]), kind


def everything(tree: Tree) -> dict[str, str]:
    """Every version of every text, drawn for everybody, by its id."""
    nodes = list(tree.nodes.filter(kind="text").order_by("id"))
    cast = cast_from(tree.grove.participants.order_by("id"))
    spots = [Spot(node.pk, node.slot_id) for node in nodes]
    return {drawn.id: drawn.element() for drawn in drawn_of(tree, spots, cast)}


@pytest.mark.django_db
@pytest.mark.parametrize("length", [4, 24])
def test_an_event_is_drawn_with_nine_queries_in_however_many_languages(
    actor: Actor, tree: Tree, length: int
) -> None:
    ids = grow(actor, tree, length)
    named = {"at": ids[-1], "middle": ids[length // 2], "first": ids[0]}
    for kind, line in LINES.items():
        live_parts._lasting.cache_clear()
        live_parts._lasting(tree.uid)
        with taken_back():
            changed = run(actor, tree, line.format(**named))
            with CaptureQueriesContext(connection) as captured:
                assert set(parts(tree, changed, ("en", "de", "he"))) == {"en", "de", "he"}, kind
        assert len(captured) <= 9, "\n".join([kind, *(query["sql"][:100] for query in captured)])


def test_the_candidates_are_drawn_for_everybody(actor: Actor, tree: Tree) -> None:
    ids = grow(actor, tree, 3)
    drawing = parts(tree, run(actor, tree, f'respond {ids[0]} "A second one."'))["en"]
    weave = drawing["weaves"][ids[0]]
    assert "A second one." in weave and f'data-go="{known(tree, ids[1])}"' in weave
    assert ">You<" not in weave and 'data-act="stop"' not in weave


@pytest.mark.django_db
def test_a_text_is_cut_where_its_reader_sees_their_own() -> None:
    drawn = (
        '<b data-by="me">Mar\0ia</b> <b data-by="you">Jo</b><time datetime="2020-01-01T00:00:00Z">'
        '</time><kbd data-key="pin"></kbd><p data-portals-out="a"></p>data-by="me"'
    )
    pieces = cut(drawn)
    assert pieces.replace("\0", "") == drawn.replace("\0", "")
    shown = personal(pieces, PageReader("me", {"pin": "q"}), "<i>out</i>")
    # Paper has no reader: print shows the name.
    assert 'data-by="me" data-name="Maria">You</b> <b data-by="you">Jo<' in shown
    assert '<time datetime="2020-01-01T00:00:00Z">1 Jan 2020<' in shown and "<kbd>q</kbd>" in shown
    assert shown.endswith('<p data-portals-out="a"><i>out</i></p>data-by="me"')


def known(tree: Tree, local_id: str) -> str:
    """The newest version of a node's slot."""
    node = known_node(tree, local_id)
    assert node is not None
    return tree.nodes.filter(slot=node.slot_id).order_by("id").last().local_id  # type: ignore[union-attr]


def test_a_generation_without_a_node_changes_where_it_was_asked(actor: Actor, tree: Tree) -> None:
    ids = grow(actor, tree, 2)
    point = known_node(tree, ids[1])
    assert point is not None
    lost = Generation.objects.create(
        tree=tree,
        participant=actor.participant,
        asked_by=actor.participant,
        batch="b",
        point=point,
        index=1,
        status="queued",
    )
    changed = ToRender(generations=frozenset({lost.uid}))
    drawing = parts(tree, changed)["en"]
    assert not drawing["nodes"]
    (weave,) = drawing["weaves"].values()
    assert f'data-generation="{lost.uid}"' in weave
    assert f'data-asked-by="{actor.participant.uid}"' in weave


def test_nothing_of_another_grove_is_drawn(two_groves: TwoGroves) -> None:
    world = two_groves
    left = world.left
    actor = left.actor(world.both)
    changed = run(actor, left.tree, f"link {left.text.local_id} to {world.far} as:supports")
    drawing = parts(left.tree, changed)["en"]
    drawn = "".join(drawing["nodes"].values())
    assert "data-portals-out" in drawn
    for hidden in (SECRET, TITLE, world.right.tree.uid, world.right.text.local_id):
        assert hidden not in drawn


async def test_a_socket_that_asks_for_it_is_sent_what_changed(
    connect: Opener, actor: Actor, tree: Tree, owner: User, settings: Any
) -> None:
    settings.LANGUAGES = [("en", "English"), ("de", "Deutsch")]
    first = await in_db(first_ref)(actor, tree, 'respond root "One."')
    headers = await in_db(bearer)(owner)
    plain = await connect(tree, headers)
    head = (await plain.until("heartbeat"))["seq"]
    asking = await connect(tree, headers, since=head, drawn="en")
    german = await connect(tree, headers, since=head, drawn="de")
    nonsense = await connect(tree, headers, since=head, drawn="klingon")
    for line in (asking, german, nonsense):
        await line.until("heartbeat")
    await in_db(first_ref)(actor, tree, f'annotate {first} "Hm."')
    frame = await asking.until("drawn")
    assert "Hm." in frame["nodes"][first] and "1 annotation" in frame["nodes"][first]
    assert "again" not in frame and asking.seqs[-1] == frame["seq"]
    assert first in (await german.until("drawn"))["nodes"]
    second = await in_db(first_ref)(actor, tree, f'respond {first} "Two."')
    assert second in (await asking.until("drawn"))["nodes"]
    for line in (plain, nonsense):
        await line.event(frame["seq"] + 1)
        assert not [frame for frame in line.frames if frame["type"] == "drawn"]


async def test_a_page_that_missed_events_is_told_to_fetch(
    connect: Opener, actor: Actor, tree: Tree, owner: User
) -> None:
    await in_db(first_ref)(actor, tree, 'respond root "One."')
    line = await connect(tree, await in_db(bearer)(owner), since=1, drawn="en")
    frame = await line.until("drawn")
    assert frame["again"] is True and frame["seq"] == line.seqs[-1]


async def test_a_drawing_that_fails_is_reported_and_the_next_one_comes(
    connect: Opener, actor: Actor, tree: Tree, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = await connect(tree, await in_db(bearer)(owner), since=10**6, drawn="en")
    await line.until("heartbeat")

    def fail(*args: object, **kwargs: object) -> None:
        raise RuntimeError("no templates")

    with monkeypatch.context() as broken:
        broken.setattr(live_parts, "parts_for", fail)
        await in_db(first_ref)(actor, tree, 'respond root "One."')
        assert (await line.until("drawn"))["again"] is True
    await in_db(first_ref)(actor, tree, 'respond root "Two."')
    assert (await line.until("drawn"))["nodes"]


def noted_drawings(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What is drawn for sockets from now on, one entry a drawing."""
    drawings: list[object] = []
    original = live_reads.drawn

    def noting(*args: Any) -> Any:
        drawings.append(args)
        return original(*args)

    monkeypatch.setattr(live_reads, "drawn", noting)
    return drawings


async def test_many_sockets_cost_one_drawing(
    connect: Opener, actor: Actor, tree: Tree, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    headers = await in_db(bearer)(owner)
    lines = [await connect(tree, headers, since=10**6, drawn="en") for _ in range(12)]
    for line in lines:
        await line.until("heartbeat")
    drawings = noted_drawings(monkeypatch)
    node = await in_db(first_ref)(actor, tree, 'respond root "One."')
    for line in lines:
        frame = await line.until("drawn")
        assert re.search(f'id="n-{node}"', frame["nodes"][node])
    assert len(drawings) == 1


def test_an_outsider_gets_no_drawn_node(actor: Actor, tree: Tree, client: Any) -> None:
    node = first_ref(actor, tree, 'respond root "One."')
    address = f"/trees/{tree.uid}/nodes/{node}/drawn"
    stranger, member = make_user("stranger"), make_user("member")
    join(tree.grove, member, "reader")
    client.force_login(stranger)
    assert client.get(address).status_code == 404
    client.force_login(member)
    answer = client.get(address)
    assert answer.status_code == 200 and f'id="n-{node}"' in answer.content.decode()
    assert get_actor(member, tree.grove).role == "reader"


def test_drawings_follow_each_other_and_what_fell_out_is_named() -> None:
    kept = frames.Drawings()
    assert kept.next(0, "en") is None
    for seq in range(1, frames.MAX_DRAWINGS + 3):
        kept.add(seq, {"en": frames.drawn(seq, {"nodes": {}})})
    number, seq, frame = kept.next(0, "en") or (0, 0, "")
    assert number == kept.count == seq and '"again":true' in frame
    number, seq, frame = kept.next(3, "en") or (0, 0, "")
    assert (number, seq) == (4, 4) and "again" not in frame
    assert '"again":true' in (kept.next(3, "de") or (0, 0, ""))[2]
    assert kept.next(kept.count, "en") is None


# Turns: drawn once for all who look on, as their lines are answered.


def turn_at(actor: Actor, tree: Tree, node: str, lines: int = 2) -> Turn:
    """A turn that works at a node and has said so many lines in its first round."""
    agent = Participant.objects.create(
        grove=tree.grove,
        kind="model",
        name="Weaver",
        model_ref="local:s",
        permissions=["loom_aware", "loom_write"],
    )
    point = known_node(tree, node)
    assert point is not None
    turn = turn_of(actor, agent, point)
    round_of(turn, status="running", text="I look.")
    for number in range(lines):
        say(actor, turn, f"→ view {node} full", f"1.{number}")
    return turn


def drawn_turns(tree: Tree, *turns: Turn) -> dict[str, str]:
    """The turns as they are drawn for everybody."""
    drawing: dict[str, str] = live_parts.parts_for(
        tree.uid, ["en"], turns=[turn.uid for turn in turns]
    )["en"]["turns"]
    return drawing


@pytest.mark.parametrize("lines", [2, 30])
def test_a_turn_is_drawn_for_everybody_with_eight_queries_however_long_it_is(
    actor: Actor, tree: Tree, lines: int
) -> None:
    ids = grow(actor, tree, 3)
    turn = turn_at(actor, tree, ids[-1], lines)
    live_parts._lasting(tree.uid)
    with CaptureQueriesContext(connection) as captured:
        drawn = drawn_turns(tree, turn)[turn.uid]
    assert len(captured) <= 8, "\n".join(query["sql"][:100] for query in captured)
    assert drawn.count('<code class="line">') == lines and "I look." in drawn
    assert 'data-needs="continue" data-turn-act="stop"' in drawn and ">You<" not in drawn
    Turn.objects.filter(pk=turn.pk).update(status="done")
    over = drawn_turns(tree, turn)[turn.uid]
    assert f'data-turn-act="undo" data-asked-by="{actor.participant.uid}"' in over


def test_a_turn_with_a_line_that_leads_to_another_grove_is_drawn_for_nobody(
    two_groves: TwoGroves,
) -> None:
    left = two_groves.left
    actor = left.actor(two_groves.both)
    turn = turn_at(actor, left.tree, left.text.local_id)
    assert "Weaver" in drawn_turns(left.tree, turn)[turn.uid]
    step = Step.objects.filter(turn_uid=turn.uid).last()
    assert step is not None
    away = of_node(two_groves.right.text.pk)
    make_items([away])
    StepItem.objects.filter(step=step).update(item_id=away)
    assert drawn_turns(left.tree, turn) == {turn.uid: ""}
    assert drawn_turns(two_groves.right.tree, turn) == {}


def test_events_name_the_turns_that_they_change(actor: Actor, tree: Tree) -> None:
    turn = turn_at(actor, tree, grow(actor, tree, 1)[0], 1)
    view = access.workspace_of(turn.participant, tree)
    event = Event.objects.filter(stream__name=f"workspace:{view.uid}", kind="view.changed").last()
    assert event is not None
    body = {"id": "g", "turn": turn.uid, "round": 1, "node": None, "point": "a7x2"}
    for kind, payload in (
        ("view.changed", event.payload),
        ("turn.started", {"turn": {"id": turn.uid}}),
        ("turn.ended", {"turn": {"id": turn.uid}}),
        ("generation.started", {"generation": body}),
        ("generation.ended", {"generation": body}),
    ):
        assert changed_by(kind, payload) == ToRender(turns=frozenset({turn.uid})), kind
    own = {"generation": {**body, "round": 0}}  # a candidate that one of its lines asked for
    assert changed_by("generation.ended", own).turns == {turn.uid}
    assert not changed_by("view.changed", {"position": "a7x2"})


async def test_those_who_listen_to_an_agents_view_cost_one_drawing_of_its_turn(
    connect: Opener, actor: Actor, tree: Tree, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = (await in_db(grow)(actor, tree, 1))[0]
    turn = await in_db(turn_at)(actor, tree, node)
    view = "/ws/workspaces/" + (await in_db(access.workspace_of)(turn.participant, tree)).uid
    headers = await in_db(bearer)(owner)
    lines = [await connect(view, headers, since=10**6, drawn="en") for _ in range(12)]
    for line in lines:
        await line.until("heartbeat")
    drawings = noted_drawings(monkeypatch)
    await in_db(say)(actor, turn, f'→ bookmark {node} "here"', "1.9")
    for line in lines:
        frame = await line.until("drawn")
        assert "✓ bookmarked" in frame["turns"][turn.uid]
        assert not frame["nodes"]
    assert len(drawings) == 1
