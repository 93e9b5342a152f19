"""OAuth: the SDK's own client is let in to the MCP endpoint by a person, and what is refused."""

import asyncio
import base64
import hashlib
import json
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import httpx2
import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from mcp.client import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)

from agents.oauth import commands, documents
from agents.oauth.models import AuthorizationCode, ProgramClient, ProgramConnection, RefreshToken
from loom.errors import CommandError
from loom.mcp.server import handle
from loom.people.models import ApiKey, User
from loom.platform import outside_waits
from loom.platform.handler import handler
from loom.platform.outside_waits import waits_outside
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db(transaction=True)
BASE = "http://localhost"
BACK = "http://127.0.0.1:7777/callback"
VERIFIER = "v" * 50
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode()[:43]


@pytest.fixture(autouse=True)
def _switched_on(settings: Any) -> None:
    settings.OAUTH = True


async def serve(scope: Any, receive: Any, send: Any) -> None:
    """The endpoint and the pages, as config/asgi.py puts them together."""
    if scope["path"] == "/mcp":
        await handle(handler(), scope, receive, send)
    else:
        await handler()(scope, receive, send)


def browser_of(user: User) -> Browser:
    """A browser in which the user is signed in."""
    browser = Browser(HTTP_HOST="localhost")
    browser.force_login(user)
    return browser


