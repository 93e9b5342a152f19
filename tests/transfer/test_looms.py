"""Trees of other looms: places, authors, marks and order; what is not ours is kept beside it."""

from typing import Any

import pytest

from loom.errors import CommandError
from tests.transfer.reading import raw_of, tree_of, trees_of

LIGHTHOUSE = [
    ("The lighthouse keeper counted the ships.", None),
    (" There were nine, one more than the harbour had ever held.", 0),
    (" She counted them twice, and the second number was smaller.", 0),
    (' "Again," said the fog — it had learned to speak that winter. 🌫️', 2),
    ("\n\nIn the log she wrote both numbers down.", 2),
    (" Then she lit the lamp.", 4),
    (" None of them moved.", 0),
]


@pytest.mark.parametrize("name", ["exoloom", "loomsidian-export"])
def test_the_lighthouse_is_the_same_in_every_format(name: str, sample: Any) -> None:
    tree = tree_of(sample(f"synthetic/{name}.json"))
    texts = [text for text, _ in LIGHTHOUSE]
    assert tree.outline() == [
        (text, None if above is None else texts[above]) for text, above in LIGHTHOUSE
    ]
    assert tree.record("\n\nIn the log she wrote both numbers down.").bookmark == ""
    assert tree.head.mode == "buffer"


def test_exoloom_has_authors_times_and_pruned_nodes(sample: Any) -> None:
    tree = tree_of(sample("synthetic/exoloom.json"))
    first, second = tree.records[:2]
    assert (first.author, first.author_kind) == ("someone", "human")
    assert (second.author, second.author_kind, second.flags) == ("base-one", "model", ["pruned"])
    assert first.at == "2026-01-01T00:00:00+00:00"
    assert (tree.title, tree.head.description) == ("Lighthouse", "synthetic")


def loomsidian(**nodes: dict[str, Any]) -> dict[str, Any]:
    """The tree of a note."""
    return {"current": "a", "hoisted": [], "searchTerm": "", "generating": None, "nodes": nodes}


def test_loomsidian_may_have_several_roots_and_children_before_parents() -> None:
    tree = tree_of(
        loomsidian(
            b={"text": "two", "parentId": "a", "unread": True},
            a={"text": "one", "parentId": None, "bookmarked": True, "mood": "calm"},
            c={"text": "other", "parentId": None},
        )
    )
    assert tree.outline() == [("one", None), ("two", "one"), ("other", None)]
    assert tree.record("one").imported == {"mood": "calm"} and tree.report.unknown == {"mood": 1}
    assert tree.record("two").imported == {"unread": True}


def test_an_older_list_of_loomsidian_names_models_and_escapes_their_texts() -> None:
    nodes = [
        {"id": "1", "value": r"a \< b", "parentId": None, "author": "genesis"},
        {"id": "2", "value": r" \<c> \[d]", "parentId": "1", "author": "davinci"},
    ]
    tree = tree_of({"nodes": nodes, "current": "2"})
    assert tree.outline() == [(r"a \< b", None), (" <c> [d]", r"a \< b")]
    assert [record.author for record in tree.records] == ["", "davinci"]


def test_the_data_of_the_loomsidian_plugin_has_a_tree_for_each_note_and_no_settings() -> None:
    notes = {
        "deep/First note.md": loomsidian(a={"text": "one", "parentId": None}),
        "Second.md": loomsidian(a={"text": "two", "parentId": None}),
    }
    raw = {"settings": {"openaiApiKey": "sk-" + "x" * 40, "model": "secretmodel"}, "state": notes}
    trees = trees_of(raw)
    assert [(tree.title, tree.count, tree.records[0].text) for tree in trees] == [
        ("First note", 1, "one"),
        ("Second", 1, "two"),
    ]
    assert "secretmodel" not in str([tree.head.imported for tree in trees])


def test_flat_files_of_pyloom_are_read_as_lines_and_as_a_list() -> None:
    lines = (
        {"id": "a", "text": "one", "parent_id": None},
        {"id": "c", "text": "three", "parent_id": "b"},
        {"id": "b", "text": "two", "parent_id": "a"},
    )
    for content in (
        lines,
        list(lines),
        [{**line, "parentId": line["parent_id"]} for line in lines],
    ):
        assert tree_of(content).outline() == [("one", None), ("two", "one"), ("three", "two")]


def test_a_bare_list_of_pyloom_nodes_is_a_tree_of_several_openings() -> None:
    tree = tree_of([{"text": "a", "children": [{"text": "b"}]}, {"text": "c", "children": []}])
    assert tree.outline() == [("", None), ("a", ""), ("b", "a"), ("c", "")]


