"""A tree as tables: what is in each row, as JSON and as Parquet, for members alone."""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from arro3.io import read_parquet
from rest_framework.test import APIClient

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Participant, User
from loom.transfer import tables
from loom.transfer.exporting import FORMATS
from loom.transfer.tables import TABLES, extent_of
from loom.transfer.writers import parquet
from loom.trees.models import Node, Tree
from loom.turns.models import Call, Generation
from tests.rows_read import work_done
from tests.transfer.planting import Plant, plant, wanted

pytestmark = pytest.mark.django_db
Client = Callable[..., APIClient]
TEXTS: list[Plant] = [(-1, False, "Tell me."), (0, True, "Once ❄"), (0, True, "Never."),
                      (1, False, "Go on.")]  # fmt: skip


@pytest.fixture
def lived(actor: Actor, muse: Participant) -> tuple[Tree, list[Node]]:
    """A dialogue with candidates, versions, a link and a pruned text."""
    tree, nodes = plant(actor, muse, TEXTS, mode="dialogue")
    tell, once, never, on = (node.local_id for node in nodes)
    for line in (f'edit {once} "Twice." as:version', f"prune {never}",
                 f"link {on} to {tell} as:supports"):  # fmt: skip
        execute_line(actor, tree, Request(line))
    call = Call.objects.create(tree=tree, participant=muse, provider="openai", status=200)
    for index, node in enumerate(nodes[1:3]):
        Generation.objects.create(
            tree=tree, call=call, participant=muse, asked_by=actor.participant, batch="b",
            point=nodes[0], index=index, node=node, finish="stop", tokens_in=7, tokens_out=3,
            ended_at=node.created_at,
        )  # fmt: skip
    return tree, nodes


def rows(client: APIClient, tree: Tree, name: str) -> list[dict[str, Any]]:
    answer = client.get(f"/api/trees/{tree.uid}/tables/{name}")
    assert answer.status_code == 200 and answer["Content-Type"] == "application/jsonl"
    content = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    return [json.loads(line) for line in content.splitlines()]


def test_every_table_says_what_is_there(
    api: Client, reader: User, lived: tuple[Tree, list[Node]]
) -> None:
    (tree, planted), client = lived, api(reader)
    tell, once, never, on = (node.local_id for node in planted)
    nodes = {row["node"]: row for row in rows(client, tree, "nodes")}
    assert len(nodes) == 5 and nodes[tell]["children"] == 2
    assert nodes[once]["versions"] == 2 and nodes[once]["current"] != once
    assert nodes[never]["pruned"] and not nodes[once]["pruned"] and nodes[on]["parent"] == once
    versions = rows(client, tree, "versions")
    assert [version["text"] for version in versions if version["node"] == once] == [
        "Once ❄",
        "Twice.",
    ]
    assert all(len(version["hash"]) == 64 for version in versions)
    [call] = rows(client, tree, "calls")
    assert (call["tokens_in"], call["tokens_out"], call["status"]) == (7, 3, 200)
    first, second = rows(client, tree, "choices")
    assert first["batch"] == second["batch"] and first["point"] == tell
    assert (first["node"], first["continued"], first["pruned"]) == (once, 1, False)
    assert (second["node"], second["continued"], second["pruned"]) == (never, 0, True)
    assert (first["on_main_line"], second["on_main_line"]) == (False, False)  # a newer wording is
    events = rows(client, tree, "events")
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    added = [event["payload"]["node"] for event in events if event["kind"] == "node.added"]
    assert added[-1]["begins"] == "Twice." and "text" not in added[-1]  # nor any text twice
    [link] = rows(client, tree, "links")
    assert (link["source"], link["type"], link["target"]) == (on, "supports", tell)


def test_parquet_holds_the_same_rows_with_their_hashes(
    api: Client, owner: User, actor: Actor, lived: tuple[Tree, list[Node]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(parquet, "ROWS", 2)
    monkeypatch.setattr(tables, "PAGE", 2)
    tree, _ = lived
    content = b"".join(FORMATS["parquet"].pieces(wanted(actor, tree)))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        files = {name: archive.read(name) for name in archive.namelist()}
    assert manifest["seq"] == extent_of(actor, tree).head and set(manifest["tables"]) == set(TABLES)
    for name, table in manifest["tables"].items():
        from_parquet: list[dict[str, Any]] = []
        for file in table["files"]:
            packed = files[file["path"]]
            assert hashlib.sha256(packed).hexdigest() == file["sha256"]
            read = read_parquet(io.BytesIO(packed)).read_all()
            assert read.column_names == [column["name"] for column in table["columns"]]
            assert read.num_rows == file["rows"]
            columns = {column: read[column].to_pylist() for column in read.column_names}
            from_parquet += [
                {column: columns[column][at] for column in columns} for at in range(read.num_rows)
            ]
        from_api = rows(api(owner), tree, name)
        assert len(from_parquet) == len(from_api) == table["rows"]
        texts = [
            column["name"] for column in table["columns"] if column["type"] in ("text", "integer")
        ]
        for ours, theirs in zip(from_parquet, from_api, strict=True):
            assert [ours[text] for text in texts] == [theirs[text] for text in texts]
    assert len(manifest["tables"]["versions"]["files"]) == 3


def test_an_empty_table_has_its_columns(actor: Actor, tree: Tree) -> None:
    content = parquet.parquet(TABLES["links"], [], tree.uid)
    assert all(parquet.parquet(TABLES["links"], [], tree.uid) == content for _ in range(20))
    read = read_parquet(io.BytesIO(content)).read_all()
    assert read.num_rows == 0 and "confidence" in read.column_names


def test_what_is_written_meanwhile_is_in_no_table(
    actor: Actor, lived: tuple[Tree, list[Node]]
) -> None:
    tree, _ = lived
    extent = extent_of(actor, tree)
    before = {name: sum(map(len, table.read(extent))) for name, table in TABLES.items()}
    execute_line(actor, tree, Request('respond "More."'))
    after = {name: sum(map(len, table.read(extent))) for name, table in TABLES.items()}
    assert before == after


def test_tables_are_for_members_and_an_unknown_one_is_refused(
    api: Client, owner: User, outsider: User, tree: Tree
) -> None:
    listed = api(owner).get(f"/api/trees/{tree.uid}/tables").json()
    assert [result["name"] for result in listed["results"]] == list(TABLES) and listed["seq"]
    refused = api(owner).get(f"/api/trees/{tree.uid}/tables/words")
    assert refused.status_code == 404 and "choices" in refused.json()["hint"]
    for address in ("tables", "tables/versions", "export?format=parquet"):
        assert api(outsider).get(f"/api/trees/{tree.uid}/{address}").status_code == 404


@pytest.mark.parametrize("name", TABLES)
def test_a_table_reads_its_rows_once(
    name: str, actor: Actor, muse: Participant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice the tree takes at most twice the rows, however it is cut into pages."""
    monkeypatch.setattr(tables, "PAGE", 10)
    read = []
    for count in (40, 80):
        texts: list[Plant] = [(at - 1, False, f"Text {at}") for at in range(count)]
        tree, _ = plant(actor, muse, texts, mode="dialogue")
        extent = extent_of(actor, tree)
        with work_done() as work:
            list(TABLES[name].read(extent))
        read.append(work.rows)
    assert read[1] <= 2 * read[0] + 20
