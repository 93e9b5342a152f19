"""Sandboxes: begun, promoted, discarded, ended; and who finds them."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from loom import access
from loom.access import Actor, acting_as, at_tree, get_actor
from loom.claims.commands.checks import declare_check
from loom.claims.queries.inline_tokens import states_of
from loom.claims.rules.inline_tokens import tokens_in
from loom.engine import put_aside, streams
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event, Stream
from loom.errors import CommandError
from loom.language.ids import of_node
from loom.people.models import User
from loom.reading.queries.verify import verify_tree
from loom.sandboxes import commands
from loom.sandboxes.commands import discard_ended
from loom.sandboxes.copying import write_copies
from loom.trees.commands import node_writer
from loom.trees.models import Node, Tree
from loom.trees.queries import lookup
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db


def say(actor: Actor, tree: Tree, line: str, **more: Any) -> Any:
    """The answer to a line."""
    return execute_line(actor, tree, Request(line, **more)).body


def begin(two: TwoGroves, user: User, line: str = "sandbox") -> tuple[Actor, Tree]:
    """A sandbox of a member of the left grove, at its text."""
    actor = two.left.actor(user)
    at = two.left.text.local_id
    execute_line(actor, two.left.tree, Request(line, at=at))
    return actor, Tree.objects.get(sandbox_of=user, archived_at__isnull=True)


def refused(actor: Actor, tree: Tree, line: str) -> CommandError:
    with pytest.raises(CommandError) as why:
        execute_line(actor, tree, Request(line))
    return why.value


def test_a_sandbox_begins_with_the_path_and_hangs_at_its_text(two_groves: TwoGroves) -> None:
    two = two_groves
    actor = two.left.actor(two.both)
    reply = say(actor, two.left.tree, f'sandbox from {two.left.text.local_id} "Trials" days:3')
    sandbox = Tree.objects.get(sandbox_of=two.both)
    assert reply["reply"].startswith(
        f"✓ sandbox at [{two.left.text.local_id}], visible to you only\n"
        f"  tree:{sandbox.uid} until 20"
    )
    assert sandbox.title == "Trials" and sandbox.sandbox_at == two.left.text.pk
    assert timedelta(days=2) < sandbox.expires_at - timezone.now() < timedelta(days=3)  # type: ignore[operator]
    here = access.workspace_of(actor.participant, sandbox)
    path = lookup.path_of(actor, sandbox, here)
    old = lookup.path_of(actor, two.left.tree, None, two.left.text)
    assert [(node.local_id, node.text, node.author_name, node.hash, node.at) for node in path] == [
        (node.local_id, node.text, node.author_name, node.hash, node.at) for node in old
    ]
    assert verify_tree(actor, sandbox, None)["status"] == "valid"


def test_nothing_of_it_is_written_in_its_tree_of_origin(two_groves: TwoGroves) -> None:
    two = two_groves
    streams = [f"tree:{two.left.tree.uid}", f"grove:{two.left.grove.uid}"]
    before = list(Stream.objects.filter(name__in=streams).values_list("name", "head"))
    actor, sandbox = begin(two, two.both)
    say(actor, sandbox, 'respond "The kestrel wakes."')
    say(actor, sandbox, "discard")
    assert list(Stream.objects.filter(name__in=streams).values_list("name", "head")) == before


def test_only_its_maker_finds_it(two_groves: TwoGroves) -> None:
    two = two_groves
    actor, sandbox = begin(two, two.both)
    owner = User.objects.get(username="leftowner")
    for user in (owner, two.only_left, two.only_right, two.nobody):
        assert not access.visible_trees(user).filter(pk=sandbox.pk).exists()
        for get in (access.get_tree, access.get_visit):
            with pytest.raises(CommandError) as why:
                get(user, sandbox.uid)
            assert why.value.code == "NOT_FOUND"
    assert access.get_tree(two.both, sandbox.uid)[1] == sandbox
    assert list(access.trees_for(actor).filter(pk=sandbox.pk)) == [sandbox]


def test_an_agents_sandbox_is_seen_by_it_and_by_who_invited_it(two_groves: TwoGroves) -> None:
    two = two_groves
    agent = two.agent(two.left)
    for_both = acting_as(two.left.actor(two.both), agent)
    reply = say(for_both, two.left.tree, f"sandbox from {two.left.text.local_id}")
    assert "visible to you and your inviter" in reply["reply"]
    sandbox = Tree.objects.get(maker=agent, sandbox_of=two.both)
    assert access.get_tree(two.both, sandbox.uid)[1] == sandbox
    assert sandbox in access.trees_for(for_both)
    others = acting_as(two.left.actor(two.only_left), agent)
    assert sandbox not in access.trees_for(others)
    another = acting_as(two.left.actor(two.both), two.agent(two.left, name="Otto"))
    assert sandbox not in access.trees_for(another)
    assert not access.may_reach(another, sandbox.pk, here=two.left.tree)


def test_an_agent_reads_its_inviters_sandbox_only_where_it_was_asked(
    two_groves: TwoGroves,
) -> None:
    two = two_groves
    _, sandbox = begin(two, two.both)
    agent = acting_as(two.left.actor(two.both), two.agent(two.left))
    assert sandbox not in access.trees_for(agent)
    assert sandbox in access.trees_for(at_tree(agent, sandbox))


def test_an_agent_without_cross_tree_ends_the_sandboxes_that_it_may(two_groves: TwoGroves) -> None:
    two = two_groves
    held = ["loom_aware", "loom_write", "loom_generate"]
    agent = acting_as(two.left.actor(two.both), two.agent(two.left, permissions=held))
    assert say(agent, two.left.tree, f"sandbox from {two.left.text.local_id}")["ok"]
    assert say(agent, two.left.tree, "undo")["ok"]
    _, sandbox = begin(two, two.both)
    inside = at_tree(agent, sandbox)
    assert say(inside, sandbox, 'respond "It wakes at dawn."')["ok"]
    assert say(inside, sandbox, "promote")["reply"].startswith("✓ promoted 1 node below")


def test_promoting_keeps_authors_instants_and_hashes(two_groves: TwoGroves) -> None:
    two = two_groves
    tree = two.left.tree
    actor, sandbox = begin(two, two.both)
    first = say(actor, sandbox, 'respond "It wakes at dawn."')["refs"][0]
    say(actor, sandbox, f'edit {first} "It wakes at dusk."')
    second = say(actor, sandbox, 'respond "Then it flies."')["refs"][0]
    say(actor, sandbox, f'annotate {second} "where to?" as:question')
    say(actor, sandbox, f"link {second} to {two.left.text.local_id} as:supports")
    say(actor, sandbox, f"tag {second} #flight")
    gone = say(actor, sandbox, f'respond {first} "Or not."')["refs"][0]
    say(actor, sandbox, f"prune {gone}")
    head = Stream.objects.get(name=f"tree:{tree.uid}").head
    reply = say(actor, sandbox, "promote")["reply"]
    assert reply.startswith(f"✓ promoted 5 nodes below [{two.left.text.local_id}]")
    names = ("local_id", "text", "author", "created_at", "hash", "parent_hash", "kind", "pruned")
    new = Node.objects.filter(tree=sandbox, pk__gt=(sandbox.pk << 32) + sandbox.sandbox_copies)  # type: ignore[operator]
    by_id = {node.local_id: node for node in Node.objects.filter(tree=tree)}
    for old in new:
        assert all(getattr(by_id[old.local_id], name) == getattr(old, name) for name in names)
    assert verify_tree(actor, tree, None)["status"] == "valid"
    owner = two.left.actor(User.objects.get(username="leftowner"))
    path = lookup.path_of(owner, tree, None, by_id[second])
    assert [node.text for node in path][-2:] == ["It wakes at dusk.", "Then it flies."]
    kinds = Event.objects.filter(stream__name=f"tree:{tree.uid}", seq__gt=head)
    assert sorted(set(kinds.values_list("kind", flat=True))) == [
        "link.added",
        "mark.added",
        "node.added",
        "node.flagged",
    ]
    sandbox.refresh_from_db()
    assert sandbox.archived_at is not None
    assert refused(actor, sandbox, "promote").code == "REJECTED"


def test_a_local_id_that_is_taken_there_is_drawn_again(two_groves: TwoGroves) -> None:
    two = two_groves
    actor, sandbox = begin(two, two.both)
    mine = say(actor, sandbox, 'respond "It wakes."')["refs"][0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(node_writer, "fresh_local_id", lambda tree, used: mine)
        say(actor, two.left.tree, 'respond root "Another."')
    reply = say(actor, sandbox, "promote")["reply"]
    assert f"[{mine}] is [" in reply
    assert Node.objects.filter(tree=two.left.tree, text="It wakes.").exists()


def test_promoting_runs_the_checks_that_apply(two_groves: TwoGroves) -> None:
    two = two_groves
    declare_check(two.left.actor(two.both), name="short", kind="max_words", parameters={"n": 3})
    actor, sandbox = begin(two, two.both)
    long = say(actor, sandbox, 'respond "It wakes long before dawn."')["refs"][0]
    why = refused(actor, sandbox, "promote")
    assert why.code == "REJECTED" and f"1 check failed: [{long}] short" in why.message
    assert not Node.objects.filter(tree=two.left.tree, text__contains="dawn").exists()
    say(actor, sandbox, f"prune {long}")
    say(actor, sandbox, f'respond {two.left.text.local_id} "It wakes."')
    assert say(actor, sandbox, "promote", dry_run=True)["reply"].startswith("✓ promoted 2 nodes")
    assert say(actor, sandbox, "promote")["reply"].startswith("✓ promoted 2 nodes")


def test_a_sandbox_changes_nothing_outside_of_itself(two_groves: TwoGroves) -> None:
    two = two_groves
    say(two.left.actor(two.both), two.left.tree, 'write doc:"Log" new "Nothing."')
    actor, sandbox = begin(two, two.both)
    for line in (
        'write doc:"Log" append "a kestrel"',
        'write doc:"More" new "a kestrel"',
        'link doc:"Log" to root',
        'tag doc:"Log" #kestrel',
        'bookmark doc:"Log"',
        'pipe "view | annotate root" save:"kestrel"',
        'trail save "kestrel"',
        "sandbox",
    ):
        why = refused(actor, sandbox, line)
        assert (why.code, why.message) == (
            "REJECTED",
            "A sandbox changes nothing outside of itself.",
        ), line


def test_it_ends_by_discard_undo_or_its_days(two_groves: TwoGroves) -> None:
    two = two_groves
    actor, sandbox = begin(two, two.both)
    assert refused(actor, sandbox, "promote").message == "Nothing was written in this sandbox."
    assert say(actor, sandbox, "discard")["reply"].startswith("✓ discarded this sandbox")
    actor, second = begin(two, two.both)
    say(actor, two.left.tree, "undo")
    second.refresh_from_db()
    assert second.archived_at is not None
    actor, third = begin(two, two.both)
    assert discard_ended() == 0
    Tree.objects.filter(pk=third.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert discard_ended() == 1
    third.refresh_from_db()
    assert third.archived_at is not None


def test_a_sandbox_that_cannot_be_ended_keeps_no_other_open(
    two_groves: TwoGroves, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = two_groves
    begin(two, two.both)
    begin(two, two.only_left)
    first, second = Tree.objects.filter(sandbox_of__isnull=False).order_by("pk")
    ended = timezone.now() - timedelta(seconds=1)
    Tree.objects.filter(sandbox_of__isnull=False).update(expires_at=ended)
    close = commands._close

    def broken(tree: Tree, *given: Any, **named: Any) -> None:
        if tree.pk == first.pk:
            raise ValueError("no")
        close(tree, *given, **named)

    monkeypatch.setattr(commands, "_close", broken)
    assert [discard_ended() for _ in range(put_aside.MOST_TRIES + 1)] == [1, 0, 0, 0]
    second.refresh_from_db()
    assert second.archived_at is not None
    [aside] = put_aside.of_grove(two.left.grove)
    assert (aside.kind, aside.uid, aside.tries) == ("sandbox", first.uid, put_aside.MOST_TRIES)


def _over(sandbox: Tree) -> None:
    """Ends a sandbox by its days."""
    ended = timezone.now() - timedelta(seconds=1)
    Tree.objects.filter(pk=sandbox.pk).update(expires_at=ended)
    assert discard_ended() == 1
    sandbox.refresh_from_db()
    assert sandbox.archived_at is not None


def test_a_sandbox_whose_days_are_over_gets_days_again_when_it_is_opened(
    two_groves: TwoGroves,
) -> None:
    two = two_groves
    actor, sandbox = begin(two, two.both)
    _over(sandbox)
    why = refused(actor, sandbox, 'respond "It wakes."')
    assert why.code == "REJECTED" and why.message.startswith("The days of this sandbox are over")
    client = two.client(two.both)
    address = f"/api/trees/{sandbox.uid}"
    assert client.patch(address, {"archived": False}, format="json").status_code == 200
    assert discard_ended() == 0
    sandbox.refresh_from_db()
    assert sandbox.expires_at is not None
    assert sandbox.expires_at - timezone.now() > timedelta(days=6)
    say(actor, sandbox, 'respond "It wakes."')
    # Days that it has left stay.
    later = timezone.now() + timedelta(days=60)
    Tree.objects.filter(pk=sandbox.pk).update(expires_at=later)
    client.patch(address, {"archived": True}, format="json")
    client.patch(address, {"archived": False}, format="json")
    sandbox.refresh_from_db()
    assert sandbox.expires_at == later


def test_a_promotion_that_is_undone_after_its_days_opens_the_sandbox_with_days(
    two_groves: TwoGroves,
) -> None:
    two = two_groves
    actor, sandbox = begin(two, two.both)
    say(actor, sandbox, 'respond "The kestrel wakes."')
    say(actor, sandbox, "promote")
    Tree.objects.filter(pk=sandbox.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    say(actor, two.left.tree, "undo")
    assert discard_ended() == 0
    sandbox.refresh_from_db()
    assert sandbox.archived_at is None
    _over(sandbox)
    why = refused(actor, two.left.tree, "redo")
    assert (why.code, why.message) == ("CONFLICT", "The days of this sandbox are over.")
    client = two.client(two.both)
    client.patch(f"/api/trees/{sandbox.uid}", {"archived": False}, format="json")
    assert "promote" in say(actor, two.left.tree, "redo")["reply"]
    sandbox.refresh_from_db()
    assert sandbox.archived_at is not None


def test_promote_and_discard_are_for_sandboxes(two_groves: TwoGroves) -> None:
    actor = two_groves.left.actor(two_groves.both)
    for line in ("promote", "discard"):
        assert refused(actor, two_groves.left.tree, line).message == "This tree is no sandbox."


@pytest.mark.parametrize("right", ["hidden", "read"])
def test_rights_that_are_taken_while_a_sandbox_begins_count(
    two_groves: TwoGroves, monkeypatch: pytest.MonkeyPatch, right: str
) -> None:
    two = two_groves
    owner = two.left.grove.memberships.get(role="owner").user
    actor = two.left.actor(two.both)

    def meanwhile(*given: Any) -> Any:
        two.left.run(owner, f'allow "{actor.participant.name}" {right}')
        return write_copies(*given)

    monkeypatch.setattr("loom.sandboxes.commands.write_copies", meanwhile)
    with pytest.raises(CommandError) as why:
        execute_line(actor, two.left.tree, Request("sandbox", at=two.left.text.local_id))
    assert why.value.code == {"hidden": "NOT_FOUND", "read": "PERMISSION_DENIED"}[right]
    assert not Tree.objects.filter(sandbox_of=two.both).exists()


@pytest.mark.parametrize("what", ["archived", "pruned", "reader"])
def test_what_happens_to_its_origin_while_a_promotion_waits_counts(
    two_groves: TwoGroves, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    two = two_groves
    actor, sandbox = begin(two, two.both)
    say(actor, sandbox, 'respond "Tried."')
    lock = streams.lock

    def waited(item: Any, **named: Any) -> Any:
        if item == two.left.tree:
            if what == "archived":
                Tree.objects.filter(pk=item.pk).update(archived_at=timezone.now())
            elif what == "pruned":
                Node.objects.filter(pk=two.left.text.pk).update(pruned=True)
            else:
                two.left.grove.memberships.filter(user=two.both).update(role="reader")
        return lock(item, **named)

    monkeypatch.setattr(streams, "lock", waited)
    codes = {"archived": "REJECTED", "pruned": "REJECTED", "reader": "PERMISSION_DENIED"}
    assert refused(actor, sandbox, "promote").code == codes[what]
    assert not Node.objects.filter(tree=two.left.tree, text="Tried.").exists()


def test_a_reader_begins_none(two_groves: TwoGroves) -> None:
    two = two_groves
    two.left.grove.memberships.filter(user=two.both).update(role="reader")
    actor = get_actor(two.both, two.left.grove)
    assert refused(actor, two.left.tree, "sandbox").code == "PERMISSION_DENIED"


def test_a_sandbox_is_a_token_of_itself(two_groves: TwoGroves) -> None:
    two = two_groves
    client = two.client(two.both)
    actor, sandbox = begin(two, two.both)
    token = f"/api/items/tree:{sandbox.uid}/tokens/0"
    body = client.get(token).json()
    assert (body["kind"], body["state"], body["inputs"]) == (
        "sandbox",
        "active",
        ["promote", "discard"],
    )
    tried = client.post(token, {"input": "promote", "dry_run": True}, format="json").json()
    assert tried["obligations"] == [{"says": "Nothing was written in this sandbox.", "met": False}]
    assert client.post(token, {"input": "expire"}, format="json").status_code == 409
    say(actor, sandbox, 'respond "It wakes."')
    tried = client.post(token, {"input": "promote", "dry_run": True}, format="json").json()
    assert tried["lines"] == ["→ promote"] and tried["obligations"][0]["met"]
    done = client.post(token, {"input": "promote"}, format="json").json()
    assert done["token"]["state"] == "promoted" and done["token"]["inputs"] == []
    _, second = begin(two, two.both)
    two_ = f"/api/items/tree:{second.uid}/tokens/0"
    gone = client.post(two_, {"input": "discard"}, format="json").json()
    assert gone["token"]["state"] == "discarded"
    _, third = begin(two, two.both)
    Tree.objects.filter(pk=third.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    discard_ended()
    assert client.get(f"/api/items/tree:{third.uid}/tokens/0").json()["state"] == "expired"
    others = two.client(two.only_left)
    assert others.get(token).status_code == 404
    plain = f"/api/items/tree:{two.left.tree.uid}/tokens"
    assert client.get(plain).json() == {"count": 0, "results": []}


def test_a_sandbox_has_the_rights_of_its_tree_and_follows_them(two_groves: TwoGroves) -> None:
    two = two_groves
    owner = two.left.actor(User.objects.get(username="leftowner"))
    name = two.left.actor(two.both).participant.name
    say(owner, two.left.tree, "allow writers read")
    say(owner, two.left.tree, f'allow "{name}" write')
    actor, sandbox = begin(two, two.both)
    say(actor, sandbox, 'respond "It wakes."')
    # May only read by name: also in the sandbox, which then promotes nothing.
    say(owner, two.left.tree, f'allow "{name}" read')
    assert refused(actor, sandbox, 'respond "It flies."').code == "PERMISSION_DENIED"
    assert refused(actor, sandbox, "promote").code == "PERMISSION_DENIED"
    client = two.client(two.both)
    assert client.get(f"/api/trees/{sandbox.uid}").status_code == 200
    # Hidden: the sandbox is gone for its maker, too, with its token and its page.
    say(owner, two.left.tree, f'allow "{name}" hidden')
    for address in (
        f"/api/trees/{sandbox.uid}",
        f"/api/items/tree:{sandbox.uid}/tokens",
        f"/api/items/tree:{sandbox.uid}/tokens/0",
        f"/trees/{sandbox.uid}",
        f"/trees/{sandbox.uid}/sandbox",
    ):
        assert client.get(address).status_code == 404, address
    sent = {"input": "promote"}
    answer = client.post(f"/api/items/tree:{sandbox.uid}/tokens/0", sent, format="json")
    assert answer.status_code == 404
    say(owner, two.left.tree, f'allow "{name}" usual')
    say(owner, two.left.tree, "allow writers write")
    assert say(actor, sandbox, "promote")["reply"].startswith("✓ promoted 1 node")


def test_nobody_gets_a_right_in_a_sandbox_by_name(two_groves: TwoGroves) -> None:
    two = two_groves
    owner = two.left.actor(User.objects.get(username="leftowner"))
    _, sandbox = begin(two, two.both)
    other = two.left.actor(two.only_left).participant.name
    say(owner, two.left.tree, f'allow "{other}" write')
    assert two.client(two.only_left).get(f"/api/trees/{sandbox.uid}").status_code == 404
    line = {"line": f'allow "{other}" write'}
    asked = two.client(owner.user).post(f"/api/trees/{sandbox.uid}/commands", line, format="json")
    assert asked.status_code == 404
    own = refused(two.left.actor(two.both), sandbox, f'allow "{other}" write')
    assert own.code in ("REJECTED", "PERMISSION_DENIED")
    assert two.client(two.only_left).get(f"/api/trees/{sandbox.uid}").status_code == 404


def test_undoing_a_promotion_takes_back_its_links_and_marks(two_groves: TwoGroves) -> None:
    """Nothing of the promotion stays on texts that are shown, and promoting again adds each link
    once."""
    two = two_groves
    tree, at = two.left.tree, two.left.text.local_id
    actor, sandbox = begin(two, two.both)
    first = say(actor, sandbox, 'respond "It wakes at dawn."')["refs"][0]
    say(actor, sandbox, f"link {first} to {at} as:supports")
    say(actor, sandbox, f"link {at} to root as:uses")  # both were there before
    say(actor, sandbox, f"tag {first} #flight")
    say(actor, sandbox, f"bookmark {at}")
    say(actor, sandbox, "promote")

    def links(ref: str) -> set[str]:
        reply = str(say(actor, tree, f"list {ref}")["reply"])
        return {*reply.rpartition("links: ")[2].split(" · ")} - {"continues 1"}

    shown = Node.objects.get(tree=tree, text="It wakes at dawn.").local_id
    assert links(at) == {"supported_by 1", "uses 1"}
    say(actor, tree, "undo")
    for ref in (at, shown):
        assert not any(word in " ".join(links(ref)) for word in ("supports", "supported", "uses"))
    kinds = Event.objects.filter(stream__name=f"tree:{tree.uid}").order_by("-id")
    undone = list(kinds.values_list("kind", flat=True)[:5])
    assert undone.count("link.removed") == 2 and undone.count("mark.removed") == 2
    sandbox.refresh_from_db()
    assert sandbox.archived_at is None
    say(actor, sandbox, "promote")
    assert links(at) == {"supported_by 1", "uses 1"}
    say(actor, tree, "undo")
    say(actor, tree, "redo")
    assert links(at) == {"supported_by 1", "uses 1"}


def test_a_promoted_link_that_is_there_already_is_not_added_twice(two_groves: TwoGroves) -> None:
    two = two_groves
    tree, at = two.left.tree, two.left.text.local_id
    actor, sandbox = begin(two, two.both)
    say(actor, tree, f"link {at} to root as:uses")
    say(actor, sandbox, f"link {at} to root as:uses")
    say(actor, sandbox, 'respond "It wakes at dawn."')
    say(actor, sandbox, "promote")
    assert "links: uses 1 ·" in say(actor, tree, f"list {at}")["reply"]


TASKS = "- [ ] read the log\n- [x] ring the bell\n- [ ] look north"


def _tasks(tree: Tree, text: str) -> list[tuple[str, list[str]]]:
    """The state and the notes of each task of the newest text of the tree that is this one."""
    node = Node.objects.filter(tree=tree, text=text).order_by("-pk")[0]
    known = states_of(of_node(node.pk), tokens_in(text))
    return [(state, list(notes)) for state, notes in known.values()]


def test_promoting_keeps_what_became_of_tasks_and_undo_leads_them_back(
    two_groves: TwoGroves,
) -> None:
    two = two_groves
    tree = two.left.tree
    actor, sandbox = begin(two, two.both)
    text = Node.objects.get(
        tree=sandbox, local_id=say(actor, sandbox, f"respond\n{TASKS}\n←")["refs"][0]
    )
    for line in ("check {0} token:1", "uncheck {0} token:2", 'note {0} token:3 "from the tower"'):
        say(actor, sandbox, "todo " + line.format(text.local_id))
    became = [("checked", []), ("unchecked", []), ("unchecked", ["from the tower"])]
    written = [(state, list[str]()) for state in ("unchecked", "checked", "unchecked")]
    assert _tasks(sandbox, TASKS) == became
    reply = say(actor, sandbox, "promote")["reply"]
    assert "left in the sandbox" not in reply
    assert _tasks(tree, TASKS) == became
    changed = Event.objects.filter(stream__name=f"tree:{tree.uid}", kind="token.changed")
    assert changed.count() == 3
    others = two.client(two.only_left).get(f"/api/items/{text.local_id}/tokens?tree={tree.uid}")
    assert [token["state"] for token in others.json()["results"]] == [state for state, _ in became]
    say(actor, tree, "undo")
    assert _tasks(tree, TASKS) == written
    assert _tasks(sandbox, TASKS) == became
    say(actor, tree, "redo")
    assert _tasks(tree, TASKS) == became
    say(actor, tree, "undo")
    sandbox.refresh_from_db()
    say(actor, sandbox, "promote")
    assert _tasks(tree, TASKS) == became


def test_a_promotion_of_which_somebody_changed_a_task_is_not_undone(
    two_groves: TwoGroves,
) -> None:
    two = two_groves
    actor, sandbox = begin(two, two.both)
    text = say(actor, sandbox, f"respond\n{TASKS}\n←")["refs"][0]
    say(actor, sandbox, f"todo check {text} token:1")
    say(actor, sandbox, "promote")
    say(two.left.actor(two.only_left), two.left.tree, f"todo uncheck {text} token:1")
    assert refused(actor, two.left.tree, "undo").code == "CONFLICT"
    assert not Node.objects.get(tree=two.left.tree, text=TASKS).pruned


def test_promoting_says_that_tasks_of_older_texts_stay_as_they_are(two_groves: TwoGroves) -> None:
    two = two_groves
    tree = two.left.tree
    owner = two.left.actor(User.objects.get(username="leftowner"))
    at = say(owner, tree, f"respond root\n{TASKS}\n←")["refs"][0]
    actor = two.left.actor(two.both)
    say(actor, tree, f"sandbox from {at}")
    sandbox = Tree.objects.get(sandbox_of=two.both)
    say(actor, sandbox, f"todo check {at} token:1")
    say(actor, sandbox, 'respond "Done."')
    for dry_run in (True, False):
        reply = say(actor, sandbox, "promote", dry_run=dry_run)["reply"]
        assert "left in the sandbox: 1 changed task" in reply
    assert _tasks(tree, TASKS)[0] == ("unchecked", [])
