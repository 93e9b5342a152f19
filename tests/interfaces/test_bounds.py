"""Bodies that are too big end as they come, before anybody has stored them."""

import io
import json
from typing import Any
from urllib.parse import urlencode

import pytest
from asgiref.testing import ApplicationCommunicator
from django.core.exceptions import BadRequest, TooManyFieldsSent

from config import http
from loom.platform import long_forms
from loom.platform.handler import Handler
from tests.patience import PATIENCE_S
from tests.steps import steps


async def _store(scope: Any, receive: Any, send: Any) -> None:
    """An application that reads all of a body, as Django does."""
    count, more = 0, True
    while more:
        message = await receive()
        count += len(message["body"])
        more = message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(count).encode()})


async def _ask(
    pieces: list[bytes], path: str = "/api/trees", length: bytes = b"", large: Any = None
) -> Any:
    async def application(scope: Any, receive: Any, send: Any) -> None:
        await http.bounded(_store, scope, receive, send, large)

    headers = [(b"content-length", length)] if length else []
    scope = {"type": "http", "path": path, "headers": headers}
    wire: Any = ApplicationCommunicator(application, scope)
    for number, piece in enumerate(pieces, 1):
        await wire.send_input(
            {"type": "http.request", "body": piece, "more_body": number < len(pieces)}
        )
    start, body = await wire.receive_output(PATIENCE_S), await wire.receive_output(PATIENCE_S)
    return start["status"], body["body"]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "BODY_BYTES", 10)
    monkeypatch.setattr(http, "FILE_BYTES", 20)
    monkeypatch.setattr(http, "DROPPING_S", 0.1)


async def test_what_fits_is_handed_on() -> None:
    assert await _ask([b"12345", b"67890"], length=b"10") == (200, b"10")
    assert await _ask([b"x" * 20], path="/api/import") == (200, b"20")
    assert await _ask([b""], length=b"nonsense") == (200, b"0")


@pytest.mark.parametrize(
    ("pieces", "path", "length"),
    [
        ([b"12345", b"67890", b"1"], "/api/trees", b""),
        ([b"x" * 21], "/api/import", b""),
        ([b""], "/api/trees", b"11"),
        ([b""], "/signin", b"9" * 19),
    ],
)
async def test_what_does_not_fit_is_413(pieces: list[bytes], path: str, length: bytes) -> None:
    status, body = await _ask(pieces, path, length)
    assert (status, json.loads(body)["code"]) == (413, "LIMIT_EXCEEDED")


_FORM = (
    b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.json"\r\n\r\n{}\r\n--x--\r\n'
)


def _request(body: bytes, *headers: tuple[bytes, bytes]) -> Any:
    kind = (b"content-type", b"multipart/form-data; boundary=x")
    scope = {"type": "http", "method": "POST", "path": "/api/import", "headers": [kind, *headers]}
    request, refused = Handler().create_request(scope, io.BytesIO(body))
    assert refused is None
    return request


def test_a_body_that_comes_in_pieces_is_read_like_any_other() -> None:
    assert _request(_FORM).FILES["file"].read() == b"{}"
    assert _request(_FORM, (b"content-length", b"0")).FILES == {}
    assert "CONTENT_LENGTH" not in _request(b"").META


@pytest.mark.parametrize(
    "path",
    ["/signin", "/invitations/x", "/groves/x/participants/models", "/groves/x/people/invite",
     "/groves/x/participants/x/probe", "/trees/x/share/make", "/trees/x/about/tags"],
)  # fmt: skip
async def test_a_form_without_long_texts_is_short(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "BODY_BYTES", 100)
    monkeypatch.setattr(http, "FORM_BYTES", 10)
    assert await _ask([b"x" * 10], path) == (200, b"10")
    status, body = await _ask([b"x" * 11, b"x" * 89], path)
    assert (status, json.loads(body)["code"]) == (413, "LIMIT_EXCEEDED")


@pytest.mark.parametrize(
    "path",
    ["/trees/x/line", "/trees/x/about/head", "/documents/x/do/suggest", "/groves/x/documents",
     "/groves/x/participants/new", "/groves/x/participants/x"],
)  # fmt: skip
async def test_a_form_with_a_long_text_may_be_long(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http, "BODY_BYTES", 100)
    monkeypatch.setattr(http, "FORM_BYTES", 10)
    assert await _ask([b"x" * 100], path) == (200, b"100")


def _posted(body: bytes) -> Any:
    headers = [
        (b"content-type", b"application/x-www-form-urlencoded"),
        (b"content-length", str(len(body)).encode()),
    ]
    scope = {"type": "http", "method": "POST", "path": "/trees/x/line", "headers": headers}
    request, refused = Handler().create_request(scope, io.BytesIO(body))
    assert refused is None
    return request


def test_a_long_form_is_read_like_a_short_one(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "é→ \\x41 \\ +&=%25 %\r\n" + "".join(map(chr, range(300)))
    body = urlencode([("text", text), ("n:ä", "1"), ("n:ä", "2"), ("empty", "")]).encode()
    body += b"&bare&=&&raw=a=b%ff"
    expected = _posted(body).POST
    monkeypatch.setattr(long_forms, "LONG_FORM", 10)
    form = _posted(body).POST
    assert form == expected
    assert form["text"] == text
    with pytest.raises(AttributeError):
        form["text"] = "changed"


@pytest.mark.parametrize("escape", [b"%", b"%4", b"%zz", b"100% of it"])
def test_a_long_form_with_a_broken_escape_is_refused(escape: bytes) -> None:
    with pytest.raises(BadRequest):
        _ = _posted(b"text=" + b"x" * long_forms.LONG_FORM + escape).POST


def test_a_long_form_has_few_fields() -> None:
    with pytest.raises(TooManyFieldsSent):
        _ = _posted(b"a=1&" * long_forms.LONG_FORM).POST


def test_reading_a_form_ten_times_as_long_takes_no_more_steps() -> None:
    first, small, large = (_posted(b"text=" + b"%0A" * n) for n in (50_000, 50_000, 500_000))
    # The first form of a process also loads the reader of forms.
    assert "text" in first.POST
    assert steps(lambda: small.POST) == steps(lambda: large.POST)
