"""Reading is total: whatever is cut off or of another type, a file is a tree that can be stored, or
one clear sentence."""

import copy
import json
import random
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loom.errors import CommandError
from loom.transfer.inputs import ImportFormat
from loom.transfer.uploads import FORMAT_NAMES
from tests.thorough import tries
from tests.transfer import (
    test_archive_images,
    test_chats,
    test_looms,
    test_sequences,
    test_tapestry,
    weaving,
)
from tests.transfer.reading import raw_of, trees_of

PREFERENCES = {"prompt": "Q", "chosen": "good", "rejected": "bad"}
HEDDLE = {
    "heddle": 1,
    "tree": {"id": "t" * 16, "title": "T", "mode": "buffer"},
    "participants": [{"id": "p" * 16, "name": "Ada", "kind": "human"}],
    "nodes": [
        {"id": "a2b2", "slot": "a2b2", "parent": None, "kind": "text", "text": ""},
        {"id": "c2d2", "slot": "c2d2", "parent": "a2b2", "kind": "text", "text": "One."},
    ],
    "marks": [{"kind": "bookmark", "label": "", "item": "c2d2", "by": "p" * 16}],
    "links": [],
}
FILES: dict[str, Any] = {
    "pyloom": {
        "root": {
            "text": "",
            "id": "r",
            "masked_head": {"id": "h", "text": "top", "children": [{"id": "t", "text": ""}]},
            "tail_id": "t",
            "children": [
                {
                    "text": "a",
                    "meta": {"source": "AI", "creation_timestamp": "2020-01-02-03.04.05"},
                    "generation": {"id": "g", "index": 0},
                    "tags": ["bookmark", "x"],
                    "chapter_id": "c",
                    "children": [],
                }
            ],
        },
        "chapters": {"c": {"title": "One"}},
        "model_responses": {"g": {"model": "m", "completions": [{"finishReason": "stop"}]}},
    },
    "pyloom list": [{"text": "a", "children": [{"text": "b", "children": []}]}],
    "pyloom flat": ({"id": "a", "text": "x", "parent_id": None},),
    "loomsidian": test_looms.loomsidian(
        a={"text": "one", "parentId": None, "bookmarked": True, "lastVisited": 1},
        b={"text": "two", "parentId": "a"},
    ),
    "loomsidian data": {
        "settings": {"apiKey": "x"},
        "state": {"n.md": test_looms.loomsidian(a={"text": "one", "parentId": None})},
    },
    "exoloom": {
        "loomType": "Exoloom",
        "tree": {
            "title": "T",
            "rootNodeId": 1,
            "nodes": {
                "1": {"content": "a", "authorType": "USER", "parentId": None, "childrenIds": [2]},
                "2": {"content": "b", "authorType": "LLM", "authorName": "m", "parentId": 1},
            },
        },
        "lens": {"bookmarks": [{"nodeId": 1}], "prunedNodes": [{"nodeId": 2}]},
    },
    "miniloom": test_looms.miniloom(
        n1={"type": "root", "patch": "", "parent": None, "children": ["2"]},
        n2={
            "type": "gen",
            "patch": [test_looms.patch((1, "a"))],
            "parent": "1",
            "timestamp": 1700000000000,
            "rating": True,
            "summary": "s",
            "model": "m",
        },
    ),
    "basemode": {
        "version": 1,
        "nodes": [{"id": "1", "parent_id": None, "text": "a", "metadata": {"rating": 1}}],
    },
    "bonsai": {"nodes": [{"id": "1", "parentIds": ["2", "3"], "text": "a", "createdAt": 5}]},
    "wool": {"nodes": {"1": {"id": "1", "parent_id": None, "type": "user", "text": "a"}}},
    "helm": {
        "name": "T",
        "bookmarkedNodeIds": ["1"],
        "nodes": [{"id": "1", "text": "a", "parentId": None, "childIds": []}],
    },
    "logitloom": {
        "isLogitLoomTreeVersion": "1",
        "modelName": "m",
        "modelSettings": {"prompt": "p", "systemPrompt": "s"},
        "roots": [{"id": "1", "text": "a", "prob": 0.5, "children": []}],
    },
    "chatgpt": [test_chats.chatgpt()],
    "claude": [test_chats.claude(with_parents=True)],
    "librechat": {
        "conversationId": "c",
        "title": "T",
        "messages": [{"messageId": "1", "parentMessageId": "x", "text": "Q", "model": "m"}],
    },
    "openwebui": [
        {
            "title": "T",
            "chat": {
                "history": {
                    "messages": {"1": {"id": "1", "parentId": None, "role": "user", "content": "Q"}}
                }
            },
        }
    ],
    "arc": {
        "conversation": {"title": "T"},
        "participants": [{"id": "p", "name": "n"}],
        "messages": [{"branches": [{"id": "a", "parentBranchId": "root", "content": "Q"}]}],
    },
    "sillytavern": (
        test_sequences.header(integrity="i"),
        test_sequences.message(
            "Hi.", swipes=["Hi.", "Ho."], swipe_id=0, swipe_info=[{"extra": {}}]
        ),
    ),
    "openai": (
        test_sequences.chat(("system", "S"), ("user", [{"type": "text", "text": "Q"}])),
        PREFERENCES,
    ),
    "mikupad": test_sequences.mikupad(),
    "mikupad store": {
        "Sessions": [{"key": 1, "value": test_sequences.mikupad()}],
        "Names": [{"key": 1, "value": "N"}],
    },
    "text": test_sequences.TEXT.encode(),
    "heddle": HEDDLE,
    "heddle zip": test_sequences.zipped(
        README__md=b"#", tree__json=HEDDLE, tree__md=b"#", images__x__png=b"no image"
    ),
    "pyloom simple": {"text": "a", "children": [{"text": "b", "children": []}]},
    "loomsidian list": {
        "nodes": [
            {"id": "1", "value": "a", "parentId": None, "author": "genesis"},
            {"id": "2", "value": "b", "parentId": "1", "author": "m"},
        ],
        "current": "2",
    },
    "minihf": {
        "loomTree": {
            "nodeStore": {
                "1": {"id": "1", "type": "root", "patch": "", "cache": "", "parent": None},
                "2": {
                    "id": "2",
                    "type": "gen",
                    "patch": [test_looms.patch((1, "a \U0001f600"))],
                    "cache": "a \U0001f600",
                    "parent": "1",
                },
                "3": {
                    "id": "3",
                    "type": "rewrite",
                    "patch": [test_looms.patch((0, "a "), (-1, "\U0001f600"), (1, "b"))],
                    "parent": "2",
                },
            }
        },
        "focus": {"id": "3"},
    },
    "tinyloom": {
        "nodes": {"1": {"parent": None, "type": "root", "patches": [test_looms.patch((1, "a"))]}}
    },
    "claude conversation": test_chats.claude(with_parents=True)
    | {"current_leaf_message_uuid": "3", "model": "m", "settings": {}, "index": 0},
    "chatgpt with images": [test_archive_images.of_chatgpt()],
    "openwebui with images": [
        test_archive_images.of_openwebui({"type": "image", "url": test_archive_images.DATA})
    ],
    "images beside a chat": test_archive_images.packed(
        **{"conversations.json": [test_archive_images.of_chatgpt()], "file-Abc123.png": b"x"}
    ),
    "tapestry": weaving.weave(test_tapestry.knots()),
    "docx": test_sequences.docx(("Heading1", "Night"), ("Normal", "It rained.")),
    "zip": test_sequences.zipped(a__json=[test_chats.chatgpt()], b__txt=b"text", c__md=b"# T"),
    "epub": test_sequences.epub("<p>One</p>"),
}
OTHERS: tuple[Any, ...] = (
    None,
    True,
    -1,
    10**400,
    1.5e300,
    "",
    "a\u0000b",
    "\ud83c",
    "x" * 400,
    [],
    [None],
    [[1]],
    {},
    {"a": {"b": 1}},
    [{"text": 1}],
)


