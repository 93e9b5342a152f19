"""Answers of this installation's own agents to programs: `model: "loom/<agent>"`. A loom-aware
agent runs a turn, any other model one continuation; the program gets the answer in its own shape,
also as a stream. With tools of its own, the program speaks with the agent's provider."""

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from agents.gateway import forwarding, recording
from agents.gateway import messages as rules
from agents.gateway.forwarding import ProgramRequest, Replying, in_thread, until_gone
from agents.gateway.hosted_answers import answer_id_of, digest_of, system_text_of, text_of_turn
from agents.gateway.hosted_requests import demand_possible, settings_of
from agents.gateway.hosted_shapes import SHAPES, HostedReply, HostedState, wants_usage
from agents.gateway.keys import REFUSAL, is_used_up, is_valid, models_of
from agents.gateway.messages import ChatHistory, history_of
from agents.gateway.models import GatewayKey, GatewayMessage
from agents.gateway.recording import Incoming
from agents.gateway.sessions import names_in
from agents.providers.registry import addressed, sees
from agents.subject_prompt import samplers_taken
from loom import access
from loom.engine.context import Request
from loom.engine.execute import execute
from loom.errors import CommandError, not_found
from loom.language.slices import parse_ref
from loom.money import spending
from loom.participants.prices import TokenCounts, counts_of
from loom.participants.provider_kinds import REQUEST_OPTIONS, samplers_written
from loom.people.models import Participant
from loom.permissions import GENERATE, LOOM
from loom.text.tokens import count
from loom.trees.models import Node, Tree
from loom.turns import generation_lifecycle, turn_lifecycle
from loom.turns.commands.continuing import Continue, continue_
from loom.turns.generation_lifecycle import CUT_OFF
from loom.turns.models import Generation, Turn

LOOK_EVERY_S = 0.2
PING_EVERY_S = 10.0
LONGEST_S = 30 * 60
STILL_WORKS = "The agent still works; its answer will be in the tree of this session."
EMPTY = "empty"  # the reason of a generation whose provider sent no word
WHOLE = ("", "complete")  # the finishes of a whole answer
CUT = (CUT_OFF, "interrupted:too long", "interrupted:time")  # of one that reached its limit


@dataclass(frozen=True)
class Running:
    """What was started for a program: a turn or a generation, the tree it is in, and the place in
    the chain of the message that it answers; `asked_tokens` is about how many tokens the request
    has."""

    tree: Tree
    digest: str
    asked_tokens: int = 0
    turn: Turn | None = None
    generation: Generation | None = None

    @property
    def uid(self) -> str:
        """The id of the turn or generation: each answer has one of its own."""
        started = self.turn or self.generation
        return started.uid if started is not None else ""


async def answer(asked: ProgramRequest, reply: Any, receive: Any) -> None:
    """Answers a request that names an agent of the key's grove."""
    try:
        running = await in_thread(_start)(asked)
    except CommandError as refused:
        await _refuse(reply, refused)
        return
    cut = await until_gone(_send(asked, running, reply), receive)
    if cut:
        await in_thread(_stop)(running)


async def with_tools(asked: ProgramRequest, reply: Any, receive: Any) -> None:
    """Answers a request that names an agent and brings tools of the program: its provider is asked
    once, as this agent, with these tools; what it calls is answered by the program in its next
    request. The answer passes as the provider sends it."""
    try:
        passed = await in_thread(_as_agent)(asked)
    except CommandError as refused:
        await _refuse(reply, refused)
        return
    await forwarding.recorded(passed, reply, receive)


async def count_tokens(asked: ProgramRequest, reply: Any) -> None:
    """Answers how many tokens a request in Anthropic's shape has, estimated: nothing is recorded
    and no provider is asked. Other addresses that are not recorded are refused, with REJECTED."""
    try:
        tokens = await in_thread(_tokens_of)(asked)
    except CommandError as refused:
        await _refuse(reply, refused)
        return
    await reply.json(200, {"input_tokens": tokens})


async def _refuse(reply: Replying, refused: CommandError) -> None:
    kind = "rate_limit_error" if refused.status == 429 else "invalid_request_error"
    # The clients of the vendors send again what was answered by 409.
    is_final = refused.status == 409 and not refused.retryable
    status = 400 if is_final else refused.status
    await reply.error(status, kind, f"{refused.message} {refused.hint}".strip())


def _tokens_of(asked: ProgramRequest) -> int:
    agent = _agent(asked)
    if asked.path != "/messages/count_tokens":
        raise CommandError(
            "REJECTED",
            f"{agent.name} does not answer {asked.path}.",
            hint="name a model of the provider",
        )
    tools = asked.body.get("tools")
    added = count(json.dumps(tools, ensure_ascii=False)) if tools else 0
    return _size(history_of("messages", asked.body)) + added


