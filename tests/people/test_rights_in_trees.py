"""Rights in a tree: who gives them, to whom, and who follows them: agents, keys, sockets; and what
they cost."""

from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from loom.access import acting_as, get_actor, get_actor_in, visible_trees, written_trees
from loom.documents.queries import lore_of
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.live.rechecks import Pass, memberships, verdicts_of
from loom.people.commands import accounts
from loom.people.models import Grove, Membership, Participant, User
from loom.permissions import GENERATE, OF_ROLE, OF_TREE, Scope
from loom.trees.commands import trees
from loom.trees.models import Tree, TreeRight

pytestmark = pytest.mark.django_db
Client = Callable[..., APIClient]


def test_the_grove_may_let_its_readers_comment_everywhere(
    grove: Grove, tree: Tree, owner: User, reader: User, api: Client
) -> None:
    settings = f"/api/groves/{grove.uid}/settings"
    assert get_actor_in(reader, tree.pk).right == "read"
    sent = {"readers_may": "comment"}
    assert api(owner).patch(settings, sent, format="json").status_code == 200
    assert get_actor_in(reader, tree.pk).right == "comment"
    execute_line(get_actor(owner, grove), tree, Request("allow readers read"))
    assert get_actor_in(reader, tree.pk).right == "read"
    refused = api(owner).patch(settings, {"readers_may": "write"}, format="json")
    assert refused.status_code == 400


def test_rights_are_given_by_name_and_by_role_and_taken_back(
    grove: Grove, tree: Tree, owner: User, writer: User, reader: User, api: Client
) -> None:
    client, url = api(owner), f"/api/trees/{tree.uid}/rights"
    for who, right in (("readers", "write"), (reader.username, "comment"), ("writers", "read")):
        answer = client.put(url, {"who": who, "right": right}, format="json")
        assert answer.status_code == 200
    rows = {
        member["user"]: (member["given"], member["right"]) for member in answer.json()["members"]
    }
    assert rows == {
        "owner": ("usual", "write"),
        "writer": ("usual", "read"),
        "reader": ("comment", "comment"),
    }
    assert [get_actor_in(user, tree.pk).right for user in (writer, reader)] == ["read", "comment"]
    actor = get_actor(owner, grove)
    reply = execute_line(actor, tree, Request("allow")).body["reply"]
    assert "all writers: read\n" in reply and "Reader: comment (given here)" in reply.replace(
        "reader:", "Reader:"
    )
    execute_line(actor, tree, Request("undo n:3"))
    assert [get_actor_in(user, tree.pk).right for user in (writer, reader)] == ["write", "read"]
    execute_line(actor, tree, Request("redo n:3"))
    assert [get_actor_in(user, tree.pk).right for user in (writer, reader)] == ["read", "comment"]
    with pytest.raises(CommandError, match="owns the grove"):
        execute_line(actor, tree, Request('allow "owner" read'))
    with pytest.raises(CommandError, match="A member called"):
        execute_line(actor, tree, Request('allow "Nobody" read'))
    with pytest.raises(CommandError, match="needs the role owner"):
        execute_line(get_actor(writer, grove), tree, Request("allow"))


def test_a_right_in_a_tree_gives_nothing_of_the_grove(
    grove: Grove, tree: Tree, reader: User, owner: User
) -> None:
    TreeRight.objects.create(tree=tree, user=reader, right="write")
    actor = get_actor(reader, grove)
    assert execute_line(actor, tree, Request('respond root "a text"')).body["ok"]
    for line in ('write doc:"New" new "a text"', 'pipe "view" save:"Look"'):
        with pytest.raises(CommandError) as why:
            execute_line(actor, tree, Request(line))
        assert why.value.code == "PERMISSION_DENIED"
        assert why.value.hint == "Ask an owner of the grove to make you a writer."
    other = trees.new_tree(get_actor(owner, grove), title="Other")
    with pytest.raises(CommandError, match="needs loom_write"):
        execute_line(actor, other, Request('respond root "a text"'))
    assert set(written_trees(actor)) == {tree}


def test_an_agent_may_do_no_more_than_who_started_it(
    grove: Grove, tree: Tree, writer: User, muse: Participant
) -> None:
    muse.permissions = [permission.value for permission in OF_ROLE["owner"]]
    muse.save()
    member = Membership.objects.get(user=writer)
    TreeRight.objects.create(tree=tree, user=writer, right="comment")
    agent = acting_as(get_actor_in(writer, tree.pk), muse)
    assert not agent.permissions & OF_TREE and agent.annotates
    assert execute_line(agent, tree, Request('annotate root "a note"')).body["ok"]
    with pytest.raises(CommandError, match="needs loom_write"):
        execute_line(agent, tree, Request('respond root "a text"'))
    # Also one that was fetched for the grove, before it came to this tree.
    elsewhere = acting_as(get_actor(writer, grove), muse)
    with pytest.raises(CommandError, match="needs loom_write"):
        execute_line(elsewhere, tree, Request('respond root "a text"'))
    muse.permissions = ["loom_aware"]
    muse.save()
    assert not acting_as(get_actor_in(writer, tree.pk), muse).annotates
    assert member.role == "writer" and GENERATE not in agent.permissions