def test_a_compound_node_of_pyloom_is_put_apart() -> None:
    head = {
        "id": "r",
        "text": "",
        "children": [
            {"id": "x", "text": "beside", "children": []},
            {"id": "h", "text": "one", "children": [{"id": "t", "text": "two", "children": []}]},
        ],
    }
    root = {
        "id": "compound",
        "text": "onetwo",
        "masked_head": head,
        "tail_id": "t",
        "children": [{"id": "c", "text": "three", "children": []}],
    }
    tree = tree_of({"root": root})
    assert tree.outline() == [
        ("", None),
        ("beside", ""),
        ("one", ""),
        ("two", "one"),
        ("three", "two"),
    ]
    assert tree.report.kept["compound nodes, put apart"] == 1


def test_a_template_of_pyloom_is_text_and_is_not_run() -> None:
    tree = tree_of({"text": "a", "template": "{__import__('os').abort()}", "children": []})
    assert tree.records[0].imported["template"].startswith("{__import__")


def test_wool_helm_basemode_and_bonsai_are_read() -> None:
    wool = {
        "nodes": {
            "1": {"id": "1", "parent_id": None, "type": "user", "text": "a", "position": {"x": 1}},
            "2": {"id": "2", "parent_id": "1", "type": "model", "text": "b"},
        },
        "focused_node_id": "2",
    }
    helm = {
        "id": "t",
        "name": "T",
        "rootId": "1",
        "currentNodeId": "2",
        "bookmarkedNodeIds": ["2"],
        "nodes": [
            {"id": "2", "text": "b", "parentId": "1", "childIds": [], "locked": True},
            {"id": "1", "text": "a", "parentId": None, "childIds": ["2"]},
        ],
    }
    basemode = {
        "version": 1,
        "nodes": [
            {"id": "1", "parent_id": None, "root_id": "1", "text": "a", "model": None},
            {
                "id": "2",
                "parent_id": "1",
                "root_id": "1",
                "text": "b",
                "model": "m",
                "created_at": "2024-01-02T03:04:05Z",
                "metadata": {"bookmarked": True, "hidden": True, "rating": 4},
            },
        ],
    }
    bonsai = {
        "nodes": [
            {"id": "1", "parentIds": [], "text": "a", "type": "user"},
            {
                "id": "2",
                "parentIds": ["1", "9"],
                "text": "b",
                "model": "m",
                "createdAt": 1700000000000,
            },
        ]
    }
    trees = {
        program: tree_of(given)
        for program, given in {
            "wool": wool,
            "helm": helm,
            "basemode": basemode,
            "bonsai": bonsai,
        }.items()
    }
    for name, tree in trees.items():
        assert tree.format.name == name
        assert tree.outline() == [("a", None), ("b", "a")]
    kinds = [trees[name].record("b").author_kind for name in trees]
    assert kinds == ["model", "human", "model", "model"]
    assert (trees["helm"].record("b").bookmark, trees["helm"].title) == ("", "T")
    marked = trees["basemode"].record("b")
    assert (marked.bookmark, marked.flags, marked.tags) == ("", ["pruned"], ["rated 4"])
    assert trees["bonsai"].record("b").imported["parentIds"] == ["1", "9"]


def test_logitloom_is_read_deeper_than_other_values() -> None:
    node: dict[str, Any] = {"id": "x", "text": "end", "prob": 0.5, "children": []}
    for depth in range(100):
        node = {"id": str(depth), "text": f"{depth}", "prob": 0.5, "children": [node]}
    tree = tree_of(
        {
            "isLogitLoomTreeVersion": "logit-loom-tree-v1",
            "modelName": "m",
            "modelSettings": {"kind": "base", "prompt": "Once"},
            "roots": [node],
        }
    )
    assert len(tree.records) == 102 and tree.records[0].text == "Once"
    assert tree.records[-1].text == "end" and tree.records[-1].imported["prob"] == 0.5
    assert (tree.records[1].author, tree.records[0].author) == ("m", "")


def test_what_logitloom_puts_into_the_mouth_of_a_model_is_a_text() -> None:
    settings = {"kind": "chat", "prompt": "Say it.", "prefill": "Well", "systemPrompt": "Be kind."}
    node = {"id": "x", "text": ",", "children": []}
    whole = {"isLogitLoomTreeVersion": "1", "modelSettings": settings, "roots": [node]}
    tree = tree_of(whole)
    assert tree.outline() == [("Say it.", None), ("Well", "Say it."), (",", "Well")]
    assert tree.head.system_context == "Be kind."


def test_a_node_that_occurs_twice_refuses_the_file() -> None:
    twice = [{"id": "a", "text": "x", "parentId": None}] * 2
    with pytest.raises(CommandError, match="occurs twice"):
        tree_of({"nodes": twice, "current": "a"})


