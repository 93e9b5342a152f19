"""Files that are not what they should be: a sentence, a hint, and nothing left behind."""

import io
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from loom.engine.models import Stream
from loom.errors import CommandError
from loom.transfer import files
from loom.transfer.models import Import
from loom.trees.models import Node, Tree
from tests.thorough import tries
from tests.transfer.conftest import Bring, nothing_left

pytestmark = pytest.mark.django_db

GOOD = b'{"root": {"text": "", "children": [{"text": "a", "children": []}]}}'
HALF = rb'{"text": "a \ud83c b", "children": []}'
WRONG = {
    "nothing": b"",
    "blank": b"  \n",
    "a list of numbers": b"[1, 2]",
    "a web page": b"<!DOCTYPE html><p>Once upon a time",
    "another program": b'{"mapping": {}, "title": "x"}',
    "nodes of no program": b'{"nodes": {"1": {"words": "a", "above": null}}, "current": "1"}',
    "a ZIP that is cut off": b"PK\x03\x04 and no more",
    "an empty object": b"{}",
    "a root that is no object": b'{"root": "a"}',
    "a root that is null": b'{"root": null}',
    "a child that is no object": b'{"root": {"text": "", "children": ["a"]}}',
    "children that are no list": b'{"root": {"text": "", "children": {"text": "a"}}}',
    "a text that is a number": b'{"root": {"text": "", "children": [{"text": 5}]}}',
    "broken UTF-8": b'{"text": "a\xff", "children": []}',
    "UTF-16": json.dumps({"text": "a"}).encode("utf-16"),
    "NUL": b'{"text": "a\x00", "children": []}',
    "an escaped NUL": rb'{"text": "a\u0000", "children": []}',
    "an escaped NUL in a field": rb'{"text": "a", "mood": {"x\u0000": 1}, "children": []}',
    "a lone high surrogate": HALF,
    "a lone low surrogate": HALF.replace(b"d83c", b"df2b"),
    "surrogates the wrong way round": HALF.replace(rb"\ud83c", rb"\udf2b\ud83c"),
    "a lone surrogate after a backslash": HALF.replace(rb"\ud83c", rb"\\\ud83c"),
    "something behind it": GOOD + b" {}",
    "a number of 5,000 digits": b'{"text": "a", "x": ' + b"9" * 5000 + b', "children": []}',
    "NaN": b'{"text": "a", "x": NaN, "children": []}',
    "heddle without nodes": b'{"heddle": 1, "tree": {"mode": "buffer"}, "nodes": []}',
    "heddle of the future": b'{"heddle": 99, "tree": {"mode": "buffer"}, "nodes": []}',
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_that_is_not_what_it_should_be_fails(name: str, bring: Bring) -> None:
    row = bring(WRONG[name], name="wrong.json")
    nothing_left(row)
    assert row.error["code"] == "INVALID_SYNTAX"  # type: ignore[index]
    assert Stream.objects.filter(name__startswith="tree:").count() == 0


@pytest.mark.parametrize("name", ["story.docx", "Story.EPUB", "story.zip"])
def test_a_damaged_document_is_called_damaged(name: str, bring: Bring) -> None:
    row = bring(b"\x00\x01 no archive", name=name)
    nothing_left(row)
    error: Any = row.error
    assert (error["message"], error["hint"]) == (
        "The file is damaged: it cannot be unpacked.",
        "save it again",
    )


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"%PDF-1.7\n\xe2\xe3\x00", "PDF files are not read."),
        (b"{\\rtf1\\ansi It rained.}", "RTF files are not read."),
        (b"\x89PNG\r\n\x1a\n\0", "This is an image, not a tree."),
        (b"\x1f\x8b\x08\0", "The file is packed with gzip."),
    ],
)
def test_a_file_of_a_known_kind_is_refused_by_its_name(raw: bytes, says: str, bring: Bring) -> None:
    row = bring(raw, name="file.json")
    nothing_left(row)
    assert row.error is not None and row.error["message"] == says


def test_two_backslashes_and_a_u_are_no_half_character(bring: Bring) -> None:
    row = bring(HALF.replace(rb"\ud83c", rb"\\ud83c"))
    assert row.status == "done"
    assert Node.objects.filter(text="a \\ud83c b").exists()


def test_a_byte_order_mark_is_skipped(bring: Bring) -> None:
    assert bring(b"\xef\xbb\xbf" + GOOD).status == "done"


