"""undo and redo: every world-changing command has an inverse, and nobody undoes another's."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from loom.access import Actor, acting_as, get_actor
from loom.claims.commands.checks import declare_check
from loom.engine import streams
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event, Step, Stream
from loom.errors import CommandError
from loom.links.models import Link
from loom.notes.models import Mark
from loom.people.models import Participant, User
from loom.trees.commands.trees import change_tree
from loom.trees.models import Node, Tree, TreeRight
from loom.turns.models import Generation
from tests.commands.conftest import Say

pytestmark = pytest.mark.django_db
Write = Callable[..., str]


def world() -> dict[str, Any]:
    """What is seen of the world: flags, marks and links that stand."""
    return {
        "nodes": [
            (n.local_id, n.excluded, n.resolved_at is None)
            for n in Node.objects.order_by("id")
            if not n.pruned and not n.version_pruned
        ],
        "marks": sorted((m.item_id, m.kind, m.label) for m in Mark.objects.filter(removed_at=None)),
        "links": sorted(
            (k.source_id, k.target_id, k.type) for k in Link.objects.filter(removed_at=None)
        ),
    }


LINES = [
    'respond {a} "x"',
    'edit {a} "x" as:version',
    'edit {a} "x" as:fork',
    "split {b} at:1",
    "prune {a}",
    "exclude {a}",
    "link {a} to {b}",
    'bookmark {a} "y"',
    "tag {a} #new #other",
    "untag {a} #old",
    "unbookmark {b}",
    'annotate {a} "x"',
    "resolve {note}",
    'resolve {note} "why"',
]


@pytest.mark.parametrize("line", LINES)
def test_undo_brings_the_world_back_and_redo_again(say: Say, write: Write, line: str) -> None:
    a, b = write("aaa"), write("bbb")
    say(f"tag {a} #old")
    say(f'bookmark {b} "mine"')
    note = say(f'annotate {b} "note"').body["refs"][0]
    before = world()
    answer = say(line.format(a=a, b=b, note=note))
    after = world()
    assert after != before
    assert say("undo").reply == f"✓ undid {answer.body['canonical']}"
    assert world() == before
    assert say("redo").reply == f"✓ redid {answer.body['canonical']}"
    assert world() == after
    say("undo")
    assert world() == before


def test_undo_goes_back_step_by_step_and_says_each(say: Say, write: Write) -> None:
    a = write("a")
    say(f"exclude {a}")
    say(f"bookmark {a}")
    answer = say("undo n:2")
    assert answer.reply == f"✓ undid → bookmark {a}\n✓ undid → exclude {a}"
    assert Step.objects.filter(undoes__isnull=False).count() == 2


def test_what_somebody_has_built_on_is_a_conflict(say: Say, write: Write, writer: User) -> None:
    a = write("a")
    b = say(f'respond {a} "mine now"', by=writer).body["refs"][0]
    with pytest.raises(CommandError) as refused:
        say("undo")
    assert refused.value.code == "CONFLICT"
    assert b in refused.value.message
    assert not Node.objects.filter(pruned=True).exists()


def test_a_failure_in_the_middle_keeps_what_was_done(say: Say, write: Write, writer: User) -> None:
    a = write("a")
    say(f'respond {a} "theirs"', by=writer)
    say(f"exclude {a}")
    answer = say("undo n:2")
    assert answer.reply.startswith(f"✓ undid → exclude {a}\n✗ CONFLICT: ")
    assert not Node.objects.get(local_id=a).excluded


def test_nothing_left_is_rejected_and_others_steps_are_not_mine(say: Say, writer: User) -> None:
    say('respond root "a"')
    with pytest.raises(CommandError) as refused:
        say("undo", by=writer)
    assert refused.value.code == "REJECTED"


def test_a_line_with_a_block_is_reported_in_one_line(say: Say) -> None:
    say("respond root\nfirst\nsecond\n←")
    assert say("undo").reply == "✓ undid → respond root …"
    assert say("redo").reply == "✓ redid → respond root …"


def test_undo_leads_back_to_the_version_that_was_chosen(say: Say, write: Write) -> None:
    a = write("a")
    say(f'edit {a} "b" as:version')
    say(f"switch to {a}")
    say('respond "below"')
    assert say("undo").body["position"] == a


def test_a_step_is_undone_by_its_number(say: Say, write: Write) -> None:
    a = write("a")
    step = say(f"exclude {a}").body["step"]
    look = say("view root").body["step"]
    say(f"bookmark {a}")
    assert say(f"undo step:{step}").reply == f"✓ undid → exclude {a}"
    with pytest.raises(CommandError) as refused:
        say(f"undo step:{look}")
    assert refused.value.code == "REJECTED"
    with pytest.raises(CommandError):
        say(f"undo step:{step}")


def test_an_owner_undoes_what_another_did_and_may_redo_it(
    say: Say, write: Write, writer: User
) -> None:
    a = write("a")
    step = say(f"exclude {a}", by=writer).body["step"]
    assert say(f'undo step:{step} by:"wRiter"').reply == f"✓ undid → exclude {a}"
    assert not Node.objects.get(local_id=a).excluded
    with pytest.raises(CommandError) as refused:
        say("undo", by=writer)
    assert refused.value.code == "REJECTED"
    say("redo")
    assert Node.objects.get(local_id=a).excluded


def test_an_owner_undoes_a_text_that_only_its_author_has_gone_on_from(
    say: Say, writer: User
) -> None:
    answer = say('respond root "first"', by=writer)
    first = answer.body["refs"][0]
    say(f'respond {first} "and on"', by=writer)
    say(f'undo step:{answer.body["step"]} by:"Writer"')
    assert Node.objects.get(local_id=first).pruned


def test_only_owners_undo_what_others_did(say: Say, write: Write, writer: User) -> None:
    a = write("a")
    step = say(f"exclude {a}").body["step"]
    with pytest.raises(CommandError) as refused:
        say(f'undo step:{step} by:"Owner"', by=writer)
    assert refused.value.code == "PERMISSION_DENIED"
    own = say(f"bookmark {a}", by=writer).body["step"]
    assert say(f'undo step:{own} by:"Writer"', by=writer).reply == f"✓ undid → bookmark {a}"
    with pytest.raises(CommandError) as refused:
        say(f'undo step:{step} by:"Nobody"')
    assert refused.value.code == "NOT_FOUND"


def test_a_new_change_clears_redo(say: Say, write: Write) -> None:
    a = write("a")
    say(f"exclude {a}")
    say("undo")
    say(f"bookmark {a}")
    with pytest.raises(CommandError) as refused:
        say("redo")
    assert refused.value.code == "REJECTED"


@pytest.mark.parametrize(
    "line", ['withdraw {claim} "no"', 'pipe "view full | annotate root" save:"gloss"', ""]
)
def test_a_change_that_cannot_be_undone_clears_redo(
    say: Say, write: Write, actor: Actor, tree: Tree, writer: User, line: str
) -> None:
    declare_check(actor, name="short", kind="max_words", scope="grove", parameters={"n": 5})
    a = write("a")
    claim = say(f'claim "It is so." cite:{a}').body["refs"][0]
    say(f"exclude {a}")
    say(f"bookmark {a}")
    say("undo n:2")
    say(f"tag {a} #theirs", by=writer)
    for look in ("view {}", "check {}", "switch to {}"):
        say(look.format(a))
    say("redo")  # looking did not clear it, nor what others changed, nor this
    if line:
        say(line.format(claim=claim))
    else:
        change_tree(actor, tree, {"title": "Another"})
    with pytest.raises(CommandError) as refused:
        say("redo")
    assert refused.value.code == "REJECTED"


def test_undoing_a_continue_stops_what_still_runs(say: Say, muse: Participant) -> None:
    say("continue from root n:2")
    say("undo")
    assert all(g.stop_asked and g.discard for g in Generation.objects.all())


def test_whoever_undoes_the_text_at_their_position_is_placed_above_it(
    write: Write, tree: Tree, actor: Actor
) -> None:
    above = write("Above.")
    node = write("Below.", above)
    answer = execute_line(actor, tree, Request("undo", at=node))
    assert answer.body["position"] == above


@pytest.mark.parametrize("line", ["undo", "undo step"])
def test_whoever_undoes_a_prune_is_where_they_were(say: Say, write: Write, line: str) -> None:
    above = write("Above.")
    pruned = write("Pruned.", above)
    below = write("Below.", pruned)
    for other in (above, pruned):  # where the last line was given makes no difference
        say("view here", at=other)
        answer = say(f"prune {pruned}", at=below)
        assert answer.body["position"] == above
        undo = f"undo step:{answer.body['step']}" if line == "undo step" else line
        assert say(undo, at=above).body["position"] == below


def test_whoever_went_elsewhere_stays_there_after_the_undo_of_a_prune(
    say: Say, write: Write
) -> None:
    above, beside = write("Above."), write("Beside.")
    pruned = write("Pruned.", above)
    say(f"prune {pruned}", at=pruned)
    assert say("undo", at=beside).body["position"] == beside
    answer = say(f"prune {pruned}", at=beside)
    assert answer.body["position"] == beside
    assert say("undo", at=above).body["position"] == above


def test_the_lines_of_an_act_are_undone_and_redone_together(say: Say, write: Write) -> None:
    nodes = [write(text) for text in ("Marie came.", "Marie sat.", "She ate.")]
    say(f"bookmark {nodes[2]}")
    before = world()
    act = {"act": "replace-1", "doing": "replaced Marie by Morag in 2 passages"}
    say(f'edit {nodes[0]} "Morag came." as:version', **act)
    say(f'edit {nodes[1]} "Morag sat." as:version', **act)
    after = world()
    lines = say("undo").reply.split("\n")
    assert lines[0] == "✓ undid “replaced Marie by Morag in 2 passages”"
    assert [line.split()[:3] for line in lines[1:]] == [
        ["→", "edit", nodes[1]],
        ["→", "edit", nodes[0]],
    ]
    assert world() == before
    assert say("redo").reply.startswith("✓ redid “replaced Marie by Morag in 2 passages”")
    assert world() == after
    say("undo")
    assert say("undo").reply == f"✓ undid → bookmark {nodes[2]}"


def test_an_act_that_is_not_undone_leaves_sums_and_numbers_as_they_were(
    say: Say, write: Write, writer: User, tree: Tree, actor: Actor
) -> None:
    above = write("Above.")
    act = {"act": "two-1", "doing": "wrote two texts"}
    texts = [say(f'respond "c {n}"', at=above, **act).body["refs"][0] for n in range(2)]
    say('respond "Built upon it."', at=texts[0], by=writer)
    say(f"tag {above} #old")
    stream = Stream.objects.filter(name=streams.name_of(tree))
    before = stream.values_list("leaves", "deepest", "words", "items").get()
    reply = say("undo n:2").reply.splitlines()
    assert reply[0].startswith("✓ undid → tag") and reply[1].startswith("✗ CONFLICT")
    assert stream.values_list("leaves", "deepest", "words", "items").get() == before
    say('respond "After it."', at=above)
    events = Event.objects.filter(stream__in=stream)
    own = Step.objects.filter(workspace__participant=actor.participant)
    for rows in (events, own):
        numbers = sorted(rows.values_list("seq", flat=True))
        assert numbers == list(range(1, len(numbers) + 1))


def test_an_act_that_somebody_built_on_is_undone_in_no_part(
    say: Say, write: Write, writer: User
) -> None:
    one, two = write("Marie came."), write("Marie sat.")
    act = {"act": "replace-2", "doing": "replaced Marie by Morag in 2 passages"}
    ref = say(f'edit {one} "Morag came." as:version', **act).body["refs"][0]
    last = say(f'edit {two} "Morag sat." as:version', **act).body["step"]
    say(f'edit {ref} "Morag went." as:version', by=writer)
    now = world()
    for line in ("undo", f"undo step:{last}"):
        with pytest.raises(CommandError) as refused:
            say(line)
        assert refused.value.code == "CONFLICT"
        assert world() == now


FORMS = (
    'respond {} "more"',
    'edit {} "other" as:version',
    'edit {} "beside" as:fork',
    "split {} at:1",
    "bookmark {}",
    "tag {} #kept",
    'annotate {} "why"',
    "exclude {}",
    "prune {}",
)


def own(name: str) -> list[Any]:
    """What is there of one participant's: their nodes, with what was done to them, and marks."""
    nodes = Node.objects.filter(author__name=name).order_by("id")
    marks = Mark.objects.filter(participant__name=name, removed_at=None)
    return [
        [
            (n.local_id, n.excluded, n.resolved_at is None)
            for n in nodes
            if not n.pruned and not n.version_pruned
        ],
        sorted((m.item_id, m.kind, m.label) for m in marks),
    ]