def _size(history: ChatHistory) -> int:
    """About how many tokens a conversation has."""
    return count(history.system) + sum(rules.size_of(message, ()) for message in history.messages)


def _as_agent(asked: ProgramRequest) -> ProgramRequest:
    """The request as it goes to the provider of the agent that it names."""
    agent = _agent(asked)
    access.demand(asked.actor, {GENERATE}, "asking an agent")
    provider, _, model = addressed(agent)
    is_anthropic = provider.name == "anthropic"
    if is_anthropic is not (asked.shape == "messages"):
        way = "/gateway/v1/messages" if is_anthropic else "/gateway/v1/chat/completions"
        raise CommandError(
            "REJECTED",
            f"{agent.name} takes tools of a program only in the shape of its own provider.",
            hint=f"send this request to {way}, or without tools",
        )
    body = {**asked.body, "model": model}
    caller = replace(asked.caller, is_used_up=is_used_up(agent, asked.actor.participant))
    raw = rules.raw_of(body)
    headers = {name: value for name, value in asked.headers.items() if name != "content-encoding"}
    return replace(
        asked, caller=caller, agent=agent, body=body, raw=raw, plain=raw, headers=headers
    )


def _start(asked: ProgramRequest) -> Running:
    """Records the messages and starts the agent below the last one."""
    agent = _agent(asked)
    if is_used_up(agent, asked.actor.participant):  # before a tree is made for nothing
        raise spending.used_up(asked.actor.grove)
    demand_possible(asked.shape, asked.body, agent.name)
    # A grammar would keep an agent from writing lines.
    takes = samplers_taken(agent) - ({"grammar"} if LOOM in agent.permissions else set())
    settings = settings_of(asked.body, takes, agent.name)
    history = _history(asked, agent)
    if len(history.system) > recording.MOST_SYSTEM:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"The system text is over {recording.MOST_SYSTEM:,} characters.",
            hint="send less of it",
            is_size=True,
        )
    if not history.messages:
        raise CommandError("INVALID_SYNTAX", "There is no message to answer.", hint="send one")
    incoming = Incoming(
        actor=asked.actor,
        key=asked.key,
        model=agent,
        shape=asked.shape,
        named=names_in(asked.headers, asked.body),
        history=history,
        sent={},
        url="",
        headers={},
        program=asked.headers.get("user-agent", "")[:80],
        previous_answer=rules.previous_answer_in(asked.body),
        demands_images=True,
    )
    _demand_previous(incoming)
    session = recording.session_of(incoming)
    system_text = _system_text(incoming, session.tree)
    if LOOM not in agent.permissions:
        point, digest = recording.place(incoming, session, agent)
        request = Request("", at=point.local_id, system_text=system_text)
        generation = _continued(asked, session.tree, agent, request, settings)
        return Running(session.tree, digest, _size(history), generation=generation)
    last = history.messages[-1]
    # Only a person's words are the agent's instructions: the results of tools, files and what a
    # model said may hold anything, and are texts of the path.
    words, attached = rules.parted(last)
    if attached and not words:
        point, final = recording.place(incoming, session, agent)
    else:
        point, digest = recording.place(incoming, session, agent, but_last=True)
        final = rules.chain([last], digest)[0]
        if attached:
            parts = (*history.messages[:-1], {**last, "blocks": attached})
            in_front = replace(incoming, history=replace(history, messages=parts))
            point, _ = recording.place(in_front, session, agent)
    known = GatewayMessage.objects.filter(tree=session.tree, digest=final).first()
    if known is not None:  # the same once more: a second answer below the same message
        point, words = Node.objects.get(pk=known.node_id), ""
    wanted = turn_lifecycle.TurnStartArgs(
        participant=agent.uid,
        node=point.local_id,
        input=words,
        system_text=system_text,
        settings=settings,
    )
    turn = turn_lifecycle.start(asked.actor, session.tree, wanted)
    if turn.input_node is not None:
        GatewayMessage.objects.get_or_create(
            tree=session.tree, digest=final, defaults={"node": turn.input_node}
        )
    return Running(session.tree, final, _size(history), turn=turn)


def _demand_previous(incoming: Incoming) -> None:
    """Refuses a request that continues an answer which is not recorded, with NOT_FOUND: the agent
    would be asked without what was said before."""
    if not incoming.previous_answer:
        return
    session = recording.find_session(incoming)
    if (
        session is None
        or session.tree.erasing_at is not None
        or not recording.previous_of(session, incoming).answer
    ):
        raise not_found(
            "The answer that previous_response_id names", "Send the whole conversation."
        )


