"""Files for other looms hold every branch: read back by readers, or by the plain rules of each."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.notes.models import Mark
from loom.people.models import Participant
from loom.transfer.writers import looms
from tests.thorough import tries
from tests.transfer.conftest import Bring, tree_of
from tests.transfer.planting import Plant, paths, plant, plants, wanted

pytestmark = pytest.mark.django_db
FEW = settings(max_examples=tries(25), suppress_health_check=list(HealthCheck))
TEXTS: list[Plant] = [
    (-1, False, "Once"),
    (0, True, " upon 🌫️"),
    (0, True, " there"),
    (1, False, ' a "time"'),
    (1, True, "\r\ne\u0301"),
]


def written(writer: Any, *given: Any, **more: Any) -> Any:
    return json.loads(b"".join(writer(wanted(*given, **more))))


@FEW
@given(texts=plants())
def test_pyloom_reads_back_what_was_written(
    texts: list[Plant], actor: Actor, muse: Participant, bring: Bring
) -> None:
    tree, _ = plant(actor, muse, texts)
    again = tree_of(bring(b"".join(looms.pyloom(wanted(actor, tree)))))
    assert paths(again) == paths(tree)
    by = {(node.text, node.author.kind) for node in tree.nodes.select_related("author")}
    assert {(node.text, node.author.kind) for node in again.nodes.select_related("author")} == by


def test_pyloom_keeps_models_times_tags_and_bookmarks(
    actor: Actor, muse: Participant, bring: Bring
) -> None:
    tree, nodes = plant(actor, muse, TEXTS)
    execute_line(actor, tree, Request(f'bookmark {nodes[1].local_id} "the fog"'))
    execute_line(actor, tree, Request(f"tag {nodes[2].local_id} #old"))
    again = tree_of(bring(b"".join(looms.pyloom(wanted(actor, tree)))))
    fog = again.nodes.get(text=" upon 🌫️")
    assert fog.author.name == "Muse (imported)"
    assert fog.created_at == nodes[1].created_at.replace(microsecond=0)
    marks = {(mark.kind, mark.label, mark.item_id) for mark in Mark.objects.filter(tree=again)}
    old = again.nodes.get(text=" there")
    assert marks == {("bookmark", "the fog", fog.pk), ("tag", "old", old.pk)}
    assert again.title == "T"


# Loomsidian: notes by UUID, in the order of keys.


def from_loomsidian(file: Any) -> list[tuple[str, ...]]:
    nodes = file["nodes"]

    def path(name: str | None) -> tuple[str, ...]:
        return (*path(nodes[name]["parentId"]), nodes[name]["text"]) if name else ()

    return sorted(path(name) for name in nodes)


@FEW
@given(texts=plants())
def test_loomsidian_holds_every_path(texts: list[Plant], actor: Actor, muse: Participant) -> None:
    tree, _ = plant(actor, muse, texts)
    assert from_loomsidian(written(looms.loomsidian, actor, tree)) == paths(tree)


def test_loomsidian_has_the_fields_of_the_plugin(actor: Actor, muse: Participant) -> None:
    tree, nodes = plant(actor, muse, TEXTS)
    execute_line(actor, tree, Request(f"bookmark {nodes[2].local_id}"))
    execute_line(actor, tree, Request(f"switch to {nodes[3].local_id}"))
    file = written(looms.loomsidian, actor, tree)
    assert set(file) == {"current", "hoisted", "searchTerm", "nodes", "generating"}
    assert [node["text"] for node in file["nodes"].values()] == [
        "Once", " upon 🌫️", ' a "time"', "\r\ne\u0301", " there"
    ]  # fmt: skip
    assert file["nodes"][file["current"]]["text"] == ' a "time"'
    assert [node["text"] for node in file["nodes"].values() if node["bookmarked"]] == [" there"]
    fields = "text parentId collapsed unread bookmarked lastVisited searchResultState"
    assert {frozenset(node) for node in file["nodes"].values()} == {frozenset(fields.split())}
    at = int(nodes[0].created_at.timestamp() * 1000)
    assert next(iter(file["nodes"].values()))["lastVisited"] == at


def test_a_tree_without_texts_is_read_from_its_loomsidian_file(
    actor: Actor, muse: Participant, bring: Bring
) -> None:
    tree, _ = plant(actor, muse, [])
    row = bring(written(looms.loomsidian, actor, tree))
    assert row.report["format"] == "loomsidian"
    assert paths(tree_of(row)) == []
    assert [node.text for node in tree_of(row).nodes.all()] == [""]


# Exoloom: numbered nodes that name each other both ways.


@FEW
@given(texts=plants())
def test_exoloom_holds_every_path(texts: list[Plant], actor: Actor, muse: Participant) -> None:
    tree, _ = plant(actor, muse, texts)
    file = written(looms.exoloom, actor, tree)
    nodes = {int(name): node for name, node in file["tree"]["nodes"].items()}

    def path(name: int) -> tuple[str, ...]:
        above = nodes[name]["parentId"]
        return (*path(above), nodes[name]["content"]) if above is not None else ()

    root = file["tree"]["rootNodeId"]
    assert nodes[root]["parentId"] is None and nodes[root]["content"] == ""
    assert sorted(path(name) for name in nodes if name != root) == paths(tree)
    for name, node in nodes.items():
        assert all(nodes[child]["parentId"] == name for child in node["childrenIds"])
    assert sum(len(node["childrenIds"]) for node in nodes.values()) == len(nodes) - 1


def test_exoloom_hides_what_is_pruned(actor: Actor, muse: Participant) -> None:
    tree, planted = plant(actor, muse, TEXTS)
    execute_line(actor, tree, Request(f"prune {planted[1].local_id}"))
    execute_line(actor, tree, Request(f"bookmark {planted[2].local_id}"))
    file = written(looms.exoloom, actor, tree)
    nodes = file["tree"]["nodes"]
    [pruned] = file["lens"]["prunedNodes"]
    [marked] = file["lens"]["bookmarks"]
    assert nodes[str(pruned["nodeId"])]["content"] == " upon 🌫️"
    assert nodes[str(marked["nodeId"])]["content"] == " there"
    kinds = [(node["authorType"], node["authorName"]) for node in nodes.values()][1:3]
    assert kinds == [("USER", "Owner"), ("LLM", "Muse")]
    assert "Muse" not in json.dumps(written(looms.exoloom, actor, tree, authors=False))


# MiniLoom: a node is a patch of its parent's whole text, counted in UTF-16.


def patched(text: str, patches: Any) -> str:
    """The text after patches whose places must fit exactly, as diff-match-patch counts them."""
    units = text.encode("utf-16-le")
    for patch in patches or ():
        at = patch["start2"] * 2
        old = b"".join(piece.encode("utf-16-le") for op, piece in patch["diffs"] if op <= 0)
        new = b"".join(piece.encode("utf-16-le") for op, piece in patch["diffs"] if op >= 0)
        assert (len(old), len(new)) == (patch["length1"] * 2, patch["length2"] * 2)
        assert units[at : at + len(old)] == old
        units = units[:at] + new + units[at + len(old) :]
    return units.decode("utf-16-le")


@FEW
@given(texts=plants())
def test_miniloom_holds_every_whole_text(
    texts: list[Plant], actor: Actor, muse: Participant
) -> None:
    tree, _ = plant(actor, muse, texts)
    nodes = written(looms.miniloom, actor, tree)["loomTree"]["nodeStore"]

    def whole(name: str | None) -> str:
        return patched(whole(nodes[name]["parent"]), nodes[name]["patch"]) if name else ""

    assert sorted(map(whole, nodes)) == sorted(["", *("".join(path) for path in paths(tree))])
    assert nodes["1"]["type"] == "root" and nodes["1"]["patch"] == ""
    for name, node in nodes.items():
        assert node["id"] == name
        assert all(nodes[child]["parent"] == name for child in node["children"])


def test_miniloom_begins_where_the_reader_is(actor: Actor, muse: Participant) -> None:
    tree, nodes = plant(actor, muse, TEXTS)
    execute_line(actor, tree, Request(f"switch to {nodes[1].local_id}"))
    file = written(looms.miniloom, actor, tree)
    assert file["focus"] == file["loomTree"]["nodeStore"][file["focus"]["id"]]
    assert (file["focus"]["type"], file["focus"]["model"]) == ("gen", "Muse")


@pytest.mark.parametrize("name", ["pyloom", "loomsidian", "exoloom", "miniloom"])
def test_messages_are_apart_where_texts_are_joined(
    name: str, actor: Actor, muse: Participant
) -> None:
    tree, _ = plant(actor, muse, [(-1, False, "Hello?"), (0, True, "Yes.")], mode="dialogue")
    file = json.dumps(written(getattr(looms, name), actor, tree), ensure_ascii=False)
    assert r"\n\nYes." in file and r"\n\nHello?" not in file


def test_of_a_path_nothing_beside_it_is_written(actor: Actor, muse: Participant) -> None:
    tree, nodes = plant(actor, muse, TEXTS)
    file = written(looms.loomsidian, actor, tree, nodes[3])
    assert [node["text"] for node in file["nodes"].values()] == ["Once", " upon 🌫️", ' a "time"']
    names = written(looms.loomsidian, actor, tree)["nodes"]
    assert file["nodes"].keys() < names.keys()


def test_the_reader_s_versions_are_written_and_nothing_hidden(
    actor: Actor, muse: Participant
) -> None:
    tree, nodes = plant(actor, muse, TEXTS)
    execute_line(actor, tree, Request(f'edit {nodes[2].local_id} " here" as:version'))
    execute_line(actor, tree, Request(f"prune {nodes[1].local_id}"))
    file = written(looms.loomsidian, actor, tree)
    assert [node["text"] for node in file["nodes"].values()] == ["Once", " here"]
    execute_line(actor, tree, Request(f"switch to {nodes[2].local_id}"))
    file = written(looms.loomsidian, actor, tree)
    assert [node["text"] for node in file["nodes"].values()] == ["Once", " there"]
