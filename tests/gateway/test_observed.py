"""The mode observe: bytes pass unchanged and at once, and the session becomes a tree."""

import asyncio
import json
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from agents.gateway import recording
from agents.gateway.keys import make_key
from agents.gateway.models import GatewayRequest, GatewaySession
from agents.gateway.sessions import names_in
from loom.access import Actor
from loom.links.models import Link
from loom.money.models import DailySpending
from loom.participants import prices
from loom.people.models import Participant
from loom.reading.queries import verify
from loom.trees.commands import trees
from loom.trees.models import Node
from tests.gateway.conftest import Program, run, shape_of
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import CUT, HOLD, Script, fails, says

pytestmark = pytest.mark.django_db(transaction=True)


def whole(text: str, **message: Any) -> Script:
    """An answer that is not streamed."""
    answer = {"role": "assistant", "content": text, **message}
    body = {"id": "c1", "choices": [{"index": 0, "message": answer, "finish_reason": "stop"}]}
    return Script(body=json.dumps(body).encode())


def test_a_conversation_becomes_a_path(program: Program, provider: ScriptedProvider) -> None:
    provider.script(whole("Good day."), whole("Fine."))

    async def talk() -> None:
        first = await program.chat(("system", "Be brief."), ("user", "Hello"))
        assert first.json["choices"][0]["message"]["content"] == "Good day."
        await program.chat(
            ("system", "Be brief."), ("user", "Hello"), ("assistant", "Good day."), ("user", "You?")
        )

    run(talk())
    session = GatewaySession.objects.get()
    assert shape_of(session) == {"Hello": {"Good day.": {"You?": {"Fine.": {}}}}}
    assert session.tree.title == "Hello" and session.tree.system_context == "Be brief."


def test_the_bytes_pass_unchanged_in_both_directions(
    program: Program, provider: ScriptedProvider
) -> None:
    raw = b'{ "model":"echo-1",  "messages":[{"role":"user","content":"\\u00e9"}] , "x": 1.50 }'
    answer = Script(body=b'{"choices" : [ ]  , "odd":true}', headers=(("x-request-id", "r7"),))
    provider.script(answer)
    got = run(program.send("POST", "/chat/completions?beta=true", raw, x_trace="7"))
    seen = provider.seen[0]
    assert got.body == b'{"choices" : [ ]  , "odd":true}' and got.headers["x-request-id"] == "r7"
    assert seen.body == raw and seen.path == "/v1/chat/completions?beta=true"
    assert dict(seen.headers)["x-trace"] == "7"
    assert program.secret not in str(seen.headers)


def test_a_piece_passes_before_the_next_one_exists(
    program: Program, provider: ScriptedProvider
) -> None:
    provider.script(says("One ", HOLD, "two"))

    async def release(piece: bytes) -> None:
        if b"One " in piece:
            provider.release()

    async def talk() -> None:
        body = {
            "model": "echo-1", "stream": True, "messages": [{"role": "user", "content": "Count"}]
        }  # fmt: skip
        got = await program.send("POST", "/chat/completions", body, on_piece=release)
        assert b"two" in got.body and got.body.rstrip().endswith(b"[DONE]")

    run(talk())
    assert shape_of(GatewaySession.objects.get()) == {"Count": {"One two": {}}}


def test_a_regenerated_answer_is_a_sibling_and_an_edit_a_branch(
    program: Program, provider: ScriptedProvider
) -> None:
    provider.script(whole("A."), whole("B."), whole("C."), whole("D."))

    async def talk() -> None:
        await program.chat(("user", "Hello"))
        await program.chat(("user", "Hello"), ("assistant", "A."), ("user", "More"))
        await program.chat(("user", "Hello"), ("assistant", "A."), ("user", "More"))
        await program.chat(("user", "Hello"), ("assistant", "A."), ("user", "Less"))

    run(talk())
    expected: dict[str, Any] = {"Hello": {"A.": {"More": {"B.": {}, "C.": {}}, "Less": {"D.": {}}}}}
    assert shape_of(GatewaySession.objects.get()) == expected