def read(raw: bytes) -> None:
    """Reads a file, and checks what came of it."""
    try:
        trees = trees_of(raw)
    except CommandError as error:
        assert error.message.endswith("."), error.body
        assert error.body["code"] in ("INVALID_SYNTAX", "LIMIT_EXCEEDED")
        return
    for tree in trees:
        for position, record in enumerate(tree.records):
            assert record.number == position and -1 <= record.parent < position
            assert -1 <= record.slot < position
            told = [record.text, record.author, record.at, record.summary, *record.tags]
            for text in [*told, record.bookmark or "", json.dumps(record.imported)]:
                assert "\0" not in text and "\\u0000" not in text
                text.encode()
            json.dumps(record.imported, ensure_ascii=False, allow_nan=False).encode()
            assert not record.at or datetime.fromisoformat(record.at).tzinfo
        head = tree.head
        whole = json.dumps([head.imported, head.title, head.system_context, head.description])
        assert "\\u0000" not in whole and "\\ud83c" not in whole
        assert len(head.title) <= 300
        assert json.dumps(tree.report.body())


def test_every_format_has_a_file_here() -> None:
    formats = {form.name for name in FILES for form in _formats(raw_of(FILES[name]))}
    assert formats >= set(FORMAT_NAMES)


def _formats(raw: bytes) -> list[ImportFormat]:
    return [tree.format for tree in trees_of(raw)]


@pytest.mark.parametrize("name", FILES)
def test_a_whole_file_is_a_tree(name: str) -> None:
    assert all(tree.records for tree in trees_of(raw_of(FILES[name])))


@pytest.mark.parametrize("name", FILES)
@given(data=st.data())
@settings(max_examples=tries(25), deadline=None)
def test_a_file_that_is_cut_off_anywhere(name: str, data: st.DataObject) -> None:
    raw = raw_of(FILES[name])
    read(raw[: data.draw(st.integers(0, len(raw)))])


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container of a value with each of its keys."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in list(pairs):
        yield value, key
        if isinstance(child, dict | list):
            yield from places(child)


CHANGED = [name for name, given in FILES.items() if not isinstance(given, bytes)]


@pytest.mark.parametrize("name", CHANGED)
@given(data=st.data())
@settings(max_examples=tries(60), deadline=None)
def test_a_field_of_another_type(name: str, data: st.DataObject) -> None:
    content = copy.deepcopy(FILES[name])
    content = list(content) if isinstance(content, tuple) else content
    for _ in range(data.draw(st.integers(1, 3))):
        spots = list(places(content))
        if not spots:
            break
        inside, key = data.draw(st.sampled_from(spots))
        inside[key] = copy.deepcopy(data.draw(st.sampled_from(OTHERS)))
    read(raw_of(tuple(content) if isinstance(FILES[name], tuple) else content))


BINARY = ("docx", "epub", "zip", "tapestry", "heddle zip", "images beside a chat")


@pytest.mark.parametrize("name", BINARY)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=tries(60), deadline=None)
def test_changed_bytes_of_a_binary_file(name: str, seed: int) -> None:
    dice, raw = random.Random(seed), bytearray(FILES[name])
    for _ in range(dice.randint(1, 5)):
        raw[dice.randrange(len(raw))] = dice.randrange(256)
    read(bytes(raw))


@given(raw=st.binary(max_size=200))
@settings(max_examples=tries(100), deadline=None)
def test_any_bytes(raw: bytes) -> None:
    read(raw)