def undo_all(say: Say, **who: Any) -> None:
    """Undoes until nothing is left; no step may be refused for another reason."""
    for _ in range(200):
        try:
            say("undo", **who)
        except CommandError as refused:
            assert refused.code == "REJECTED", refused.message
            return
    raise AssertionError("undo does not come to an end")


@pytest.mark.parametrize("seed", range(6))
def test_undo_to_the_start_leaves_all_of_ones_own_as_before_and_the_others_alone(
    say: Say, actor: Actor, writer: User, seed: int
) -> None:
    roll = random.Random(seed)
    me, her = actor.participant.name, get_actor(writer, actor.grove).participant.name
    people: dict[str, dict[str, Any]] = {me: {}, her: {"by": writer}}
    start = {name: own(name) for name in people}
    at = {
        name: [say(f'respond root "text of {name}"', **who).body["refs"][0]]
        for name, who in people.items()
    }
    for step in range(40):
        name = roll.choice([me, her])
        node = roll.choice(at[name])
        act = f"{name} {step // 4}" if roll.random() < 0.5 else ""
        line = roll.choice(FORMS).format(node)
        try:
            answer = say(line, at=node, act=act, doing=act and "wrote", **people[name])
        except CommandError:
            continue
        if line.startswith(("respond", "edit", "split")):
            at[name] += answer.body["refs"]
    hers = own(her)
    undo_all(say)
    assert own(me) == start[me]
    assert own(her) == hers
    undo_all(say, by=writer)
    assert own(her) == start[her]


