"""Trails: kept, shown, replayed by others, forked, joined, annotated, shared, exported."""

from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from loom.access import Actor, acting_as
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.links.models import Trail
from loom.people.models import Participant, User
from loom.trees.commands import node_writer, trees
from loom.trees.models import Tree, Workspace
from loom.workspace.models import Window
from tests.commands.conftest import Say
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db
Write = Callable[..., str]


@pytest.fixture
def walked(say: Say, write: Write) -> dict[str, str]:
    """A way over four links of three types, and one of them taken back; saved as "tower"."""
    ids = {name: write(f"text {name}", "root") for name in "abcde"}
    a, b, c, d, e = ids.values()
    say(f"link {a} to {b} as:supports")
    say(f"link {b} to {c} as:refutes")
    say(f"link {c} to {d} as:supports")
    say(f"link {d} to {e} as:quotes")
    say(f"switch to {a}")
    say(f'expand supports of {a} because:"it pays off"')
    say(f"expand refutes of {b}")
    say(f"expand supported_by of {b}")
    say("back")
    say(f"expand supports of {c}")
    say(f"expand quotes of {d}")
    say('trail save "tower"')
    return ids


def test_a_way_over_links_is_shown_and_kept_without_what_was_taken_back(
    say: Say, walked: dict[str, str]
) -> None:
    a, b, c, d, e = walked.values()
    now = say("trail").reply.split("\n")
    assert now[0] == f'1 → [{a}] "text a"'
    assert now[1] == f'2 ──[supports]──→ [{b}] "text b" · because it pays off'
    assert [line.split("]──→ ")[-1][:6] for line in now[2:]] == [f"[{c}]", f"[{d}]", f"[{e}]"]
    shown = say('trail show "Tower"').reply
    assert shown.startswith('trail:"tower" by Owner · 5 steps · 3 types\n')
    assert "supported_by" not in shown
    with pytest.raises(CommandError, match="already a trail"):
        say('trail save "TOWER"')


def test_a_way_by_lines_is_offered_although_other_trees_were_opened(
    walked: dict[str, str], actor: Actor, owner: User, client: Client
) -> None:
    for number in range(4):  # opened in the page, before the way was begun
        other = trees.new_tree(actor, title=f"Opened {number}")
        own = node_writer.workspace_of(actor.participant, other)
        early = timezone.now() - timedelta(hours=1)
        Workspace.objects.filter(pk=own.pk).update(seen_at=early, made_at=early)
    client.force_login(owner)
    page = client.get(f"/groves/{actor.grove.uid}/trails").content.decode()
    assert "5 steps, last: &quot;text e&quot;" in page


def test_a_private_trail_is_its_owners_alone_until_it_is_shared(
    say: Say, walked: dict[str, str], writer: User
) -> None:
    with pytest.raises(CommandError, match="trail"):
        say('trail show "tower"', by=writer)
    assert say("trail list", by=writer).reply == "no trails yet"
    say('trail share "tower"')
    assert "5 steps · shared" in say("trail list", by=writer).reply
    with pytest.raises(CommandError) as refused:
        say('trail note "tower" n:1 "mine"', by=writer)
    assert refused.value.code == "REJECTED" and "fork" in refused.value.hint
    say('trail unshare "tower"')
    with pytest.raises(CommandError):
        say('trail show "tower"', by=writer)


def test_a_second_person_replays_it_and_is_told_what_changed(
    say: Say, walked: dict[str, str], writer: User, write: Write
) -> None:
    a, _, c, d, e = walked.values()
    say('trail share "tower"')
    say(f"prune {c}")
    newer = say(f'edit {d} "text d, again" as:version').body["refs"][0]
    fresh = write("fresh", "root")
    say(f"link {a} to {fresh} as:supports")
    replayed = say('trail replay "tower"', by=writer)
    assert replayed.reply.startswith('✓ replayed trail:"tower": 5 steps as #')
    assert f"  changed: [{c}] pruned, [{d}] now [{newer}]" in replayed.reply or (
        f"[{c}] pruned" in replayed.reply and f"[{d}] now [{newer}]" in replayed.reply
    )
    assert f"  new: supports of [{a}]: [{fresh}]" in replayed.reply
    assert replayed.body["position"] == e
    shown = Window.objects.filter(workspace__participant__user=writer, is_visible=True)
    assert shown.filter(via="quotes").count() == 1 and shown.count() >= 4


