"""Every malformed body, query, id and header gets the error body, and changes nothing."""

import json
from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from django.core.cache import cache
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.db import (
    DatabaseError,
    DataError,
    IntegrityError,
    OperationalError,
    connection,
    connections,
    transaction,
)
from rest_framework.exceptions import APIException, ParseError
from rest_framework.test import APIClient

from config import health
from loom.errors import CommandError
from loom.people.models import User
from loom.site.api_errors import refusal_of
from loom.site.api_requests import MAX_BYTES, MAX_DEPTH, read_json
from loom.trees.models import Tree
from tests.interfaces.matrix import ROWS
from tests.interfaces.world import (
    counted,
    kept_world,  # noqa: F401 (a fixture)
    person,
)

pytestmark = pytest.mark.django_db
Client = Callable[..., APIClient]
World = dict[str, str]
TAKING = [row for row in ROWS if row.body]
OPTIONAL = ("old", "grove", "days")
FRACTIONS = ("days",)


@pytest.fixture(name="owner")
def _owner(world: World) -> User:
    """The owner of the grove that all of these tests share."""
    return User.objects.get(username="owner")


UNREADABLE = {
    "nothing JSON": b"line=tree",
    "half an object": b'{"line": "tree"',
    "two values": b"{} {}",
    "a comma too many": b'{"line": "tree",}',
    "single quotes": b"{'line': 'tree'}",
    "broken UTF-8": b'{"line": "\xff\xfe"}',
    "UTF-16": '{"line": "tree"}'.encode("utf-16"),
    "a byte order mark": b'\xef\xbb\xbf{"line": "tree"}',
    "a raw NUL": b'{"line": "a\x00b"}',
    "NUL": b'{"line": "a\\u0000b"}',
    "NUL in a name": b'{"li\\u0000ne": "tree"}',
    "half a character": b'{"line": "\\ud800"}',
    "halves the wrong way round": b'{"line": "\\udc00\\ud800"}',
    "no number": b'{"wait": NaN}',
    "no end": b'{"wait": Infinity}',
    "too great": b'{"wait": 1e999}',
    "5,000 digits": b'{"wait": ' + b"9" * 5000 + b"}",
    "a list": b"[]",
    "a text": b'"tree"',
    "null": b"null",
    "a number": b"7",
}
DEEP = b"[" * 100_000


def _send(client: APIClient, row: Any, names: World, raw: bytes, kind: str) -> Any:
    address, _ = row.filled({**names, "me": "owner"})
    return client.generic(row.method, address, raw, content_type=kind)  # type: ignore[arg-type]


def test_a_body_that_cannot_be_read_changes_nothing(world: World, api: Client) -> None:
    client, before = api(person("owner")), counted()
    for what, raw in UNREADABLE.items():
        cache.clear()  # more requests than one key may send in a minute
        for row in TAKING:
            answer = _send(client, row, world, raw, "application/json")
            outcome = (answer.status_code, answer.json()["code"])
            assert outcome == (400, "INVALID_SYNTAX"), (what, row)
            assert answer.json()["message"].endswith("."), (what, row)
        assert counted() == before, what


def test_a_body_over_the_bounds_is_413(world: World, api: Client) -> None:
    client = api(person("owner"))
    for what, raw in {
        "100,000 levels": DEEP,
        "65 levels": b'{"a":' * 65 + b"1" + b"}" * 65,
        "over 8 MiB": b'{"line": "' + b"x" * MAX_BYTES + b'"}',
    }.items():
        for row in TAKING[:3]:
            answer = _send(client, row, world, raw, "application/json")
            outcome = (answer.status_code, answer.json()["code"])
            assert outcome == (413, "LIMIT_EXCEEDED"), (what, row)


def test_another_content_type_is_415(world: World, api: Client) -> None:
    client = api(person("owner"))
    for kind in ("text/plain", "application/xml", "multipart/form-data", ""):
        for row in TAKING:
            answer = _send(client, row, world, b'{"line": "tree"}', kind)
            outcome = (answer.status_code, answer.json()["code"])
            assert outcome == (415, "INVALID_SYNTAX"), (kind, row)


NULLABLE = {("PATCH", "groves/{grove}/settings")}  # null: the default


def test_each_field_is_of_its_kind_and_no_other_is_taken(world: World, api: Client) -> None:
    client, before = api(person("owner")), counted()
    for row in TAKING:
        for body in _with_a_wrong_field(row, world):
            answer = _send(client, row, world, json.dumps(body).encode(), "application/json")
            outcome = (answer.status_code, answer.json().get("code"))
            assert outcome == (400, "INVALID_SYNTAX"), (row, body, answer.json())
        assert counted() == before, row