def test_two_conversations_that_begin_alike_are_two_sessions(
    program: Program, provider: ScriptedProvider
) -> None:
    provider.script(whole("A."), whole("B."))

    async def talk() -> None:
        await program.chat(("user", "Hello"))
        await program.chat(("user", "Hello"))

    run(talk())
    assert [shape_of(session) for session in GatewaySession.objects.order_by("pk")] == [
        {"Hello": {"A.": {}}},
        {"Hello": {"B.": {}}},
    ]


def test_a_named_session_keeps_its_tree_after_its_conversation_was_cleared(
    program: Program, provider: ScriptedProvider
) -> None:
    provider.script(whole("A."), whole("B."), whole("C."))
    program.headers["x-claude-code-session-id"] = "s-1"

    async def talk() -> None:
        await program.chat(("user", "Hello"))
        await program.chat(("user", "Other"))
        program.headers["x-claude-code-session-id"] = "s-2"
        await program.chat(("user", "Hello"))

    run(talk())
    shapes = {session.name: shape_of(session) for session in GatewaySession.objects.all()}
    assert shapes == {
        "s-1": {"Hello": {"A.": {}}, "Other": {"B.": {}}},
        "s-2": {"Hello": {"C.": {}}},
    }


def test_tools_are_kept_with_their_arguments_and_results(
    program: Program, provider: ScriptedProvider
) -> None:
    call = {"id": "t1", "type": "function", "function": {"name": "ls", "arguments": '{"at": "."}'}}
    provider.script(whole("", tool_calls=[call]), whole("Two files."))

    async def talk() -> None:
        await program.chat(("user", "List"))
        await program.chat(
            ("user", "List"),
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "t1", "content": "a\nb"},
        )

    run(talk())
    rows = list(Node.objects.order_by("id").values_list("text", "blocks"))[2:]
    assert rows[0] == ("", [{"type": "tool_use", "id": "t1", "name": "ls", "input": {"at": "."}}])
    assert rows[1][1] == [
        {"type": "tool_result", "tool_use_id": "t1", "content": "a\nb", "is_error": False}
    ]
    assert rows[2] == ("Two files.", None)


def test_a_stream_that_is_cut_keeps_what_came(program: Program, provider: ScriptedProvider) -> None:
    provider.script(says("Half ", CUT))
    run(program.chat(("user", "Go"), stream=True))
    node = Node.objects.get(text="Half ")
    assert node.finish.startswith("interrupted:")
    assert GatewayRequest.objects.get().status == "broken"


def test_a_program_that_goes_away_leaves_what_it_got(
    program: Program, provider: ScriptedProvider
) -> None:
    provider.script(says("Some ", HOLD, "more"))

    async def talk() -> None:
        leaves = asyncio.Event()

        async def leave(piece: bytes) -> None:
            if b"Some" in piece:
                leaves.set()

        body = {
            "model": "echo-1", "stream": True, "messages": [{"role": "user", "content": "Go"}]
        }  # fmt: skip
        await program.send("POST", "/chat/completions", body, on_piece=leave, leaves=leaves)

    run(talk())
    assert Node.objects.get(text="Some ").finish == "interrupted:the program went away"
    provider.wait_for_break()


def test_an_error_passes_as_it_is_and_makes_no_answer(
    program: Program, provider: ScriptedProvider
) -> None:
    provider.script(fails(429, "Slow down, wording matters", retry_after="7"))
    got = run(program.chat(("user", "Hello")))
    assert got.status == 429 and got.headers["retry-after"] == "7"
    assert got.json["error"]["message"] == "Slow down, wording matters"
    assert shape_of(GatewaySession.objects.get()) == {"Hello": {}}
    assert GatewayRequest.objects.get().status == "refused"


