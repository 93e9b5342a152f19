"""The tree as it was at a seq."""

from typing import Any

import pytest
from django.utils import timezone

from loom.access import Actor, get_actor
from loom.engine import streams
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event
from loom.people.models import Grove, User
from loom.reading.pages.history import moment_sentence
from loom.site.display import cast_of
from loom.trees.models import Tree
from loom.trees.queries import event_log, lookup
from loom.trees.queries.event_log import ticks_of
from tests.web.conftest import Visitor


def say(actor: Actor, tree: Tree, line: str) -> str:
    """The first node that the line made or found."""
    refs = execute_line(actor, tree, Request(line)).body["refs"]
    return str(refs[0]) if refs else ""


def head(tree: Tree) -> int:
    """The last seq of the tree's stream."""
    return int(Event.objects.filter(stream__name=f"tree:{tree.uid}").latest("seq").seq)


def moment(visitor: Visitor, user: User, tree: Tree, seq: int) -> dict[str, Any]:
    answer = visitor(user).get(f"/trees/{tree.uid}/past?seq={seq}")
    assert answer.status_code == 200
    body: dict[str, Any] = answer.json()
    return body


def path(visitor: Visitor, user: User, tree: Tree, seq: int, node: str) -> str:
    answer = visitor(user).get(f"/trees/{tree.uid}/past/path?seq={seq}&node={node}")
    assert answer.status_code == 200, answer.content
    return str(answer.content.decode())


def test_every_seq_has_the_nodes_and_flags_of_its_time(
    owner: User, grove: Grove, tree: Tree, visitor: Visitor
) -> None:
    actor = get_actor(owner, grove)
    seen: dict[int, tuple[str, bool]] = {}
    last = first = say(actor, tree, 'respond root "One."')
    seen[head(tree)] = (last, False)
    for line in (
        f'respond {first} "Two."',
        f"prune {first}",
        f"restore {first}",
        f"tag {first} #a",
    ):
        written = say(actor, tree, line)
        last = written if "respond" in line else last
        seen[head(tree)] = (last, "prune" in line)
    say(actor, tree, f"prune {first}")
    for seq, (newest, pruned) in seen.items():
        shown = moment(visitor, owner, tree, seq)
        assert (shown["last"], shown["by"], shown["head"]) == (newest, "You", head(tree))
        flags = {(node, name): value for node, name, value in shown["flags"]}
        assert flags.get((first, "pruned"), True) == pruned


def test_the_path_has_the_wordings_and_continuations_of_its_time(
    owner: User, grove: Grove, tree: Tree, visitor: Visitor
) -> None:
    actor = get_actor(owner, grove)
    one = say(actor, tree, 'respond root "First <b>wording</b>."')
    two = say(actor, tree, f'respond {one} "Two."')
    before = head(tree)
    say(actor, tree, f'edit {one} "Second wording." as:version')
    say(actor, tree, f'respond {two} "Later."')
    was = path(visitor, owner, tree, before, two)
    assert "First &lt;b&gt;wording" in was
    assert "Second wording" not in was and "Later." not in was
    now = path(visitor, owner, tree, head(tree), two)
    assert "Second wording" in now and "Later." in now


def test_what_was_below_has_what_was_pruned_since_and_not_what_was_restored(
    owner: User, grove: Grove, tree: Tree, visitor: Visitor
) -> None:
    actor = get_actor(owner, grove)
    root = lookup.root_of(tree)
    lines = [f'respond root "{place}"' for place in range(5)]
    names = [say(actor, tree, line) for line in lines]
    seen: dict[int, list[str]] = {}

    def note() -> None:
        seen[head(tree)] = execute_line(actor, tree, Request("list root continuations")).body[
            "refs"
        ]

    for line in (
        f"prune {names[1]}",
        f"prune {names[3]}",
        f"restore {names[1]}",
        f"prune {names[0]}",
        f"restore {names[0]}",
        f"prune {names[2]}",
    ):
        say(actor, tree, line)
        note()
    now = seen[head(tree)]
    for seq, refs in seen.items():
        moment = event_log.moment(actor, tree, seq)
        below = event_log.past_path(actor, tree, None, at=moment, node=root).below
        # In the order of today: where texts were among their siblings is not looked up.
        assert sorted(row.local_id for row in below) == sorted(refs)
        assert [row.local_id for row in below if row.local_id in now] == [
            name for name in now if name in refs
        ]


def test_a_change_that_no_list_has_is_told_with_its_author(
    owner: User, reader: User, grove: Grove, tree: Tree, visitor: Visitor
) -> None:
    writer = streams.lock(tree, actor=get_actor(owner, grove).participant.uid)
    writer.append("manuscript.changed", {"number": 1, "what": "import"})
    writer.flush()
    for user, by in ((owner, "You"), (reader, "Owner")):
        shown = moment(visitor, user, tree, head(tree))
        assert (shown["by"], shown["words"], shown["node"]) == (by, "made another change", "")


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("turn.ended", "ended a turn"),
        ("generation.started", "started a text of a model"),
        ("call.sealed", "recorded the answer of a model"),
        ("claim.changed", "changed a claim"),
        ("commitment.added", "added a commitment"),
        ("token.changed", "changed a task or a sandbox"),
    ],
)
def test_moments_of_turns_and_claims_have_words(
    owner: User, grove: Grove, kind: str, words: str
) -> None:
    actor = get_actor(owner, grove)
    event = Event(seq=5, kind=kind, actor=actor.participant.uid, at=timezone.now())
    assert moment_sentence(actor, event, cast_of(actor)).words == words


def test_an_event_that_is_hidden_from_a_reader_has_no_author_and_says_so(
    owner: User, reader: User, grove: Grove
) -> None:
    event = Event(seq=5, kind="invitation.added", actor=get_actor(owner, grove).participant.uid)
    actor = get_actor(reader, grove)
    shown = moment_sentence(actor, event, cast_of(actor))
    assert (shown.by, shown.words) == ("", "a change that you may not see")


def test_what_was_not_there_yet_is_not_found(
    owner: User, reader: User, outsider: User, grove: Grove, tree: Tree, visitor: Visitor
) -> None:
    actor = get_actor(owner, grove)
    node = say(actor, tree, 'respond root "One."')
    address = f"/trees/{tree.uid}/past"
    assert visitor(owner).get(f"{address}/path?seq=1&node={node}").status_code == 404
    for asked in ("0", "999", "-1", "x", "", "9" * 20, "٣"):
        assert visitor(owner).get(f"{address}?seq={asked}").status_code == 400
    assert visitor(reader).get(f"{address}?seq=1").status_code == 200
    assert visitor(outsider).get(f"{address}?seq=1").status_code == 404
    assert visitor(None).get(f"{address}?seq=1").status_code == 302


def test_ticks_say_who_changed_most_at_a_cost_that_stays(
    owner: User, grove: Grove, tree: Tree, visitor: Visitor
) -> None:
    actor = get_actor(owner, grove)
    node = say(actor, tree, 'respond root "One."')
    ticks = visitor(owner).get(f"/trees/{tree.uid}/past?seq=1&ticks=1").json()["ticks"]
    assert ticks[-1] == [actor.participant.uid, 8]
    for _ in range(70):
        say(actor, tree, f"prune {node}")
        say(actor, tree, f"restore {node}")
    ticks = ticks_of(actor, tree)
    assert len(ticks) == 96
    assert ticks[-1] == (actor.participant.uid, 0)
    assert "ticks" not in moment(visitor, owner, tree, 1)
