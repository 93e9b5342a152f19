"""What a line reads grows neither with what was pruned nor with depth (ARCHITECTURE.md, rule 5):
rows and steps of the database are counted at two sizes of a tree."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from agents import turns as agent_turns
from agents.agent_prompt import near
from agents.gateway import rearranged, recording
from agents.gateway.messages import ChatHistory, Message, chain
from agents.gateway.models import GatewayKey, GatewayRequest, GatewaySession
from agents.gateway.sessions import SessionNames
from loom.access import Actor
from loom.comparing import queries as comparing
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.fields import new_uid
from loom.engine.models import Event, Step
from loom.groves.pages.groves import SHAPED
from loom.landscape.text_vectors import _texts_of
from loom.language.ids import _ORDINAL, PLACE_BITS
from loom.links.models import Link
from loom.links.trail_steps import way_of
from loom.live.to_render import ToRender, changed_by
from loom.notes.models import Mark
from loom.people.models import Participant, User
from loom.reading.pages.live_parts import parts_for
from loom.reading.queries.margins import kept_of
from loom.reading.queries.provenance import call_of
from loom.reading.queries.verify import verdicts_of
from loom.transfer import exporting, tables
from loom.transfer.selection import ExportSelection, notes_of, select
from loom.transfer.writers import heddle as heddle_file
from loom.trees import erasing
from loom.trees.commands import trees
from loom.trees.commands.node_writer import _before
from loom.trees.models import Item, Node, Tree, Workspace
from loom.trees.queries import event_log, lookup
from loom.trees.queries.item_names import item_names
from loom.turns import archiving, turn_lifecycle
from loom.turns.models import Call, Generation, Turn
from loom.turns.pages import turns as turn_pages
from loom.turns.summaries import going, lacking
from loom.workspace.models import Window
from loom.workspace.queries.notifications import notifications_of
from loom.workspace.queries.shown_windows import view_state
from loom.workspace.queries.windows import hidden_names
from tests.planner import count_rows
from tests.queries.growing import plant
from tests.rows_read import NO_NODES, Work, work_done

# Steps that chance adds: PostgreSQL plans by a sample of the rows.
SPARE = 30 if connection.vendor == "sqlite" else 150

Prepare = Callable[[Tree, Participant, int], str]  # returns the local id of a text


def pruned_siblings(tree: Tree, author: Participant, count: int) -> str:
    """A text three deep, with so many pruned texts beside it, below it and below the root. A few
    of them hide others."""
    above = [-1, 0, 1]
    above += [(-1, 1, 2)[place % 3] for place in range(count)]
    above += list(range(3, 3 + count // 10))
    return plant(tree, author, above, pruned=range(3, 3 + count))[2].local_id


def many_siblings(tree: Tree, author: Participant, count: int) -> str:
    """A text in the middle of so many, each with one below it; every hundredth is pruned."""
    above = [-1] * count + list(range(count))
    return plant(tree, author, above, pruned=range(0, count, 100))[count // 2 + 1].local_id


def many_below(tree: Tree, author: Participant, count: int) -> str:
    """A text with so many below it."""
    return plant(tree, author, [-1, *[0] * count])[0].local_id


def deep(tree: Tree, author: Participant, count: int) -> str:
    """The end of a line of texts, in a tree of which one text is pruned elsewhere. Every third has
    candidates beside it, one of them pruned, and those were written before it."""
    above, last = [-1], -1
    for place in range(count):
        if place % 3 == 0:
            above += [last, last]
        above.append(last)
        last = len(above) - 1
    pruned = {0} | {place for place in range(1, len(above), 5) if place not in above}
    return plant(tree, author, above, pruned=pruned - {last})[last].local_id


def big_branch(tree: Tree, author: Participant, count: int) -> str:
    """A text with so many below it: a line of texts, each with a leaf and now and then a pruned
    branch."""
    above, last = [-1], 0
    for place in range(count // 3):
        above += [last, last, last]
        if place % 7 == 0:
            above.append(len(above) - 1)
        last = len(above) - 3
    pruned = {*range(3, len(above), 30)} - {last}
    return plant(tree, author, [*above, -1], pruned=pruned)[0].local_id


def add_steps(workspace: Workspace, count: int, *, first: int = 100, turn_uid: str = "") -> None:
    """Lines that only looked, with so many numbers from the first on."""
    kept = {"actor": workspace.participant, "outcome": "ok", "at": timezone.now()}
    Step.objects.bulk_create(
        Step(workspace=workspace, seq=seq, line="view root", turn_uid=turn_uid, **kept)
        for seq in range(first, first + count)
    )


def look_often(actor: Actor, tree: Tree, count: int) -> None:
    """So many lines of somebody that only looked, before those that a test runs."""
    execute_line(actor, tree, Request("view root"))
    workspace = Workspace.objects.get(tree=tree)
    add_steps(workspace, count)
    Workspace.objects.filter(pk=workspace.pk).update(steps_made=200 + count)


LINES = {
    "respond": 'respond {} "more"',
    "annotate": 'annotate {} note "good"',
    "view": "view {}",
    "list": "list {}",
    "switch": "switch to {}",
    "edit": 'edit {} "other words"',
    "find": 'find "needle"',
    "outline": "tree",
}


def work_of(actor: Actor, tree: Tree, line: str) -> Work:
    """What a line takes; the second time, so that nothing is being prepared."""
    execute_line(actor, tree, Request(line="view root"))
    with work_done() as work:
        answer = execute_line(actor, tree, Request(line=line))
    assert answer.body["ok"], answer.body
    return work


def both(
    actor: Actor, make_tree: Callable[[], Tree], prepare: Prepare, sizes: tuple[int, int], line: str
) -> tuple[Work, Work]:
    """The work of a line in a small tree and in a large one."""
    works = []
    for size in sizes:
        tree = make_tree()
        named = prepare(tree, actor.participant, size)
        execute_line(actor, tree, Request(line=f"switch to {named}"))
        works.append(work_of(actor, tree, line.format(named)))
    return works[0], works[1]


@pytest.fixture
def make_tree(actor: Actor) -> Callable[[], Tree]:
    """Makes empty trees."""
    return lambda: trees.new_tree(actor, title="A tree")


@pytest.mark.parametrize("verb", LINES)
def test_a_line_reads_no_more_when_much_was_pruned(
    actor: Actor, make_tree: Callable[[], Tree], verb: str
) -> None:
    small, large = both(actor, make_tree, pruned_siblings, (60, 3_000), LINES[verb])
    if verb == "find" and connection.vendor == "postgresql":
        large.steps = 0  # its index is of all trees, so that the texts of a small one are compared
    large.demand_no_more(small)


@pytest.mark.parametrize("verb", sorted({*LINES} - {"find", "outline"}))
def test_a_line_reads_no_more_in_a_deep_tree(
    actor: Actor, make_tree: Callable[[], Tree], verb: str
) -> None:
    small, large = both(actor, make_tree, deep, (90, 2_100), LINES[verb])
    large.demand_no_more(small)


SHOWN = (
    "/trees/{tree}?node={node}",
    "/trees/{tree}/weave?node={node}",
    "/trees/{tree}/nodes/{node}/drawn",
    "/api/trees/{tree}/path?node={node}",
    "/api/trees/{tree}/nodes/{node}",
)


@pytest.mark.parametrize("prepare", [many_siblings, many_below])
def test_nothing_reads_more_where_there_are_more_siblings(
    actor: Actor, owner: User, make_tree: Callable[[], Tree], client: Client, prepare: Prepare
) -> None:
    """Of two sizes: of both more are before and after than are counted."""
    client.force_login(owner)
    works: dict[str, list[Work]] = defaultdict(list)
    for size in (2_200, 4_400):
        tree = make_tree()
        named = prepare(tree, actor.participant, size)
        for template in SHOWN:
            address = template.format(tree=tree.uid, node=named)
            client.get(address)
            with work_done() as work:
                assert client.get(address).status_code == 200
            works[template].append(work)
        for line in sorted({*LINES.values()} - {LINES["find"]}):
            works[line].append(work_of(actor, tree, line.format(named)))
        for line in ('respond {} "more"', 'edit {} "other" as:version', "prune {}"):
            works[f"drawn: {line}"].append(drawing_after(actor, tree, line.format(named)))
    # All siblings are 440 tens of rows.
    more = {
        name: pair for name, pair in works.items() if pair[1].steps > 1.1 * pair[0].steps + SPARE
    }
    assert not more
    assert all(large.rows <= small.rows + 20 for small, large in works.values()), works


def test_the_past_reads_no_more_where_there_are_more_siblings(
    actor: Actor, make_tree: Callable[[], Tree]
) -> None:
    works = []
    for size in (300, 3_000):
        tree = make_tree()
        named = many_below(tree, actor.participant, size)
        node = lookup.find_node(tree, named)
        assert node is not None
        event = Event.objects.latest("pk")
        last = Node.objects.latest("pk").pk
        pruned = {(name, "pruned"): True for name in ("0000", "1111")}
        moment = event_log.Moment(1, 1, 0, event, last, "", pruned)
        with work_done() as work:
            seen = event_log.past_path(actor, tree, None, at=moment, node=node)
        assert len(seen.below) == event_log.MOST_BELOW
        works.append(work)
    works[1].demand_no_more(works[0])


def test_the_place_of_a_candidate_is_found_among_the_newest_siblings(
    actor: Actor, make_tree: Callable[[], Tree]
) -> None:
    works = []
    for size in (300, 3_000):
        tree = make_tree()
        nodes = plant(tree, actor.participant, [-1, *[0] * size], pruned=[size - 1])
        asked = (nodes[-3].pk & _ORDINAL) << PLACE_BITS
        late = Node(tree=tree, parent_slot=nodes[0], place=asked + 1)
        with work_done() as work:
            assert _before(late) == {"before": nodes[-2].local_id}
        works.append(work)
    assert works[1].steps <= works[0].steps + SPARE / 10, works


def drawing_after(actor: Actor, tree: Tree, line: str) -> Work:
    """What it takes to draw for everybody what a line changed; few nodes are named."""
    before = Event.objects.count()
    execute_line(actor, tree, Request(line=line))
    changed = ToRender()
    for event in Event.objects.order_by("id")[before:]:
        changed |= changed_by(event.kind, event.payload)
    with work_done() as work:
        drawn = parts_for(tree.uid, ["en"], near=changed.near, points=changed.points)["en"]
    assert sum(len(part) for part in drawn.values()) < 250
    return work


@pytest.mark.parametrize("lines", ["prune {}", "prune {}\nrestore {}", "prune {}\nundo"])
def test_pruning_a_large_branch_reads_no_more_than_a_bounded_part(
    actor: Actor, make_tree: Callable[[], Tree], lines: str
) -> None:
    works = []
    for size in (2_000, 8_000):
        tree = make_tree()
        named = big_branch(tree, actor.participant, size)
        *before, last = lines.format(*[named] * lines.count("{}")).split("\n")
        for line in before:
            execute_line(actor, tree, Request(line=line))
        count_rows()  # statistics have misled SQLite about walks down
        works.append(work_of(actor, tree, last))
    works[1].demand_no_more(works[0], steps=1.2)


def test_a_page_reads_no_more_when_much_was_pruned(
    actor: Actor, owner: User, make_tree: Callable[[], Tree], client: Client
) -> None:
    client.force_login(owner)
    for prepare, sizes in ((pruned_siblings, (60, 3_000)), (deep, (600, 2_100))):
        works = []
        for size in sizes:
            tree = make_tree()
            named = prepare(tree, actor.participant, size)
            execute_line(actor, tree, Request(line=f"switch to {named}"))
            client.get(f"/trees/{tree.uid}")
            with work_done() as work:
                assert client.get(f"/trees/{tree.uid}").status_code == 200
            works.append(work)
        works[1].demand_no_more(works[0])


@pytest.mark.postgres
def test_chosen_versions_are_looked_up_where_statistics_are_wrong(
    actor: Actor, make_tree: Callable[[], Tree]
) -> None:
    """As after PostgreSQL counted nodes while there were none, until it counts them again."""
    tree, size = make_tree(), 1_000
    named = many_below(tree, actor.participant, size)
    execute_line(actor, tree, Request(line=f"switch to {named}"))
    end = Node.objects.get(tree=tree, local_id=named).pk
    with work_done(counts=NO_NODES) as work:
        kept_of(tree, [end], workspace=Workspace.objects.get(tree=tree), slot=end)
    # A step is ten rows; a join of all nodes with all reads two hundred times as many as this.
    assert work.steps < size


@pytest.mark.sqlite  # PostgreSQL reads a table of 4,000 rows as a whole rather than 1,600 of them
def test_a_list_of_trees_reads_no_more_of_large_ones(
    actor: Actor, owner: User, make_tree: Callable[[], Tree], client: Client
) -> None:
    client.force_login(owner)
    trees = [make_tree() for _ in range(40)]
    works = []
    for tree, size in zip(trees, (60, 4_000), strict=False):
        plant(tree, actor.participant, [-1] * size)
        client.get(f"/groves/{actor.grove.uid}")
        with work_done() as work:
            assert client.get(f"/groves/{actor.grove.uid}").status_code == 200
        works.append(work)
    works[1].demand_no_more(works[0], rows=SHAPED)


def test_items_are_named_without_reading_other_trees(
    actor: Actor, make_tree: Callable[[], Tree]
) -> None:
    tree, works = make_tree(), []
    items = [node.pk for node in plant(tree, actor.participant, range(-1, 49))]
    count_rows()  # of one tree; others come before the next time
    for many in (10, 1_000):
        Tree.objects.bulk_create(
            Tree(
                uid=new_uid(),
                grove=actor.grove,
                maker=actor.participant,
                title=f"Tree {place}",
                touched_at=timezone.now(),
            )
            for place in range(many)
        )
        with work_done() as work:
            assert len(item_names(items, tree.pk)) == len(items)
        works.append(work)
    works[1].demand_no_more(works[0])


def test_known_texts_are_looked_up_in_a_large_tree(
    actor: Actor,
    owner: User,
    make_tree: Callable[[], Tree],
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(comparing, "MOST_COUNTED", 50)  # what was contributed, by the newest texts
    client.force_login(owner)
    works: dict[str, list[Work]] = defaultdict(list)
    for size in (60, 4_000):
        tree = make_tree()
        nodes = plant(tree, actor.participant, [-1] * size)[:40]
        Item.objects.bulk_create(Item(id=n.pk, kind="node", tree=tree, node=n) for n in nodes)
        kept = {"tree": tree, "kind": "bookmark", "participant": actor.participant}
        marks = [Mark(item_id=node.pk, at=timezone.now(), **kept) for node in nodes]
        Mark.objects.bulk_create(marks)
        execute_line(actor, tree, Request("view root"))
        workspace = Workspace.objects.get(tree=tree, participant=actor.participant)
        hidden = {"workspace": workspace, "step": Step.objects.latest("pk"), "is_visible": False}
        Window.objects.bulk_create(
            Window(number=place, kind="node", item_id=node.pk, opened_at=timezone.now(), **hidden)
            for place, node in enumerate(nodes, 1)
        )
        named: dict[str, Callable[[], object]] = {
            "models": partial(client.get, f"/trees/{tree.uid}/models"),
            "bookmarks": partial(client.get, f"/trees/{tree.uid}/bookmarks"),
            "windows": partial(hidden_names, actor, workspace, "", 20),
            "summaries": partial(lacking, tree, [node.pk for node in nodes]),
            "notes": partial(notes_of, tree, [node.pk for node in nodes]),
            "map": partial(_texts_of, np.array([node.pk for node in nodes])),
        }
        for name, ask in named.items():
            ask()
            with work_done() as work:
                assert ask() is not None
            works[name].append(work)
    for name, (small, large) in works.items():
        assert large.rows <= small.rows and large.steps <= small.steps + SPARE, (name, small, large)


@pytest.mark.sqlite  # PostgreSQL reads a table of 2,000 rows as a whole rather than 20 of them
@pytest.mark.parametrize("reads", ["export", "table", "erasing"])
def test_what_takes_a_tree_in_pages_reads_each_of_them_once(
    actor: Actor, make_tree: Callable[[], Tree], monkeypatch: pytest.MonkeyPatch, reads: str
) -> None:
    """Ten times the nodes, ten times the work."""
    for module, name in ((heddle_file, "PAGE"), (tables, "PAGE"), (erasing, "BATCH")):
        monkeypatch.setattr(module, name, 20)
    monkeypatch.setattr(erasing, "NODES", 20)
    works = []
    for size in (200, 2_000):
        tree = make_tree()
        plant(tree, actor.participant, [-1, *[0] * size])
        kept = {"actor": actor.participant, "outcome": "ok", "at": timezone.now()}
        stream = f"tree:{tree.uid}"
        Step.objects.bulk_create(Step(stream=stream, seq=n, line="", **kept) for n in range(size))
        with work_done() as work:
            if reads == "export":
                assert b"".join(heddle_file.pieces(actor, tree))
            elif reads == "table":
                extent = tables.extent_of(actor, tree)
                for table in tables.TABLES.values():
                    list(tables.as_lines(table, extent))
            else:
                Tree.objects.filter(pk=tree.pk).update(erasing_at=timezone.now())
                erasing.erase_rows(tree.uid)
                assert not Node.objects.filter(tree=tree).exists()
        works.append(work)
    assert works[1].steps <= 12 * works[0].steps + 100, works


def test_other_turns_and_calls_are_not_gone_through(
    actor: Actor,
    owner: User,
    make_tree: Callable[[], Tree],
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(turn_pages, "MOST_LOOKED_AT", 10)
    client.force_login(owner)
    works: dict[str, list[Work]] = defaultdict(list)
    for size in (20, 2_000):
        tree = make_tree()
        nodes = plant(tree, actor.participant, range(-1, 9))
        own = {"tree": tree, "participant": actor.participant}
        Turn.objects.bulk_create(
            Turn(
                uid=new_uid(),
                invoked_by=actor.participant,
                invoked_at=nodes[9],
                answers_below=nodes[9],
                preset="quick",
                status="done",
                ended_at=timezone.now(),
                **own,
            )
            for _ in range(size)
        )
        turn = Turn.objects.filter(tree=tree).latest("pk")
        Call.objects.bulk_create(
            Call(uid=new_uid(), sealed_at=timezone.now(), response=b"", **own) for _ in range(size)
        )
        call = Call.objects.filter(tree=tree).latest("pk")
        done = {"point": nodes[0], "asked_by": actor.participant, "ended_at": timezone.now(), **own}
        Generation.objects.bulk_create(
            Generation(uid=new_uid(), index=0, status="done", **done) for _ in range(size)
        )
        execute_line(actor, tree, Request("view root"))
        workspace = Workspace.objects.get(tree=tree)
        add_steps(workspace, size)
        looked = {"kind": "result", "turn_uid": "earlier", "is_visible": False}
        Window.objects.bulk_create(
            Window(workspace=workspace, number=seq, opened_at=timezone.now(), **looked)
            for seq in range(100, 100 + size)
        )
        add_steps(workspace, 1, first=200 + size, turn_uid=turn.uid)
        below = nodes[5]
        asked: dict[str, Callable[[], object]] = {
            "page": partial(client.get, f"/trees/{tree.uid}/turns?node={below.local_id}"),
            "last lines": partial(agent_turns._LAST.all, of=workspace.pk, turn=turn.uid),
            "view": partial(view_state, workspace, turn.uid),
            "trail": partial(way_of, workspace, turn=turn.uid),
            "call": partial(call_of, Node(call_uid=call.uid, tree=tree)),
            "verdicts": partial(verdicts_of, tree, [call.uid]),
            "summaries": partial(going, tree),
            "free": partial(turn_lifecycle._demand_free, below),
            "archived": partial(archiving._end_all, tree, turn.uid),
        }
        for name, ask in asked.items():
            ask()
            with work_done() as work:
                answer = ask()
            assert name != "page" or answer.status_code == 200, answer.content  # type: ignore[attr-defined]
            works[name].append(work)
    for name, (small, large) in works.items():
        assert large.steps <= small.steps + SPARE, (name, small, large)


def test_an_act_is_undone_without_going_through_other_steps(
    actor: Actor, make_tree: Callable[[], Tree]
) -> None:
    works = []
    for size in (20, 2_000):
        tree = make_tree()
        look_often(actor, tree, size)
        for word in ("one", "two"):
            execute_line(actor, tree, Request(f'respond root "{word}"', act="once", doing="both"))
        works.append(work_of(actor, tree, "undo"))
        assert Node.objects.filter(tree=tree, pruned=True).count() == 2
    works[1].demand_no_more(works[0])


def test_a_change_is_redone_without_going_through_earlier_steps(
    actor: Actor, make_tree: Callable[[], Tree]
) -> None:
    works = []
    for size in (20, 2_000):
        tree = make_tree()
        look_often(actor, tree, size)
        for line in ('respond root "one"', "undo"):
            execute_line(actor, tree, Request(line))
        works.append(work_of(actor, tree, "redo"))
        assert not Node.objects.filter(tree=tree, pruned=True).exists()
    works[1].demand_no_more(works[0])


def test_marks_elsewhere_in_the_tree_are_not_read(
    actor: Actor, make_tree: Callable[[], Tree]
) -> None:
    works = []
    for size in (10, 1_000):
        tree = make_tree()
        nodes = plant(tree, actor.participant, range(-1, size - 1))
        items = [Item(id=node.pk, kind="node", tree_id=tree.pk, node_id=node.pk) for node in nodes]
        Item.objects.bulk_create(items)
        Mark.objects.bulk_create(
            Mark(
                tree=tree,
                kind="bookmark",
                item=item,
                participant=actor.participant,
                at=timezone.now(),
            )
            for item in items
        )
        path = lookup.path_of(actor, tree, None, nodes[0])
        with work_done() as work:
            lines = near(actor, tree, path, timezone.now(), last=1)
        assert [line.is_bookmarked for line in lines] == [True]
        works.append(work)
    works[1].demand_no_more(works[0], rows=0, steps=1)


@pytest.mark.parametrize("others", ["of other names", "of another tree and name"])
def test_a_tag_is_spelled_without_going_through_other_tags(
    actor: Actor, make_tree: Callable[[], Tree], others: str
) -> None:
    works = []
    for size in (10, 3_000):
        tree = make_tree()
        tagged = tree if others == "of other names" else make_tree()
        nodes = plant(tree, actor.participant, [-1] * 3)
        bearers = nodes if tagged is tree else plant(tagged, actor.participant, [-1])
        Item.objects.bulk_create(
            Item(id=node.pk, kind="node", tree=tagged, node=node) for node in bearers[:1]
        )
        own = {"kind": "tag", "participant": actor.participant, "at": timezone.now()}
        Mark.objects.bulk_create(
            Mark(tree=tagged, item_id=bearers[0].pk, label=f"other {number}", **own)
            for number in range(size)
        )
        execute_line(actor, tree, Request(line=f"tag {nodes[1].local_id} #Kept"))
        works.append(work_of(actor, tree, f"tag {nodes[2].local_id} #kept"))
        assert set(Mark.objects.filter(tree=tree, label_key="kept").values_list("label")) == {
            ("Kept",)
        }
    works[1].demand_no_more(works[0], rows=1, steps=1.1)


def test_other_steps_are_not_read_to_find_windows_that_were_hidden(
    actor: Actor, make_tree: Callable[[], Tree]
) -> None:
    works = []
    for size in (10, 3_000):
        tree = make_tree()
        execute_line(actor, tree, Request(line="view root"))
        workspace = Workspace.objects.get(tree=tree)
        add_steps(workspace, size)
        with work_done() as work:
            notifications_of(actor, workspace)
        works.append(work)
    works[1].demand_no_more(works[0], rows=0, steps=1)


def test_an_export_of_a_path_does_not_go_through_other_links(
    actor: Actor, make_tree: Callable[[], Tree]
) -> None:
    works = []
    for size in (20, 2_000):
        tree = make_tree()
        nodes = plant(tree, actor.participant, [*range(-1, 9), *[0] * size])
        Item.objects.bulk_create(Item(id=n.pk, kind="node", tree=tree, node=n) for n in nodes)
        kept = {"tree": tree, "by": actor.participant, "at": timezone.now()}
        ends = [*pairwise(nodes[:10]), *pairwise(nodes[10:])]
        Link.objects.bulk_create(
            Link(source_id=a.pk, source_slot=a.pk, target_id=b.pk, target_slot=b.pk, **kept)
            for a, b in ends
        )
        wanted = ExportSelection(actor, tree, None, nodes[9])
        selection = select(wanted)
        with work_done() as work:
            assert exporting._counts(wanted, selection)["links"] == 9
        works.append(work)
    works[1].demand_no_more(works[0], rows=0, steps=1.1)


def test_an_answer_is_found_whatever_else_was_asked(
    actor: Actor, owner: User, make_tree: Callable[[], Tree]
) -> None:
    """By its id, and by what it said."""
    tree, works = make_tree(), []
    point = plant(tree, actor.participant, [-1])[0]
    key = GatewayKey.objects.create(user=owner, participant=actor.participant, name="A program")
    said: Message = {"role": "assistant", "blocks": [{"type": "text", "text": "Never said."}]}
    messages: tuple[Message, ...] = (said, {"role": "user", "blocks": []})
    chained = chain(messages)
    for many in (20, 1_000):
        calls = Call.objects.bulk_create(
            Call(
                uid=new_uid(),
                sealed_at=timezone.now(),
                response=b"",
                tree=tree,
                participant=actor.participant,
            )
            for _ in range(many)
        )
        for call in calls:
            session = GatewaySession.objects.create(key=key, tree=tree, name=call.uid)
            GatewayRequest.objects.create(
                uid=new_uid(),
                session=session,
                call=call,
                shape="responses",
                point=point,
                status="done",
                answer_id=f"resp_{call.uid}",
                answer_said=call.uid,
                ended_at=timezone.now(),
            )
        given = recording.Incoming(
            actor=actor,
            key=key,
            model=actor.participant,
            shape="responses",
            named=SessionNames(),
            history=ChatHistory("", messages),
            sent={},
            url="",
            headers={},
        )
        with work_done() as work:
            by_id = replace(given, previous_answer=f"resp_{calls[0].uid}")
            assert recording.find_session(by_id) is not None
            assert rearranged.continued(GatewayRequest.objects.all(), messages, chained) is None
        works.append(work)
    works[1].demand_no_more(works[0], rows=2, steps=1.5)


def test_a_sweep_does_not_go_through_requests_that_ended(
    actor: Actor, owner: User, make_tree: Callable[[], Tree]
) -> None:
    tree, works = make_tree(), []
    point = plant(tree, actor.participant, [-1])[0]
    key = GatewayKey.objects.create(user=owner, participant=actor.participant, name="A program")
    session = GatewaySession.objects.create(key=key, tree=tree)
    for many in (20, 2_000):
        own = {"tree": tree, "participant": actor.participant}
        calls = Call.objects.bulk_create(
            Call(uid=new_uid(), sealed_at=timezone.now(), response=b"", **own) for _ in range(many)
        )
        GatewayRequest.objects.bulk_create(
            GatewayRequest(
                uid=new_uid(),
                session=session,
                call=call,
                shape="messages",
                point=point,
                status="done",
                ended_at=timezone.now(),
            )
            for call in calls
        )
        GatewayRequest.objects.update(alive_at=timezone.now() - timedelta(days=1))
        with work_done() as work:
            assert recording.sweep() == 0
        works.append(work)
    works[1].demand_no_more(works[0], rows=0, steps=1)
