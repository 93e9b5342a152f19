"""Summaries: asked for where they lack, made beside everything else, stored once, used."""

import json
from collections.abc import Callable

import pytest
from rest_framework.test import APIClient

from agents.agent_prompt import outline_lines
from agents.generation_requests import assembled_for
from agents.next_request import next_place
from agents.providers.registry import provider_of
from agents.tasks import summarise as task
from loom.access import Actor
from loom.documents import summaries as document_summaries
from loom.documents.models import Document
from loom.engine import jobs
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event
from loom.errors import CommandError
from loom.people.commands.groves import change_grove
from loom.people.models import Grove, Participant
from loom.trees.commands import node_writer
from loom.trees.models import Node, Tree
from loom.turns import summaries
from loom.turns.models import SUMMARY, Call, Generation
from loom.turns.queries import turn_body
from loom.turns.turn_lifecycle import turn_again
from tests.agents.acting import asked, went
from tests.agents.conftest import run
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import fails, says
from tests.two_groves import SECRET, TwoGroves

pytestmark = pytest.mark.django_db(transaction=True)

LONG = "Marie walks down to the river and does not come back before night. " * 8
SAID = "Marie stays at the river until night."


@pytest.fixture
def cheap(grove: Grove, model: Participant, actor: Actor) -> Participant:
    """The model that the owner chose for summaries."""
    change_grove(actor, settings={"summary_model": model.uid})
    grove.refresh_from_db()
    actor.grove.refresh_from_db()
    return model


@pytest.fixture
def long(actor: Actor, tree: Tree) -> Node:
    """A text that needs a summary."""
    ref = execute_line(actor, tree, Request(f'respond root "{LONG}"')).body["refs"][0]
    return Node.objects.get(tree=tree, local_id=ref)


def _fresh(tree: Tree) -> Tree:
    return Tree.objects.select_related("grove").get(pk=tree.pk)


def _made(actor: Actor, tree: Tree, node: Node) -> Generation:
    (generation,) = summaries.summarise(actor, _fresh(tree), [node.pk])
    return run(generation)


def test_an_owner_may_choose_that_no_summaries_are_made(
    actor: Actor, tree: Tree, cheap: Participant, long: Node, provider: ScriptedProvider
) -> None:
    cheap.sealed_key = "a key of its own"
    cheap.save(update_fields=["sealed_key"])
    change_grove(actor, settings={"summary_model": "none"})
    with pytest.raises(CommandError) as caught:
        summaries.summarise(actor, _fresh(tree), [long.pk])
    assert caught.value.code == "UNAVAILABLE"
    assert not provider.seen


def test_a_summary_is_stored_once_with_its_call(
    actor: Actor, tree: Tree, cheap: Participant, long: Node, provider: ScriptedProvider
) -> None:
    provider.script(says(f" {SAID}\n"))
    before = Node.objects.count()
    ran = _made(actor, tree, long)
    long.refresh_from_db()
    assert long.summary == SAID and ran.status == "done"
    assert Node.objects.count() == before
    assert summaries.summarise(actor, _fresh(tree), [long.pk]) == []
    call = Call.objects.get()
    assert (call.purpose, call.participant) == ("summary", cheap) and call.sealed_at is not None
    sent = provider.seen[0].json
    assert sent["max_tokens"] == 50
    assert "at most 30 words" in sent["messages"][0]["content"]
    assert LONG.strip() in sent["messages"][-1]["content"]
    event = Event.objects.get(kind="node.summarised")
    assert event.payload == {"node": long.local_id, "call": call.uid}
    kinds = Event.objects.filter(stream__name=f"tree:{tree.uid}").values_list("kind", flat=True)
    assert "generation.ended" not in kinds


@pytest.mark.parametrize(("above", "reads_further"), [("She waits.", True), (LONG, False)])
def test_a_summary_reads_the_title_and_the_texts_above(
    above: str,
    reads_further: bool,
    actor: Actor,
    tree: Tree,
    cheap: Participant,
    provider: ScriptedProvider,
) -> None:
    """The text above, and the one above that only where the first is short."""
    provider.script(says(SAID))
    Tree.objects.filter(pk=tree.pk).update(title="The river house")

    def below(ref: str, text: str) -> str:
        line = Request(f'respond {ref} "{text}"')
        return str(execute_line(actor, tree, line).body["refs"][0])

    first = below("root", "A grandfather sold the boat.")
    node = below(below(first, above), f"At last. {LONG}")
    _made(actor, tree, Node.objects.get(tree=tree, local_id=node))
    sent = provider.seen[0].json["messages"][-1]["content"]
    assert "The river house" in sent and sent.index(above.strip()) < sent.index("At last.")
    assert ("A grandfather sold the boat." in sent) is reads_further


