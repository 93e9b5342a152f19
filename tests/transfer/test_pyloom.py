"""Trees of pyloom: everything a file says is a node, a mark, an author, a time, or kept."""

import json
from pathlib import Path
from typing import Any

import pytest

from loom.access import Actor
from loom.notes.models import Mark
from loom.people.models import Participant, User
from loom.reading.queries.verify import verify_tree
from loom.text.hashes import instant
from loom.transfer import files, pyloom
from loom.transfer.records import NodeRecord, Report
from loom.trees.models import Node, Tree
from tests.machines.replay import stored
from tests.transfer.conftest import Bring, texts, tree_of

pytestmark = pytest.mark.django_db


def node(text: str, *children: Any, **more: Any) -> dict[str, Any]:
    """A node of a file; `text` after `children`, as half of them are."""
    return {**more, "children": list(children), "text": text}


def full(*children: Any, text: str = "", **head: Any) -> dict[str, Any]:
    """A whole file."""
    return {"root": node(text, *children, id="r"), **head}


def _one(tree: Tree, text: str) -> Node:
    return Node.objects.select_related("author").get(tree=tree, text=text)


def _labels(tree: Tree, kind: str) -> dict[str, list[str]]:
    """Labels by the text of the node."""
    labels: dict[str, list[str]] = {}
    for mark in Mark.objects.filter(tree=tree, kind=kind).order_by("id"):
        text = Node.objects.get(pk=mark.item_id).text
        labels.setdefault(text, []).append(mark.label)
    return labels


def test_the_demo_of_pyloom_has_764_nodes_and_verifies(
    bring: Bring, sample: Any, actor: Actor
) -> None:
    raw = sample("pyloom/loom_demo.json")
    row = bring(raw, name="loom_demo.json")
    tree = tree_of(row)
    assert tree.nodes.count() == row.report["nodes"] == 764
    assert (tree.title, tree.mode) == ("loom_demo", "buffer")
    assert verify_tree(actor, tree, None)["status"] == "valid"
    assert texts(tree) == list(_walk(json.loads(raw)["root"]))
    assert tree.nodes.filter(author__kind="model").exists()


def test_notes_on_nodes_are_annotations(bring: Bring, actor: Actor) -> None:
    inner = node("Two.", notes=["Too short?", {"text": "Ask Ada."}, "  "], id="b")
    raw = full(
        node("One.", inner, notes="A first line.", id="a"),
        node("Three.", notes=[{"text": "Kept beside.", "at": 3}, {"text": "Too."}], id="c"),
        node("Four.", notes=[{"lines": []}], id="d"),
    )
    row = bring(raw)
    tree = tree_of(row)
    notes = tree.nodes.filter(kind="annotation").order_by("id")
    annotations = list(notes.values_list("text", "parent_slot__text", "form"))
    assert annotations == [
        ("Too short?", "Two.", "note"),
        ("Ask Ada.", "Two.", "note"),
        ("A first line.", "One.", "note"),
        ("Kept beside.", "Three.", "note"),
        ("Too.", "Three.", "note"),
    ]
    plain = tree.nodes.filter(kind="text").order_by("id")
    assert [row.text for row in plain] == ["", "One.", "Two.", "Three.", "Four."]
    assert _one(tree, "Four.").imported == {"id": "d", "notes": [{"lines": []}]}
    assert (_one(tree, "Three.").imported or {})["notes"][0]["at"] == 3
    assert row.report["kept"]["notes, as annotations"] == 5
    assert verify_tree(actor, tree, None)["status"] == "valid"


def _walk(root: Any) -> Any:
    waiting = [(root, None)]
    while waiting:
        branch, above = waiting.pop()
        yield branch["text"], above
        waiting += [(child, branch["text"]) for child in reversed(branch["children"])]


def test_the_demos_bookmarks_and_tags_are_all_kept(bring: Bring, sample: Any) -> None:
    raw = sample("pyloom/loom_demo.json")
    tree = tree_of(bring(raw, name="loom_demo.json"))
    tags = [tag for node in _nodes(json.loads(raw)["root"]) for tag in node.get("tags", [])]
    assert Mark.objects.filter(tree=tree, kind="tag").count() == len(
        [tag for tag in tags if tag != "bookmark"]
    )
    assert Mark.objects.filter(tree=tree, kind="bookmark").count() >= tags.count("bookmark") > 0


