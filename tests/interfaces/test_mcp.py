"""The MCP endpoint, spoken to by the SDK's own client in both revisions of the protocol."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import httpx2
import pytest
from django.conf import settings
from django.core import signing
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, INVALID_REQUEST

from loom.language.refs import quote
from loom.mcp.server import handle
from loom.mcp.tools import GROUPS, SALT, _asks_first
from loom.people.commands.accounts import make_key
from loom.people.models import User
from loom.platform.handler import handler
from loom.site.waiting import holding
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db(transaction=True)
MODES = ("legacy", "auto")
Content = dict[str, Any]


async def serve(scope: Any, receive: Any, send: Any) -> None:
    """The installation, as config/asgi.py puts it together."""
    pages = partial(holding, handler())
    await handle(pages, scope, receive, send)


def talk(
    secret: str, say: Callable[[Client], Awaitable[Any]], mode: Any = "auto", **headers: str
) -> Any:
    """What `say` returns, with a client that has this key."""

    async def spoken() -> Any:
        http = httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app=serve),
            headers={"Authorization": f"Bearer {secret}", **headers},
        )
        transport = streamable_http_client("http://localhost/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:
            return await say(client)

    return asyncio.run(spoken())


def key_of(user: User, **more: Any) -> str:
    """A new key of the user."""
    return make_key(user, "program", **more)[1]


async def call_tool(client: Client, tool: str, **given: Any) -> Content:
    """The structured answer of a tool, which its text repeats."""
    result = await client.call_tool(tool, given)
    content: Content = result.structured_content
    assert result.content[0].text == content["message"]  # type: ignore[union-attr]
    assert result.is_error is not content["success"] and content["loom"] is True
    return content


async def session_in(client: Client, tree: str) -> str:
    """The handle of a session in a tree."""
    return str((await call_tool(client, "open_session", tree=tree))["session"])


@pytest.mark.parametrize("mode", MODES)
def test_a_program_looks_writes_and_takes_away(two_groves: TwoGroves, mode: str) -> None:
    left = two_groves.left

    async def work(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {"open_session", "loom_look", "loom_write", "loom_destroy", *GROUPS} == set(tools)
        hints = {name: tool.annotations for name, tool in tools.items()}
        assert hints["loom_look"] and hints["loom_look"].read_only_hint
        assert hints["loom_destroy"] and hints["loom_destroy"].destructive_hint
        session = await session_in(client, left.tree.uid)
        text = left.text.local_id
        seen = await call_tool(client, "loom_look", session=session, line=f"view {text} full")
        assert left.text.text in seen["message"]
        line = f"respond {text}\nA second line.\n←"
        ref = (await call_tool(client, "loom_write", session=session, line=line))["refs"][0]
        asked = await call_tool(client, "loom_destroy", session=session, line=f"prune {ref}")
        assert asked["needs_confirmation"] and "Nothing has changed" in asked["message"]
        await call_tool(client, "loom_look", session=session, line=f"view {ref}")
        gone = await call_tool(
            client, "loom_destroy", session=session, line=f"prune {ref}", confirm=True
        )
        assert gone["message"].startswith("✓ pruned")

    talk(key_of(two_groves.only_left), work, mode)


def test_a_line_is_only_run_by_the_tool_that_says_what_it_does(two_groves: TwoGroves) -> None:
    left = two_groves.left

    async def work(client: Client) -> None:
        session = await session_in(client, left.tree.uid)
        text = left.text.local_id
        for tool, line, right in (
            ("loom_look", f"prune {text}", "loom_destroy"),
            ("loom_look", "continue", "loom_write"),
            ("loom_look", f'annotate {text} "no"', "loom_write"),
            ("loom_look", f"sandbox from {text}", "loom_write"),
            ("loom_look", 'todo add "x"', "loom_write"),
            ("loom_look", 'stash "m" "x"', "loom_write"),
            ("loom_look", 'scratchpad "x" append', "loom_write"),
            ("loom_look", "close all", "loom_write"),
            ("loom_look", 'use "a.b"', "loom_destroy"),
            *(
                (tool, line, "loom_destroy")
                for tool in ("loom_look", "loom_write")
                for line in (
                    "todo clear",
                    "todo remove t1",
                    "scratchpad clear",
                    'scratchpad "x"',
                    'stash "m" "y" replace',
                    f'stash "m" content-of:{text} replace',
                    f'stash "m" summary-of:{text} replace',
                )
            ),
            ("loom_write", f"delete {text}", "loom_destroy"),
            ("loom_destroy", "tree", "loom_look"),
            ("loom_destroy", "todo done t1", "loom_write"),
        ):
            refused = await call_tool(client, tool, session=session, line=line)
            assert refused["code"] in ("REJECTED", "UNKNOWN_COMMAND", "INVALID_SYNTAX"), line
            if refused["code"] == "REJECTED":
                assert right in refused["message"]
        rubbish = await call_tool(client, "loom_look", session=session, line="fnord the gnarl")
        assert not rubbish["success"] and "hint:" in rubbish["message"]
        trick = await call_tool(
            client, "todo", session=session, operation="add", rest=f'"a"\nprune {text}'
        )
        assert trick["code"] == "INVALID_SYNTAX"

    talk(key_of(two_groves.only_left), work)


def test_every_operation_of_the_grouped_tools_runs(two_groves: TwoGroves) -> None:
    left = two_groves.left
    rests = {
        "windows": {
            "open_frame": left.text.local_id,
            "open_range": f"{left.text.local_id} lines:1-1",
            "open_search": quote(left.text.text.split()[0]),
            "update": "#1 lines:1-1",
            "refresh": "all",
            "close": "#1",
        },
        "todo": {
            "add": '"one" "two"', "toggle": "t1", "done": "t2", "note": 't1 "soon"',
            "archive": "t2", "remove": "t1",
        },
    }  # fmt: skip

    async def work(client: Client) -> None:
        session = await session_in(client, left.tree.uid)
        for tool, operations in rests.items():
            order = [
                *operations,
                *(operation for operation in GROUPS[tool][1] if operation not in operations),
            ]
            for operation in order:
                rest = operations.get(operation, "")
                answer = await call_tool(
                    client, tool, session=session, operation=operation, rest=rest
                )
                assert answer["success"], (tool, operation, answer["message"])

    talk(key_of(two_groves.only_left), work)


@pytest.mark.parametrize("mode", MODES)
def test_a_way_through_the_tree_is_kept_shown_and_shared(two_groves: TwoGroves, mode: str) -> None:
    left = two_groves.left

    async def work(client: Client) -> None:
        session = await session_in(client, left.tree.uid)

        async def way(operation: str, rest: str = "") -> Content:
            return await call_tool(client, "trail", session=session, operation=operation, rest=rest)

        await call_tool(
            client, "loom_look", session=session, line=f"view {left.text.local_id} full"
        )
        await call_tool(client, "loom_look", session=session, line=f"open {left.text.local_id}")
        for operation, rest in (
            ("recent", "n:5"), ("windows", ""), ("save", '"way"'), ("list", ""),
            ("show", '"way" as:markdown'), ("note", '"way" n:1 "why"'),
            ("fork", '"way" at:1 save:"short"'), ("join", '"short" "way" save:"both"'),
            ("share", '"way"'), ("unshare", '"way"'), ("replay", '"way"'),
        ):  # fmt: skip
            answer = await way(operation, rest)
            assert answer["success"], (operation, answer["message"])
        assert "way" in (await way("list"))["message"]
        await way("share", '"way"')

    talk(key_of(two_groves.only_left), work, mode)

    async def pry(client: Client) -> None:
        session = await session_in(client, two_groves.right.tree.uid)
        for operation in ("show", "replay"):
            refused = await call_tool(
                client, "trail", session=session, operation=operation, rest='"way"'
            )
            assert refused["code"] == "NOT_FOUND"

    talk(key_of(two_groves.only_right), pry, mode)


@pytest.mark.parametrize("mode", MODES)
def test_a_claim_is_opened_cited_and_read(two_groves: TwoGroves, mode: str) -> None:
    left, right = two_groves.left, two_groves.right

    async def work(client: Client) -> None:
        session = await session_in(client, left.tree.uid)

        async def claim(operation: str, rest: str = "") -> Content:
            return await call_tool(client, "claim", session=session, operation=operation, rest=rest)

        text = left.text.local_id
        assert (await claim("list"))["claims"] == []
        bare = await claim("open", f'"It was her." about {text} test:"Read on."')
        assert bare["code"] == "REJECTED"  # no claim without evidence
        opened = await claim("open", f'"It was her." about {text} test:"Read on." cite:{text}')
        assert opened["success"], opened["message"]
        number = opened["refs"][0]
        more = await call_tool(
            client, "loom_write", session=session, line=f'respond {text} "She had the lamp."'
        )
        cited = await claim("cite", f'{more["refs"][0]} for {number} "It says so."')
        assert cited["success"], cited["message"]
        listed = await claim("list")
        assert [opened["id"] for opened in listed["claims"]] == [number]
        assert listed["claims"][0]["statement"] == "It was her." and number in listed["message"]
        assert "It was her." in (await claim("read", number))["message"]
        early = await claim("conclude", f'{number} "It was."')
        assert not early["success"] and early["code"] not in ("INVALID_SYNTAX", "UNKNOWN_COMMAND")
        # To take it back, or to commit for good, a person is asked.
        trick = await claim("open", f'"a"\nwithdraw {number} "no"')
        assert trick["code"] == "INVALID_SYNTAX"
        line = f'withdraw {number} "no"'
        refused = await call_tool(client, "loom_write", session=session, line=line)
        assert "loom_destroy" in refused["message"]
        asked = await call_tool(client, "loom_destroy", session=session, line=line)
        assert asked["needs_confirmation"]
        foreign = await claim(
            "cite", f"tree:{right.tree.uid} node:{right.text.local_id} for {number}"
        )
        assert not foreign["success"]

    talk(key_of(two_groves.only_left), work, mode)

    async def pry(client: Client) -> None:
        session = await session_in(client, right.tree.uid)
        seen = await call_tool(client, "claim", session=session, operation="list")
        assert seen["claims"] == []
        forged = signing.dumps([two_groves.only_right.username, left.tree.uid, ""], salt=SALT)
        refused = await call_tool(client, "claim", session=forged, operation="list")
        assert refused["code"] == "NOT_FOUND"

    talk(key_of(two_groves.only_right), pry, mode)


@pytest.mark.parametrize("mode", MODES)
def test_a_session_of_the_settings_of_a_client(two_groves: TwoGroves, mode: str) -> None:
    left, secret = two_groves.left, key_of(two_groves.only_left)
    handle = talk(secret, lambda client: session_in(client, left.tree.uid))

    async def work(client: Client) -> None:
        seen = await call_tool(client, "loom_look", line=f"view {left.text.local_id} full")
        assert left.text.text in seen["message"]
        bad = await call_tool(client, "loom_look", session="abc", line="tree")
        assert bad["code"] == "INVALID_SYNTAX"  # what is given counts

    talk(secret, work, mode, **{"X-Loom-Session": handle})

    async def pry(client: Client) -> None:
        assert (await call_tool(client, "loom_look", line="tree"))["code"] == "PERMISSION_DENIED"

    talk(key_of(two_groves.only_right), pry, mode, **{"X-Loom-Session": handle})

    async def none(client: Client) -> None:
        refused = await call_tool(client, "todo", operation="list")
        assert refused["code"] == "INVALID_SYNTAX" and "open_session" in refused["message"]

    talk(secret, none, mode)


def test_annotations_say_what_a_tool_may_do(two_groves: TwoGroves) -> None:
    async def work(client: Client) -> None:
        hints = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
        removing = {name for name, hint in hints.items() if hint and hint.destructive_hint}
        assert removing == {"loom_destroy", "todo"}
        assert {name for name, hint in hints.items() if hint and hint.read_only_hint} == {
            "open_session", "loom_look"
        }  # fmt: skip

    talk(key_of(two_groves.only_left), work)
    for name, (_, operations) in GROUPS.items():  # none of them asks first
        for line in operations.values():
            verbs = {line.split()[0]} if line else set()
            assert not verbs & set(_asks_first()), name


def test_the_server_says_which_release_it_is(two_groves: TwoGroves) -> None:
    async def version(client: Client) -> Any:
        return client.server_info and client.server_info.version

    assert talk(key_of(two_groves.only_left), version, "legacy") == settings.VERSION


@pytest.mark.parametrize("mode", MODES)
def test_only_notices_that_are_sent_are_announced(two_groves: TwoGroves, mode: str) -> None:
    async def announced(client: Client) -> Any:
        return client.server_capabilities

    able = talk(key_of(two_groves.only_left), announced, mode)
    assert not able.tools.list_changed and not able.resources.list_changed


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("lists", ["list_tools", "list_resources", "list_resource_templates"])
def test_a_cursor_that_nobody_gave_out_is_refused(
    two_groves: TwoGroves, mode: str, lists: str
) -> None:
    async def go_on(client: Client) -> None:
        with pytest.raises(MCPError) as refused:
            await getattr(client, lists)(cursor="made up")
        assert refused.value.error.code == INVALID_PARAMS

    talk(key_of(two_groves.only_left), go_on, mode)


def test_nobody_works_with_a_foreign_key_session_or_tree(two_groves: TwoGroves) -> None:
    left, right = two_groves.left, two_groves.right
    handles: list[str] = []

    async def begin(client: Client) -> None:
        handles.append(await session_in(client, right.tree.uid))

    async def pry(client: Client) -> None:
        refused = await call_tool(client, "open_session", tree=right.tree.uid)
        assert not refused["success"] and right.tree.title not in refused["message"]
        stolen = await call_tool(client, "loom_look", session=handles[0], line="tree")
        assert stolen["code"] == "PERMISSION_DENIED"
        forged = signing.dumps([two_groves.only_left.username, right.tree.uid, ""], salt=SALT)
        walked_in = await call_tool(client, "loom_look", session=forged, line="tree")
        assert walked_in["code"] == "NOT_FOUND"
        made_up = await call_tool(client, "loom_look", session="abc", line="tree")
        assert made_up["code"] == "INVALID_SYNTAX"
        listed = [str(resource.uri) for resource in (await client.list_resources()).resources]
        assert f"loom://trees/{left.tree.uid}" in listed
        assert not [uri for uri in listed if right.tree.uid in uri]
        outline = await client.read_resource(f"loom://trees/{left.tree.uid}")
        assert left.text.local_id in outline.contents[0].text  # type: ignore[union-attr]
        node = await client.read_resource(
            f"loom://trees/{left.tree.uid}/nodes/{left.text.local_id}"
        )
        assert left.text.text in node.contents[0].text  # type: ignore[union-attr]
        with pytest.raises(Exception, match="not found"):
            await client.read_resource(f"loom://trees/{right.tree.uid}")

    talk(key_of(two_groves.only_right), begin)
    talk(key_of(two_groves.only_left), pry)


def test_a_key_that_only_reads_writes_nothing(two_groves: TwoGroves) -> None:
    left = two_groves.left

    async def work(client: Client) -> None:
        session = await session_in(client, left.tree.uid)
        line = f'respond {left.text.local_id} "No."'
        refused = await call_tool(client, "loom_write", session=session, line=line)
        assert refused["code"] == "PERMISSION_DENIED"

    talk(key_of(two_groves.only_left, scope="read"), work)


def test_without_a_valid_key_there_is_no_endpoint(two_groves: TwoGroves) -> None:
    async def post(authorization: str) -> httpx2.Response:
        transport = httpx2.ASGITransport(app=serve)
        async with httpx2.AsyncClient(transport=transport) as http:
            return await http.post(
                "http://localhost/mcp",
                json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
                headers={"Authorization": authorization} if authorization else {},
            )

    for authorization in ("", "Bearer none", "Basic b3duZXI6"):
        answer = asyncio.run(post(authorization))
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert answer.json()["hint"]


def post(secret: str, body: bytes, method: str = "POST", **more: str) -> Any:
    """The answer to raw bytes."""

    async def posted() -> Any:
        async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=serve)) as http:
            headers = {
                "Authorization": f"Bearer {secret}",
                "Content-Type": "application/json",
                "Accept": "application/json, text/event-stream",
                **more,
            }
            url = "http://localhost/mcp"
            return await http.request(method, url, content=body, headers=headers)

    return asyncio.run(posted())


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://evil.example", 403),
        ("https://localhost.evil.example", 403),
        ("null", 403),
        ("own", 200),
        ("vscode-file://vscode-app", 200),
    ],
)
def test_pages_of_other_addresses_ask_nothing(origin: str, status: int, owner: User) -> None:
    asked = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'
    named = settings.ORIGINS[0] if origin == "own" else origin
    answer = post(key_of(owner), asked, Origin=named)
    assert answer.status_code == status, answer.text


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_nothing_is_kept_open_and_only_post_is_served(method: str, owner: User) -> None:
    answer = post(key_of(owner), b"", method)
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]',
        b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": null, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": true, "method": "ping"}',
        b'{"id": 1, "method": "ping"}',
        b'"ping"',
    ],
)
def test_what_is_no_message_is_refused_in_one_sentence(body: bytes, owner: User) -> None:
    answer = post(key_of(owner), body)
    assert answer.status_code == 400 and answer.json()["error"]["code"] == INVALID_REQUEST
    assert "pydantic" not in answer.text and len(answer.text) < 200


@pytest.mark.parametrize("body", [b"[" + b"[]," * 200_000 + b"1]", b" " * 5_000_000])
def test_a_body_that_others_would_wait_for_is_refused(body: bytes, owner: User) -> None:
    answer = post(key_of(owner), body)
    assert answer.status_code == 413
    assert answer.json()["code"] == "LIMIT_EXCEEDED"


def test_a_refusal_does_not_send_a_long_text_back(owner: User) -> None:
    def call(tool: str, **given: str) -> int:
        params = {"name": tool, "arguments": given}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return len(post(key_of(owner), json.dumps(message).encode()).content)

    assert call("open_session", tree="a" * 500_000) < 2_000
    assert call("todo", session="", operation="a" * 500_000) < 2_000
    assert call("a" * 500_000) < 2_000