def _with_a_wrong_field(row: Any, names: World) -> list[Any]:
    """Bodies that each have a field too many, of a wrong type or missing."""
    _, good = row.filled({**names, "me": "owner"})
    wrong: list[Any] = [{**good, "surprise": 1}]
    for name in good:
        values: list[Any] = [1, 1.5, True, [], {}, ["x"]]
        if (row.method, row.address) not in NULLABLE:
            values.append(None)
        right = (int, float) if name in FRACTIONS else (type(good[name]),)
        other = [value for value in values if type(value) not in right]
        wrong += [{**good, name: value} for value in other]
        if name not in OPTIONAL and (row.method != "PATCH" or row.address.endswith("members")):
            wrong.append({key: value for key, value in good.items() if key != name})
    return wrong


IDS = ["x", "A" * 32, "a" * 5000, "%00", "..%2f..", "a%20b", "é", "'%20OR%201=1", "-1", "%ff"]


def test_an_id_that_is_none_is_not_found(world: World, api: Client) -> None:
    client = api(person("owner"))
    for wrong in IDS:
        cache.clear()  # more requests than one person may send in a minute
        for row in ROWS:
            if "{" in row.address.partition("?")[0]:
                address, body = row.filled(dict.fromkeys(world, wrong))
                answer = client.generic(
                    row.method,
                    address,
                    json.dumps(body) if body else "",
                    content_type="application/json",
                )
                outcome = (answer.status_code, answer.json()["code"])
                assert outcome == (404, "NOT_FOUND"), (wrong, row)


def test_an_id_in_the_query_that_is_none_is_not_found(world: World, api: Client) -> None:
    client = api(person("owner"))
    for address in ("trees?grove=", "participants?grove=", "workspaces?tree=", "steps?workspace="):
        for wrong in ("nothing", "%00", "%ff", "a%20b", "é"):
            answer = client.get(f"/api/{address}{wrong}")
            assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND"), address
    for address in ("workspaces", "steps"):
        assert client.get(f"/api/{address}").json()["code"] == "INVALID_SYNTAX"


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ("limit=0", 400),
        ("limit=-1", 400),
        ("limit=x", 400),
        ("limit=", 400),
        ("limit=1.5", 400),
        ("limit=１", 400),
        ("limit=1001", 429),
        ("offset=-1", 400),
        ("offset=" + "9" * 30, 400),
        ("archived=maybe", 400),
    ],
)
def test_a_bad_number_in_a_query_is_refused(
    asked: str, status: int, world: World, owner: User, api: Client
) -> None:
    for address in ("trees", f"participants?grove={world['grove']}"):
        answer = api(owner).get(f"/api/{address}{'&' if '?' in address else '?'}{asked}")
        assert answer.status_code == status, answer.json()
        assert answer.json()["code"] == ("LIMIT_EXCEEDED" if status == 429 else "INVALID_SYNTAX")


def test_an_unknown_address_and_method_are_answered_in_json(owner: User, api: Client) -> None:
    client = api(owner)
    for address in ("/api/nothing", "/api/", "/api/trees/", "/api/me/x"):
        for method in ("GET", "POST", "PUT", "DELETE"):
            answer = client.generic(method, address)
            assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
    for method in ("PUT", "OPTIONS", "TRACE"):
        answer = client.generic(method, "/api/trees")
        assert (answer.status_code, answer.json()["code"]) == (405, "INVALID_SYNTAX")
        assert set(answer["Allow"].split(", ")) == {"GET", "POST"}
    answer = client.get("/api/me", HTTP_ACCEPT="image/png")
    assert (answer.status_code, answer.json()["code"]) == (406, "INVALID_SYNTAX")


def test_texts_with_brackets_are_not_deep_and_64_levels_are_read() -> None:
    assert read_json(json.dumps({"line": "[" * 100_000 + '"\\'}).encode())["line"].endswith('"\\')
    assert read_json(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    assert read_json(b"[" + b"[]," * 500 + b"[]]")
    assert read_json('{"a": "\\ud83d\\ude42", "a": "🙂"}'.encode()) == {"a": "🙂"}
    with pytest.raises(CommandError):
        read_json(b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1))
    with pytest.raises(CommandError):
        read_json(b'["' + b"]" * 80 + b'"' + b"," + b"[" * 64 + b"]" * 64 + b"]")


@pytest.mark.parametrize(
    "end",
    [b"", b'"', b'"' + b'\\"' * 100_000, b"]" * 300],
    ids=["nothing", "a quote", "a text without an end", "brackets"],
)
def test_a_body_of_many_levels_is_refused_as_such_however_it_ends(end: bytes) -> None:
    with pytest.raises(CommandError, match=f"at most {MAX_DEPTH} levels") as refused:
        read_json(b"[" * 300 + end)
    assert refused.value.code == "LIMIT_EXCEEDED"
    with pytest.raises(CommandError, match="not JSON"):
        read_json(b'"' + b"[" * 300)


@pytest.mark.parametrize("host", ["evil.example", "testserver.evil.example", "a b", ""])
def test_a_foreign_host_is_refused_in_json(host: str, owner: User, api: Client) -> None:
    answer = api(owner).get("/api/me", HTTP_HOST=host)
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_SYNTAX")


