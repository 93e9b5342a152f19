"""Files over the API: sent, watched, stopped, taken out again; and who may."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connections
from django.test import AsyncClient
from rest_framework.test import APIClient

from loom import tasks
from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import User
from loom.transfer import api as transfer
from loom.transfer.models import Import
from loom.trees.commands import trees
from loom.trees.models import Tree

pytestmark = pytest.mark.django_db
Client = Callable[..., APIClient]
SIMPLE = {"text": "a", "children": [{"text": "b", "children": []}]}


def sent(client: APIClient, content: Any = SIMPLE, *, name: str = "x.json", **form: str) -> Any:
    """The answer to a file that was sent."""
    raw = content if isinstance(content, bytes) else json.dumps(content).encode()
    file = SimpleUploadedFile(name, raw, content_type="application/json")
    return client.post("/api/import", {"file": file, **form}, format="multipart")


def test_a_file_becomes_a_tree(api: Client, writer: User, grove: Any) -> None:
    client = api(writer)
    answer = sent(client, name="A night.json", grove=grove.uid)
    assert answer.status_code == 202
    address = f"/api/imports/{answer.json()['id']}"
    waiting = client.get(address).json()
    assert (waiting["status"], waiting["done"], waiting["tree"]) == ("queued", 0, None)
    assert waiting["total"] == len(json.dumps(SIMPLE)) and waiting["report"] is None
    tasks.run_import(answer.json()["id"])
    state = client.get(address).json()
    assert (state["status"], state["done"], state["error"]) == ("done", state["total"], None)
    assert state["report"]["nodes"] == 3 and state["report"]["format"] == "pyloom-simple"
    tree = client.get(f"/api/trees/{state['tree']}").json()
    assert (tree["title"], tree["mode"], tree["node_count"]) == ("A night", "buffer", 3)
    assert client.get(f"/api/trees/{state['tree']}/verify").json()["status"] == "valid"


def test_a_file_that_fails_says_why(api: Client, writer: User, grove: Any) -> None:
    client = api(writer)
    uid = sent(client, b'{"text": ').json()["id"]
    tasks.run_import(uid)
    state = client.get(f"/api/imports/{uid}").json()
    assert (state["status"], state["tree"]) == ("failed", None)
    assert state["error"]["code"] == "INVALID_SYNTAX" and state["error"]["message"]
    assert client.get("/api/trees").json()["count"] == 0


def test_an_import_is_stopped(api: Client, writer: User, reader: User, grove: Any) -> None:
    for is_post in (False, True):

        def end(client: APIClient, address: str, is_post: bool = is_post) -> Any:
            return client.post(f"{address}/stop") if is_post else client.delete(address)

        address = f"/api/imports/{sent(api(writer)).json()['id']}"
        assert end(api(reader), address).status_code == 403
        assert end(api(writer), address).json()["status"] == "failed"
        assert end(api(writer), address).status_code == 409
    tasks.run_import(address.rpartition("/")[2])
    assert Tree.objects.count() == 0


def test_only_writers_bring_files_in(api: Client, reader: User, outsider: User, grove: Any) -> None:
    assert sent(api(reader), grove=grove.uid).status_code == 403
    assert sent(api(outsider), grove=grove.uid).status_code == 404
    assert sent(api(None), grove=grove.uid).status_code == 401
    assert sent(api(reader), grove="no-such").status_code == 404
    assert Import.objects.count() == 0


def test_outsiders_see_no_import(api: Client, writer: User, outsider: User, reader: User) -> None:
    uid = sent(api(writer)).json()["id"]
    assert api(reader).get(f"/api/imports/{uid}").status_code == 200
    for method in ("get", "delete"):
        answer = getattr(api(outsider), method)(f"/api/imports/{uid}")
        assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")


def test_what_is_not_a_file_is_refused(
    api: Client, writer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = api(writer)
    post = client.post
    answers = [
        (post("/api/import", {}, format="multipart"), 400),
        (post("/api/import", {"file": "text"}, format="multipart"), 400),
        (sent(client, format="scroll"), 400),
        (post("/api/import", {"file": "x"}, format="json"), 415),
        (client.generic("POST", "/api/import", "--x", "multipart/form-data; boundary=y"), 400),
        (client.generic("POST", "/api/import", "", "multipart/form-data"), 400),
    ]
    monkeypatch.setattr(transfer, "MAX_FILE", 10)
    answers.append((sent(client), 413))
    for answer, status in answers:
        assert answer.status_code == status, answer.json()
        assert answer.json()["code"] == ("LIMIT_EXCEEDED" if status == 413 else "INVALID_SYNTAX")
        assert answer.json()["hint"]
    assert Import.objects.count() == 0


@pytest.mark.parametrize("name", ["../../etc/x.json", "a\nb.json", "é" * 400 + ".json", ".json"])
def test_a_files_name_is_only_a_name(name: str, api: Client, writer: User) -> None:
    uid = sent(api(writer), name=name).json()["id"]
    tasks.run_import(uid)
    state = api(writer).get(f"/api/imports/{uid}").json()
    assert state["status"] == "done" and "/" not in state["name"] and len(state["name"]) <= 300
    assert "\n" not in api(writer).get(f"/api/trees/{state['tree']}").json()["title"]


@pytest.fixture
def grown(actor: Actor, request: pytest.FixtureRequest) -> Tree:
    """A dialogue of three texts."""
    tree = trees.new_tree(actor, title='The/"house" \u202e🌫️', mode="dialogue")
    for text in ("One.", "Two\n  é", "Three"):
        execute_line(actor, tree, Request(f"respond\n{text}"))
    return Tree.objects.select_related("grove").get(pk=tree.pk)


def read(answer: Any) -> str:
    """The text of a streamed answer."""
    assert answer.status_code == 200, answer.content
    return b"".join(answer.streaming_content).decode()


def test_a_tree_goes_out_and_comes_in_again(api: Client, owner: User, grown: Tree) -> None:
    client = api(owner)
    answer = client.get(f"/api/trees/{grown.uid}/export?format=heddle")
    assert answer["Content-Type"] == "application/json"
    raw = read(answer)
    assert read(client.get(f"/api/trees/{grown.uid}/export")) == raw
    uid = sent(client, raw.encode()).json()["id"]
    tasks.run_import(uid)
    again = client.get(f"/api/imports/{uid}").json()["tree"]
    assert read(client.get(f"/api/trees/{again}/export")) == raw


def test_a_path_goes_out_as_text_and_markdown(
    api: Client, owner: User, reader: User, grown: Tree
) -> None:
    address = f"/api/trees/{grown.uid}/export"
    assert read(api(owner).get(f"{address}?format=text")) == "One.\n\nTwo\n  é\n\nThree"
    two = grown.nodes.get(text__startswith="Two").local_id
    assert read(api(reader).get(f"{address}?format=text&node={two}")) == "One.\n\nTwo\n  é"
    shown = read(api(owner).get(f"{address}?format=markdown&node={two}"))
    assert shown.startswith('# The/"house"') and f"**Owner** · `{two}`" in shown
    assert shown.endswith("Two\n  é\n\n")


def test_a_buffer_goes_out_byte_by_byte(api: Client, owner: User, actor: Actor) -> None:
    tree = trees.new_tree(actor, title="T", mode="buffer")
    for text in ("Once ", "upon\r\n", " a time"):
        execute_line(actor, tree, Request(f"respond\n{text}"))
    address = f"/api/trees/{tree.uid}/export"
    assert read(api(owner).get(f"{address}?format=text")) == "Once upon\r\n a time"
    assert read(api(owner).get(f"{address}?format=markdown")) == "# T\n\nOnce upon\r\n a time\n"


def test_a_files_name_is_safe(api: Client, owner: User, grown: Tree) -> None:
    for kind, ending in (("heddle", "json"), ("markdown", "md"), ("text", "txt")):
        answer = api(owner).get(f"/api/trees/{grown.uid}/export?format={kind}")
        shown = answer["Content-Disposition"]
        assert shown.startswith("attachment; ") and shown.endswith(f".{ending}")
        assert "/" not in shown and "house" in shown and "%E2%80%AE" not in shown
        assert answer["X-Content-Type-Options"] == "nosniff"


def test_what_cannot_go_out_is_refused(
    api: Client, owner: User, outsider: User, grown: Tree
) -> None:
    address = f"/api/trees/{grown.uid}/export"
    for asked, status, code in (
        ("format=pdf", 400, "INVALID_SYNTAX"),
        ("format=", 400, "INVALID_SYNTAX"),
        ("format=epub&whole=1", 400, "INVALID_SYNTAX"),
        ("format=zip&node=a2a2", 400, "INVALID_SYNTAX"),
        ("format=text&calls=some", 400, "INVALID_SYNTAX"),
        ("format=heddle&node=a2a2", 400, "INVALID_SYNTAX"),
        ("format=text&node=z9z9z9z9", 404, "NOT_FOUND"),
    ):
        answer = api(owner).get(f"{address}?{asked}")
        assert (answer.status_code, answer.json()["code"]) == (status, code), asked
    assert api(outsider).get(address).status_code == 404
    assert api(None).get(address).status_code == 401


@pytest.mark.django_db(transaction=True)
async def test_over_asgi_it_is_streamed_piece_by_piece(
    owner: User, grown: Tree, recwarn: pytest.WarningsRecorder
) -> None:
    client = AsyncClient()
    await client.aforce_login(owner)
    answer = await client.get(f"/api/trees/{grown.uid}/export")
    pieces = [piece async for piece in answer.streaming_content]  # type: ignore[attr-defined]
    assert len(pieces) > 5 and json.loads(b"".join(pieces))["heddle"] == 1
    assert not [warning for warning in recwarn if "StreamingHttpResponse" in str(warning.message)]
    await sync_to_async(connections.close_all)()  # of the thread that views run in


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("form", ["html", "pyloom", "zip"])
async def test_a_browser_gets_the_whole_file(form: str, owner: User, grown: Tree) -> None:
    client = AsyncClient()
    await client.aforce_login(owner)
    address = f"/api/trees/{grown.uid}/export?format={form}"
    answer = await client.get(address, headers={"accept-encoding": "gzip, br"})
    content = b"".join([piece async for piece in answer.streaming_content])  # type: ignore[attr-defined]
    assert not answer.has_header("Content-Encoding"), "each piece would be packed by itself"
    assert content.rstrip().endswith({"html": b"</html>", "pyloom": b"}", "zip": b"\0\0"}[form])
    await sync_to_async(connections.close_all)()  # of the thread that views run in