def test_a_key_never_allows_more_than_its_scope(
    grove: Grove, tree: Tree, owner: User, reader: User
) -> None:
    TreeRight.objects.create(tree=tree, user=reader, right="write")
    scopes: tuple[Scope, ...] = ("read", "write")
    for scope in scopes:
        _, secret = accounts.make_key(reader, f"key {scope}", scope=scope)
        client = APIClient(headers={"authorization": f"Bearer {secret}"})
        answer = client.post(
            f"/api/trees/{tree.uid}/commands", {"line": 'respond root "a"'}, format="json"
        )
        assert answer.status_code == (403 if scope == "read" else 200)
    owner.scope = "read"
    assert get_actor_in(owner, tree.pk).right == "read"


def test_sockets_follow_the_rights_of_their_tree(
    grove: Grove, tree: Tree, owner: User, writer: User, reader: User
) -> None:
    def passes(*users: User) -> set[Pass]:
        return {Pass(user.pk, grove.pk, tree.pk) for user in users}

    everybody = passes(owner, writer, reader)
    TreeRight.objects.create(tree=tree, user=reader, right="write")
    Tree.objects.filter(pk=tree.pk).update(writer_right="hidden")
    expected = {owner.pk: "owner", writer.pk: 4404, reader.pk: "writer"}
    for verdicts in (verdicts_of(everybody), memberships(everybody)):
        assert {membership.user_id: verdict for membership, verdict in verdicts.items()} == expected
    in_grove = {Pass(writer.pk, grove.pk, None)}
    assert set(verdicts_of(in_grove).values()) == {"writer"}


def test_rights_cost_the_same_however_many_there_are(
    grove: Grove,
    tree: Tree,
    owner: User,
    writer: User,
    django_assert_num_queries: Callable[[int], Any],
) -> None:
    actor = get_actor(owner, grove)
    for number in range(12):
        new_tree = trees.new_tree(actor, title=f"Tree {number}")
        TreeRight.objects.create(
            tree=new_tree, user=writer, right="hidden" if number % 2 else "comment"
        )
    with django_assert_num_queries(1):
        assert visible_trees(writer).count() == 7
    with django_assert_num_queries(1):
        of_writer = get_actor_in(writer, tree.pk)
    with django_assert_num_queries(1):
        assert set(written_trees(of_writer)) == {tree}


def test_who_may_only_read_a_tree_adds_nothing_to_its_lore(
    grove: Grove, tree: Tree, owner: User, writer: User
) -> None:
    other = trees.new_tree(get_actor(owner, grove), title="Elsewhere")
    TreeRight.objects.create(tree=tree, user=writer, right="comment")
    actor, text = get_actor(writer, grove), "---\nkeys: whale\n---\nIt is white."

    def write(line: str, into: Tree = tree) -> str:
        return str(execute_line(actor, into, Request(line)).body["reply"])

    assert "not linked to this tree" in write(f'write doc:"Far" new\n{text}\n←')
    assert "not linked" not in write(f'write doc:"Near" new\n{text}\n←', other)
    owned = get_actor(owner, grove)
    node = execute_line(owned, tree, Request('respond root "A whale."')).body["refs"][0]
    own = execute_line(owned, tree, Request(f'write doc:"Owned" new\n{text}\n←'))
    for into, line in (
        (tree, 'link doc:"Far" to root'),
        (tree, f'link doc:"Far" to tree:{tree.uid}'),
        (other, f'link doc:"Far" to tree:{tree.uid}'),
        (other, f'link doc:"Near" to tree:{tree.uid} node:{node}'),
        (tree, f'unlink doc:"Owned" to tree:{tree.uid}'),
        (other, f'unlink doc:"Owned" to tree:{tree.uid}'),
    ):
        with pytest.raises(CommandError) as why:
            write(line, into)
        assert why.value.code == "PERMISSION_DENIED", line
    assert [f"doc:{entry.uid}" for entry in lore_of(owned, tree)] == own.body["refs"]
    TreeRight.objects.filter(user=writer).update(right="write")
    assert "✓ linked" in write('link doc:"Far" to root')
    TreeRight.objects.filter(user=writer).update(right="read")
    with pytest.raises(CommandError) as why:
        write("undo")
    assert why.value.code == "PERMISSION_DENIED"
    assert len(lore_of(owned, tree)) == 2