def test_undo_of_a_version_leads_from_it_to_the_one_that_is_current(say: Say, write: Write) -> None:
    a = write("a")
    version = say(f'edit {a} "b" as:version').body["refs"][0]
    assert say("undo", at=version).body["position"] == a


@pytest.mark.parametrize(
    ("permissions", "line"),
    [
        (("loom_aware",), 'suggest {a} "better"'),
        (("loom_aware", "loom_write"), 'annotate {a} "a note"'),
        (("loom_aware", "loom_write"), "tag {a} #late"),
        (("loom_aware", "loom_write"), 'bookmark {a} "mine"'),
        (("loom_aware", "loom_write"), "link {a} to {b}"),
    ],
)
def test_undo_needs_the_permission_of_the_form_that_is_undone(
    say: Say, write: Write, actor: Actor, tree: Tree, permissions: tuple[str, ...], line: str
) -> None:
    a, b = write("aaa"), write("bbb")
    agent = Participant.objects.create(
        grove=tree.grove, kind="model", name="Low", permissions=[*permissions]
    )
    acting = acting_as(actor, agent)
    # A long text is named in the step of its line.
    long = " ".join(["much"] * 100)
    verb = "annotate" if "loom_write" in permissions else "suggest"
    for said in (line.format(a=a, b=b), "undo", "redo", f"{verb} {b}\n{long}", "undo"):
        assert execute_line(acting, tree, Request(said)).body["ok"], said


def test_who_may_only_read_a_tree_undoes_what_belongs_to_the_grove(
    say: Say, tree: Tree, writer: User
) -> None:
    say('write doc:"Notes" new "a text"')
    TreeRight.objects.create(tree=tree, user=writer, right="read")
    say('tag doc:"Notes" #late', by=writer)
    assert say("undo", by=writer).reply == '✓ undid → tag doc:"Notes" #late'