def test_what_is_below_a_pruned_text_is_marked_and_a_replay_ends_above_it(
    say: Say, write: Write, owner: User, client: Client
) -> None:
    ids = [write("alpha", "root")]
    for text in ("beta", "gamma", "delta"):
        ids.append(write(text, ids[-1]))
    for node, other in pairwise(ids):
        say(f"link {node} to {other} as:uses")
    say(f"switch to {ids[0]}")
    for node in ids[:-1]:
        say(f"expand uses of {node}")
    say('trail save "chain"')
    say(f"prune {ids[1]}")
    trail = Trail.objects.get()
    client.force_login(owner)
    steps = client.get(f"/api/trails/{trail.uid}").json()["steps"]
    below = "below a pruned text"
    assert [step["to"][0]["state"] for step in steps] == ["", "pruned", below, below]
    assert client.get(f"/trails/{trail.uid}").content.decode().count(f">{below}<") == 2
    assert client.get(f"/trails/{trail.uid}/file").content.decode().count(below) == 2
    replayed = say('trail replay "chain"')
    assert replayed.body["position"] == ids[0]
    assert f"[{ids[3]}] {below}" in replayed.reply


def test_a_way_that_leads_further_than_windows_nest_is_replayed(say: Say, write: Write) -> None:
    ids = [write(f"text {at}") for at in range(9)]
    for node, other in pairwise(ids):
        say(f"link {node} to {other} as:supports")
        say(f"expand supports of {node} inline")  # as a page opens it: no window
    say('trail save "far"')
    assert "✓ replayed" in say('trail replay "far"').reply
    parents = list(Window.objects.order_by("number").values_list("via", "parent_number"))
    assert len(parents) == 8 and parents[0] == ("supports", 0)
    assert [via for via, parent in parents if not parent] == ["supports", "supports"]


def test_trails_are_forked_joined_and_annotated(say: Say, walked: dict[str, str]) -> None:
    say('trail fork "tower" at:2 save:"beginning"')
    say('trail join "beginning" "tower" save:"both"')
    assert [len(trail.steps) for trail in Trail.objects.order_by("id")] == [5, 2, 7]
    assert Trail.objects.get(name="beginning").forked_from == Trail.objects.get(name="tower")
    say('trail note "tower" n:2 "this is the turn"')
    assert "      note: this is the turn" in say('trail show "tower"').reply
    with pytest.raises(CommandError, match="5 steps"):
        say('trail note "tower" n:6 "none"')


def test_the_exploration_is_a_markdown_document_with_nested_portals(
    say: Say, walked: dict[str, str]
) -> None:
    b = walked["b"]
    say('trail note "tower" n:3 "why this matters"')
    text = say('trail show "tower" as:markdown').reply
    assert text.startswith("# tower\n")
    assert f"> 2. **▼ [supports] ──→ [{b}]** because it pays off" in text
    assert "> > > text c" in text and "> > why this matters" in text


def test_windows_are_shown_as_the_tree_of_what_was_opened_from_what(
    say: Say, walked: dict[str, str]
) -> None:
    lines = say("trail show windows").reply.split("\n")
    assert len(lines) == 4
    assert [len(line) - len(line.lstrip()) for line in lines] == [0, 2, 4, 6]


def test_nobody_sees_through_a_trail_what_they_may_not_read(two_groves: TwoGroves) -> None:
    world = two_groves
    mine = world.left.text.local_id
    actor = world.left.actor(world.both)

    def run(line: str, by: User = world.both) -> Any:
        return execute_line(world.left.actor(by), world.left.tree, Request(line)).body

    run(f"link {mine} to {world.far} as:supports")
    run(f"switch to {mine}")
    run(f"expand supports of {mine}")
    run('trail save "north"')
    run('trail share "north"')
    shown = run('trail show "north"', world.only_left)["reply"]
    assert "unavailable" in shown and "kestrel" not in shown
    assert "kestrel" in run('trail show "north"')["reply"]
    trail = Trail.objects.get()
    client = world.client(world.only_left)
    for address in (f"/api/trails/{trail.uid}", f"/api/trails/{trail.uid}/export"):
        body = client.get(address).content.decode()
        assert "kestrel" not in body and world.right.text.local_id not in body
    page = client.get(f"/trails/{trail.uid}").content.decode()
    assert "kestrel" not in page and world.right.text.local_id not in page
    assert world.client(world.only_right).get(f"/api/trails/{trail.uid}").status_code == 404
    assert world.client(world.only_right).get(f"/trails/{trail.uid}").status_code == 404
    replayed = run('trail replay "north"', world.only_left)["reply"]
    assert "gone: (unavailable)" in replayed and "kestrel" not in replayed
    assert actor.participant == trail.owner