def test_a_short_text_is_its_own_summary(
    actor: Actor, tree: Tree, cheap: Participant, opening: str
) -> None:
    node = Node.objects.get(tree=tree, local_id=opening)
    assert summaries.summarise(actor, _fresh(tree), [node.pk]) == []
    assert [summaries.is_short(text) for text in ("word " * 30, "word " * 31, "語" * 301)] == [
        *(True, False, False)
    ]


@pytest.mark.parametrize("verb", ["exclude", "prune"])
def test_what_is_not_sent_to_models_is_not_summarised(
    verb: str, actor: Actor, tree: Tree, cheap: Participant, long: Node
) -> None:
    execute_line(actor, tree, Request(f"{verb} {long.local_id}"))
    assert summaries.lacking(tree, [long.pk]) == []


def test_a_failure_is_seen_and_tried_again_a_few_times(
    actor: Actor,
    tree: Tree,
    cheap: Participant,
    long: Node,
    provider: ScriptedProvider,
    monkeypatch: pytest.MonkeyPatch,
    api: Callable[..., APIClient],
) -> None:
    provider.script(fails(401, "no"))
    ran = _made(actor, tree, long)
    assert ran.status == "failed"
    address = f"/api/trees/{tree.uid}/summaries"
    (failed,) = api(actor.user).get(address).json()["failed"]
    assert failed["node"] == long.local_id and failed["error"]["code"] == "MODEL_ERROR"
    assert summaries.lacking(tree, [long.pk]) == []  # it rests
    monkeypatch.setattr(summaries, "REST", -summaries.REST)
    provider.script(says(SAID))
    _made(actor, tree, long)
    long.refresh_from_db()
    assert long.summary == SAID
    assert api(actor.user).get(address).json()["failed"] == []
    Node.objects.filter(pk=long.pk).update(summary="")
    Generation.objects.filter(round=SUMMARY).update(status="failed")
    again = Generation.objects.get(status="failed", error__isnull=True)
    again.pk, again.uid = None, "another"
    again.save(force_insert=True)
    assert summaries.lacking(tree, [long.pk]) == []  # three failed


def test_the_summary_of_a_tree_reads_its_parts(
    actor: Actor,
    tree: Tree,
    cheap: Participant,
    long: Node,
    provider: ScriptedProvider,
    api: Callable[..., APIClient],
) -> None:
    Node.objects.filter(pk=long.pk).update(summary=SAID)
    execute_line(actor, tree, Request('respond here "Thomas waits."'))
    got = api(actor.user).post(f"/api/trees/{tree.uid}/summaries", {"tree": True}, format="json")
    assert (got.status_code, got.json()["open"]) == (202, 1)
    provider.script(says("A quarrel at a river."))
    run(Generation.objects.get(round=SUMMARY))
    content = provider.seen[0].json["messages"][-1]["content"]
    assert SAID in content and "Thomas waits." in content and "(1 branch in all)" in content
    assert _fresh(tree).summary == "A quarrel at a river."