def test_a_fault_of_our_own_is_answered_in_json(
    owner: User, api: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(user: User) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("loom.access.visible_groves", broken)
    client = api(owner)
    client.raise_request_exception = False
    answer = client.get("/api/me")
    assert (answer.status_code, answer.json()["code"]) == (500, "UNAVAILABLE")
    assert "ZeroDivisionError" not in answer.content.decode()


def test_what_no_text_can_hold_is_refused_in_an_address_and_not_logged(
    api: Callable[..., APIClient],
    owner: User,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As PostgreSQL refuses it; SQLite looks for it, and finds nothing."""

    def refuse(*_: object, **__: object) -> None:
        raise DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")

    monkeypatch.setattr("loom.access.get_grove", refuse)
    client = api(owner)
    answer = client.get("/api/link-types?grove=%00")
    assert (answer.status_code, answer.json()["message"]) == (400, "The address has U+0000 in it.")
    assert not [line for line in caplog.records if line.name == "heddle.api"]
    client.get("/api/link-types?grove=x")
    assert [line.levelname for line in caplog.records if line.name == "heddle.api"] == ["ERROR"]


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (DataError("x"), 400, "INVALID_SYNTAX"),
        (RecursionError(), 400, "INVALID_SYNTAX"),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "x"), 400, "INVALID_SYNTAX"),
        (IntegrityError("x"), 409, "CONFLICT"),
        (OperationalError("x"), 503, "UNAVAILABLE"),
        (RequestDataTooBig("x"), 413, "LIMIT_EXCEEDED"),
        (TooManyFieldsSent("x"), 400, "INVALID_SYNTAX"),
        (ParseError(), 400, "INVALID_SYNTAX"),
        (APIException(), 500, "UNAVAILABLE"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_of_the_framework_are_reported_in_our_words(
    error: Exception,
    status: int,
    code: str,
    owner: User,
    api: Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(user: User) -> None:
        raise error

    monkeypatch.setattr("loom.access.visible_groves", broken)
    answer = api(owner).get("/api/me")
    assert (answer.status_code, answer.json()["code"]) == (status, code)


@pytest.mark.sqlite
def test_a_full_disk_is_called_so(world: World, api: Client, owner: User) -> None:
    with connection.cursor() as cursor:
        sizes = {}
        for name in ("page_count", "page_size", "freelist_count"):
            cursor.execute(f"PRAGMA {name}")
            sizes[name] = cursor.fetchone()[0]
        cursor.execute(f"PRAGMA max_page_count = {sizes['page_count'] + 20}")
        try:  # more than the added pages and those that earlier tests left free
            free = (sizes["freelist_count"] + 60) * sizes["page_size"]
            line = {"line": "respond root\n" + "x" * free}
            answer = api(owner).post(f"/api/trees/{world['tree']}/commands", line, format="json")
        finally:
            cursor.execute("PRAGMA max_page_count = 1073741823")
    assert answer.status_code == 503
    assert answer.json()["message"] == "The disk is full; nothing was written."


@pytest.mark.sqlite
def test_a_missing_table_is_not_called_a_database_that_is_away(
    api: Client, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM people_missing")

    monkeypatch.setattr("loom.access.visible_groves", missing)
    answer = api(owner).get("/api/me")
    body = answer.json()
    assert (answer.status_code, body["code"], body["retryable"]) == (503, "UNAVAILABLE", False)
    assert body["message"].startswith("The database does not fit this version of Heddle")
    assert "people_missing" not in str(body)


READ_ONLY = "The database can only be read now; nothing was written."


@pytest.mark.sqlite
def test_a_file_that_can_only_be_read_is_called_so(world: World, api: Client, owner: User) -> None:
    client = api(owner)
    line = {"line": 'respond root "Late."'}
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA query_only = on")
        try:
            answer = client.post(f"/api/trees/{world['tree']}/commands", line, format="json")
            read = client.get(f"/api/trees/{world['tree']}")
        finally:
            cursor.execute("PRAGMA query_only = off")
    assert (answer.status_code, read.status_code) == (503, 200)
    assert answer.json()["message"] == READ_ONLY
    assert "operator" in answer.json()["hint"]


@pytest.mark.postgres
def test_a_standby_that_can_only_be_read_is_called_so() -> None:
    with pytest.raises(DatabaseError) as caught, transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
        Tree.objects.update(title="Late")
    refused = refusal_of(caught.value)
    assert refused is not None and (refused.status, refused.message) == (503, READ_ONLY)


@pytest.mark.postgres
def test_health_names_a_standby_that_can_only_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    given = connection.get_connection_params()
    words = {name: given[name] for name in ("dbname", "host", "port", "user") if name in given}
    read_only = "-c default_transaction_read_only=on"
    with psycopg.connect(**words, options=read_only) as line:
        pool = SimpleNamespace(open=lambda: None, connection=lambda timeout: nullcontext(line))
        monkeypatch.setattr(type(connections["default"]), "pool", pool)
        with pytest.raises(health._ReadOnly) as caught:
            health._database()
        monkeypatch.undo()
    assert health._why_database(caught.value) == "The database can be read but not written."