def _history(asked: ProgramRequest, agent: Participant) -> ChatHistory:
    """The conversation as the agent reads it: in words and images. Refuses what it would not be
    sent."""
    if unread := rules.unread_in(asked.shape, asked.body):
        raise CommandError(
            "INVALID_SYNTAX",
            f"{agent.name} cannot read {', '.join(dict.fromkeys(unread))}.",
            hint="send it as text, or an image as data",
        )
    history = history_of(asked.shape, asked.body)
    for message in history.messages:
        _demand_images(message, agent)
    return replace(history, messages=rules.worded(history.messages))


def _demand_images(message: rules.Message, agent: Participant) -> None:
    """Refuses a message whose images would not be sent to the agent."""
    shown = [block for block in message["blocks"] if block["type"] == "image"]
    if shown and not sees(agent):
        raise CommandError(
            "INVALID_SYNTAX",
            f"{agent.name} does not see images.",
            hint="name an agent that does; an owner can have it probed under Participants",
        )
    if shown and len(message["blocks"]) > recording.MOST_IMAGES:
        raise CommandError(
            "INVALID_SYNTAX",
            f"A message with images has at most {recording.MOST_IMAGES} parts.",
            hint="send them in several messages",
        )


def _system_text(incoming: Incoming, tree: Tree) -> str | None:
    """The text that the model is sent in front of the conversation: the request's own, or of one
    that continues an answer by its id and has none, that of the answer. None: the tree's, also for
    a completion, which has no such text."""
    if incoming.shape == "completions":
        return None
    if not incoming.history.system and incoming.previous_answer:
        return system_text_of(incoming.previous_answer)
    own = incoming.history.system
    return None if own == tree.system_context else own


def _continued(
    asked: ProgramRequest,
    tree: Tree,
    agent: Participant,
    request: Request,
    settings: dict[str, Any],
) -> Generation:
    samplers = {name: value for name, value in settings.items() if name not in REQUEST_OPTIONS}
    args = Continue(
        ref=parse_ref(request.at),
        using=(parse_ref(f"agent:{agent.uid}"),),
        tokens=settings.get("tokens"),
        temperature=settings.get("temperature"),
        settings=samplers_written(samplers),
    )
    body = execute(asked.actor, tree, continue_, args, request=request).body
    return Generation.objects.get(uid=body["generations"][0])


def _agent(asked: ProgramRequest) -> Participant:
    """The agent that the model's name means: its name or id, whatever its case."""
    _, _, name = str(asked.body["model"]).partition("loom/")
    name = (name or str(asked.body["model"]).removeprefix("claude-loom-")).casefold()
    for agent in models_of([asked.actor.grove]):
        if name in (agent.name.casefold(), agent.uid.casefold()):
            return agent
    listed = ", ".join(f"loom/{agent.name}" for agent in models_of([asked.actor.grove])[:10])
    raise not_found("This model", f"Here are: {listed}." if listed else "")


def _stop(running: Running) -> None:
    if running.turn is not None:
        turn_lifecycle.ask_stop(running.turn)
    if running.generation is not None:
        generation_lifecycle.ask_stop(running.generation)


def _state(running: Running) -> HostedState:
    """Reads how far it has come; records the place of an answer that has ended."""
    if running.turn is not None:
        turn = Turn.objects.select_related("node", "generation").get(pk=running.turn.pk)
        if turn.ended_at is None:
            return HostedState("", has_ended=False)
        return _ended_turn(running, turn)
    if running.generation is None:
        raise RuntimeError("nothing was started")
    row = Generation.objects.select_related("node").get(pk=running.generation.pk)
    if row.ended_at is None:
        return HostedState(row.text, has_ended=False)
    counts = _counted([row], row.shown, running)
    if row.node is not None:
        _remember(running, row.node.text, row.node)
        return _ended(row.shown, row.finish, row.error, counts=counts)
    if _is_empty(row.error):
        is_cut = row.tokens is not None and counts.wrote >= row.tokens
        return _ended("", CUT_OFF if is_cut else "complete", None, counts=counts)
    return _ended("", row.finish, row.error, counts=counts)


def _is_empty(error: Mapping[str, Any] | None) -> bool:
    """Whether the provider sent a whole answer without a word: for a program it is one."""
    return (error or {}).get("reason") == EMPTY


