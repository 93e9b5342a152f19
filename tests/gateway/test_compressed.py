"""Requests whose bodies are compressed: they are recorded as others are, and pass as they came."""

import gzip
import json
import zlib
from typing import Any

import pytest

from agents.gateway import server
from agents.gateway.compressed import MOST_MEMBERS, UnpackedTooLongError, unpacked
from agents.gateway.keys import make_key
from agents.gateway.models import GatewayRequest, GatewaySession
from loom.access import Actor
from loom.people.models import Participant
from loom.reading.pages.panels import as_curl
from tests.gateway.conftest import Program, run, shape_of
from tests.gateway.test_observed import whole
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says

BODY = b'{"model":"echo-1","messages":[{"role":"user","content":"Hi"}]}'


def raw_deflate(body: bytes) -> bytes:
    """Deflate without the frame of zlib, as some programs send it."""
    way = zlib.compressobj(wbits=-15)
    return way.compress(body) + way.flush()


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(BODY)),
        ("X-GZIP", gzip.compress(BODY)),
        ("gzip", gzip.compress(BODY[:9]) + gzip.compress(BODY[9:])),
        ("deflate", zlib.compress(BODY)),
        ("deflate", raw_deflate(BODY)),
        ("deflate, gzip", gzip.compress(zlib.compress(BODY))),
        ("identity", BODY),
        ("", BODY),
    ],
    ids=["gzip", "upper case", "members", "zlib", "raw", "both", "identity", "none"],
)
def test_a_body_is_unpacked(encoding: str, body: bytes) -> None:
    assert unpacked(body, encoding, most=100) == BODY


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("zstd", BODY),
        ("gzip", BODY),
        ("gzip", gzip.compress(BODY)[:-9]),
        ("gzip", gzip.compress(BODY) + b"more"),
        ("deflate", b"\xff\xff"),
        ("gzip, gzip, gzip", gzip.compress(gzip.compress(gzip.compress(BODY)))),
        ("gzip", gzip.compress(b"") * MOST_MEMBERS + gzip.compress(BODY)),
        ("gzip, gzip", gzip.compress(gzip.compress(b"") * MOST_MEMBERS + gzip.compress(BODY))),
        ("deflate", raw_deflate(b"") * MOST_MEMBERS + raw_deflate(BODY)),
    ],
    ids=[
        *("zstd", "plain", "cut", "garbage behind", "no deflate", "too many"),
        *("empty members", "empty members below", "empty raw members"),
    ],
)
def test_what_cannot_be_unpacked_is_left_as_it_is(encoding: str, body: bytes) -> None:
    assert unpacked(body, encoding, most=10_000) is None


@pytest.mark.parametrize("encoding", ["gzip", "gzip, gzip"])
def test_no_more_is_unpacked_than_a_body_may_have(encoding: str) -> None:
    body = gzip.compress(b" " * 1001)
    body = gzip.compress(body) if "," in encoding else body
    with pytest.raises(UnpackedTooLongError):
        unpacked(body, encoding, most=1000)
    members = gzip.compress(b" " * 600) * 2
    with pytest.raises(UnpackedTooLongError):
        unpacked(members, "gzip", most=1000)


@pytest.mark.django_db(transaction=True)
def test_a_compressed_request_is_recorded_and_passes_as_it_came(
    program: Program, provider: ScriptedProvider
) -> None:
    provider.default = whole("Yes.")
    raw = gzip.compress(BODY)
    got = run(program.send("POST", "/chat/completions", raw, content_encoding="gzip"))
    assert got.status == 200 and "x-loom" not in got.headers
    assert shape_of(GatewaySession.objects.get()) == {"Hi": {"Yes.": {}}}
    assert provider.seen[0].body == raw
    assert provider.seen[0].header("content-encoding") == "gzip"


@pytest.mark.django_db(transaction=True)
def test_a_compressed_request_is_sent_the_workspace(
    actor: Actor, model: Participant, provider: ScriptedProvider
) -> None:
    secret = make_key(actor.user, model.uid, name="program", mode="workspace")[1]
    provider.default = whole("Yes.")
    raw = gzip.compress(BODY)
    run(Program(secret).send("POST", "/chat/completions", raw, content_encoding="gzip"))
    assert "---WORKSPACE" in provider.seen[0].json["messages"][0]["content"]
    assert not provider.seen[0].header("content-encoding")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("mode", ["observe", "workspace"])
def test_a_compressed_request_is_repeated_as_it_is_kept(
    actor: Actor, model: Participant, provider: ScriptedProvider, mode: str
) -> None:
    secret = make_key(actor.user, model.uid, name="program", mode=mode)[1]
    provider.default = whole("Yes.")
    raw = gzip.compress(BODY)
    run(Program(secret).send("POST", "/chat/completions", raw, content_encoding="gzip"))
    kept = GatewayRequest.objects.get().call.request
    assert "content-encoding" not in kept["headers"]
    kept["headers"]["Content-Encoding"] = "gzip"  # as calls were kept before
    assert "content-encoding" not in as_curl(kept).lower()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("tools", [[], [{"type": "function", "function": {"name": "ls"}}]])
def test_an_agent_is_asked_by_a_compressed_request(
    program: Program, provider: ScriptedProvider, worker: None, tools: list[Any]
) -> None:
    provider.script(whole("Yes.") if tools else says("Yes."))
    body = {**json.loads(BODY), "model": "loom/Echo", "tools": tools}
    raw = gzip.compress(json.dumps(body).encode())
    got = run(program.send("POST", "/chat/completions", raw, content_encoding="gzip"))
    assert got.status == 200 and b"Yes." in got.body
    assert "Hi" in str(provider.seen[0].json["messages"])
    assert not provider.seen[0].header("content-encoding")


@pytest.mark.django_db(transaction=True)
def test_a_bomb_is_refused(
    program: Program, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "MOST_BYTES", 1000)
    raw = gzip.compress(b" " * 2000)
    got = run(program.send("POST", "/chat/completions", raw, content_encoding="gzip"))
    assert got.status == 413 and not provider.seen
    assert not GatewayRequest.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("body", [b"", b" \r\n"])
def test_an_empty_compressed_body_is_refused(
    program: Program, provider: ScriptedProvider, body: bytes
) -> None:
    raw = gzip.compress(body)
    got = run(program.send("POST", "/chat/completions", raw, content_encoding="gzip"))
    assert got.status == 400 and not provider.seen