def test_every_tenth_node_has_the_tree_summarised(
    actor: Actor, tree: Tree, cheap: Participant, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[list[object]] = []
    monkeypatch.setattr(jobs, "_send", lambda name, args, queue: sent.append([name, *args]))
    for number in range(12):
        execute_line(actor, tree, Request(f'respond here "Text {number}."'))
    asked = [sent_task for sent_task in sent if sent_task[0] == "agents.tasks.summarise"]
    assert asked == [["agents.tasks.summarise", tree.uid, actor.participant.pk, [], True]]
    task(*asked[0][1:])  # type: ignore[arg-type]
    assert Generation.objects.get().point.parent_slot_id is None
    task(*asked[0][1:])  # type: ignore[arg-type]
    assert Generation.objects.count() == 1


def test_a_tree_in_summaries_asks_for_none(
    actor: Actor, tree: Tree, cheap: Participant, long: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    monkeypatch.setattr(jobs, "_send", lambda name, args, queue: sent.append(name))
    execute_line(actor, tree, Request("tree summary"))
    assert "agents.tasks.summarise" not in sent
    execute_line(actor, tree, Request(f"view {long.local_id} summary"))
    assert sent.count("agents.tasks.summarise") == 1


def test_the_summaries_that_a_turn_needs_are_counted_to_it(
    actor: Actor,
    tree: Tree,
    cheap: Participant,
    agent: Participant,
    long: Node,
    provider: ScriptedProvider,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[list[object]] = []
    monkeypatch.setattr(jobs, "_send", lambda name, args, queue: sent.append([name, *args]))
    looks = f"→ view {long.local_id}\n→ view {long.local_id} summary\n"
    provider.script(says(looks), says("Read."))
    turn = went(asked(actor, tree, agent, node=long.local_id))
    (wanted,) = [sent_task for sent_task in sent if sent_task[0] == "agents.tasks.summarise"]
    assert wanted[-1] == turn.uid  # one that was asked for, none that was not
    task(*wanted[1:])  # type: ignore[arg-type]
    usage = {"prompt_tokens": 900, "completion_tokens": 40, "total_tokens": 940}
    provider.script(says(SAID, usage=usage))
    before = turn_body(turn_again(turn.pk))["usage"]["tokens"]
    run(Generation.objects.get(round=SUMMARY))
    assert turn_body(turn_again(turn.pk))["usage"]["tokens"] == before + 940


def test_without_a_model_for_it_nothing_is_asked(
    actor: Actor, tree: Tree, model: Participant, long: Node
) -> None:
    task(tree.uid, actor.participant.pk, [long.pk], whole=True)
    assert not Generation.objects.exists()
    with pytest.raises(CommandError) as refused:
        summaries.summarise(actor, _fresh(tree), [long.pk])
    assert refused.value.code == "UNAVAILABLE"
    model.sealed_key = "sealed"
    model.save()
    assert summaries.summariser(_fresh(tree).grove) == model


def test_outline_and_earlier_use_them(
    actor: Actor, tree: Tree, agent: Participant, long: Node
) -> None:
    Node.objects.filter(pk=long.pk).update(summary=SAID)
    for number in range(11):
        execute_line(actor, tree, Request(f'respond here "Text {number}. {"more " * 600}"'))
    workspace = node_writer.workspace_of(agent, tree)
    drawn = outline_lines(actor, tree, workspace, [])
    assert f"summary: {SAID}" in [row.words for row in drawn]  # never as the text's own words
    for line in (f"view {long.local_id}", "tree", "list root continuations"):
        reply = execute_line(actor, tree, Request(line)).body["reply"]
        assert "summary: Marie stays" in reply and '"Marie stays' not in reply, line
    Participant.objects.filter(pk=agent.pk).update(context_limit=6_000)
    workspace.participant.refresh_from_db()
    end = Node.objects.filter(tree=tree).order_by("-pk").first()
    place = next_place(actor, workspace, end)
    sent = assembled_for(place, provider_of("openai"))
    earlier = next(portion.text for portion in sent.portions if portion.name == "EARLIER")
    assert f"[{long.local_id}] {SAID}" in earlier


def test_a_summary_reads_nothing_of_another_grove(
    two_groves: TwoGroves, provider: ScriptedProvider
) -> None:
    two, left, right = two_groves, two_groves.left, two_groves.right
    echo = two.agent(left, name="Echo", permissions=[], base_url=provider.url)
    left.grove.settings = {"summary_model": echo.uid}
    left.grove.save()
    reply = left.run(two.both, f'respond here "{LONG}" from:{two.far}')
    node = Node.objects.get(tree=left.tree, local_id=reply.split("[")[1][:4])
    actor = left.actor(two.both)
    assert summaries.lacking(left.tree, [right.text.pk]) == []
    assert summaries.summarise(actor, _fresh(left.tree), [right.text.pk]) == []
    provider.script(says(SAID))
    (generation,) = summaries.summarise(actor, _fresh(left.tree), [node.pk])
    run(generation)
    assert SECRET not in json.dumps(provider.seen[0].json)
    with pytest.raises(CommandError):
        change_grove(right.actor(two.only_right), settings={"summary_model": echo.uid})


# -- documents, and summaries asked for again


@pytest.fixture
def paper(actor: Actor, tree: Tree) -> str:
    """A long document of the tree; its id."""
    line = f'write doc:"Notes" new "# Marie\n\n{LONG}"'.replace("\n", "\\n")
    return str(execute_line(actor, tree, Request(line)).body["refs"][0]).removeprefix("doc:")


def test_a_document_is_summarised_shown_and_kept_until_it_changes(
    actor: Actor,
    tree: Tree,
    cheap: Participant,
    paper: str,
    provider: ScriptedProvider,
    api: Callable[..., APIClient],
) -> None:
    client = api(actor.user)
    address = f"/api/documents/{paper}/summary"
    asked = client.post(address, format="json")
    assert (asked.status_code, asked.json()["open"]) == (202, 1)
    provider.script(says("Notes on Marie, who stays at the river."))
    ran = run(Generation.objects.get(round=SUMMARY))
    assert ran.status == "done"
    sent = provider.seen[0].json
    assert sent["max_tokens"] == 120 and "document" in sent["messages"][0]["content"]
    assert LONG.strip() in sent["messages"][-1]["content"]
    summary = "Notes on Marie, who stays at the river."
    assert client.get(address).json() == {
        "summary": summary,
        "revision": 1,
        "open": 0,
        "failed": [],
    }
    assert client.get(f"/api/documents/{paper}").json()["summary"] == summary
    for line in ('view doc:"Notes"', "list documents"):
        assert summary in execute_line(actor, tree, Request(line)).body["reply"]
    # It is there: nobody is asked for it a second time until the text has changed.
    document = Document.objects.select_related("grove").get(uid=paper)
    assert document_summaries.want_document(actor.participant, document) == 0
    client.post(f"/api/documents/{paper}/write", {"append": LONG}, format="json")
    document = Document.objects.select_related("grove").get(uid=paper)
    assert document_summaries.want_document(actor.participant, document) == 1
    # The summary of a document says nothing about that of the tree.
    assert summaries.summarise(actor, _fresh(tree), whole=True)


def test_a_look_at_a_document_has_its_summary_made(
    actor: Actor, tree: Tree, cheap: Participant, paper: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(
        "loom.documents.commands.writing.enqueue", lambda name, *_, **__: asked.append(name)
    )
    execute_line(actor, tree, Request('view doc:"Notes"'))
    assert asked == ["loom.documents.tasks.summarise"]
    execute_line(actor, tree, Request('write doc:"Short" new "A few words."'))
    execute_line(actor, tree, Request('view doc:"Short"'))
    assert len(asked) == 1


def test_a_summary_is_asked_for_again_after_failures_or_for_a_better_one(
    actor: Actor,
    tree: Tree,
    cheap: Participant,
    long: Node,
    paper: str,
    provider: ScriptedProvider,
    api: Callable[..., APIClient],
) -> None:
    client = api(actor.user)
    of_tree, of_paper = f"/api/trees/{tree.uid}/summaries", f"/api/documents/{paper}/summary"
    body = {"nodes": [long.local_id], "again": True}
    for text in ("", "First.", "Second."):
        provider.script(says(text) if text else fails(401, "no"))
        assert client.post(of_tree, body, format="json").json()["open"] == 1
        run(Generation.objects.filter(round=SUMMARY).latest("pk"))
        got = client.get(f"{of_tree}?node={long.local_id}").json()
        assert (got["summary"], len(got["failed"])) == (text, 0 if text else 1)
    for text in ("", "Third."):
        provider.script(says(text) if text else fails(401, "no"))
        assert client.post(of_paper, format="json").json()["open"] == 1
        run(Generation.objects.filter(round=SUMMARY).latest("pk"))
        got = client.get(of_paper).json()
        assert (got["summary"], len(got["failed"])) == (text, 0 if text else 1)
    view = execute_line(actor, tree, Request(f"view {long.local_id}")).body["reply"]
    assert "\nsummary: Second.\n" in view and LONG[:40] not in view
    listed = execute_line(actor, tree, Request("list root continuations")).body["reply"]
    assert "· summary: Second." in listed