def test_a_pane_of_a_trail_has_the_text_of_a_document(say: Say, write: Write, owner: User) -> None:
    a = write("a", "root")
    say('write doc:"notes" new "The keeper owed money."')
    say(f'link {a} to doc:"notes" as:uses')
    say(f"expand uses of {a}")
    say('trail save "who owes"')
    client = APIClient()
    client.force_login(owner)
    drawn = client.get(f"/trails/{Trail.objects.get().uid}").content.decode()
    assert "The keeper owed money." in drawn and 'href="/documents/' in drawn


def test_the_page_replays_notes_and_shares(
    say: Say, walked: dict[str, str], owner: User, tree: Tree
) -> None:
    client = APIClient()
    client.force_login(owner)
    trail = Trail.objects.get()
    page = f"/trails/{trail.uid}"
    assert "text b" in client.get(page).content.decode()
    client.post(page, {"n": "2", "note": "the turn"})
    client.post(page, {"share": "1"})
    trail.refresh_from_db()
    assert trail.shared and trail.steps[1]["note"] == "the turn"
    there = client.post(page, {"replay": "1"})
    assert there.headers["Location"].startswith(f"/trees/{tree.uid}?node=")
    assert client.get(f"{page}/file").content.decode().startswith("# tower")
    assert "tower" in client.get(f"/groves/{tree.grove.uid}/trails").content.decode()
    saved = client.get("/api/trails").json()["results"]
    assert saved[0]["name"] == "tower" and saved[0]["step_count"] == 5


def test_what_is_opened_twice_is_one_step_of_the_trail(say: Say, write: Callable[..., str]) -> None:
    """Closing and opening a portal again adds nothing, so that nobody makes a trail longer
    by repeating it."""
    a, b, c = write("a"), write("b"), write("c")
    say(f"link {a} to {b} as:supports")
    say(f"link {b} to {c} as:uses")
    say(f"switch to {a}")
    for line in (f"expand supports of {a}", f"expand uses of {b} inline") * 3:
        say(line)
    say('trail save "once"')
    types = [step["type"] for step in Trail.objects.get().steps]
    assert types == ["", "supports", "uses"]
    say(f'expand supports of {a} because:"to look again"')
    assert "because to look again" in say("trail").reply


def test_no_window_of_an_expand_that_was_taken_back_is_a_step(say: Say, write: Write) -> None:
    """Each of several windows has a step of its own, which goes with the line that opened it."""
    a, *ends = (write(name, "root") for name in "abcde")
    for end in ends[:3]:
        say(f"link {a} to {end} as:tests")
    say(f"link {a} to {ends[3]} as:supports")
    say(f"switch to {a}")
    start = say("trail").reply
    say(f"expand tests of {a}")
    opened = say("trail").reply
    say("back")
    assert say("trail").reply == start
    say(f"expand tests of {a}")
    say(f"expand supports of {a}")
    say("back")
    assert say("trail").reply == opened
    say(f"open {ends[3]}")  # a line of its own stays
    say("back")
    assert say("trail").reply.split("\n")[1:] == [f'2 → [{ends[3]}] "e"']


def test_an_agent_neither_reads_nor_changes_the_trails_of_who_invited_it(
    say: Say, walked: dict[str, str], actor: Actor, tree: Tree
) -> None:
    agent = Participant.objects.create(
        grove=tree.grove, kind="model", name="Low", permissions=["loom_aware", "loom_write"]
    )
    acting = acting_as(actor, agent)

    def act(line: str) -> str:
        return str(execute_line(acting, tree, Request(line)).body["reply"])

    assert act("trail list") == "no trails yet"
    for line in ("show", "replay", "share", "unshare", 'note "tower" n:1 "mine"', "fork"):
        word, _, rest = line.partition(" ")
        more = rest or '"tower"' + (' at:1 save:"copy"' if word == "fork" else "")
        with pytest.raises(CommandError) as refused:
            act(f"trail {word} {more}")
        assert refused.value.code == "NOT_FOUND", line
    say('trail share "tower"')
    assert 'trail:"tower" by Owner' in act('trail show "tower"')
    for line in ('unshare "tower"', 'note "tower" n:1 "mine"'):
        with pytest.raises(CommandError, match="belongs to Owner"):
            act(f"trail {line}")
    act('trail fork "tower" at:2 save:"its own"')
    assert "its own" in act("trail list") and "its own" not in say("trail list").reply