class ClientMemory:
    """What a program keeps between its runs."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        """The tokens."""
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keeps the tokens."""
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """The registration."""
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keeps the registration."""
        self.client = client_info


def talk(
    user: User,
    say: Callable[[Client], Awaitable[Any]],
    memory: ClientMemory,
    *,
    answer: dict[str, str] | None = None,
    document: str | None = None,
    mode: Any = "auto",
) -> Any:
    """What `say` returns, with the SDK's client, which the user lets in."""
    backs: list[str] = []

    def in_browser(url: str) -> None:
        where = url.removeprefix(BASE)
        page = browser_of(user).get(where)
        assert page.status_code == 200, page.content
        sent = browser_of(user).post(where, answer or {"answer": "allow"})
        backs.append(sent["Location"])

    async def redirect(url: str) -> None:
        await sync_to_async(in_browser)(url)

    async def callback() -> AuthorizationCodeResult:
        given = {name: values[0] for name, values in parse_qs(urlsplit(backs[-1]).query).items()}
        return AuthorizationCodeResult(
            code=given.get("code", ""), state=given.get("state"), iss=given.get("iss")
        )

    async def spoken() -> Any:
        auth = OAuthClientProvider(
            f"{BASE}/mcp",
            OAuthClientMetadata(redirect_uris=[BACK], client_name="Loomer"),
            memory,
            redirect,
            callback,
            client_metadata_url=document,
        )
        http = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=serve), auth=auth)
        transport = streamable_http_client(f"{BASE}/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:
            return await say(client)

    return asyncio.run(spoken())


async def look(client: Client, tree: str) -> dict[str, Any]:
    """The answer to opening a tree."""
    result = await client.call_tool("open_session", {"tree": tree})
    content: dict[str, Any] = result.structured_content
    return content


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_person_lets_a_program_in_to_their_own_groves(two_groves: TwoGroves, mode: str) -> None:
    left, right = two_groves.left, two_groves.right

    async def work(client: Client) -> None:
        opened = await look(client, left.tree.uid)
        line = f'respond {left.text.local_id} "By the program."'
        wrote = await client.call_tool("loom_write", {"session": opened["session"], "line": line})
        assert wrote.structured_content["success"]
        foreign = await look(client, right.tree.uid)
        assert not foreign["success"] and right.tree.title not in foreign["message"]

    memory = ClientMemory()
    talk(two_groves.only_left, work, memory, mode=mode)
    assert memory.tokens and memory.tokens.scope == "read write"
    key = ApiKey.objects.get(user=two_groves.only_left)
    assert (key.name, key.scope, key.is_program) == ("Loomer", "write", True)
    assert key.expires_at is not None
    assert timedelta(0) < key.expires_at - timezone.now() <= timedelta(hours=1)
    page = browser_of(two_groves.only_left).get("/settings/access").content.decode()
    assert "Loomer" in page and "a program that you let in" in page


def test_who_is_in_two_groves_lets_it_in_to_both(two_groves: TwoGroves) -> None:
    async def work(client: Client) -> None:
        for side in (two_groves.left, two_groves.right):
            assert (await look(client, side.tree.uid))["success"]

    talk(two_groves.both, work, ClientMemory())


def test_a_person_may_allow_less_than_is_asked_for(two_groves: TwoGroves) -> None:
    left = two_groves.left

    async def work(client: Client) -> None:
        opened = await look(client, left.tree.uid)
        line = f'respond {left.text.local_id} "No."'
        wrote = await client.call_tool("loom_write", {"session": opened["session"], "line": line})
        assert wrote.structured_content["code"] == "PERMISSION_DENIED"

    memory = ClientMemory()
    talk(two_groves.only_left, work, memory, answer={"answer": "allow", "granted": "read"})
    assert memory.tokens and memory.tokens.scope == "read"


def test_a_person_who_refuses_lets_nothing_in(two_groves: TwoGroves) -> None:
    with pytest.raises(BaseException):  # noqa: B017  # a group, by the SDK's task group
        talk(two_groves.only_left, look, ClientMemory(), answer={"answer": "refuse"})  # type: ignore[arg-type]
    assert not ApiKey.objects.exists()
    client = registered()
    sent = browser_of(two_groves.only_left).post(asking(client), {"answer": "refuse"})
    assert "error=access_denied" in sent["Location"]


def test_tokens_are_renewed_by_rotation(two_groves: TwoGroves) -> None:
    memory = ClientMemory()

    async def work(client: Client) -> bool:
        return bool((await look(client, two_groves.left.tree.uid))["success"])

    assert talk(two_groves.only_left, work, memory)
    first = memory.tokens
    assert first is not None
    ApiKey.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    client = ProgramClient.objects.get()
    second = renewed(client, first.refresh_token)
    assert second.status_code == 200
    tokens = second.json()
    assert tokens["access_token"] != first.access_token and tokens["expires_in"] == 3600
    assert api(first.access_token) == 401 and api(tokens["access_token"]) == 200
    assert ApiKey.objects.count() == 1
    # A token that comes twice was stolen: everything of the connection ends.
    again = renewed(client, first.refresh_token)
    assert (again.status_code, again.json()["error"]) == (400, "invalid_grant")
    assert api(tokens["access_token"]) == 401
    assert renewed(client, tokens["refresh_token"]).status_code == 400


def test_a_renewal_may_ask_for_less_and_never_for_more(two_groves: TwoGroves) -> None:
    client = registered()
    tokens = exchanged(client, two_groves.only_left, granted="read").json()
    assert tokens["scope"] == "read"
    wider = renewed(client, tokens["refresh_token"], scope="read write")
    assert (wider.status_code, wider.json()["error"]) == (400, "invalid_scope")
    assert renewed(client, tokens["refresh_token"]).status_code == 200
    tokens = exchanged(client, two_groves.only_left).json()
    less = renewed(client, tokens["refresh_token"], scope="read").json()
    assert less["scope"] == "read"
    assert ApiKey.objects.order_by("-pk").values_list("scope", flat=True)[0] == "read"


def test_a_key_that_is_revoked_is_not_renewed(two_groves: TwoGroves) -> None:
    client = registered()
    tokens = exchanged(client, two_groves.only_left).json()
    key = ApiKey.objects.get()
    browser_of(two_groves.only_right).post("/settings/revoke-key", {"key": key.uid})
    assert api(tokens["access_token"]) == 200  # it is not theirs
    browser_of(two_groves.only_left).post("/settings/revoke-key", {"key": key.uid})
    assert api(tokens["access_token"]) == 401
    assert renewed(client, tokens["refresh_token"]).status_code == 400


@pytest.mark.parametrize("which", ["access_token", "refresh_token"])
def test_a_program_gives_its_access_back(two_groves: TwoGroves, which: str) -> None:
    client, other = registered(), registered()
    tokens = exchanged(client, two_groves.only_left).json()
    foreign = post("/oauth/revoke", client_id=other.client_id, token=tokens[which])
    assert foreign.status_code == 400 and api(tokens["access_token"]) == 200
    assert post("/oauth/revoke", client_id=client.client_id, token=tokens[which]).status_code == 200
    assert api(tokens["access_token"]) == 401
    assert renewed(client, tokens["refresh_token"]).status_code == 400
    unknown = post("/oauth/revoke", client_id=client.client_id, token="hr_unknown")
    assert unknown.status_code == 200  # RFC 7009: it is not valid, as was wanted


def test_a_closed_account_renews_nothing(two_groves: TwoGroves) -> None:
    client = registered()
    tokens = exchanged(client, two_groves.only_left).json()
    User.objects.filter(pk=two_groves.only_left.pk).update(is_active=False)
    assert api(tokens["access_token"]) == 401
    assert renewed(client, tokens["refresh_token"]).status_code == 400


def test_a_token_of_a_program_makes_no_key_and_administers_nothing(two_groves: TwoGroves) -> None:
    owner = User.objects.get(username="leftowner")
    token = exchanged(registered(), owner).json()["access_token"]
    bearer = {"HTTP_AUTHORIZATION": f"Bearer {token}", "content_type": "application/json"}
    grove = two_groves.left.grove.uid
    browser = Browser(HTTP_HOST="localhost")
    assert browser.post("/api/api-keys", "{}", **bearer).status_code == 403  # type: ignore[arg-type]
    renamed = browser.patch(f"/api/groves/{grove}", '{"name": "Mine"}', **bearer)  # type: ignore[arg-type]
    assert renamed.status_code == 403


# What is refused before a person is asked.


def registered(name: str = "Loomer", uri: str = BACK) -> ProgramClient:
    """A program that has registered itself."""
    sent = {"client_name": name, "redirect_uris": [uri]}
    answer = Browser(HTTP_HOST="localhost").post(
        "/oauth/register", json.dumps(sent), content_type="application/json"
    )
    assert answer.status_code == 201, answer.content
    return ProgramClient.objects.get(client_id=answer.json()["client_id"])


def asking(client: ProgramClient, **changed: str | None) -> str:
    """The address at which a program asks."""
    given: dict[str, str | None] = {
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": BACK,
        "scope": "read write",
        "state": "s1",
        "code_challenge": CHALLENGE,
        "code_challenge_method": "S256",
        **changed,
    }
    kept = {name: value for name, value in given.items() if value is not None}
    return f"/oauth/authorize?{urlencode(kept)}"


def code_for(client: ProgramClient, user: User, *, granted: str = "write", **changed: Any) -> str:
    """The code that a program gets when the user lets it in."""
    answer = {"answer": "allow", "granted": granted}
    sent = browser_of(user).post(asking(client, **changed), answer)
    assert sent.status_code == 302, sent.content
    return parse_qs(urlsplit(sent["Location"]).query)["code"][0]


def post(path: str, **given: Any) -> Any:
    """The answer to a form of a program."""
    kept = {name: value for name, value in given.items() if value is not None}
    return Browser(HTTP_HOST="localhost").post(path, kept)


def token_for(client: ProgramClient, code: str, **changed: Any) -> Any:
    """The answer to a program that exchanges its code."""
    given = {
        "grant_type": "authorization_code",
        "client_id": client.client_id,
        "code": code,
        "redirect_uri": BACK,
        "code_verifier": VERIFIER,
        **changed,
    }
    return post("/oauth/token", **given)


def exchanged(client: ProgramClient, user: User, *, granted: str = "write") -> Any:
    """The answer with the tokens of a program that the user lets in."""
    return token_for(client, code_for(client, user, granted=granted))


def renewed(client: ProgramClient, token: str | None, **more: str) -> Any:
    """The answer to a program that asks for its next tokens."""
    given = {"grant_type": "refresh_token", "client_id": client.client_id, "refresh_token": token}
    return post("/oauth/token", **given, **more)


def api(token: str) -> int:
    """The status of a request to the API."""
    browser = Browser(HTTP_HOST="localhost", HTTP_AUTHORIZATION=f"Bearer {token}")
    return browser.get("/api/me").status_code


@pytest.mark.parametrize(
    "changed",
    [
        {"code_challenge": None, "code_challenge_method": None},
        {"code_challenge": VERIFIER, "code_challenge_method": "plain"},
        {"code_challenge_method": None},
        {"code_challenge": None},
        {"code_challenge": "short"},
    ],
)
def test_without_pkce_nobody_is_asked(two_groves: TwoGroves, changed: dict[str, Any]) -> None:
    client, browser = registered(), browser_of(two_groves.only_left)
    for sent in (browser.get(asking(client, **changed)), browser.post(asking(client, **changed))):
        assert sent.status_code == 400 and "Location" not in sent
        assert "cannot be let in" in sent.content.decode()
    assert not AuthorizationCode.objects.exists()


def test_only_a_program_that_the_person_has_let_in_is_told_of_its_mistakes(
    two_groves: TwoGroves,
) -> None:
    client, user = registered(), two_groves.only_left
    exchanged(client, user)
    for changed in ({"response_type": "token"}, {"code_challenge": "short"}):
        sent = browser_of(user).get(asking(client, **changed))
        assert sent.status_code == 302 and sent["Location"].startswith(f"{BACK}?")
        assert "error=" in sent["Location"] and "state=s1" in sent["Location"]
        assert f"iss={quote(BASE, safe='')}" in sent["Location"]
        assert browser_of(two_groves.both).get(asking(client, **changed)).status_code == 400
    commands.end(ProgramConnection.objects.get())
    assert browser_of(user).get(asking(client, response_type="token")).status_code == 400


@pytest.mark.parametrize(
    "uri",
    [
        "https://thief.example/callback",
        "http://127.0.0.1:7777/other",
        "http://127.0.0.1.thief.example:7777/callback",
        "http://127.0.0.1:7777/callback?next=1",
        "javascript:alert(1)",
    ],
)
def test_a_wrong_address_is_sent_nothing(two_groves: TwoGroves, uri: str) -> None:
    client = registered()
    for method in ("get", "post"):
        sent = getattr(browser_of(two_groves.only_left), method)(asking(client, redirect_uri=uri))
        assert sent.status_code == 400 and "Location" not in sent
        assert "cannot be let in" in sent.content.decode()
    assert not AuthorizationCode.objects.exists()


def test_the_port_of_the_own_computer_may_be_another(two_groves: TwoGroves) -> None:
    uri = "http://127.0.0.1:5123/callback"
    client = registered()
    code = code_for(client, two_groves.only_left, redirect_uri=uri)
    assert token_for(client, code, redirect_uri=uri).status_code == 200


@pytest.mark.parametrize(
    "changed",
    [
        {"code_verifier": "w" * 50},
        {"code_verifier": None},
        {"redirect_uri": "http://127.0.0.1:1/callback"},
        {"code": "unknown"},
        {"grant_type": "password", "username": "onlyleft", "password": "x"},
        {"grant_type": "client_credentials"},
        {"client_secret": "guessed"},
        {"resource": "https://other.example/mcp"},
    ],
)
def test_a_code_is_only_good_for_whom_it_was_given(
    two_groves: TwoGroves, changed: dict[str, Any]
) -> None:
    client = registered()
    code = code_for(client, two_groves.only_left)
    refused = token_for(client, changed.pop("code", code), **changed)
    assert refused.status_code in (400, 401) and refused.json()["error"]
    assert not ApiKey.objects.exists()


def test_a_code_of_another_program_or_an_old_one_is_refused(two_groves: TwoGroves) -> None:
    client, other = registered(), registered()
    code = code_for(client, two_groves.only_left)
    assert token_for(other, code).status_code == 400
    AuthorizationCode.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert token_for(client, code).status_code == 400
    assert not ApiKey.objects.exists()


def test_a_code_that_comes_twice_ends_what_was_given_for_it(two_groves: TwoGroves) -> None:
    client = registered()
    code = code_for(client, two_groves.only_left)
    tokens = token_for(client, code).json()
    assert api(tokens["access_token"]) == 200
    assert token_for(client, code).status_code == 400
    assert api(tokens["access_token"]) == 401


def before(monkeypatch: pytest.MonkeyPatch, name: str, act: Callable[[], object]) -> None:
    """Does something just before the command of this name, as another request would."""
    command = getattr(commands, name)

    def late(*args: Any, **given: Any) -> Any:
        act()
        return command(*args, **given)

    monkeypatch.setattr(commands, name, late)


def test_a_code_that_comes_twice_at_once_lets_nothing_in(
    two_groves: TwoGroves, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = registered()
    code = code_for(client, two_groves.only_left)
    before(monkeypatch, "connect", lambda: commands.take_code(code, client))
    refused = token_for(client, code)
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_grant")
    assert not ProgramConnection.objects.exists() and not ApiKey.objects.exists()


def test_tokens_of_a_connection_that_ended_meanwhile_are_not_given_out(
    two_groves: TwoGroves, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = registered()
    first = exchanged(client, two_groves.only_left).json()["refresh_token"]
    before(monkeypatch, "renew", lambda: commands.find_refresh(first, client))
    refused = renewed(client, first)
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_grant")
    assert RefreshToken.objects.count() == 1


@pytest.mark.parametrize(
    "given",
    [
        "[]",
        "{",
        "{}",
        '{"redirect_uris": []}',
        '{"redirect_uris": ["http://example.com/back"]}',
        '{"redirect_uris": ["javascript:alert(1)"]}',
        '{"redirect_uris": ["data:text/html,x"]}',
        '{"redirect_uris": ["https://a.example/#part"]}',
        '{"redirect_uris": ["https://user:pass@a.example/"]}',
        '{"redirect_uris": [7]}',
        '{"redirect_uris": ["https://a.example/", "evil://claude.ai/cb"]}',
        '{"redirect_uris": ["ms-msdt:/id"]}',
        '{"redirect_uris": ["search-ms:query=x"]}',
        '{"redirect_uris": ["feed:javascript:alert(1)"]}',
        '{"redirect_uris": ["chrome://settings"]}',
        '{"redirect_uris": ["mailto:a@b"]}',
        '{"redirect_uris": ["' + "https://a.example/" + "a" * 20_000 + '"]}',
    ],
)
def test_a_program_that_cannot_be_sent_back_to_is_not_registered(db: None, given: str) -> None:
    answer = Browser(HTTP_HOST="localhost").post(
        "/oauth/register", given, content_type="application/json"
    )
    assert answer.status_code == 400 and answer.json()["error"].startswith("invalid_")
    assert not ProgramClient.objects.exists()


@pytest.mark.parametrize(
    "host",
    ["e.com;script-src", "e.com,b.com", "*.e.com", "*", "e_x.com", "e.com'", "[fe80::1%25x;y]"],
)
def test_a_host_with_signs_of_a_policy_is_not_registered(db: None, host: str) -> None:
    answer = Browser(HTTP_HOST="localhost").post(
        "/oauth/register",
        json.dumps({"redirect_uris": [f"https://{host}/cb"]}),
        content_type="application/json",
    )
    assert answer.status_code == 400 and answer.json()["error"] == "invalid_redirect_uri"
    assert not ProgramClient.objects.exists()


@pytest.mark.parametrize(
    "uri",
    [
        "https://E.example:8443/cb?x=1;y=2,z",
        "https://xn--mller-kva.example/cb",
        "https://192.0.2.7/cb",
        "https://[2001:db8::7]:8443/cb",
        "http://[::1]:9/cb",
        "loomer.app:/cb;x",
        "cursor://anysphere.cursor-mcp/oauth/callback",
    ],
)
def test_names_and_numbers_of_hosts_are_registered(db: None, uri: str) -> None:
    assert registered(uri=uri).redirect_uris == [uri]


@pytest.mark.parametrize("host", ["claude.ai", "claude.ai:443"])
def test_what_stands_for_a_host_in_the_address_of_a_program_is_not_shown(
    two_groves: TwoGroves, host: str
) -> None:
    uri = f"com.evil.program://{host}/cb"
    client = registered(uri=uri)
    words = browser_of(two_groves.only_left).get(asking(client, redirect_uri=uri)).content.decode()
    assert "opens <b>com.evil.program:</b> addresses" in words
    assert "<b>claude.ai" not in words


def test_the_oldest_program_that_nobody_let_in_makes_room(
    two_groves: TwoGroves, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "MOST_UNUSED", 2)
    let_in, allowed = registered("let in"), registered("allowed")
    exchanged(let_in, two_groves.only_left)
    code = code_for(allowed, two_groves.only_left)  # which it has not exchanged yet
    for name in ("first", "second", "third"):
        registered(name)
    kept = ProgramClient.objects.order_by("pk").values_list("name", flat=True)
    assert list(kept) == ["let in", "allowed", "second", "third"]
    assert token_for(allowed, code).status_code == 200


def test_registrations_are_counted_for_each_network(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "REGISTRATIONS_AN_HOUR", 2)

    def status(address: str) -> int:
        return (
            Browser(HTTP_HOST="localhost", REMOTE_ADDR=address)
            .post(
                "/oauth/register",
                json.dumps({"redirect_uris": [BACK]}),
                content_type="application/json",
            )
            .status_code
        )

    assert [status(f"2001:db8:1:2::{number}") for number in range(3)] == [201, 201, 429]
    assert status("2001:db8:1:3::1") == 201


def test_the_page_says_what_the_program_gets(two_groves: TwoGroves) -> None:
    client = registered("<b>Loomer</b>")
    address = asking(client)
    visitor = Browser(HTTP_HOST="localhost").get(address)
    assert visitor.status_code == 302 and visitor["Location"].startswith(
        "/signin?next=/oauth/authorize%3F"
    )
    page = browser_of(two_groves.only_left).get(address)
    words = page.content.decode()
    assert "<b>Loomer</b>" not in words and "&lt;b&gt;Loomer" in words
    assert "Left" in words and "Right" not in words
    assert "reads and writes" in words and "nobody has checked that" in words
    assert "own computer" in words
    assert "form-action 'self' http://127.0.0.1:7777" in page["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in page["Content-Security-Policy"]
    reading = browser_of(two_groves.both).get(asking(client, scope="read")).content.decode()
    assert "Left" in reading and "Right" in reading and "reads and writes" not in reading


def test_the_page_asks_as_little_for_many_groves(
    two_groves: TwoGroves,
) -> None:
    client = registered()
    counts = []
    for user in (two_groves.only_left, two_groves.both):
        browser = browser_of(user)
        browser.get(asking(client))
        with CaptureQueriesContext(connection) as captured:
            browser.get(asking(client))
        counts.append(len(captured))
    assert counts[0] == counts[1] <= 8


def test_another_site_cannot_answer_for_the_person(two_groves: TwoGroves) -> None:
    browser = Browser(HTTP_HOST="localhost", enforce_csrf_checks=True)
    browser.force_login(two_groves.only_left)
    sent = browser.post(asking(registered()), {"answer": "allow"})
    assert sent.status_code == 403 and not AuthorizationCode.objects.exists()


def test_what_is_asked_for_must_be_here(two_groves: TwoGroves) -> None:
    browser = browser_of(two_groves.only_left)
    client = registered()
    elsewhere = browser.get(asking(client, resource="https://other.example/mcp"))
    assert elsewhere.status_code == 400 and "Location" not in elsewhere
    assert browser.get(asking(client, resource=f"{BASE}/mcp")).status_code == 200
    unknown = browser.get(asking(client, scope="administer"))
    assert unknown.status_code == 400 and "Location" not in unknown


# What programs read.


def test_what_programs_read_about_it(db: None) -> None:
    browser = Browser(HTTP_HOST="localhost")
    server = browser.get("/.well-known/oauth-authorization-server").json()
    assert server["issuer"] == BASE and server["code_challenge_methods_supported"] == ["S256"]
    assert server["client_id_metadata_document_supported"] is True
    for name in ("mcp", "api"):
        resource = browser.get(f"/.well-known/oauth-protected-resource/{name}").json()
        assert resource["resource"] == f"{BASE}/{name}"
        assert resource["authorization_servers"] == [BASE]
    challenge = browser.get("/api/me")["WWW-Authenticate"]
    assert f'resource_metadata="{BASE}/.well-known/oauth-protected-resource/api"' in challenge


def mcp_without_a_key() -> httpx2.Response:
    """The answer of the MCP endpoint to nobody."""

    async def posted() -> httpx2.Response:
        transport = httpx2.ASGITransport(app=serve)
        async with httpx2.AsyncClient(transport=transport) as http:
            return await http.post(f"{BASE}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "x"})

    return asyncio.run(posted())


def test_the_endpoint_says_where_access_is_given(db: None) -> None:
    answer = mcp_without_a_key()
    assert answer.status_code == 401
    challenge = answer.headers["www-authenticate"]
    assert f'resource_metadata="{BASE}/.well-known/oauth-protected-resource/mcp"' in challenge


def test_switched_off_there_is_nothing(two_groves: TwoGroves, settings: Any) -> None:
    client = registered()
    tokens = exchanged(client, two_groves.only_left).json()
    settings.OAUTH = False
    browser = browser_of(two_groves.only_left)
    for address in (
        "/.well-known/oauth-authorization-server",
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/mcp",
    ):
        answer = browser.get(address)
        assert answer.status_code == 404 and "API key" in answer.json()["hint"]
    for address in ("/oauth/register", "/oauth/token", "/oauth/revoke"):
        answer = browser.post(address, {})
        assert answer.status_code == 404 and "API key" in answer.json()["error_description"]
    page = browser.get(asking(client))
    assert page.status_code == 404 and "API key" in page.content.decode()
    assert renewed(client, tokens["refresh_token"]).status_code == 404
    refused = mcp_without_a_key()
    assert refused.status_code == 401 and refused.json()["hint"]
    assert refused.headers["www-authenticate"] == 'Bearer realm="Heddle"'


def test_over_http_of_another_computer_nobody_is_let_in(two_groves: TwoGroves) -> None:
    client = registered()
    browser = Browser(HTTP_HOST="testserver")
    browser.force_login(two_groves.only_left)
    page = browser.get(asking(client))
    assert page.status_code == 400 and "https" in page.content.decode()
    form = {"grant_type": "authorization_code", "code": "x", "client_id": client.client_id}
    answer = browser.post("/oauth/token", form)
    assert answer.status_code == 400 and "https" in answer.json()["error_description"]


# Programs whose id is the address of a document.

DOCUMENT = "https://programs.example/loomer.json"


def test_a_program_is_known_by_its_document(
    two_groves: TwoGroves, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def read(client_id: str) -> dict[str, Any]:
        asked.append(client_id)
        return {"client_id": client_id, "client_name": "Loomer", "redirect_uris": [BACK]}

    monkeypatch.setattr(documents, "read", read)

    async def work(client: Client) -> bool:
        return bool((await look(client, two_groves.left.tree.uid))["success"])

    assert talk(two_groves.only_left, work, ClientMemory(), document=DOCUMENT)
    assert asked == [DOCUMENT]  # once, for the page and its answer
    client = ProgramClient.objects.get()
    assert client.client_id == DOCUMENT and client.read_at is not None
    page = browser_of(two_groves.only_left).get(asking(client)).content.decode()
    assert "programs.example" in page and "nobody has checked" not in page


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({"client_id": "https://other.example/x", "redirect_uris": [BACK]}, "another address"),
        ({"redirect_uris": [BACK]}, "another address"),
        ({"client_id": ..., "redirect_uris": []}, "redirect_uris"),
        ({"client_id": ..., "redirect_uris": [BACK], "client_secret": "x"}, "client_secret"),
        ([], "no JSON object"),
        (None, "answered 404"),
    ],
)
def test_a_document_is_read_over_checked_addresses_and_must_fit(
    two_groves: TwoGroves, settings: Any, document: Any, reason: str
) -> None:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(document).encode()
            self.send_response(404 if document is None else 200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Page) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/loomer.json"
        if isinstance(document, dict) and document.get("client_id") is ...:
            document = {**document, "client_id": address}
        browser = browser_of(two_groves.only_left)
        unlisted = browser.get(asking(ProgramClient(client_id=address)))
        assert "does not exist" in unlisted.content.decode()
        settings.PROVIDER_ALLOW = (f"127.0.0.1:{server.server_port}",)
        page = browser.get(asking(ProgramClient(client_id=address)))
        server.shutdown()
    assert page.status_code == 400 and reason in page.content.decode()
    assert not ProgramClient.objects.exists()


def test_a_private_address_is_not_asked(two_groves: TwoGroves) -> None:
    address = "https://127.0.0.1/loomer.json"
    page = browser_of(two_groves.only_left).get(asking(ProgramClient(client_id=address)))
    assert page.status_code == 400 and "could not be read" in page.content.decode()


# What is forgotten.


def test_what_is_over_is_forgotten(two_groves: TwoGroves) -> None:
    client, unused = registered(), registered()
    tokens = exchanged(client, two_groves.only_left).json()
    commands.sweep()
    assert AuthorizationCode.objects.exists() and ProgramClient.objects.count() == 2
    AuthorizationCode.objects.update(expires_at=timezone.now() - timedelta(hours=1))
    RefreshToken.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    ProgramClient.objects.update(created_at=timezone.now() - timedelta(days=2))
    assert commands.sweep() == 3
    assert not AuthorizationCode.objects.exists() and not RefreshToken.objects.exists()
    assert list(ProgramClient.objects.all()) == [client]
    assert unused.pk != client.pk
    assert api(tokens["access_token"]) == 401  # nobody can renew it
    assert ProgramConnection.objects.get().is_over


def test_few_documents_are_read_at_once_for_one_person(owner: User) -> None:
    """Each holds the thread of a request, for as long as its server likes."""
    with ExitStack() as waiting:
        for _ in range(outside_waits.EACH):
            waiting.enter_context(waits_outside(owner.pk, "programs"))
        with pytest.raises(CommandError) as refused:
            commands.learn("https://example.org/program", owner)
    assert refused.value.code == "LIMIT_EXCEEDED"