def test_nodes_below_each_other_and_without_a_parent_are_kept_at_the_top() -> None:
    tree = tree_of(
        loomsidian(
            a={"text": "one", "parentId": "b"},
            b={"text": "two", "parentId": "a"},
            c={"text": "three", "parentId": "gone"},
            d={"text": "four", "parentId": "d"},
        )
    )
    assert tree.outline() == [("three", None), ("four", None), ("one", None), ("two", "one")]
    assert len(tree.report.warnings) == 2


def test_broken_characters_are_replaced_and_reported() -> None:
    raw = rb'{"nodes": {"a": {"text": "x \ud83c y \u0000 \ud83c\udf2b \\ud83c", "parentId": null}}}'
    tree = tree_of(raw)
    assert tree.records[0].text == "x \ufffd y \ufffd 🌫 \\ud83c"
    assert any("2 characters" in warning for warning in tree.report.warnings)


def test_the_content_decides_the_format_and_not_the_name() -> None:
    raw = raw_of(loomsidian(a={"text": "one", "parentId": None}))
    assert tree_of(raw, name="chat.epub").format.name == "loomsidian"


# miniloom: patches of the whole text above.


def patch(*diffs: tuple[int, str], start: int = 0) -> dict[str, Any]:
    """A patch that starts at `start` in UTF-16."""
    return {"diffs": [list(diff) for diff in diffs], "start1": start, "start2": start}


def miniloom(**nodes: dict[str, Any]) -> dict[str, Any]:
    """A file with these nodes; `n1` is the root."""
    store = {name[1:]: {"id": name[1:], **node} for name, node in nodes.items()}
    return {"loomTree": {"nodeStore": store}, "focus": {"id": "2"}}


def test_patches_of_miniloom_are_applied_and_additions_are_nodes() -> None:
    tree = tree_of(
        miniloom(
            n1={"type": "root", "patch": "", "parent": None, "children": ["3", "2"]},
            n2={
                "type": "user",
                "patch": [patch((1, "Fog 🌫"))],
                "parent": "1",
                "children": ["4"],
                "timestamp": 1700000000000,
            },
            n3={"type": "user", "patch": [patch((1, "Other"))], "parent": "1", "children": []},
            n4={
                "type": "gen",
                "model": "m",
                "rating": True,
                "patch": [patch((0, "🌫"), (1, " rose."), start=4)],
                "parent": "2",
                "children": [],
            },
        )
    )
    assert tree.outline() == [("", None), ("Other", ""), ("Fog 🌫", ""), (" rose.", "Fog 🌫")]
    last = tree.record(" rose.")
    assert (last.author, last.author_kind, last.tags) == ("m", "model", ["rated good"])
    assert tree.record("Fog 🌫").at == "2023-11-14T22:13:20+00:00"


def test_a_rewrite_of_miniloom_is_a_version_or_a_fork() -> None:
    tree = tree_of(
        miniloom(
            n1={"type": "root", "patch": "", "parent": None},
            n2={"type": "user", "patch": [patch((1, "One "))], "parent": "1"},
            n3={"type": "user", "patch": [patch((0, "One "), (1, "two."))], "parent": "2"},
            n4={
                "type": "rewrite",
                "patch": [patch((0, "One t"), (-1, "w"), (1, "r"), (0, "o."))],
                "parent": "3",
            },
            n5={
                "type": "rewrite",
                "patch": [patch((-1, "One"), (1, "All"), (0, " two."))],
                "parent": "3",
            },
        )
    )
    by_text = {record.text: record for record in tree.records}
    assert set(by_text) == {"", "One ", "two.", "tro.", "All two."}
    assert by_text["tro."].slot == by_text["two."].number and by_text["two."].slot == -1
    assert tree.outline()[-1] == ("All two.", "")


def test_a_character_that_is_cut_in_two_is_whole_again() -> None:
    high, low = "🌫".encode("utf-16-be")[:2], "🌫".encode("utf-16-be")[2:]
    halves = [half.decode("utf-16-be", "surrogatepass") for half in (high, low)]
    tree = tree_of(
        miniloom(
            n1={"type": "root", "patch": "", "parent": None},
            n2={"type": "user", "patch": [patch((1, "a" + halves[0]))], "parent": "1"},
            n3={"type": "gen", "patch": [patch((1, halves[1] + "b"), start=2)], "parent": "2"},
        )
    )
    assert [record.text for record in tree.records] == ["", "a", "🌫b"]


def test_a_patch_that_does_not_fit_is_reported_and_what_it_adds_is_kept() -> None:
    tree = tree_of(
        miniloom(
            n1={"type": "root", "patch": "", "parent": None},
            n2={"type": "user", "patch": [patch((0, "missing"), (1, "new"))], "parent": "1"},
        )
    )
    assert tree.records[1].text == "new" and "does not fit" in tree.report.warnings[0]
    assert "patch" in tree.records[1].imported
