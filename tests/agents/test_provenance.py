"""Provenance: the whole evidence of a node in page and API, for whom, and as text only."""

import html
import json
import shlex
from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from rest_framework.test import APIClient

from loom.engine import steps
from loom.people.models import User
from loom.reading.queries.provenance import _sentences, thoughts_in
from loom.trees.commands import node_writer, trees
from loom.trees.models import Node
from loom.trees.named_items import touched
from loom.turns.models import Call, Generation, Turn
from loom.turns.old_calls import ANSWER_GONE
from tests.agents.conftest import Say, run
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import raw, says
from tests.triggers import triggers_aside

live = pytest.mark.django_db(transaction=True)
Api = Callable[..., APIClient]
GONE = "is no longer kept."
HOSTILE = "<script>alert(1)</script>"


def _written(ask: Say) -> tuple[Generation, Node, Call]:
    row = run(ask()[0])
    assert row.node is not None
    assert row.call is not None
    return row, row.node, row.call


def _page(user: User, node: Node) -> str:
    client = Client()
    client.force_login(user)
    return client.get(f"/trees/{node.tree.uid}/nodes/{node.local_id}/provenance").content.decode()


@live
def test_the_api_gives_call_hash_proof_path_and_verification(
    ask: Say, api: Api, reader: User
) -> None:
    row, node, call = _written(ask)
    base = f"/api/trees/{node.tree.uid}/nodes/{node.local_id}"
    body = api(reader).get(f"{base}/provenance").json()
    shown = api(reader).get(base).json()
    assert (body["hash"], body["proof"]) == (shown["hash"], shown["proof"])
    assert body["call"] == api(reader).get(f"/api/calls/{call.uid}").json()
    assert body["call"]["sha256"] == call.sha256
    assert body["call"]["sections"][-1]["name"] == "user"
    assert body["above"][-1]["hash"] == node.parent_hash
    assert body["verify"]["status"] == "valid"
    assert body["verify"]["said"][0].startswith("Everything matches")
    assert body["generation"] == row.uid


@live
def test_what_was_changed_behind_the_program_is_reported(ask: Say, api: Api, reader: User) -> None:
    _, node, _ = _written(ask)
    with triggers_aside(connection):
        Node.objects.filter(pk=node.pk).update(text="somebody else's words")
    address = f"/api/trees/{node.tree.uid}/nodes/{node.local_id}/provenance"
    messages = api(reader).get(address).json()["verify"]["said"]
    assert messages[0].startswith("Something does not match")
    assert messages[1].startswith(f"[{node.local_id}]")
    assert "Something does not match" in _page(reader, node)


@live
def test_the_same_request_can_be_sent_with_curl(
    ask: Say, reader: User, provider: ScriptedProvider
) -> None:
    ask('respond root\nIt\'s "$HOME" `here`\\\n\n←')
    _, node, _ = _written(ask)
    page = html.unescape(_page(reader, node))
    command = page.split("data-secret>")[1].split("</pre>")[0]
    words = shlex.split(command.replace("\\\n", ""))
    assert (words[0], words[1]) == ("curl", f"{provider.url}/chat/completions")
    flags = list(zip(words[2::2], words[3::2], strict=True))
    assert ("-H", "Authorization: Bearer $HEDDLE_KEY") in flags
    sent = provider.seen[-1]
    assert json.loads(dict(flags)["--data-raw"]) == json.loads(sent.body)
    named = {value.partition(":")[0].lower() for flag, value in flags if flag == "-H"}
    assert "content-type" in named and "host" not in named


@live
def test_hostile_answers_and_headers_are_text_on_the_page(
    ask: Say, reader: User, provider: ScriptedProvider
) -> None:
    provider.script(says(HOSTILE, headers=(("x-told", HOSTILE),)))
    _, node, call = _written(ask)
    page = _page(reader, node)
    assert HOSTILE not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 1
    assert call.sha256 in page


