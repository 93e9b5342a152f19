"""view, list, switch, help: what they say, and that they change nothing."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from loom.access import Actor, acting_as, get_actor
from loom.engine import registry
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event, Step
from loom.errors import CommandError
from loom.language import ids
from loom.people.models import Grove, Participant, User
from loom.permissions import LOOM, OF_ROLE, READ_DOCUMENTS, WRITE
from loom.trees.commands import trees
from loom.trees.models import Node, Tree
from tests.commands.conftest import Say

pytestmark = pytest.mark.django_db
Write = Callable[..., str]


def test_view_shows_head_text_and_counts(say: Say, write: Write) -> None:
    a = write("She waited.")
    write("x", a)
    say(f'annotate {a} "note"')
    root = Node.objects.get(local_id=a).parent_slot
    assert root is not None
    assert say(f"view {a}").reply == (
        f'[{a}] Owner (human) · now · depth:1\n"She waited."\n'
        f"below {root.local_id} · 1 continuation · 1 annotation · 0 links"
    )
    assert "note" in say(f"view {a} with-annotations").reply


def test_tasks_stashes_and_agents_are_viewed(
    say: Say, actor: Actor, tree: Tree, writer: User
) -> None:
    say('todo add "Find the lamp."')
    say('todo note t1 "It is in the hall."')
    say('stash "lab" "One\\nTwo"')
    Participant.objects.create(
        grove=tree.grove,
        kind="model",
        name="Marie",
        model_ref="anthropic:some-model",
        archetype="editor",
        permissions=["loom_write", "loom_aware"],
    )
    assert say("view t1").reply == "t1 [ ] Find the lamp.\n  note: It is in the hall."
    assert say('view stash:"lab"').reply == 'stash "lab"\nOne\nTwo'
    assert say('view stash:"lab" lines:2').reply == "Two"
    assert say('view agent:"marie"').reply.split("\n") == [
        'agent:"Marie"',
        "model: anthropic:some-model",
        "role: editor · authority 0",
        "may use: loom_aware, loom_write",
    ]
    for line in ("view t9", 'view stash:"none"', 'view agent:"Nobody"'):
        with pytest.raises(CommandError) as missing:
            say(line)
        assert (missing.value.code, bool(missing.value.hint)) == ("NOT_FOUND", True), line
    for line in ("view t1", 'view stash:"lab"'):  # they are the owner's
        with pytest.raises(CommandError) as missing:
            say(line, by=writer)
        assert missing.value.code == "NOT_FOUND"


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ('open trail:"way"', '→ trail show "way"'),
        ('open pipe:"way"', '→ run pipe:"way"'),
        ("view step:2", "→ since step:2"),
    ],
)
def test_what_has_no_text_to_view_leads_to_its_command(say: Say, line: str, hint: str) -> None:
    with pytest.raises(CommandError) as refused:
        say(line)
    assert refused.value.code == "INVALID_SYNTAX" and refused.value.hint.startswith(hint)


def test_view_is_short_unless_full(say: Say, write: Write) -> None:
    words = " ".join(f"w{i}" for i in range(40))
    a = write(words)
    assert "w29" in say(f"view {a}").reply
    assert "w30" not in say(f"view {a}").reply
    assert words in say(f"view {a} full").reply


def test_a_slice_a_branch_and_a_range_are_viewed(say: Say, write: Write) -> None:
    a = say("respond root\none\ntwo\nthree\n←").body["refs"][0]
    b = write("below", a)
    assert "two" in say(f"view {a} lines:2-2").reply
    assert "three" not in say(f"view {a} lines:2-2").reply
    assert say(f"view branch:{b}").body["refs"] == [a, b]
    assert say(f"view {a}-{b}").body["refs"] == [a, b]


def test_find_shows_little_of_texts_without_blanks(say: Say, write: Write) -> None:
    write("b" * 5_000 + "needle" + "c" * 5_000)
    write("one two needle three four")
    reply = say('find "needle" max:50 context:20').reply
    assert '"one two needle three four"' in reply
    (long,) = [line for line in reply.split("\n") if "bbb" in line]
    assert f'"…{"b" * 300}needle{"c" * 294}…"' in long


def test_find_ends_after_so_many_characters_and_says_so(say: Say, write: Write) -> None:
    for number in range(50):
        write(f"{number} " + "b" * 400 + "needle" + "c" * 400)
    whole = say('find "needle" max:50 context:1').reply
    assert len(whole) < 17_000
    lines = whole.split("\n")
    left = 51 - (len(lines) - 1)
    assert lines[0] == '50 hits for "needle"'
    assert lines[-1] == f"… {left} more hits left out; ask with a smaller max: or context:"
    assert "left out" not in say('find "needle" max:20').reply


def test_list_gives_a_line_each_and_affordances(say: Say, write: Write) -> None:
    a = write("a")
    b = write("b", a)
    answer = say(f"list {a} continuations")
    assert answer.reply == f'[{a}] → 1 continuation:\n  [{b}] Owner (human) · now · "b"'
    assert say(f"list {a}").reply == f"[{a}] links: continues 1"
    assert say(f"list {a} continues").reply == answer.reply
    assert say(f"list {b} siblings").reply == f"[{b}] → no siblings"


def test_switch_moves_only_who_says_it(say: Say, write: Write, writer: User) -> None:
    a = write("a")
    b = write("b", a)
    c = write("c", b)
    answer = say(f"switch to {c}", by=writer)
    root = say("view root").body["refs"][0]
    assert answer.reply == (
        f"✓ switched to [{c}]\n  depth:3 · 0 continuations · path: {root} → {a} → {b} → {c}"
    )
    say(f"switch to {a}")
    assert say("view here", by=writer).body["position"] == c


def test_at_says_where_here_is(say: Say, write: Write) -> None:
    a = write("a")
    write("b", a)
    assert say("view here", at=a).body["position"] == a
    assert say("view parent", at=a).body["ok"]
    with pytest.raises(CommandError):
        say("view here", at="zz99")


def test_looking_writes_a_step_and_no_event(say: Say) -> None:
    events = Event.objects.filter(stream__name__startswith="tree:").count()
    say("view root")
    say("help")
    assert Event.objects.filter(stream__name__startswith="tree:").count() == events
    assert Step.objects.count() == 2


def test_another_trees_node_is_cross_tree(say: Say, write: Write, actor: Actor) -> None:
    a = write("a")
    other = trees.new_tree(actor, title="Other")
    with pytest.raises(CommandError) as refused:
        say(f"view {a}", into=other)
    assert refused.value.code == "CROSS_TREE"
    assert refused.value.hint == 'add in tree:"Marie"'
    assert say(f'view {a} in tree:"Marie"', into=other).body["ok"]


def test_a_node_of_another_tree_is_named_with_its_tree(
    say: Say, write: Write, actor: Actor
) -> None:
    a = write("far away")
    other = trees.new_tree(actor, title="Other")
    b = write("near", into=other)
    far = f"tree:{actor.grove.trees.get(title='Marie').uid} node:{a}"
    say(f'link {b} to tree:"Marie" node:{a} as:supports', into=other)
    listed = say(f"list {b} links", into=other)
    assert f'──[supports]──→ [{a}] in tree:"Marie" "far away"' in listed.reply
    assert listed.body["refs"] == [far]
    for line in (f"view {far}", 'find "far" in:grove', f"tree from {far}", f"switch to {far}"):
        assert say(line, into=other).body["refs"] == [far], line
    assert say(f"view {listed.body['refs'][0]}", into=other).body["ok"]


def test_where_a_node_is_needed_a_trail_says_what_shows_it(say: Say, write: Write) -> None:
    write("a")
    with pytest.raises(CommandError) as refused:
        say('open trail:"a"')
    assert refused.value.code == "INVALID_SYNTAX"
    assert 'trail show "a"' in refused.value.hint


def test_help_lists_every_command_and_stars_what_one_may_not(say: Say, reader: User) -> None:
    text = say("help", by=reader).reply
    for entry in registry.every():
        if entry.verb == "use":  # of those who have tools alone
            assert "→ use" not in text
            continue
        assert f"→ {entry.syntax.replace(entry.verb, f'{entry.verb}*', 1)}" in text or (
            entry.permissions <= OF_ROLE["reader"] and f"→ {entry.syntax}" in text
        )
    assert "→ respond* [REF] CONTENT" in text
    assert text.endswith("* you may not use it here")
    assert "needs loom_aware, loom_write" in say("help prune").reply
    assert "* you may not use it here: loom_write is missing" in say("help prune", by=reader).reply


def test_help_states_what_holds_where_a_part_is_left_out(say: Say) -> None:
    assert "if left out: as:version in a buffer, as:fork in a dialogue" in say("help edit").reply
    assert "if left out: as:note" in say("help annotate").reply
    assert "in:tree · max:5 · context:3" in say("help find").reply
    assert "from here · n:1" in say("help continue").reply


def test_help_of_somebody_who_may_do_all_has_no_star(say: Say) -> None:
    assert "may not use it" not in say("help").reply


def test_help_stars_what_an_agent_lacks_or_whoever_asked_it(
    tree: Tree, actor: Actor, muse: Participant, grove: Grove, reader: User
) -> None:
    aware = {LOOM, READ_DOCUMENTS, WRITE}
    person = get_actor(reader, grove)
    for by, starred in ((actor, {"continue"}), (person, {"continue", "respond"})):
        agent = replace(by, participant=muse, permissions=by.permissions & aware)
        text = execute_line(agent, tree, Request("help")).reply
        assert ("→ continue*" in text, "→ respond*" in text) == (True, "respond" in starred)
        assert "→ allow" not in text and "→ veto" not in text
        explained = execute_line(agent, tree, Request("help veto")).reply
        assert explained.endswith("\n  only people use it")


def test_every_command_has_a_summary_and_a_known_permission() -> None:
    for command in registry.every():
        assert command.summary.endswith("."), command.verb
        assert command.permissions, command.verb


def test_an_outsider_has_no_actor(tree: Tree, outsider: User) -> None:
    from loom.access import get_tree

    with pytest.raises(CommandError) as refused:
        get_tree(outsider, tree.uid)
    assert refused.value.code == "NOT_FOUND"


def test_view_says_where_a_note_is_that_it_is_hidden_and_which_version_is_current(
    say: Say, write: Write
) -> None:
    a = write("She waited.")
    note = say(f'annotate {a} "Why?"').body["refs"][0]
    answer = say(f'annotate {note} "Because."').body["refs"][0]
    assert f"\nbelow {note} → {a} · " in say(f"view {answer}").reply
    new = say(f'edit {note} "Why so?"').body["refs"][0]
    shown = say(f"view {note}").reply
    assert f"\n[{note}] is now [{new}]\n" in shown
    assert "is now" not in say(f"view {new}").reply
    say(f"prune {a}")
    assert " · pruned · " in say(f"view {a}").reply
    assert f" · below pruned [{a}] · " in say(f"view {answer}").reply


def test_the_sources_of_a_node_and_the_nodes_made_from_it_are_listed(
    say: Say, write: Write
) -> None:
    a, b = write("one"), write("two")
    c = say(f'respond {a} "both" from:{a},{b}').body["refs"][0]
    assert say(f"list {c} sources").body["refs"] == [a, b]
    assert say(f"list {b} merges").body["refs"] == [c]
    assert "sources 2" in say(f"list {c}").reply and "merges 1" in say(f"list {b}").reply
    assert "a source of 1 node" in say(f"view {b}").reply


def test_a_part_that_is_not_there_is_refused_and_parts_are_read_only(
    say: Say, write: Write
) -> None:
    a = write("She waited.")
    for line, code in ((f"view {a} part:2", "NOT_FOUND"), (f'edit {a} part:1 "x"', "REJECTED")):
        with pytest.raises(CommandError) as refused:
            say(line)
        assert refused.value.code == code


def test_an_id_of_other_trees_names_them_all(
    say: Say,
    write: Write,
    actor: Actor,
    tree: Tree,
    muse: Participant,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    others = [trees.new_tree(actor, title=title) for title in ("A", "B")]
    monkeypatch.setattr(ids, "draw", lambda *_: "z9z9")
    assert [write("x", into=other) for other in others] == ["z9z9", "z9z9"]
    with pytest.raises(CommandError) as refused:
        say("view z9z9")
    assert refused.value.hint == 'add in tree:"A" or in tree:"B"'
    muse.permissions = [LOOM.value]
    muse.save()
    with pytest.raises(CommandError) as refused:
        execute_line(acting_as(actor, muse), tree, Request("view z9z9"))
    assert (refused.value.code, refused.value.hint) == ("CROSS_TREE", "ask an owner for cross_tree")


def test_trails_and_pipes_are_viewed(say: Say, write: Say) -> None:
    say(f"view {write('A text')}")
    say('trail save "Way"')
    assert say('view trail:"way"').reply == say('trail show "way"').reply
    say('pipe save "Look" "find \\"text\\""')
    viewed = say('view pipe:"look"').reply
    assert viewed.startswith('pipe:"Look" by Owner · ') and 'find "text"' in viewed
    for missing in ('trail:"none"', 'pipe:"none"'):
        with pytest.raises(CommandError) as refused:
            say(f"view {missing}")
        assert refused.value.code == "NOT_FOUND"
