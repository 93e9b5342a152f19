"""A whole turn of a loom-aware agent, against a provider over real HTTP."""

import re
import threading
from collections.abc import Callable
from typing import Any

import pytest
from rest_framework.test import APIClient

from agents.context import agent_request
from agents.providers.attempt import Cutter
from agents.turns import run_turn
from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event, Step
from loom.errors import CommandError
from loom.people.models import Participant
from loom.site.display import cast_of
from loom.trees.commands import node_writer
from loom.trees.models import Node, Tree
from loom.trees.queries import lookup
from loom.turns import turn_lifecycle
from loom.turns.models import Call, Generation, Turn
from loom.turns.pages.turns import shown as turns_shown
from tests.agents.acting import asked, outcomes, step, went
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import fails, says

pytestmark = pytest.mark.django_db(transaction=True)


def test_prose_alone_becomes_a_node_below_the_point(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    provider.script(says("She was\n", "cold."))
    turn = went(asked(actor, tree, agent, node=opening))
    assert (turn.status, turn.finish, turn.error) == ("done", "", None)
    assert turn.node is not None
    assert (turn.node.text, turn.node.author) == ("She was\ncold.", agent)
    assert turn.node.parent_slot_id == turn.invoked_at.slot_id
    call = Call.objects.get()
    assert (call.purpose, call.turn, turn.node.call_uid) == ("reply", turn, call.uid)
    assert "tools" not in provider.seen[0].json
    assert Generation.objects.get().node is None


def test_each_round_is_assembled_once_priced_and_sent_from_the_same_value(
    actor: Actor,
    tree: Tree,
    agent: Participant,
    provider: ScriptedProvider,
    opening: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assemble = agent_request.assemble
    requests: list[agent_request.AgentRequest] = []
    priced: list[int] = []
    begin = turn_lifecycle.begin_round

    def noted(aware: agent_request.Aware) -> agent_request.AgentRequest:
        requests.append(assemble(aware))
        return requests[-1]

    def begun(turn: Turn, *, request: dict[str, Any], tokens: int) -> Generation:
        priced.append(tokens)
        return begin(turn, request=request, tokens=tokens)

    monkeypatch.setattr(agent_request, "assemble", noted)
    monkeypatch.setattr(turn_lifecycle, "begin_round", begun)
    provider.script(says(f"Let me look.\n→ list {opening}\n"), says("Done."))
    assert went(asked(actor, tree, agent, node=opening)).status == "done"
    assert priced == [request.tokens for request in requests]
    systems = [seen.json["messages"][0]["content"] for seen in provider.seen]
    assert systems == [request.system for request in requests]


def test_input_is_the_askers_node_and_the_answer_hangs_below_it(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    provider.script(says("Cold."))
    turn = went(asked(actor, tree, agent, node=opening, input="And now?"))
    assert turn.input_node is not None and turn.node is not None
    assert (turn.input_node.author, turn.input_node.text) == (actor.participant, "And now?")
    assert turn.node.parent_slot_id == turn.input_node.slot_id
    content = provider.seen[0].json["messages"][-1]["content"]
    words = f"in [{turn.input_node.local_id}]\nAnd now?\n---REQUEST_END"
    assert f"---REQUEST from Owner (human) {words}" in content
    assert f"[{turn.input_node.local_id}] Owner (human) · 2" not in content


def test_who_asked_for_a_turn_is_in_the_log_of_the_tree(
    actor: Actor, tree: Tree, agent: Participant, opening: str
) -> None:
    asked(actor, tree, agent, node=opening, input="And now?")
    with pytest.raises(CommandError):  # the slot is held
        asked(actor, tree, agent, node=opening)
    first, second = Step.objects.filter(workspace=None).order_by("seq")
    assert (first.canonical, first.outcome, first.actor) == ("start_turn", "ok", actor.participant)
    assert first.arguments == {"participant": agent.uid, "node": opening, "input": "And now?"}
    kinds = Event.objects.filter(stream__name=first.stream, seq__in=first.events)
    assert "turn.started" in [kind.kind for kind in kinds]
    assert (second.seq, second.outcome) == (2, "CONFLICT")


def test_a_look_ends_the_reply_and_its_answer_comes_in_the_next_round(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    looked = f"Let me look.\n→ list {opening}\n"
    provider.script(says(looked, "I invent."), says("There is nothing below."))
    turn = went(asked(actor, tree, agent, node=opening))
    assert turn.status == "done"
    assert turn.node is not None
    assert turn.node.text == "There is nothing below."
    assert outcomes(turn) == [(f"→ list {opening}", "ok")]
    assert len(provider.seen) == 2
    *_, before, last = provider.seen[1].json["messages"]
    assert before == {"role": "assistant", "content": looked.rstrip()}
    shown = step(turn, "1.1")
    results = last["content"].partition("\n\n---WORKSPACE")[0]
    assert results == (
        f"---RESULTS\n---RESULT #{shown.seq} list {opening}\n{shown.message}\n"
        f"---RESULT_END #{shown.seq}\n"
        "(9 characters after your commands were dropped: results come first)\n---RESULTS_END"
    )


def test_commands_are_read_beside_the_loop_of_all_streams(
    actor: Actor,
    tree: Tree,
    agent: Participant,
    opening: str,
    provider: ScriptedProvider,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: list[str] = []
    feed = Cutter.feed

    def noted(cutter: Cutter, piece: str) -> bool:
        if "→" in piece:
            threads.append(threading.current_thread().name)
        return feed(cutter, piece)

    monkeypatch.setattr(Cutter, "feed", noted)
    provider.script(says("Hm.\n", "→ frobnicate\n", "→ view here\n"), says("Done."))
    assert went(asked(actor, tree, agent, node=opening)).status == "done"
    assert threads and all(name.startswith("reading") for name in threads)


def test_lines_without_a_look_ask_for_no_other_round(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    provider.script(says(f'Before.\n→ annotate {opening} "why?"\n→ think "hm"\nAfter.'))
    turn = went(asked(actor, tree, agent, node=opening))
    assert len(provider.seen) == 1
    assert turn.node is not None
    assert turn.node.text == "Before.\nAfter."
    note = Node.objects.get(kind="annotation")
    assert (note.text, note.author) == ("why?", agent)
    assert Node.objects.get(kind="thought").text == "hm"
    first = step(turn, "1.1")
    assert (first.actor, first.on_behalf_of) == (agent, actor.participant)


def test_a_refused_line_gives_one_more_round_that_shows_it(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    provider.script(says('→ annotate zz99 "why?"'), says("I see."))
    turn = went(asked(actor, tree, agent, node=opening))
    assert len(provider.seen) == 2
    last = provider.seen[1].json["messages"][-1]["content"]
    assert '✗ NOT_FOUND: line 1: "annotate zz99 "why?"": [zz99] was not found.' in last
    assert turn.node is not None and turn.node.text == "I see."


def test_a_line_that_cannot_be_read_gives_one_more_round(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    provider.script(says("→ frobnicate everything"), says("Well."))
    turn = went(asked(actor, tree, agent, node=opening))
    assert outcomes(turn) == [("→ frobnicate everything", "INVALID_SYNTAX")]
    assert turn.node is not None and turn.node.text == "Well."


def test_continue_waits_for_its_candidates_and_shows_them(
    actor: Actor,
    tree: Tree,
    agent: Participant,
    muse: Participant,
    provider: ScriptedProvider,
    opening: str,
) -> None:
    muse.model_ref, muse.base_url = "openai:muse", provider.url
    muse.save()
    provider.script(
        says('→ continue n:2 using agent:"Muse"\n', "x"),
        says("one"),
        says("→ prune root"),
        says("Ok."),
    )
    turn = went(asked(actor, tree, agent, node=opening))
    assert len(provider.seen) == 4
    shown = provider.seen[3].json["messages"][-1]["content"]
    assert "✓ 2 continuations from" in shown
    assert 'Muse · "one"' in shown and 'Muse · "→ prune root"' in shown
    assert outcomes(turn) == [('→ continue n:2 using agent:"Muse"', "ok")]
    assert turn.node is not None and turn.node.text == "Ok."


def test_an_agent_cannot_continue_by_itself(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    provider.script(says('→ continue using agent:"Marie"'), says("Ok."))
    turn = went(asked(actor, tree, agent, node=opening))
    assert outcomes(turn)[0][1] == "PERMISSION_DENIED"


def test_an_aside_ends_in_a_note_and_its_words_are_the_request(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    provider.script(says("It is fine."))
    turn = went(asked(actor, tree, agent, node=opening, form="aside", input="Is it good?"))
    assert turn.node is not None and turn.input_node is not None
    assert (turn.node.kind, turn.node.text) == ("annotation", "It is fine.")
    assert turn.node.parent_slot_id == turn.input_node.slot_id
    content = provider.seen[0].json["messages"][-1]["content"]
    assert content.endswith(f"END\n\nOwner asks in [{turn.input_node.local_id}]: Is it good?")
    words = f"in [{turn.input_node.local_id}]\nIs it good?\n---REQUEST_END\n\n"
    assert f"---REQUEST from Owner (human) {words}" in content


def test_a_second_turn_at_a_slot_is_a_conflict_with_the_holders_name(
    actor: Actor, tree: Tree, agent: Participant, opening: str, provider: ScriptedProvider
) -> None:
    turn = asked(actor, tree, agent, node=opening)
    with pytest.raises(CommandError) as refused:
        asked(actor, tree, agent, node=opening)
    assert refused.value.code == "CONFLICT"
    assert "Marie" in refused.value.message
    asked(actor, tree, agent, node=opening, form="aside")
    asked(actor, tree, agent, node=lookup.root_of(tree).local_id)
    went(turn)
    asked(actor, tree, agent, node=opening)


def test_a_participant_that_is_not_aware_is_rejected(
    actor: Actor, tree: Tree, model: Participant
) -> None:
    with pytest.raises(CommandError) as refused:
        asked(actor, tree, model)
    assert refused.value.code == "REJECTED"
    assert "continue" in refused.value.hint


def test_rights_are_taken_again_for_each_line(
    actor: Actor,
    tree: Tree,
    agent: Participant,
    provider: ScriptedProvider,
    opening: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from agents import turns

    provider.script(says('→ annotate here "a"\n→ annotate here "b"'), says("Ok."))
    before = turns._run

    def narrowing(*given: object, view: str) -> str:
        warning = before(*given, view=view)  # type: ignore[arg-type]
        Participant.objects.filter(pk=agent.pk).update(permissions=["loom_aware", "loom_generate"])
        return warning

    monkeypatch.setattr(turns, "_run", narrowing)
    turn = went(asked(actor, tree, agent, node=opening))
    assert [outcome for _, outcome in outcomes(turn)] == ["ok", "PERMISSION_DENIED"]


def test_a_provider_that_fails_fails_the_turn_and_makes_no_node(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    provider.script(fails(401, "no"))
    turn = went(asked(actor, tree, agent, node=opening))
    assert (turn.status, turn.node) == ("failed", None)
    assert turn.error is not None and turn.error["code"] == "MODEL_ERROR"


def test_a_model_that_repeats_its_line_is_warned_refused_and_halted(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    provider.default = says(f"→ view {opening}\n")
    turn = went(asked(actor, tree, agent, node=opening))
    assert turn.status == "halted"
    assert [outcome for _, outcome in outcomes(turn)] == ["ok", "ok", "LOOP", "LOOP", "LOOP"]
    assert "! This is step" in provider.seen[2].json["messages"][-1]["content"]
    last = provider.seen[4].json["messages"][-1]["content"]  # the results, and a last round
    assert "✗ LOOP: " in last and "This is the last round: write your answer now." in last
    assert len(provider.seen) == 5


def test_a_halted_turn_concludes_with_the_answer_of_its_last_round(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    looks = says(f"I look.\n→ view {opening}\n→ tag {opening} #seen\n→ view root\n")
    provider.script(*[looks] * 4, says(f"It is short.\n→ tag {opening} #late"))
    turn = went(asked(actor, tree, agent, node=opening))
    assert (turn.status, turn.finish) == ("halted", "interrupted:loop")
    assert turn.node is not None and turn.node.text == "It is short."
    assert outcomes(turn)[-1][1] == "LOOP"


def test_the_answer_is_the_prose_of_the_last_round_that_has_any(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    provider.script(
        says(f"First I look.\n→ view {opening}\n"),
        says(f"Here is my answer.\n→ tag {opening} #x\n→ view root\n"),
        says("→ budget\n"),
        says(f"→ tag {opening} #y"),
    )
    turn = went(asked(actor, tree, agent, node=opening))
    assert turn.node is not None and turn.node.text == "Here is my answer."
    shown = turns_shown(actor, [turn], cast_of(actor))[0].rounds
    assert [node.text for node in shown][:2] == ["First I look.", "Here is my answer."]


def test_prose_names_by_number_what_its_lines_made(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    reply = (
        f'→ annotate {opening} "why?"\n→ tag {opening} #x\nMy note is {{1}}, not {{2}} or {{9}}.'
    )
    provider.script(says(reply))
    turn = went(asked(actor, tree, agent, node=opening))
    note = Node.objects.get(kind="annotation")
    assert turn.node is not None
    assert turn.node.text == f"My note is {note.local_id}, not {{2}} or {{9}}."


def test_undo_of_a_turn_takes_back_all_of_it(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    reply = f'→ annotate {opening} "n"\n→ tag {opening} #good\n→ respond {opening} "below"\nDone.'
    provider.script(says(reply))
    turn = went(asked(actor, tree, agent, node=opening))
    answer = execute_line(actor, tree, Request(f"undo turn:{turn.uid}"))
    assert answer.reply.count("✓ undid") == 4
    mine = Node.objects.filter(author=agent)
    assert mine.count() == 3 and all(node.pruned for node in mine)
    assert (
        Step.objects.filter(turn_uid=turn.uid, is_undone=False).exclude(turn_place="").count() == 0
    )


def test_redo_of_a_turn_repeats_all_that_its_undo_took_back(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    reply = f'→ annotate {opening} "n"\n→ tag {opening} #good\n→ respond {opening} "below"\nDone.'
    provider.script(says(reply))
    turn = went(asked(actor, tree, agent, node=opening))
    again = Request(f"redo turn:{turn.uid}")
    with pytest.raises(CommandError) as refused:
        execute_line(actor, tree, again)
    assert refused.value.code == "REJECTED"
    for _ in range(2):
        execute_line(actor, tree, Request(f"undo turn:{turn.uid}"))
        assert execute_line(actor, tree, again).reply.count("✓ redid") == 4
        mine = Node.objects.filter(author=agent)
        assert mine.count() == 3 and not any(node.pruned for node in mine)
    # The next undo is of the caller's own last change, not of the agent's.
    with pytest.raises(CommandError) as refused:
        execute_line(actor, tree, Request("undo"))
    assert refused.value.code in ("REJECTED", "CONFLICT")


@pytest.mark.parametrize("lines", ["", '→ tag {node} #good\n→ respond {node} "below"\n'])
def test_undo_after_the_undo_of_a_turn_goes_further_back_and_redo_repeats_it(
    actor: Actor,
    tree: Tree,
    agent: Participant,
    provider: ScriptedProvider,
    opening: str,
    lines: str,
) -> None:
    execute_line(actor, tree, Request(f"tag {opening} #mine"))
    provider.script(says(f"{lines.format(node=opening)}Prose."))
    turn = went(asked(actor, tree, agent, node=opening))
    written = Node.objects.filter(author=agent)
    execute_line(actor, tree, Request(f"undo turn:{turn.uid}"))
    seq = Step.objects.filter(canonical=f"→ undo turn:{turn.uid}").latest("id").seq
    with pytest.raises(CommandError) as refused:
        execute_line(actor, tree, Request(f"undo step:{seq}"))
    assert refused.value.code == "REJECTED"
    count = 1 + lines.count("→")
    for _ in range(2):
        redone = execute_line(actor, tree, Request("redo"))
        assert redone.reply.count("✓ redid") == count
        assert not any(node.pruned for node in written.all())
        execute_line(actor, tree, Request(f"undo turn:{turn.uid}"))
    assert execute_line(actor, tree, Request("undo")).reply == f"✓ undid → tag {opening} #mine"
    assert all(node.pruned for node in written.all())
    assert execute_line(actor, tree, Request("redo n:2")).reply.count("✓ redid") == 1 + count
    assert not any(node.pruned for node in written.all())


def test_who_stands_on_the_answer_of_a_turn_is_led_to_their_own_text_by_its_undo(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    provider.script(says("An answer."))
    turn = went(asked(actor, tree, agent, node=opening))
    assert turn.node is not None
    execute_line(actor, tree, Request(f"switch {turn.node.local_id}"))
    answer = execute_line(actor, tree, Request(f"undo turn:{turn.uid}"))
    assert answer.body["position"] == opening
    assert node_writer.workspace_of(actor.participant, tree).position.local_id == opening


def test_an_agent_needs_no_right_to_generate_for_its_own_turn(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    Participant.objects.filter(pk=agent.pk).update(permissions=["loom_aware", "doc_read"])
    provider.script(says(f"→ continue from {opening}\n"), says("Cold."))
    turn = went(asked(actor, tree, agent, node=opening))
    assert turn.status == "done"
    assert outcomes(turn) == [(f"→ continue from {opening}", "PERMISSION_DENIED")]


def test_the_context_of_a_workspace_is_exactly_what_the_next_request_holds(
    actor: Actor,
    tree: Tree,
    agent: Participant,
    provider: ScriptedProvider,
    opening: str,
    api: Callable[..., APIClient],
) -> None:
    turn = asked(actor, tree, agent, node=opening)
    run_turn(turn.uid)
    workspace = node_writer.workspace_of(agent, tree)
    shown = api(actor.user).get(f"/api/workspaces/{workspace.uid}/context").json()
    went(turn)
    sent = provider.seen[0].json["messages"]
    assert [message["role"] for message in shown["messages"]] == [
        message["role"] for message in sent
    ]
    assert shown["messages"][0] == sent[0]
    assert _without_clock(shown["messages"][1]) == _without_clock(sent[1])
    assert shown["tokens"] == sum(section["tokens"] for section in shown["sections"])


def _without_clock(message: dict[str, str]) -> str:
    return re.sub(r"\d+:\d\d/", "", message["content"])


def test_a_turn_is_asked_for_read_and_ended_over_the_api(
    tree: Tree,
    agent: Participant,
    actor: Actor,
    provider: ScriptedProvider,
    opening: str,
    api: Callable[..., APIClient],
) -> None:
    provider.script(says(f'→ annotate {opening} "why?"\nDone.'))
    client = api(actor.user)
    sent = {"participant": agent.uid, "node": opening, "as": "continuation", "budget": "quick"}
    asked_for = client.post(f"/api/trees/{tree.uid}/turns", sent, format="json")
    assert asked_for.status_code == 202
    body = asked_for.json()
    assert (body["status"], body["point"], body["budget"]["steps"]) == ("leased", opening, 20)
    went(Turn.objects.get(uid=body["id"]))
    ended = client.get(f"/api/turns/{body['id']}").json()
    assert ended["status"] == "done"
    assert (ended["usage"]["steps"], len(ended["generations"])) == (1, 1)
    (line,) = client.get(f"/api/steps?turn={body['id']}").json()["results"]
    assert (line["place"], line["outcome"], line["turn"]) == ("1.1", "ok", body["id"])
    assert line["message"].startswith("✓ annotation [")
    events = Event.objects.filter(stream__name=f"tree:{tree.uid}").order_by("seq")
    kinds = [event.kind for event in events if event.kind.startswith("turn.")]
    assert kinds == ["turn.started", "turn.ended"]
    assert events.get(kind="turn.ended").payload["turn"]["node"] == ended["node"]


@pytest.mark.parametrize("mode", ["dialogue", "buffer"])
def test_two_edits_of_one_node_in_one_batch_build_on_each_other(
    mode: str,
    actor: Actor,
    tree: Tree,
    agent: Participant,
    provider: ScriptedProvider,
    opening: str,
) -> None:
    Tree.objects.filter(pk=tree.pk).update(mode=mode)
    edits = (
        f'→ edit {opening} replace:"Who" with:"What"\n→ edit {opening} replace:"Marie" with:"it"'
    )
    provider.script(says(f"{edits}\n→ view {opening}\n"), says("Done."))
    turn = went(asked(actor, tree, agent, node=opening))
    assert [outcome for _, outcome in outcomes(turn)] == ["ok", "ok", "ok"]
    assert Node.objects.filter(text="What is it?", author=agent).count() == 1
    last = provider.seen[1].json["messages"][-1]["content"]
    current = Node.objects.get(text="What is it?").local_id
    assert (f"[{opening}] is now [{current}]" in last) is (mode == "buffer")


def test_an_edit_after_a_split_in_one_batch_changes_the_node_it_names(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    edit = f'→ edit {opening} replace:"Who" with:"What"'
    lines = f'→ respond {opening} "Somebody."\n→ split {opening} at:3\n{edit}\n'
    provider.script(says(f"{lines}Done."))
    turn = went(asked(actor, tree, agent, node=opening))
    assert [outcome for _, outcome in outcomes(turn)] == ["ok", "ok", "ok"]
    assert Node.objects.get(text="What is Marie?").edited_from == Node.objects.get(
        tree=tree, local_id=opening
    )


def test_of_many_looks_in_one_batch_the_first_ten_run(
    actor: Actor, tree: Tree, agent: Participant, provider: ScriptedProvider, opening: str
) -> None:
    looks = "".join(f'→ find "word{n}"\n' for n in range(14))
    provider.script(says(looks), says("Done."))
    turn = went(asked(actor, tree, agent, node=opening))
    statuses = [outcome for _, outcome in outcomes(turn)]
    assert statuses == ["ok"] * 10 + ["LIMIT_EXCEEDED"] * 4
    assert "read their results first" in provider.seen[1].json["messages"][-1]["content"]


@pytest.mark.parametrize("rounds", [1, 2])
def test_what_an_agent_writes_after_beginning_a_sandbox_is_not_written_for_all(
    actor: Actor,
    tree: Tree,
    agent: Participant,
    provider: ScriptedProvider,
    opening: str,
    rounds: int,
) -> None:
    secret = '→ respond "a secret draft"\n→ bookmark here'
    if rounds == 1:
        provider.script(says(f'→ sandbox "try"\n{secret}'))
    else:
        provider.script(says('→ sandbox "try"\n→ view here'), says(secret))
    provider.script(says("Done."))
    turn = went(asked(actor, tree, agent, node=opening))
    assert turn.status == "done"
    refused = Step.objects.filter(workspace__tree=tree, outcome="REJECTED")
    assert [row.line.split()[1] for row in refused] == ["respond", "bookmark"]
    assert not Node.objects.filter(text="a secret draft").exists()
    # Looking goes on, and so does the next turn.
    provider.script(says('→ respond "for all"'), says("Done."))
    went(asked(actor, tree, agent, node=opening))
    assert Node.objects.filter(tree=tree, text="for all").exists()


def test_a_repeat_with_the_same_key_starts_no_other_turn(
    agent: Participant, tree: Tree, actor: Actor, opening: str, api: Callable[..., APIClient]
) -> None:
    client, url = api(actor.user), f"/api/trees/{tree.uid}/turns"
    sent = {"participant": agent.uid, "node": opening, "input": "Where is she?", "key": "k1"}
    first, again = (client.post(url, sent, format="json") for _ in range(2))
    assert (first.status_code, again.status_code) == (202, 202)
    assert first.json()["id"] == again.json()["id"]
    assert Turn.objects.count() == Node.objects.filter(text="Where is she?").count() == 1
    other = client.post(url, {**sent, "input": "And why?"}, format="json")
    assert (other.status_code, other.json()["code"]) == (409, "CONFLICT")
    used = {"line": "view root", "key": "k1"}
    line = client.post(f"/api/trees/{tree.uid}/commands", used, format="json")
    assert line.status_code == 409