def _nodes(root: Any) -> Any:
    waiting = [root]
    while waiting:
        branch = waiting.pop()
        yield branch
        waiting += branch["children"]


def test_the_lighthouse_comes_whole(bring: Bring, sample: Any, actor: Actor) -> None:
    tree = tree_of(bring(sample("synthetic/pyloom.json"), name="lighthouse.json"))
    assert tree.nodes.count() == 8
    ships = _one(tree, " There were nine, one more than the harbour had ever held.")
    assert (ships.author.kind, ships.author.name) == ("model", "base-one (imported)")
    assert ships.author.archived_at is not None and ships.author.base_url == ""
    assert instant(ships.created_at) == "2026-01-01T00:00:00.000000Z"
    assert _one(tree, " None of them moved.").author == actor.participant
    assert _labels(tree, "bookmark") == {"\n\nIn the log she wrote both numbers down.": ["The log"]}


def test_the_simple_export_comes_whole(bring: Bring, sample: Any, actor: Actor) -> None:
    row = bring(sample("synthetic/pyloom-simple-export.json"))
    tree = tree_of(row)
    assert row.report["format"] == "pyloom-simple"
    assert tree.nodes.count() == 8  # the foreign root has a text, and hangs below ours
    assert {node.author for node in tree.nodes.all()} == {actor.participant}
    assert ' "Again," said the fog — it had learned to speak that winter. 🌫️' in dict(texts(tree))


def test_a_foreign_empty_root_becomes_ours(bring: Bring) -> None:
    tree = tree_of(bring(full(node("a", node("b")), node(""))))
    assert texts(tree) == [("", None), ("a", ""), ("b", "a"), ("", "")]


def test_a_foreign_root_with_text_becomes_a_child_of_ours(bring: Bring) -> None:
    tree = tree_of(bring(full(node("a"), text="once")))
    assert texts(tree) == [("", None), ("once", ""), ("a", "once")]


def test_text_stays_as_it_was(bring: Bring) -> None:
    text = "\r\n  e\u0301 \u00e9 \ud83c\udf2b\ufe0f\t\u2028 "
    tree = tree_of(bring(json.dumps(full(node(text))).encode()))
    assert texts(tree)[1][0] == text.encode("utf-16", "surrogatepass").decode("utf-16")


def test_unknown_fields_are_kept_and_named(bring: Bring) -> None:
    row = bring(full(node("a", id="x1", weight=0.5, frame={"template": "{{ 7 * 7 }}"})))
    kept = _one(tree_of(row), "a").imported
    assert kept == {"id": "x1", "weight": 0.5, "frame": {"template": "{{ 7 * 7 }}"}}
    assert "weight" in row.report["unknown"]


def test_keys_are_dropped_and_named_and_nowhere_stored(bring: Bring) -> None:
    secret = "sk-" + "a1B2" * 12
    row = bring(
        full(
            node("a", api_key="k-123456", meta={"note": secret}),
            model_config={"OPENAI_API_KEY": "k-123456", "models": {"m": {"api_base": "x"}}},
            generation_settings={"model": "m", "authorization": "k-123456"},
        )
    )
    tree = tree_of(row)
    everything = json.dumps([tree.imported, row.report, *tree.nodes.values_list("imported")])
    assert "k-123456" not in everything and secret not in everything
    assert any("api_key" in name for name in row.report["dropped"])
    assert any("OPENAI_API_KEY" in name for name in row.report["dropped"])


def test_what_the_file_says_of_the_whole_tree_is_kept(bring: Bring) -> None:
    settings = {"template": "{{ config }}", "temperature": 0.9}
    memories = {"m1": {"root_id": "r", "text": "It rains."}}
    row = bring(full(node("a"), generation_settings=settings, memories=memories, mood="grey"))
    kept = tree_of(row).imported
    assert kept is not None
    assert kept["generation_settings"] == settings and kept["memories"] == memories
    assert kept["mood"] == "grey" and row.report["unknown"] == {"file.mood": 1}


def test_a_model_of_the_same_name_does_not_sign_what_a_file_brings(
    bring: Bring, muse: Participant
) -> None:
    brought = node("a", generation={"id": "g", "model": "muse"}, meta={"source": "AI"})
    tree = tree_of(bring(full(brought)))
    author = _one(tree, "a").author
    assert author != muse and author.archived_at is not None
    assert author.name == "muse (imported)"
    assert _one(tree_of(bring(full(brought), name="again.json")), "a").author == author


