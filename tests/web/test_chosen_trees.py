"""The list of trees: its order, folders, drawings, and what is done with several at once."""

import io
import zipfile
from itertools import pairwise

import pytest

from loom.access import Actor
from loom.errors import CommandError
from loom.groves.pages.groves import shape_of
from loom.people.models import Grove, Participant, User
from loom.trees.commands.trees import change_tree, new_tree
from loom.trees.models import Tree
from tests.queries.growing import add, chain
from tests.two_groves import TwoGroves
from tests.web.conftest import Visitor


def listed(visitor: Visitor, user: User, grove: Grove, query: str = "") -> str:
    """The grove's page as somebody sees it."""
    answer = visitor(user).get(f"/groves/{grove.uid}{query}")
    assert answer.status_code == 200
    return str(answer.content.decode())


@pytest.fixture
def three(actor: Actor) -> list[Tree]:
    """Apple, with most texts; berry, in a folder; cherry, the newest."""
    apple, berry, cherry = (new_tree(actor, title=title) for title in ("apple", "Berry", "cherry"))
    for number in range(5):
        add(apple, actor.participant, f"text {number}", apple.nodes.order_by("id").first())
    change_tree(actor, berry, {"folder": "  fruit \n salad "})
    return [apple, berry, cherry]


@pytest.mark.parametrize(
    ("query", "order"),
    [
        ("?sort=title", ("apple", "Berry", "cherry")),
        ("?sort=new", ("cherry", "Berry", "apple")),
        ("?sort=size", ("apple", "cherry", "Berry")),
        ("", ("Berry", "cherry", "apple")),
    ],
)
def test_the_list_is_sorted(
    owner: User, grove: Grove, three: list[Tree], visitor: Visitor, query: str, order: tuple[str]
) -> None:
    page = listed(visitor, owner, grove, query)
    places = [page.index(f'dir="auto">{title}</span>') for title in order]
    assert all(one < other for one, other in pairwise(places))


def test_folders_narrow_the_list_and_are_named(
    owner: User, grove: Grove, three: list[Tree], visitor: Visitor
) -> None:
    assert Tree.objects.get(title="Berry").folder == "fruit salad"
    page = listed(visitor, owner, grove, "?folder=fruit+salad&sort=title")
    assert "Berry" in page and "cherry" not in page
    assert "folder=fruit+salad&amp;sort=title" in page
    assert "No tree is in this folder." in listed(visitor, owner, grove, "?folder=nothing")


def test_a_folder_has_a_short_name(actor: Actor, tree: Tree) -> None:
    with pytest.raises(CommandError, match="at most 80"):
        change_tree(actor, tree, {"folder": "x" * 81})


def test_chosen_trees_are_archived_restored_and_moved(
    writer: User, grove: Grove, three: list[Tree], visitor: Visitor
) -> None:
    client, address = visitor(writer), f"/groves/{grove.uid}/chosen"
    chosen = [three[0].uid, three[2].uid]
    answer = client.post(address, {"tree": chosen, "do": "archive", "back": "sort=title"})
    assert answer.headers["Location"] == f"/groves/{grove.uid}?sort=title"
    assert "2 trees archived." in client.get(f"/groves/{grove.uid}").content.decode()
    archived = Tree.objects.filter(archived_at__isnull=False)
    assert {tree.title for tree in archived} == {"apple", "cherry"}
    client.post(address, {"tree": chosen, "do": "move", "folder": "red"})
    page = client.get(f"/groves/{grove.uid}").content.decode()
    assert "apple: This tree is archived" in page
    client.post(address, {"tree": chosen, "do": "restore"})
    client.post(address, {"tree": chosen, "do": "move", "folder": "red"})
    assert set(Tree.objects.filter(folder="red")) == {three[0], three[2]}
    client.post(address, {"do": "archive"})
    assert "Choose trees first." in client.get(f"/groves/{grove.uid}").content.decode()
    assert client.post(address, {"tree": chosen, "do": "erase"}).status_code == 400


def test_chosen_trees_are_one_file(
    reader: User, grove: Grove, three: list[Tree], visitor: Visitor
) -> None:
    chosen = [tree.uid for tree in three]
    answer = visitor(reader).post(f"/groves/{grove.uid}/chosen", {"tree": chosen, "do": "export"})
    packed = zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content)))  # type: ignore[attr-defined]
    assert packed.namelist() == ["01 apple.json", "02 Berry.json", "03 cherry.json"]
    assert b'"heddle": 1' in packed.read("01 apple.json").replace(b'"heddle":1', b'"heddle": 1')


def test_a_reader_changes_none(
    reader: User, grove: Grove, three: list[Tree], visitor: Visitor
) -> None:
    assert "tree-pick" not in listed(visitor, reader, grove)
    client = visitor(reader)
    client.post(f"/groves/{grove.uid}/chosen", {"tree": three[0].uid, "do": "archive"})
    assert not Tree.objects.filter(archived_at__isnull=False).exists()


def test_trees_of_another_grove_are_not_reached(two_groves: TwoGroves, visitor: Visitor) -> None:
    left, right = two_groves.left, two_groves.right
    for user, sent in ((two_groves.both, right.tree), (two_groves.only_left, right.tree)):
        for do in ("archive", "move", "export"):
            answer = visitor(user).post(
                f"/groves/{left.grove.uid}/chosen", {"tree": sent.uid, "do": do, "folder": "x"}
            )
            assert answer.status_code == 404
    address = f"/groves/{left.grove.uid}/chosen"
    assert visitor(two_groves.only_right).post(address, {"do": "archive"}).status_code == 404
    right.tree.refresh_from_db()
    assert right.tree.archived_at is None and right.tree.folder == ""


def test_a_row_draws_the_first_texts_and_names_who_else_wrote(
    reader: User, grove: Grove, actor: Actor, muse: Participant, tree: Tree, visitor: Visitor
) -> None:
    (first,) = chain(tree, actor.participant, "first")
    for _ in range(60):
        add(tree, muse, "another", first)
    page = listed(visitor, reader, grove)
    assert page.count('class="tree-shape"') == 1
    assert page.count("L94 ") == 38
    assert f"{actor.participant.name}, {muse.name}" in page


def test_a_drawing_begins_at_the_left_and_spreads_its_leaves() -> None:
    assert shape_of([(1, None)]) == ""
    assert shape_of([(1, None), (2, 1), (3, 2)]) == "M2 14L48 14M48 14L94 14"
    assert shape_of([(1, None), (2, 1), (3, 1), (9, 7)]) == "M2 14L94 2M2 14L94 26"
