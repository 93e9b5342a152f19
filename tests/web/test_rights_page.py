"""The table of rights on the Share page, and what the page of a tree offers to who may comment."""

import re

from loom.access import get_actor_in
from loom.people.models import Grove, User
from loom.trees.commands.rights import members_in, roles_in
from loom.trees.models import Tree, TreeRight
from tests.web.conftest import Visitor


def _sent(tree: Tree, owner: User, **chosen: str) -> dict[str, list[str]]:
    """The form as the page shows it, with other rights for some."""
    rows = [(role.name, role.own or "usual") for role in roles_in(tree)]
    actor = get_actor_in(owner, tree.pk)
    for row in members_in(actor, tree):
        if not row.is_owner:
            rows.append((row.member.user.username, row.own or "usual"))
    return {
        "who": [who for who, _ in rows],
        "before": [before for _, before in rows],
        "right": [chosen.get(who, before) for who, before in rows],
    }


def test_owners_change_rights_in_a_table(
    grove: Grove, tree: Tree, owner: User, writer: User, reader: User, visitor: Visitor
) -> None:
    client, url = visitor(owner), f"/trees/{tree.uid}/share"
    page = client.get(url).content.decode()
    names = re.findall(r'aria-label="What (.+?) may do here"', page)
    assert names[:2] == ["All readers", "All writers"] and len(names) == 4
    assert "everything" in page  # the owner's row has no select
    sent = _sent(tree, owner, readers="comment", writer="read")
    answer = client.post(f"{url}/rights", sent, follow=True)
    assert "The rights have been saved." in answer.content.decode()
    tree.refresh_from_db()
    assert tree.reader_right == "comment"
    assert get_actor_in(reader, tree.pk).right == "comment"
    assert get_actor_in(writer, tree.pk).right == "read"
    page = client.get(url).content.decode()
    assert "as usual: read and comment" in page  # for the reader, as all readers may
    client.post(f"{url}/rights", _sent(tree, owner, writer="usual"))
    assert not TreeRight.objects.exists()
    wrong = client.post(f"{url}/rights", _sent(tree, owner, writer="all"), follow=True)
    assert "There is no such right." in wrong.content.decode()
    for user in (writer, reader):
        assert visitor(user).post(f"{url}/rights", sent).status_code == 403


def test_the_page_offers_what_the_right_allows(
    tree: Tree, reader: User, writer: User, visitor: Visitor
) -> None:
    for user, right, can, says in (
        (reader, "", "", "You can read this tree. An owner"),
        (reader, "comment", "comment ", "You can read this tree and write notes on it."),
        (reader, "write", "write comment continue", ""),
        (writer, "comment", "comment ", "You can read this tree and write notes on it."),
        (writer, "read", "", "You can read this tree. An owner"),
    ):
        TreeRight.objects.all().delete()
        if right:
            TreeRight.objects.create(tree=tree, user=user, right=right)
        page = visitor(user).get(f"/trees/{tree.uid}").content.decode()
        assert f'data-can="{can}"' in page, right
        assert (says in page) if says else ('class="composer read-only' not in page), right


def test_whoever_lost_a_tree_is_told_in_the_list(
    grove: Grove, tree: Tree, reader: User, visitor: Visitor
) -> None:
    TreeRight.objects.create(tree=tree, user=reader, right="hidden")
    client = visitor(reader)
    assert client.get(f"/trees/{tree.uid}").status_code == 404
    page = client.get(f"/groves/{grove.uid}?lost=1").content.decode()
    assert "You can no longer see that tree." in page and tree.uid not in page
