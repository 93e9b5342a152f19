"""A file of several trees: listed, searched, chosen from; each tree all or nothing."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone
from rest_framework.test import APIClient

from loom import tasks
from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Participant, User
from loom.reading.queries.verify import verify_tree
from loom.transfer import importing
from loom.transfer.models import Import
from loom.trees.commands.trees import new_tree
from loom.trees.models import Tree, Workspace
from tests.transfer.conftest import Bring, file_of, texts
from tests.transfer.test_chats import chatgpt
from tests.transfer.test_sequences import zipped

pytestmark = pytest.mark.django_db
Client = Callable[..., APIClient]
TITLES = ("Rain in May", "Fog", "Rain in June")


def archive(*titles: str) -> list[dict[str, Any]]:
    """An archive of ChatGPT."""
    return [chatgpt(title) for title in titles]


def sent(client: APIClient, *contents: Any, **form: str) -> Any:
    """The address of an import of these files."""
    files = [
        SimpleUploadedFile(
            f"{number}.json",
            content if isinstance(content, bytes) else json.dumps(content).encode(),
        )
        for number, content in enumerate(contents)
    ]
    answer = client.post("/api/import", {"file": files, **form}, format="multipart")
    assert answer.status_code == 202, answer.content
    tasks.run_import(answer.json()["id"])
    return f"/api/imports/{answer.json()['id']}"


def test_an_archive_waits_and_only_what_was_chosen_is_imported(api: Client, writer: User) -> None:
    client = api(writer)
    address = sent(client, archive(*TITLES))
    state = client.get(address).json()
    assert (state["status"], state["tree"], Tree.objects.count()) == ("waiting", None, 0)
    assert state["asks"] == {"parts": 3, "formats": {"ChatGPT": 3}, "split": [], "notes": []}
    body = client.get(f"{address}/parts?q=RAIN in").json()
    assert [(result["number"], result["title"], result["count"]) for result in body["results"]] == [
        (0, "Rain in May", 4),
        (2, "Rain in June", 4),
    ]
    assert body["results"][0]["at"].startswith("2023-11-14T22:13:20.5")
    answer = client.post(f"{address}/choose", {"parts": [2]}, format="json")
    assert (answer.status_code, answer.json()["status"]) == (202, "queued")
    tasks.run_import(state["id"])
    state = client.get(address).json()
    assert (state["status"], state["done"]) == ("done", state["total"])
    tree = Tree.objects.get()
    assert (tree.title, state["tree"], tree.mode) == ("Rain in June", tree.uid, "dialogue")
    assert state["report"]["says"]["came"][0] == "4 nodes in 1 tree."
    parts = client.get(f"{address}/parts").json()["results"]
    assert [part["status"] for part in parts] == ["listed", "listed", "done"]
    assert parts[2]["tree"] == tree.uid
    assert not Path(Import.objects.get().file).exists()


def test_all_that_a_search_finds_is_imported(api: Client, writer: User, actor: Actor) -> None:
    client = api(writer)
    address = sent(client, archive(*TITLES))
    client.post(f"{address}/choose", {"q": "rain"}, format="json")
    tasks.run_import(address.rpartition("/")[2])
    assert sorted(Tree.objects.values_list("title", flat=True)) == ["Rain in June", "Rain in May"]
    for tree in Tree.objects.all():
        assert verify_tree(actor, tree, None)["status"] == "valid"
        assert texts(tree) == [("", None), ("Why?", ""), ("Two.", "Why?"), ("One.", "Why?")]
    assert Participant.objects.get(kind="model", model_ref="gpt-x").archived_at is not None


def test_several_files_are_one_import_and_all_may_be_asked_for_at_once(
    api: Client, writer: User
) -> None:
    client = api(writer)
    loom = {"nodes": {"a": {"text": "one", "parentId": None}}}
    address = sent(client, archive("Fog"), loom, b"not a tree {", choose="all")
    tasks.run_import(address.rpartition("/")[2])
    state = client.get(address).json()
    assert state["status"] == "done" and state["report"]["trees"] == 2
    assert state["report"]["format"] == "several" and state["name"] == "3 files"
    assert any("2.json was left out" in warning for warning in state["report"]["warnings"])
    assert {tree.title for tree in Tree.objects.all()} == {"Fog", "1"}


def test_a_tree_that_cannot_be_read_leaves_the_others_whole(api: Client, writer: User) -> None:
    client = api(writer)
    chats = archive("Fog", "Broken", "Rain")
    chats[1]["mapping"]["q"]["message"]["content"]["parts"] = ["x" * (4 * 1024 * 1024 + 1)]
    address = sent(client, chats, choose="all")
    tasks.run_import(address.rpartition("/")[2])
    state = client.get(address).json()
    assert state["status"] == "done" and state["report"]["trees"] == 2
    assert any("'Broken' was left out" in warning for warning in state["report"]["warnings"])
    parts = client.get(f"{address}/parts").json()["results"]
    assert [part["status"] for part in parts] == ["done", "failed", "done"]
    assert parts[1]["error"]["code"] == "LIMIT_EXCEEDED"


def test_an_archive_that_is_cut_off_offers_what_is_whole(api: Client, writer: User) -> None:
    client = api(writer)
    raw = json.dumps(archive(*TITLES)).encode()
    address = sent(client, raw[:-300])
    asks = client.get(address).json()["asks"]
    assert asks["parts"] == 2 and "cannot be read" in asks["notes"][0]
    client.post(f"{address}/choose", {}, format="json")
    tasks.run_import(address.rpartition("/")[2])
    assert client.get(address).json()["report"]["trees"] == 2


def test_how_to_split_a_text_is_asked_unless_it_was_sent(api: Client, writer: User) -> None:
    client = api(writer)
    text = b"# One\n\nFirst.\n\n# Two\n\nSecond.\n"
    address = sent(client, text)
    assert client.get(address).json()["asks"]["split"] == ["sections", "paragraphs", "whole"]
    client.post(f"{address}/choose", {"split": "sections"}, format="json")
    tasks.run_import(address.rpartition("/")[2])
    tree = Tree.objects.get()
    assert tree.title == "One"
    assert [words for words, _ in texts(tree)] == ["", "# One\n\nFirst.\n\n", "# Two\n\nSecond.\n"]
    address = sent(client, text, split="whole")
    assert client.get(address).json()["status"] == "done"


def test_all_is_not_asked_how_to_split_a_text(api: Client, writer: User) -> None:
    client = api(writer)
    address = sent(client, b"# One\n\nFirst.\n\n# Two\n\nSecond.\n", choose="all")
    assert client.get(address).json()["status"] == "queued"
    tasks.run_import(address.rpartition("/")[2])
    assert client.get(address).json()["status"] == "done"
    assert [words for words, _ in texts(Tree.objects.get())] == [
        *("", "# One\n\nFirst.\n\n", "# Two\n\nSecond.\n")
    ]


@pytest.mark.parametrize("parts", [None, [1]])
def test_a_waiting_import_whose_trees_are_chosen_goes_on(
    api: Client, writer: User, parts: list[int] | None
) -> None:
    client = api(writer)
    address = sent(client, archive("Fog", "Rain"))
    Import.objects.get().parts.update(status="chosen")
    chosen = {} if parts is None else {"parts": parts}
    assert client.post(f"{address}/choose", chosen, format="json").status_code == 202
    tasks.run_import(address.rpartition("/")[2])
    titles = ["Fog", "Rain"] if parts is None else ["Rain"]
    assert sorted(Tree.objects.values_list("title", flat=True)) == titles


def test_only_writers_choose_and_only_once(
    api: Client, writer: User, reader: User, outsider: User
) -> None:
    address = sent(api(writer), archive(*TITLES))
    for user, status in ((reader, 403), (outsider, 404)):
        answer = api(user).post(f"{address}/choose", {}, format="json")
        assert answer.status_code == status
    assert api(reader).get(f"{address}/parts").status_code == 200
    assert api(outsider).get(f"{address}/parts").status_code == 404
    post = api(writer).post
    assert post(f"{address}/choose", {"parts": [17]}, format="json").status_code == 400
    assert post(f"{address}/choose", {"parts": []}, format="json").status_code == 400
    assert post(f"{address}/choose", {"parts": [0]}, format="json").status_code == 202
    assert post(f"{address}/choose", {"parts": [1]}, format="json").status_code == 409
    assert api(writer).get(f"{address}/parts?offset=x").status_code == 400


def test_an_import_that_waits_can_be_stopped_and_is_forgotten_after_a_week(
    bring: Bring, actor: Actor
) -> None:
    for is_stopped in (True, False):
        row = bring(archive(*TITLES))
        assert row.status == "waiting" and Path(row.file).exists()
        if is_stopped:
            importing.ask_stop(row)
        else:
            week = timezone.now() - timedelta(days=8)
            Import.objects.filter(pk=row.pk).update(created_at=week)
            importing.sweep()
        row.refresh_from_db()
        assert row.status == "failed" and not Path(row.file).exists()


def test_a_worker_that_takes_over_does_not_import_a_tree_twice(
    actor: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = file_of(actor, zipped(a__json=archive(*TITLES)))
    importing.run(row.uid)
    importing.choose(Import.objects.get(pk=row.pk), None, "")
    write, count = importing._write, 0

    def dies(*args: Any, **more: Any) -> None:
        nonlocal count
        count += 1
        if count == 2:
            raise importing.LeaseLost
        write(*args, **more)

    monkeypatch.setattr(importing, "_write", dies)
    importing.run(row.uid)
    assert Tree.objects.count() == 1
    monkeypatch.setattr(importing, "_write", write)
    Import.objects.update(status="queued", leased_until=None)
    importing.run(row.uid)
    row.refresh_from_db()
    assert row.status == "done" and row.report["trees"] == 3
    assert sorted(Tree.objects.values_list("title", flat=True)) == sorted(TITLES)


def test_the_importer_goes_on_where_the_other_program_was(bring: Bring, actor: Actor) -> None:
    row = bring(chatgpt("Fog"))
    place = Workspace.objects.get(tree=row.tree, participant=actor.participant)
    assert place.position.text == "Two."
    row = bring({"nodes": {"a": {"text": "one", "parentId": None}}, "current": "gone"})
    assert row.status == "done" and not Workspace.objects.filter(tree=row.tree).exists()
    nodes = {"a": {"text": "", "parentId": None}, "b": {"text": "one", "parentId": "a"}}
    row = bring({"nodes": nodes, "current": "a"})
    assert row.status == "done" and not Workspace.objects.filter(tree=row.tree).exists()
    text = bring(b"One.\n\nTwo.", options={"split": "paragraphs"})
    assert Workspace.objects.get(tree=text.tree).position.text == "Two."


WRITTEN = "heddle zip pyloom loomsidian exoloom miniloom sillytavern jsonl markdown text epub docx"


@pytest.mark.parametrize("form", WRITTEN.split())
def test_what_is_written_is_read_again(
    form: str, api: Client, owner: User, actor: Actor, bring: Bring
) -> None:
    tree = new_tree(actor, title="Rain", mode="dialogue")
    for text in ("It rained.", "All night.", "And all day."):
        execute_line(actor, tree, Request(f"respond\n{text}"))
    answer = api(owner).get(f"/api/trees/{tree.uid}/export?format={form}")
    assert answer.status_code == 200
    raw = b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    row = bring(raw, name="export", options={"split": "whole"})
    assert (row.status, row.error) == ("done", None), row.report
    assert row.tree is not None
    read = "".join(text for text, _ in texts(row.tree))
    for text in ("It rained.", "All night.", "And all day."):
        assert read.count(text) == 1