def test_a_model_named_like_a_person_is_not_that_person(bring: Bring, actor: Actor) -> None:
    name = actor.participant.name
    brought = node("a", generation={"id": "g", "model": name}, meta={"source": "AI"})
    author = _one(tree_of(bring(full(brought))), "a").author
    assert author.kind == "model" and author != actor.participant


def test_what_a_person_wrote_over_a_models_text_is_theirs(bring: Bring, actor: Actor) -> None:
    brought = node("a", generation={"id": "g"}, meta={"source": "mixed", "modified": True})
    tree = tree_of(bring(full(brought, model_responses={"g": {"id": "g", "model": "base"}})))
    assert _one(tree, "a").author == actor.participant


def test_old_bookmarks_and_the_canonical_list_are_marks(bring: Bring) -> None:
    tree = tree_of(bring(full(node("a", bookmark=True), node("b", id="b1"), canonical=["b1"])))
    assert _labels(tree, "bookmark") == {"a": [""]}
    assert _labels(tree, "tag") == {"b": ["canonical"]}


def test_a_client_that_replays_the_events_has_the_tree(bring: Bring, sample: Any) -> None:
    from tests.machines.replay import Replayed, events_of

    row = bring(sample("pyloom/loom_demo.json"))
    tree = tree_of(row)
    events = events_of(tree)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[0]["kind"] == "tree.created" and events[-1]["kind"] == "import.finished"
    state = Replayed()
    for event in events[:-1]:
        state.take(event["kind"], event["payload"])
    assert state == stored(tree)
    assert events[-1]["payload"]["report"] == row.report


def test_a_new_node_goes_on_below_an_imported_one(bring: Bring, actor: Actor) -> None:
    from loom.engine.context import Request
    from loom.engine.execute import execute_line

    tree = tree_of(bring(full(node("a"))))
    tree = Tree.objects.select_related("grove").get(pk=tree.pk)
    answer = execute_line(actor, tree, Request(f'respond {_one(tree, "a").local_id} "b"'))
    assert answer.body["ok"] and tree.nodes.count() == 3
    assert verify_tree(actor, tree, None)["status"] == "valid"


def test_a_text_without_a_date_in_its_file_is_shown_with_none(
    bring: Bring, owner: User, api: Any
) -> None:
    when = {"meta": {"creation_timestamp": "2021-03-04-05.06.07"}}
    tree = tree_of(bring(full(node("a"), node("b", **when))))
    client = api(owner)
    dated = client.get(f"/trees/{tree.uid}/nodes/{_one(tree, 'b').local_id}").content.decode()
    assert "<dt>Written</dt>" in dated and "2021-03-04" in dated
    undated = client.get(f"/trees/{tree.uid}/nodes/{_one(tree, 'a').local_id}").content.decode()
    assert "<dt>Imported</dt>" in undated and "<dt>Written</dt>" not in undated
    page = client.get(f"/trees/{tree.uid}?node={_one(tree, 'a').local_id}").content.decode()
    assert "does not say when it was written" in page or tree.mode == "buffer"


def _chain(deep: int) -> bytes:
    """A file in which each node hangs below the one before."""
    opening = b'{"root":{"text":"","children":['
    return opening + b'{"text":"a","children":[' * (deep - 1) + b"]}" * (deep - 1) + b"]}}"


def test_a_chain_of_100_000_nodes_is_read_like_any_other(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_bytes(_chain(100_000))
    records: list[NodeRecord] = []
    with files.SourceFile(path, lambda at: None) as source:
        pyloom.read_full(files.parsed(source), records.append, Report())
    assert [(record.number, record.parent) for record in records[:2]] == [
        (99_999, 99_998),
        (99_998, 99_997),
    ]
    assert (len(records), records[-1].number, records[-1].parent) == (100_000, 0, -1)


def test_a_deep_chain_comes_in_whole(bring: Bring) -> None:
    tree = tree_of(bring(_chain(10_000)))
    last = tree.nodes.order_by("-id").values_list("depth", flat=True).first()
    assert (tree.nodes.count(), last) == (10_000, 9_999)
