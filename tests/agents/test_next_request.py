"""The next request, shown before it is made: the same bytes as the one that is sent."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from agents.agent_prompt import stops_of
from agents.next_request import PreviewOptions, next_place, next_request
from loom.access import Actor, acting_as
from loom.engine import steps
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Step
from loom.engine.views import stored
from loom.errors import CommandError
from loom.people.commands.groves import change_grove
from loom.people.models import Participant, User
from loom.trees.commands import node_writer, trees
from loom.trees.commands.drafts import SentDraft, save
from loom.trees.commands.trees import change_tree
from loom.trees.models import Node, Tree
from loom.trees.named_items import touched
from loom.turns.models import Generation
from tests.agents.acting import asked, went
from tests.agents.conftest import Say, run
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says
from tests.two_groves import SECRET, TwoGroves

pytestmark = pytest.mark.django_db(transaction=True)

Api = Callable[..., APIClient]


def _context(client: APIClient, workspace: str, **query: str) -> dict[str, Any]:
    got = client.get(f"/api/workspaces/{workspace}/context", query)
    assert got.status_code == 200, got.content
    return dict(got.json())


def _own(actor: Actor, tree: Tree) -> str:
    return node_writer.workspace_of(actor.participant, tree).uid


def _without_clock(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    return [
        {**message, "content": re.sub(r"\d+:\d\d/", "", message["content"])} for message in messages
    ]


STEERED = {"memory": "A novel.", "author_note": "[Slow.]", "note_depth": 1}


@pytest.mark.parametrize("mode", ["dialogue", "buffer"])
@pytest.mark.parametrize("steered", [{}, STEERED], ids=["plain", "steered"])
def test_a_subject_is_sent_what_was_shown(
    mode: str,
    steered: dict[str, Any],
    actor: Actor,
    tree: Tree,
    model: Participant,
    provider: ScriptedProvider,
    opening: str,
    ask: Say,
    api: Api,
) -> None:
    Tree.objects.filter(pk=tree.pk).update(mode=mode, **steered)
    provider.script(says("A clockmaker."))
    tree.refresh_from_db()
    shown = _context(api(actor.user), _own(actor, tree), participant=model.uid, node=opening)
    (generation,) = ask(f"continue from {opening} n:1")
    run(generation)
    assert shown["messages"] == provider.seen[0].json["messages"]
    assert (shown["how"], shown["node"], shown["prompt"]) == ("continue", opening, None)
    whole = "\n".join(message["content"] for message in shown["messages"])
    assert all(section["text"] in whole for section in shown["sections"])
    assert shown["tokens"] == sum(section["tokens"] for section in shown["sections"])
    names = [section["name"] for section in shown["sections"]]
    assert ("MEMORY" in names and "NOTE" in names) is bool(steered)
    assert "PATH" in names


@pytest.mark.parametrize("mode", ["dialogue", "buffer"])
def test_the_first_round_of_a_turn_is_sent_what_was_shown(
    mode: str,
    actor: Actor,
    tree: Tree,
    agent: Participant,
    provider: ScriptedProvider,
    opening: str,
    api: Api,
) -> None:
    Tree.objects.filter(pk=tree.pk).update(mode=mode)
    tree.refresh_from_db()
    shown = _context(api(actor.user), _own(actor, tree), participant=agent.uid, node=opening)
    provider.script(says("Cold."))
    went(asked(actor, tree, agent, node=opening))
    sent = provider.seen[0].json["messages"]
    assert _without_clock(shown["messages"]) == _without_clock(sent)
    whole = "\n".join(message["content"] for message in shown["messages"])
    assert all(section["text"] in whole for section in shown["sections"])
    assert [section["name"] for section in shown["sections"]] == [
        *("PERSONA", "INSTRUCTIONS", "MODE", "PATH", "STATUS", "OUTLINE", "PATH", "LOOM", "CLOSING")
    ]


@pytest.mark.parametrize("mode", ["dialogue", "buffer"])
def test_what_is_left_out_this_once_is_shown_and_sent_without_it(
    actor: Actor,
    tree: Tree,
    model: Participant,
    opening: str,
    api: Api,
    ask: Say,
    provider: ScriptedProvider,
    mode: str,
) -> None:
    Tree.objects.filter(pk=tree.pk).update(mode=mode, **STEERED)
    tree.refresh_from_db()
    client = api(actor.user)
    query = {"participant": model.uid, "node": opening, "how": "continue"}
    whole = _context(client, _own(actor, tree), **query)
    assert "A novel." in json.dumps(whole["messages"])
    (path,) = (section for section in whole["sections"] if section["name"] == "PATH")
    assert path["nodes"] == [opening]
    shown = _context(client, _own(actor, tree), **query, without="memory")
    assert "A novel." not in json.dumps(shown["messages"])
    assert "[Slow.]" in json.dumps(shown["messages"])
    (memory,) = (section for section in shown["sections"] if section["name"] == "MEMORY")
    assert (memory["tokens"], memory["text"]) == (0, "")
    assert memory["note"] == "left out this time"
    provider.script(says("Cold."))
    (generation,) = ask(f'continue from {opening} without:"memory" using agent:"{model.name}"')
    run(generation)
    assert provider.seen[-1].json["messages"] == shown["messages"]
    provider.script(says("Warm."))
    (generation,) = ask(f'continue from {opening} using agent:"{model.name}"')
    run(generation)
    assert provider.seen[-1].json["messages"] == whole["messages"]


def test_only_parts_that_there_are_can_be_left_out(
    actor: Actor, tree: Tree, model: Participant, opening: str, api: Api
) -> None:
    where = f"/api/workspaces/{_own(actor, tree)}/context"
    query = {"participant": model.uid, "node": opening, "without": "path"}
    answer = api(actor.user).get(where, query)
    assert answer.status_code == 400
    assert "lore:TITLE" in answer.json()["hint"]


def test_what_is_typed_in_a_buffer_counts_where_it_is_asked_for(
    actor: Actor, tree: Tree, model: Participant, opening: str, api: Api
) -> None:
    Tree.objects.filter(pk=tree.pk).update(mode="buffer")
    tree.refresh_from_db()
    own = stored(node_writer.workspace_of(actor.participant, tree))
    slot = tree.nodes.get(local_id=opening)
    save(actor, own, slot, SentDraft("buffer", " She put her hand", None))
    client = api(actor.user)
    query = {"participant": model.uid, "node": opening}
    assert "She put" not in json.dumps(_context(client, own.uid, **query)["messages"])
    (message,) = _context(client, own.uid, **query, draft="1")["messages"]
    assert message["content"] == "Who is Marie? She put her hand"


def test_what_is_typed_in_a_dialogue_is_cut_as_it_will_be_when_it_is_sent(
    actor: Actor,
    tree: Tree,
    model: Participant,
    provider: ScriptedProvider,
    opening: str,
    ask: Say,
    api: Api,
) -> None:
    Participant.objects.filter(pk=model.pk).update(context_limit=1536)
    typed = "A long way down to the river. " * 400
    own = stored(node_writer.workspace_of(actor.participant, tree))
    save(actor, own, tree.nodes.get(local_id=opening), SentDraft("buffer", typed, None))
    query = {"participant": model.uid, "node": opening, "draft": "1"}
    shown = _context(api(actor.user), own.uid, **query)
    assert shown["tokens"] <= shown["limit"]
    assert not ask(f'respond {opening} "{typed}"')
    provider.script(says("Cold."))
    (generation,) = ask(f'continue using agent:"{model.name}"')
    run(generation)
    assert provider.seen[-1].json["messages"] == shown["messages"]


def test_looking_at_it_writes_nothing_and_asks_nobody(
    actor: Actor,
    tree: Tree,
    agent: Participant,
    provider: ScriptedProvider,
    opening: str,
    writer: User,
    api: Api,
) -> None:
    client = api(writer)
    me = client.get(f"/api/workspaces?tree={tree.uid}").json()
    with CaptureQueriesContext(connection) as queries:
        for how in ("turn", "continue"):
            _context(client, me["id"], participant=agent.uid, node=opening, how=how)
    statements = [query["sql"] for query in queries if "SAVEPOINT" not in query["sql"]]
    assert statements and all(
        statement.lstrip().upper().startswith(("SELECT", "WITH")) for statement in statements
    )
    assert provider.seen == [] and not Generation.objects.exists()


def test_the_difference_begins_where_the_request_before_ended(
    actor: Actor,
    tree: Tree,
    model: Participant,
    provider: ScriptedProvider,
    opening: str,
    ask: Say,
    api: Api,
) -> None:
    client = api(actor.user)
    query = {"participant": model.uid, "node": opening}
    assert _context(client, _own(actor, tree), **query)["before"] is None
    provider.script(says("A clockmaker."))
    ran = run(ask(f"continue from {opening} n:1")[0])
    same = _context(client, _own(actor, tree), **query)["before"]
    assert ran.call is not None and same["call"] == ran.call.uid
    assert (same["share"], same["lines"]) == (1.0, [])
    node = execute_line(actor, tree, Request(f'respond {opening} "Where?"')).body["refs"][0]
    later = _context(client, _own(actor, tree), participant=model.uid, node=node)["before"]
    assert 0.5 < later["share"] < 1
    assert [line for line in later["lines"] if line[:1] in "+-"] == ["+", "+Where?"]


def test_the_price_is_that_of_the_list_or_of_the_owner(
    actor: Actor, tree: Tree, model: Participant, opening: str, api: Api
) -> None:
    Participant.objects.filter(pk=model.pk).update(
        prices={"input": 3, "output": 15}, max_tokens=100
    )
    query = {"participant": model.uid, "node": opening}
    price = _context(api(actor.user), _own(actor, tree), **query)["price"]
    assert price["tokens"] > 5
    assert price["usd"] == pytest.approx(price["tokens"] * 3 / 1e6)
    assert price["answer_usd"] == pytest.approx(100 * 15 / 1e6)


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ({}, 400, "INVALID_SYNTAX"),
        ({"participant": "nobody"}, 404, "NOT_FOUND"),
        ({"how": "both"}, 400, "INVALID_SYNTAX"),
        ({"node": "z9z9"}, 404, "NOT_FOUND"),
        ({"how": "turn"}, 409, "REJECTED"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    query: dict[str, str],
    status: int,
    code: str,
    actor: Actor,
    tree: Tree,
    model: Participant,
    opening: str,
    api: Api,
) -> None:
    given = {"participant": model.uid, **query} if query else {}
    got = api(actor.user).get(f"/api/workspaces/{_own(actor, tree)}/context", given)
    assert (got.status_code, got.json()["code"]) == (status, code)


def test_what_would_be_refused_is_refused_in_the_same_words(
    actor: Actor, tree: Tree, model: Participant, opening: str, ask: Say, api: Api
) -> None:
    change_tree(actor, tree, {"truncation": "stopAtLimit", "memory": "far " * 40_000})
    query = {"participant": model.uid, "node": opening}
    got = api(actor.user).get(f"/api/workspaces/{_own(actor, tree)}/context", query)
    ran = run(ask(f"continue from {opening} n:1")[0])
    assert got.json()["code"] == "LIMIT_EXCEEDED" and ran.error is not None
    assert got.json()["message"] == ran.error["message"]


def test_nothing_of_another_grove_is_shown(
    two_groves: TwoGroves, provider: ScriptedProvider
) -> None:
    two, left = two_groves, two_groves.left
    echo = two.agent(left, name="Echo", permissions=[], base_url=provider.url)
    far = two.agent(two.right, name="Far", permissions=[], base_url=provider.url)
    reply = left.run(two.both, f'respond {left.text.local_id} "Go on." from:{two.far}')
    local_id = reply.split("[")[1][:4]
    actor = left.actor(two.both)
    own = node_writer.workspace_of(actor.participant, left.tree).uid
    client = two.client(two.both)
    shown = _context(client, own, participant=echo.uid, node=local_id)
    assert "Go on." in json.dumps(shown) and SECRET not in json.dumps(shown)
    got = client.get(f"/api/workspaces/{own}/context", {"participant": far.uid})
    assert got.status_code == 404
    agents = node_writer.workspace_of(echo, left.tree).uid
    for uid in (own, agents):
        for user in (two.only_right, two.nobody):
            got = two.client(user).get(f"/api/workspaces/{uid}/context", {"participant": echo.uid})
            assert got.status_code == 404
    assert _context(two.client(two.only_left), agents, node=local_id)["open"] is True


def test_of_a_turn_that_holds_what_one_may_not_see_there_are_only_sizes(
    two_groves: TwoGroves, provider: ScriptedProvider
) -> None:
    two, left = two_groves, two_groves.left
    agent = two.agent(left, base_url=provider.url)
    turn = asked(left.actor(two.both), left.tree, agent, node=left.text.local_id)
    line = execute_line(left.actor(two.both), left.tree, Request("view here"))
    step = Step.objects.get(workspace__tree=left.tree, seq=line.body["step"], actor__user=two.both)
    Step.objects.filter(pk=step.pk).update(turn_uid=turn.uid)
    step.touched.all().delete()
    steps.touch(step, touched(two.right.text))
    uid = node_writer.workspace_of(agent, left.tree).uid
    shown = _context(two.client(two.only_left), uid)
    assert (shown["open"], shown["messages"], shown["before"]) == (False, [], None)
    assert {section["text"] for section in shown["sections"]} == {""} and shown["tokens"] > 0
    assert _context(two.client(two.both), uid)["open"] is True


def test_the_request_before_is_shown_only_to_whom_may_read_it(
    two_groves: TwoGroves, provider: ScriptedProvider
) -> None:
    two, left = two_groves, two_groves.left
    agent = two.agent(left, base_url=provider.url)
    provider.script(says("→ view here\n"), says("Done."))
    turn = went(asked(left.actor(two.both), left.tree, agent, node=left.text.local_id))
    for step in Step.objects.filter(turn_uid=turn.uid):
        step.touched.all().delete()
        steps.touch(step, touched(two.right.text))
    uid = node_writer.workspace_of(agent, left.tree).uid
    node = left.text.local_id
    assert _context(two.client(two.both), uid, node=node)["before"] is not None
    shown = _context(two.client(two.only_left), uid, node=node)
    assert (shown["open"], shown["before"]) == (True, None)


LORE = "---\nkeys: Marie, clockmaker\norder: 5\n---\nMarie mends clocks in Bern."


def test_a_document_with_keys_enters_while_one_of_them_is_near_the_end(
    actor: Actor,
    tree: Tree,
    model: Participant,
    provider: ScriptedProvider,
    opening: str,
    ask: Say,
    api: Api,
) -> None:
    def say(line: str) -> str:
        return str(execute_line(actor, tree, Request(line)).body["refs"][0])

    say(f'write doc:"Marie" new\n{LORE}\n←')
    say('write doc:"Plain" new "Marie has no keys here."')
    client, own = api(actor.user), _own(actor, tree)
    shown = _context(client, own, participant=model.uid, node=opening)
    (lore,) = [section for section in shown["sections"] if section["name"] == "LORE"]
    assert (lore["detail"], lore["text"]) == ("Marie", "Marie mends clocks in Bern.")
    assert lore["note"] == "because “Marie” occurs near the end"
    provider.script(says("A woman."))
    run(ask(f"continue from {opening} n:1")[0])
    assert provider.seen[0].json["messages"] == shown["messages"]
    assert "Marie mends clocks in Bern." in shown["messages"][0]["content"]
    far = say(f'respond {opening} "Where?"')
    change_tree(actor, tree, {"lore_scan": 6})
    shown = _context(client, own, participant=model.uid, node=far)
    assert "LORE" not in [section["name"] for section in shown["sections"]]


def test_lore_of_another_tree_or_grove_does_not_enter(
    two_groves: TwoGroves, provider: ScriptedProvider
) -> None:
    two, left, right = two_groves, two_groves.left, two_groves.right
    echo = two.agent(left, name="Echo", permissions=[], base_url=provider.url)
    right.run(two.both, f'write doc:"Far" new\n---\nkeys: tower\n---\n{SECRET}\n←')
    other = trees.new_tree(left.actor(two.both), title="Beside")
    execute_line(
        left.actor(two.both),
        other,
        Request('write doc:"Beside" new\n---\nkeys: tower\n---\nNot of this tree.\n←'),
    )
    left.run(two.both, 'write doc:"Here" new\n---\nkeys: tower\n---\nThe tower leans.\n←')
    own = node_writer.workspace_of(left.actor(two.both).participant, left.tree).uid
    query = {"participant": echo.uid, "node": left.text.local_id}
    body = json.dumps(_context(two.client(two.both), own, **query))
    assert "The tower leans." in body and "Not of this tree." not in body and SECRET not in body


@pytest.mark.parametrize(("threshold", "is_whole"), [(1_000, False), (2_000, True)])
def test_a_grove_sets_which_results_are_given_whole(
    threshold: int,
    is_whole: bool,
    actor: Actor,
    tree: Tree,
    agent: Participant,
    provider: ScriptedProvider,
) -> None:
    change_grove(actor, settings={"result_threshold": threshold})
    actor.grove.refresh_from_db()
    line = f'respond root "{"word " * 880}"'  # 1,100 tokens
    long = execute_line(actor, tree, Request(line)).body["refs"][0]
    here = execute_line(actor, tree, Request('respond root "Here."')).body["refs"][0]
    provider.script(says(f"→ view {long} full\n"), says("Done."))
    went(asked(actor, tree, agent, node=here))
    last = provider.seen[1].json["messages"][-1]["content"]
    assert ("tokens in all" not in last) is is_whole
    with pytest.raises(CommandError):
        change_grove(actor, settings={"result_threshold": -1})


def test_what_an_agent_is_taught_is_shown_before_any_call(
    actor: Actor, tree: Tree, agent: Participant, opening: str, writer: User, api: Api
) -> None:
    address = f"/api/participants/{agent.uid}/instructions"
    got = api(actor.user).get(address).json()
    shown = _context(api(actor.user), _own(actor, tree), participant=agent.uid, node=opening)
    sent = [
        section["text"]
        for section in shown["sections"]
        if section["name"] in ("INSTRUCTIONS", "MODE")
    ]
    assert got["instructions"] == "\n\n".join(sent) and "→ annotate REF" in sent[0]
    assert "loom_write" in got["permissions"]
    Participant.objects.filter(pk=agent.pk).update(permissions=["loom_aware"])
    less = api(actor.user).get(address).json()
    assert less["permissions"] == ["loom_aware"] and "→ annotate REF" not in less["instructions"]
    Participant.objects.filter(pk=agent.pk).update(permissions=[])
    assert api(actor.user).get(address).json() == {"permissions": [], "instructions": ""}
    assert api(actor.user).get(f"{address}?mode=prose").status_code == 400
    own = f"/api/participants/{actor.participant.uid}/instructions"
    assert api(actor.user).get(own).json()["code"] == "REJECTED"


def test_what_is_held_already_is_not_read_again(
    actor: Actor, tree: Tree, agent: Participant, opening: str
) -> None:
    node = Node.objects.get(tree=tree, local_id=opening)
    with CaptureQueriesContext(connection) as sent:
        next_request(actor, tree, PreviewOptions(agent, node, "turn"))
    read = [query["sql"] for query in sent]
    assert not [sql for sql in read if 'FROM "trees_tree"' in sql]  # the caller has it
    assert not [sql for sql in read if 'FROM "workspace_task"' in sql]  # no workspace is stored yet


def test_the_next_request_of_an_agent_takes_as_few_queries_as_it_needs(
    actor: Actor, tree: Tree, agent: Participant, opening: str
) -> None:
    node = opening
    for number in range(12):
        reply = execute_line(actor, tree, Request(f'respond {node} "Text {number}."'))
        node = reply.body["refs"][0]
    end = Node.objects.get(tree=tree, local_id=node)

    def queries() -> int:
        with CaptureQueriesContext(connection) as sent:
            next_request(actor, tree, PreviewOptions(agent, end, "turn"))
        return len(sent)

    queries()  # what is read once in a process
    assert queries() <= 29
    own = node_writer.workspace_of(agent, tree)
    execute_line(acting_as(actor, agent), tree, Request(f"open {opening} keep"), own)
    assert queries() <= 46  # a workspace that is stored, with a window and steps
    first = stops_of(next_place(actor, own, end))[0]
    assert stops_of(next_place(actor, own, end))[0] is first  # what is frozen is kept