def test_a_failing_record_never_stops_a_request(
    program: Program, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(recording, "session_of", broken)
    provider.script(says("Slow ", HOLD, "end"))

    async def release(piece: bytes) -> None:
        provider.release()

    body = {"model": "echo-1", "stream": True, "messages": [{"role": "user", "content": "Go"}]}
    got = run(program.send("POST", "/chat/completions", body, on_piece=release))
    assert got.status == 200 and b"end" in got.body
    assert not GatewaySession.objects.exists()


@pytest.mark.parametrize("secret", ["", "hg_wrong", "hd_" + "x" * 43, "hg_" + "x" * 5000])
def test_an_unknown_key_is_refused(
    program: Program, provider: ScriptedProvider, secret: str
) -> None:
    program.secret = secret
    assert run(program.chat(("user", "Hello"))).status == 401
    got = run(program.send("POST", "/messages", {"messages": []}, x_api_key=secret))
    assert got.status == 401 and got.json["type"] == "error"
    assert provider.seen == []


def test_a_key_ends_with_the_membership_of_its_person(
    program: Program, provider: ScriptedProvider, actor: Actor
) -> None:
    actor.grove.memberships.filter(user=actor.user).update(role="reader")
    assert run(program.chat(("user", "Hello"))).status == 401
    assert provider.seen == []


def test_models_are_those_of_the_provider_and_the_agents(
    program: Program, provider: ScriptedProvider, model: Participant
) -> None:
    model.permissions = ["loom_aware"]
    model.save()
    provider.script(Script(body=b'{"data":[{"id":"echo-1"}]}'), Script(body=b'{"data":[]}'))
    got = run(program.send("GET", "/models"))
    assert [listed["id"] for listed in got.json["data"]] == ["loom/Echo", "echo-1"]
    got = run(program.send("GET", "/models?limit=1000", anthropic_version="2023-06-01"))
    assert got.json["data"][0]["id"] == "claude-loom-Echo" and got.json["has_more"] is False


def test_embeddings_pass_and_are_not_recorded(program: Program, provider: ScriptedProvider) -> None:
    provider.script(Script(body=b'{"data":[{"embedding":[0.5]}]}'))
    got = run(program.send("POST", "/embeddings", {"model": "e", "input": "text"}))
    assert got.json["data"][0]["embedding"] == [0.5]
    assert not GatewaySession.objects.exists()


def test_a_completion_goes_on_in_one_text(program: Program, provider: ScriptedProvider) -> None:
    def done(text: str) -> Script:
        return Script(body=json.dumps({"choices": [{"index": 0, "text": text}]}).encode())

    provider.script(done(" time"), done(" there"), done(" day"))

    async def talk() -> None:
        for prompt in ("Once upon a", "Once upon a time,", "Once upon a"):
            await program.send("POST", "/completions", {"model": "e", "prompt": prompt})

    run(talk())
    session = GatewaySession.objects.get()
    assert session.tree.mode == "buffer"
    expected: dict[str, Any] = {"Once upon a": {" time": {",": {" there": {}}}, " day": {}}}
    assert shape_of(session) == expected


def test_what_was_recorded_is_verified(
    program: Program, provider: ScriptedProvider, actor: Actor
) -> None:
    provider.script(whole("A."))
    run(program.chat(("user", "Hello")))
    call = GatewayRequest.objects.select_related("call").get().call
    assert call.sealed_at is not None and call.purpose == "gateway"
    tree = GatewaySession.objects.get().tree
    assert verify.verify_tree(actor, tree, None)["status"] == "valid"


def test_an_answer_whose_process_is_gone_is_ended_by_the_sweeper(
    program: Program, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.script(says("Kept ", "words"))
    monkeypatch.setattr(recording, "end", lambda *_, **__: [])
    run(program.chat(("user", "Go"), stream=True))
    monkeypatch.undo()
    request = GatewayRequest.objects.get()
    answer = b'data: {"choices":[{"index":0,"delta":{"content":"Kept "}}]}\n\n'
    recording.keep_alive(request, answer, "", 0)
    GatewayRequest.objects.update(alive_at=timezone.now() - 2 * recording.ALIVE)
    assert recording.sweep() == 1 and recording.sweep() == 0
    assert Node.objects.get(text="Kept ").finish == "interrupted:the server stopped"


def test_what_an_answer_costs_is_counted_and_limited(
    program: Program, provider: ScriptedProvider, model: Participant, actor: Actor
) -> None:
    model.prices = {"input": 1000.0, "output": 2000.0}
    model.save()
    usage = {"prompt_tokens": 400, "completion_tokens": 400}
    body = {"choices": [{"index": 0, "message": {"content": "A."}}], "usage": usage}
    provider.default = Script(body=json.dumps(body).encode())
    assert run(program.chat(("user", "Hello"))).status == 200
    assert DailySpending.objects.get(participant=actor.participant).spent == 1_200_000_000
    got = run(program.chat(("user", "Hello")))
    assert got.status == 429 and "Today's limit is used up." in got.json["error"]["message"]
    assert len(provider.seen) == 1


def test_the_tree_of_a_subagent_is_linked_to_the_answer_that_asked_for_it(
    program: Program, provider: ScriptedProvider
) -> None:
    provider.default = whole("Ask the explorer.")
    head = {"x_claude_code_session_id": "s"}
    run(program.chat(("user", "Look around"), headers=head))
    agent = {**head, "x_claude_code_agent_id": "explore-1"}
    run(program.chat(("user", "Find the tests"), headers=agent))
    run(program.chat(("user", "Find more"), headers=agent))
    child = GatewaySession.objects.get(agent="explore-1")
    [link] = Link.objects.filter(tree=child.tree)
    answer = Node.objects.get(text="Ask the explorer.", tree=child.parent.tree)  # type: ignore[union-attr]
    assert link.target_slot == answer.slot_id and link.note == "subagent explore-1"


@pytest.mark.parametrize("name", ["Ünï", "日本", "😀", "plain"])
def test_a_session_is_named_in_any_language(
    program: Program, provider: ScriptedProvider, name: str
) -> None:
    provider.default = whole("Yes.")
    run(program.chat(("user", "Hi"), headers={"x_loom_session": name}))
    assert GatewaySession.objects.get().name == name


def test_what_is_not_recorded_is_counted_too(
    program: Program, provider: ScriptedProvider, model: Participant, actor: Actor
) -> None:
    model.prices = {"input": 1000.0, "output": 2000.0}
    model.save()
    program = Program(program.secret, {"x-loom-session": "s"})

    def spent() -> int:
        return DailySpending.objects.get(participant=actor.participant).spent // 1_000_000

    provider.script(_used(10, 5), _used(20, 5), _used(30, 5), Script(body=b'{"data": []}'))
    run(program.chat(("user", "Hello")))
    assert spent() == 20
    trees.change_tree(actor, GatewaySession.objects.get().tree, {"archived": True})
    assert run(program.chat(("user", "Hello"))).headers["x-loom"] == "bypass"
    assert spent() == 50
    run(program.send("POST", "/embeddings", {"model": "e", "input": "text"}))
    assert spent() == 90
    run(program.send("POST", "/embeddings", {"model": "e", "input": "uncounted"}))
    assert spent() == 90
    provider.script(fails(400, "no"))
    run(program.send("POST", "/embeddings", {"model": "e", "input": "refused"}))
    assert spent() == 90


def _used(read: int, wrote: int) -> Script:
    usage = {"prompt_tokens": read, "completion_tokens": wrote}
    body = {"choices": [{"index": 0, "message": {"content": "A."}}], "usage": usage}
    return Script(body=json.dumps(body).encode())


def test_what_programs_spent_is_in_each_sum(
    program: Program,
    provider: ScriptedProvider,
    model: Participant,
    actor: Actor,
    client: Client,
) -> None:
    model.prices = {"input": 1000.0, "output": 2000.0}
    model.save()
    provider.default = _used(10, 5)
    run(program.chat(("user", "Hello")))
    run(program.chat(("user", "Hello"), ("assistant", "A."), ("user", "On")))
    run(program.send("POST", "/embeddings", {"model": "e", "input": "text"}))
    client.force_login(actor.user)
    body = client.get(f"/api/groves/{actor.grove.uid}/usage").json()
    sums = {"generations": 3, "tokens_in": 30, "tokens_out": 15, "tokens_cached": 0, "usd": 0.06}
    assert body["total"] == sums == {name: body["days"][0][name] for name in sums}
    [share] = body["shares"]
    assert share.items() >= {"participant": model.uid, "purpose": "", **sums}.items()
    [tree] = body["trees"]
    assert (tree["generations"], tree["usd"]) == (2, 0.04)
    assert body["people"][0]["usd"] == 0.06
    of_tree = client.get(f"/api/trees/{tree['tree']}/usage").json()
    assert of_tree["tree"]["usd"] == of_tree["participants"][0]["usd"] == 0.04
    assert of_tree["people"][0]["name"] == actor.participant.name
    page = client.get(f"/groves/{actor.grove.uid}/money").content.decode()
    assert page.count("$0.06") >= 3 and "$0.04" in page


def test_the_model_that_a_program_names_has_its_own_price(
    program: Program,
    provider: ScriptedProvider,
    model: Participant,
    actor: Actor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model.prices = {"input": 1.0, "output": 1.0}
    model.save()
    monkeypatch.setattr(prices, "listed", lambda ref, _url: DEAR if ref == "openai:dear" else None)
    provider.default = _used(10, 5)
    run(program.send("POST", "/chat/completions", {"model": "dear", "messages": HI}))
    run(program.send("POST", "/embeddings", {"model": "dear", "input": "text"}))
    assert DailySpending.objects.get(participant=actor.participant).spent == 40_000_000


HI = [{"role": "user", "content": "Hi"}]
DEAR = prices.Prices(1000, 2000)


def test_a_name_in_latin_1_is_read_as_such() -> None:
    """Such as the bytes of headers are, if they are no UTF-8."""
    assert names_in({"x-loom-session": "caf\xe9"}, {}).session == "café"


@pytest.mark.parametrize("mode", ["observe", "workspace"])
def test_a_session_whose_tree_is_archived_passes_and_says_so(
    mode: str,
    actor: Actor,
    model: Participant,
    provider: ScriptedProvider,
    client: Client,
    caplog: pytest.LogCaptureFixture,
) -> None:
    secret = make_key(actor.user, model.uid, name="program", mode=mode)[1]
    program = Program(secret, {"x-loom-session": "s"})
    provider.default = whole("Yes.")
    assert "x-loom" not in run(program.chat(("user", "Begin"))).headers
    session = GatewaySession.objects.get()
    client.force_login(actor.user)
    state = f"/api/sessions/{session.uid}/state"
    assert client.get(state).json()["not_recorded"] is None
    trees.change_tree(actor, session.tree, {"archived": True})
    history = ("user", "Begin"), ("assistant", "Yes."), ("user", "Go on")
    got = run(program.chat(*history))
    assert (got.status, got.headers["x-loom"]) == (200, "bypass")
    assert "archived" in client.get(state).json()["not_recorded"]
    page = client.get(f"/settings/gateway/sessions/{session.uid}").content.decode()
    assert "and is not recorded" in page
    assert "This tree is archived" in caplog.text and "Traceback" not in caplog.text
    trees.change_tree(actor, session.tree, {"archived": False})
    assert "x-loom" not in run(program.chat(*history)).headers
    assert shape_of(session) == {"Begin": {"Yes.": {"Go on": {"Yes.": {}}}}}


@pytest.mark.parametrize("raw", [b"{{{", b"[]", b"\xff\xfe{}", b'{"n": ' + b"9" * 5000 + b"}"])
def test_a_body_that_cannot_be_recorded_passes_and_says_so(
    raw: bytes, program: Program, provider: ScriptedProvider
) -> None:
    provider.default = whole("What?")
    got = run(program.send("POST", "/chat/completions", raw))
    assert (got.status, got.headers["x-loom"]) == (200, "bypass")
    assert provider.seen[-1].body == raw
    assert "x-loom" not in run(program.send("POST", "/embeddings", raw)).headers