def _ended_turn(running: Running, turn: Turn) -> HostedState:
    """What became of a turn. One that worked by lines and wrote no prose is answered with what its
    lines replied: it has done what it was asked for."""
    rounds = Generation.objects.filter(turn=turn).order_by("id")
    text = text_of_turn(turn)
    finish = turn.finish
    if not finish and turn.generation is not None and turn.generation.finish == CUT_OFF:
        finish = CUT_OFF
    counts = _counted(list(rounds), text, running)
    is_done = turn.status == "done"
    if turn.node is not None or is_done:
        place = turn.node or turn_lifecycle.last_written(turn) or turn.answers_below
        _remember(running, text, place)
        return _ended(text, finish, turn.error, counts=counts)
    if _is_empty(turn.error):
        return _ended(text, "complete", None, counts=counts)
    has_acted = bool(text)  # again, it would do the same once more
    return _ended("", finish, turn.error, counts=counts, has_acted=has_acted)


def _remember(running: Running, text: str, node: Node) -> None:
    digest = digest_of(text, running.digest)
    GatewayMessage.objects.get_or_create(tree=running.tree, digest=digest, defaults={"node": node})


def _ended(
    text: str,
    finish: str,
    error: Mapping[str, Any] | None,
    *,
    counts: TokenCounts,
    has_acted: bool = False,
) -> HostedState:
    """How an answer ended that finished like this."""
    if finish in CUT:
        return HostedState(text, has_ended=True, ending="cut", counts=counts)
    if finish in WHOLE and not error:
        return HostedState(text, has_ended=True, counts=counts)
    reason = finish.partition(":")[2]
    told = str((error or {}).get("message") or f"The answer broke off: {reason}.")
    status, kind = _failure(error or {}, has_acted=has_acted)
    return HostedState(
        text,
        has_ended=True,
        ending="broken",
        error=told,
        status=status,
        kind=kind,
        counts=counts,
    )


def _failure(error: Mapping[str, Any], *, has_acted: bool) -> tuple[int, str]:
    """The status and the kind of error of an answer without text. The clients of the vendors send a
    request again that is answered by 409, 429 or 5xx, so only what can help is."""
    code = str(error.get("code", ""))
    if has_acted or not error.get("retryable"):
        return 400, "invalid_request_error"
    if error.get("reason") == "rate":
        return 429, "rate_limit_error"
    return forwarding.failure_of(code)


def _counted(rows: Sequence[Generation], text: str, running: Running) -> TokenCounts:
    """The tokens that these generations took, as their providers counted them; estimated where
    none did."""
    read = sum(row.tokens_in for row in rows)
    wrote = sum(row.tokens_out for row in rows)
    return TokenCounts(
        read or running.asked_tokens,
        wrote or count(text),
        sum(row.tokens_cached for row in rows),
        sum(counts_of(row.usage).kept for row in rows),
    )


def _state_now(running: Running, key: GatewayKey) -> HostedState:
    """How far it has come; it is stopped once its key is no longer valid."""
    state = _state(running)
    if state.has_ended or is_valid(key):
        return state
    _stop(running)
    kind = "authentication_error"
    return HostedState("", has_ended=True, ending="broken", error=REFUSAL, status=401, kind=kind)


async def _send(asked: ProgramRequest, running: Running, reply: Replying) -> None:
    """Sends the answer: in pieces as it grows, or whole once it has ended."""
    is_stream = asked.body.get("stream") is True
    said = HostedReply(
        str(asked.body["model"]),
        running.uid,
        answer_id_of(running.uid, running.digest),
        wants_usage(asked.body),
    )
    shape = SHAPES[asked.shape](said)
    sent, begun, pinged = "", time.monotonic(), time.monotonic()
    if is_stream:
        await reply.start(200, [(b"content-type", b"text/event-stream; charset=utf-8")])
        await reply.piece(shape.head())
    while True:
        state = await in_thread(_state_now)(running, asked.key)
        if is_stream and state.text.startswith(sent) and len(state.text) > len(sent):
            await reply.piece(shape.piece(state.text[len(sent) :]))
            sent, pinged = state.text, time.monotonic()
        if state.has_ended:
            break
        if time.monotonic() - begun > LONGEST_S:
            state = replace(state, ending="broken", error=STILL_WORKS, status=400)
            break
        if is_stream and time.monotonic() - pinged > PING_EVERY_S:
            await reply.piece(b": working\n\n")
            pinged = time.monotonic()
        await asyncio.sleep(LOOK_EVERY_S)
    if is_stream:
        await reply.piece(shape.tail(state), more=False)
        return
    if state.ending == "broken" and not state.text:
        await reply.error(state.status, state.kind, state.error)
        return
    data = json.dumps(shape.whole(state), ensure_ascii=False).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(data))]
    await reply.start(200, headers)
    await reply.piece(data, more=False)