def test_a_text_of_four_mebibytes_is_taken_and_one_byte_more_is_not(bring: Bring) -> None:
    most = 4 * 1024 * 1024
    assert bring({"text": "a" * most, "children": []}).status == "done"
    row = bring({"text": "a" * (most + 1), "children": []}, name="wrong.json")
    nothing_left(row)
    assert row.error["code"] == "LIMIT_EXCEEDED"  # type: ignore[index]


def test_a_file_that_is_too_big_fails(bring: Bring, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_FILE", 20)
    row = bring(GOOD, name="wrong.json")
    nothing_left(row)
    assert row.error["code"] == "LIMIT_EXCEEDED"  # type: ignore[index]


def test_a_file_that_is_not_of_the_format_asked_for_fails(bring: Bring) -> None:
    assert bring(GOOD, format="pyloom").status == "done"
    nothing_left(bring(GOOD, format="heddle", name="wrong.json"))


def test_a_file_that_is_gone_fails(bring: Bring, actor: Any) -> None:
    from loom.transfer import importing
    from tests.transfer.conftest import file_of

    row = file_of(actor, GOOD, name="wrong.json")
    Path(row.file).unlink()
    importing.run(row.uid)
    row.refresh_from_db()
    nothing_left(row)


def test_fields_nested_too_deep_are_left_out_with_a_warning(bring: Bring) -> None:
    raw = b'{"text": "a", "x": ' + b"[" * 5000 + b"]" * 5000 + b', "children": []}'
    row = bring(raw)
    assert row.status == "done" and any("x" in warning for warning in row.report["warnings"])
    assert Node.objects.get(text="a").imported in (None, {})


CHAT = b'[{"mapping": {"a": {"id": "a", "parent": null, "children": []}}, "x": %s}]'


@pytest.mark.parametrize("deep", [files.MOST_NESTED, 100_000])
def test_values_nested_too_deep_are_refused_before_they_are_parsed(bring: Bring, deep: int) -> None:
    row = bring(CHAT % (b'{"text": ' * deep + b"1" + b"}" * deep))
    nothing_left(row)
    assert row.error is not None
    assert row.error["message"] == "The file is nested more than 5,000 levels deep."


@pytest.mark.parametrize("piece", [1, 2, 7, 1 << 20])
def test_brackets_in_texts_are_no_levels(monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    monkeypatch.setattr(files, "_PIECE", piece)
    monkeypatch.setattr(files, "MOST_NESTED", 3)
    texts = [r"{[{[ \\", r"\" {[{[", "{" * 9, r"\\\" [[["]
    flat = '[{"a": [' + ", ".join(f'"{text}"' for text in texts) + "]}]"
    files.demand_shallow(io.BytesIO(flat.encode()))
    with pytest.raises(CommandError, match="more than 3 levels"):
        files.demand_shallow(io.BytesIO(flat.replace('["', '[["', 1).encode()))


def test_a_huge_number_is_kept_as_it_is_written(bring: Bring) -> None:
    row = bring(b'{"text": "a", "x": 1e999, "children": []}')
    assert row.status == "done"
    assert Node.objects.get(text="a").imported["x"] == "1E+999"  # type: ignore[index]


@given(cut=st.integers(0, len(GOOD) - 1))
@settings(
    max_examples=tries(30),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_a_file_cut_off_anywhere_leaves_no_tree(cut: int, bring: Bring) -> None:
    nothing_left(bring(GOOD[:cut], name="wrong.json"))


@given(seed=st.integers(0, 2**32))
@settings(
    max_examples=tries(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_a_file_with_changed_bytes_is_a_whole_tree_or_none(seed: int, bring: Bring) -> None:
    dice = random.Random(seed)
    raw = bytearray(GOOD)
    for _ in range(dice.randint(1, 4)):
        raw[dice.randrange(len(raw))] = dice.randrange(256)
    before = Tree.objects.count()
    row = bring(bytes(raw), name="wrong.json")
    assert row.status in ("done", "failed")
    assert Tree.objects.count() == before + (row.status == "done")
    if row.status == "failed":
        assert row.error["code"] in ("INVALID_SYNTAX", "LIMIT_EXCEEDED")  # type: ignore[index]


def test_rows_that_failed_point_at_no_tree(bring: Bring) -> None:
    bring(b"{", name="wrong.json")
    assert Import.objects.get(name="wrong.json").tree is None and Tree.objects.count() == 0