@live
def test_a_call_that_holds_what_a_member_may_not_see_shows_its_sections_only(
    ask: Say, api: Api, reader: User, owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = _written(ask)[1]
    monkeypatch.setattr("loom.reading.queries.provenance.may_read_call", lambda actor, call: False)
    body = (
        api(reader)
        .get(f"/api/trees/{node.tree.uid}/nodes/{node.local_id}/provenance")
        .json()["call"]
    )
    assert (body["open"], body["request"], body["response"], body["headers"]) == (
        False, {}, "", {},
    )  # fmt: skip
    assert body["length"] > 0
    assert body["sections"]
    assert "Its parts are" in _page(reader, node)


@live
def test_a_turns_call_with_a_strange_tree_is_for_its_inviter_and_owners(
    ask: Say, api: Api, reader: User, owner: User, strange_call: Call
) -> None:
    assert api(owner).get(f"/api/calls/{strange_call.uid}").json()["open"]
    narrow = api(reader).get(f"/api/calls/{strange_call.uid}").json()
    assert (narrow["open"], narrow["request"]) == (False, {})
    assert api(reader).get(f"/api/calls/{strange_call.uid}/response").status_code == 403
    tree, turn = strange_call.tree.uid, strange_call.turn
    assert turn is not None
    page = f"/trees/{tree}/turns/{turn.uid}/calls?of={strange_call.uid}"
    sent = strange_call.request["body"]["messages"][-1]["content"][:20]
    assert sent in api(owner).get(page).content.decode()
    assert sent not in api(reader).get(page).content.decode()


@pytest.fixture
def strange_call(ask: Say, outsider: User) -> Call:
    """A call of a turn whose lines touched a tree of a grove that only its inviter knows."""
    from django.utils import timezone

    from loom.access import first_grove, get_actor
    from loom.engine.models import Step
    from loom.trees.queries import lookup

    _, node, call = _written(ask)
    elsewhere = trees.new_tree(get_actor(outsider, first_grove(outsider)), title="Elsewhere")
    generation = call.generations.get()
    turn = Turn.objects.create(
        tree=node.tree,
        participant=call.participant,
        invoked_by=generation.asked_by,
        invoked_at=node,
        answers_below=node,
    )
    workspace = node_writer.workspace_of(call.participant, node.tree)
    step = Step.objects.create(
        workspace=workspace, seq=1, actor=call.participant, turn_uid=turn.uid, line="view",
        outcome="ok", at=timezone.now(),
    )  # fmt: skip
    steps.touch(step, touched(lookup.root_of(elsewhere)))
    Call.objects.filter(pk=call.pk).update(turn=turn)
    Generation.objects.filter(pk=generation.pk).update(asked_by=call.participant)
    call.refresh_from_db()
    return call


WHOLE = {
    "choices": [
        {
            "index": 0,
            "message": {"content": "It was night.", "reasoning_content": f"Dark, so {HOSTILE}"},
            "finish_reason": "stop",
        }
    ]
}
STREAMED = (
    b'data: {"choices":[{"index":1,"delta":{"reasoning":"Two "}},'
    b'{"index":0,"delta":{"reasoning_content":"One"}}]}\n\n'
    b'data: {"choices":[{"index":1,"delta":{"reasoning":"and three"}}]}\n\ndata: [DONE]\n\n'
)
BLOCKS = (
    b'event: x\ndata: {"type":"content_block_start","content_block":{"type":"thinking",'
    b'"thinking":""}}\n\ndata: {"type":"content_block_delta","delta":{"type":"thinking_delta",'
    b'"thinking":"hm"}}\n\n'
)


@pytest.mark.parametrize(
    ("response", "thoughts"),
    [
        (STREAMED, ["One", "Two and three"]),
        (BLOCKS, ["hm"]),
        (b'{"content":[{"type":"thinking","thinking":"x"},{"type":"text","text":"y"}]}', ["x"]),
        (b'data: {"choices":[{"delta":{"content":"my reasoning"}}]}\n\n', []),
        (b'{"choices":[{"index":900000000,"message":{"reasoning":"x"}}]}', []),
        (b"\xff\x00 reasoning {", []),
    ],
)
def test_thoughts_are_read_from_the_bytes_of_an_answer(
    response: bytes, thoughts: list[str]
) -> None:
    assert thoughts_in(response) == thoughts


@live
def test_thoughts_are_read_at_the_node_and_sent_to_nobody(
    ask: Say, api: Api, reader: User, client: Client, provider: ScriptedProvider
) -> None:
    provider.script(raw(json.dumps(WHOLE).encode(), kind="application/json"))
    _, node, call = _written(ask)
    assert node.text == "It was night."
    assert api(reader).get(f"/api/calls/{call.uid}").json()["thoughts"] == [f"Dark, so {HOSTILE}"]
    client.force_login(reader)
    part = f"/trees/{node.tree.uid}/nodes/{node.local_id}"
    page = client.get(f"{part}/call").content.decode()
    assert f'<pre class="raw" dir="auto" tabindex="0">Dark, so {html.escape(HOSTILE)}' in page
    assert '<details class="fold"><summary>Thoughts' in page  # folded
    run(ask(f"continue from {node.local_id}")[0])
    assert "Dark, so" not in json.dumps(provider.seen[-1].json)


@live
def test_an_answer_that_is_no_longer_kept_is_not_shown_as_if_it_were_there(
    ask: Say, api: Api, reader: User, client: Client
) -> None:
    _, node, call = _written(ask)
    address = f"/api/calls/{call.uid}/response"
    assert api(reader).get(address).status_code == 200
    Call.objects.filter(pk=call.pk).update(response=b"", headers={}, note=ANSWER_GONE)
    answer = api(reader).get(address)
    assert answer.status_code == 404
    assert (answer.json()["code"], answer.json()["message"]) == ("NOT_FOUND", ANSWER_GONE)
    assert answer.json()["hint"]
    client.force_login(reader)
    part = client.get(f"/trees/{node.tree.uid}/nodes/{node.local_id}/call").content.decode()
    for page in (_page(reader, node), part):
        assert ANSWER_GONE in page and "<summary>The answer" not in page
        assert "0 bytes" not in page and "/response" not in page
    assert "The request, without keys" in _page(reader, node)  # which is kept
    Call.objects.filter(pk=call.pk).update(request={}, note=f"The request {GONE} {ANSWER_GONE}")
    page = _page(reader, node)
    assert f"The request {GONE}" in page and "The request, without keys" not in page


@live
def test_the_calls_of_a_turn_say_which_answers_are_no_longer_kept(
    ask: Say, reader: User, client: Client
) -> None:
    _, node, call = _written(ask)
    turn = Turn.objects.create(
        tree=node.tree,
        participant=call.participant,
        invoked_by=call.participant,
        invoked_at=node,
        answers_below=node,
    )
    Call.objects.filter(pk=call.pk).update(turn=turn)
    client.force_login(reader)
    address = f"/trees/{node.tree.uid}/turns/{turn.uid}/calls"
    assert f"the answer {GONE[:-1]}" not in client.get(address).content.decode()
    Call.objects.filter(pk=call.pk).update(response=b"", note=ANSWER_GONE)
    assert f"the answer {GONE[:-1]}" in client.get(address).content.decode()


def test_a_page_says_the_verdict_in_its_language_and_the_api_in_english() -> None:
    report = {"status": "valid", "broken": [], "later_versions": ["a7x2"], "imported": 2}
    report["checked"] = 3
    plain, translated = _sentences(report), _sentences(report, lambda words: f"(de) {words}")
    assert len(plain) == len(translated) == 3
    assert all(said == f"(de) {words}" for words, said in zip(plain, translated, strict=True))
