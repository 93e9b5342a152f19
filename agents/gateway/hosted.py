"""Answers of this installation's own agents to programs: `model: "loom/<agent>"`. A loom-aware
agent runs a turn, any other model one continuation; the program gets the answer in its own shape,
also as a stream. With tools of its own, the program speaks with the agent's provider."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from agents.gateway import forwarding, recording
from agents.gateway import messages as rules
from agents.gateway.forwarding import ProgramRequest, Replying, in_thread, until_gone
from agents.gateway.hosted_answers import answer_id_of, digest_of
from agents.gateway.keys import REFUSAL, is_used_up, is_valid, models_of
from agents.gateway.messages import Shape, history_of
from agents.gateway.models import GatewayKey, GatewayMessage
from agents.gateway.recording import Incoming
from agents.gateway.sessions import names_in
from agents.providers.registry import addressed
from loom import access
from loom.engine.context import Request
from loom.engine.execute import execute
from loom.errors import CommandError, not_found
from loom.language.slices import parse_ref
from loom.money import spending
from loom.people.models import Participant
from loom.permissions import GENERATE, LOOM
from loom.text.tokens import count
from loom.trees.models import Node, Tree
from loom.turns import generation_lifecycle, turn_lifecycle
from loom.turns.commands.continuing import Continue, continue_
from loom.turns.models import Generation, Turn

LOOK_EVERY_S = 0.2
PING_EVERY_S = 10.0
LONGEST_S = 30 * 60


@dataclass(frozen=True)
class Running:
    """What was started for a program: a turn or a generation, the tree it is in, and the place in
    the chain of the message that it answers."""

    tree: Tree
    digest: str
    turn: Turn | None = None
    generation: Generation | None = None

    @property
    def uid(self) -> str:
        """The id of the turn or generation: each answer has one of its own."""
        started = self.turn or self.generation
        return started.uid if started is not None else ""


@dataclass(frozen=True)
class HostedState:
    """How far it has come: its text so far, and once it has ended why it failed, if it did, with
    the code of that error."""

    text: str
    has_ended: bool
    error: str = ""
    code: str = ""


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
    kind = "rate_limit_error" if refused.code == "LIMIT_EXCEEDED" else "invalid_request_error"
    await reply.error(refused.status, kind, f"{refused.message} {refused.hint}".strip())


def _tokens_of(asked: ProgramRequest) -> int:
    agent = _agent(asked)
    if asked.path != "/messages/count_tokens":
        raise CommandError(
            "REJECTED",
            f"{agent.name} does not answer {asked.path}.",
            hint="name a model of the provider",
        )
    history = history_of("messages", asked.body)
    tools = asked.body.get("tools")
    return sum(
        (
            count(history.system),
            *(rules.size_of(message, ()) for message in history.messages),
            count(json.dumps(tools, ensure_ascii=False)) if tools else 0,
        )
    )


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
    return replace(asked, caller=caller, agent=agent, body=body, raw=rules.raw_of(body))


def _start(asked: ProgramRequest) -> Running:
    """Records the messages and starts the agent below the last one."""
    agent = _agent(asked)
    if is_used_up(agent, asked.actor.participant):  # before a tree is made for nothing
        raise spending.used_up(asked.actor.grove)
    history = history_of(asked.shape, asked.body)
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
    )
    _demand_previous(incoming)
    session = recording.session_of(incoming)
    last = history.messages[-1]
    is_words = all(block["type"] == "text" for block in last["blocks"])
    if LOOM not in agent.permissions:
        point, digest = recording.place(incoming, session, agent)
        return _continued(asked, session.tree, agent, point, digest)
    point, digest = recording.place(incoming, session, agent, but_last=is_words)
    words = rules.text_of(last) if is_words else ""
    final = rules.chain([last], digest)[0] if is_words else digest
    known = GatewayMessage.objects.filter(tree=session.tree, digest=final).first()
    if known is not None:  # the same once more: a second answer below the same message
        point, words = Node.objects.get(pk=known.node_id), ""
    wanted = turn_lifecycle.TurnStartArgs(participant=agent.uid, node=point.local_id, input=words)
    turn = turn_lifecycle.start(asked.actor, session.tree, wanted)
    if turn.input_node is not None:
        GatewayMessage.objects.get_or_create(
            tree=session.tree, digest=final, defaults={"node": turn.input_node}
        )
    return Running(session.tree, final, turn=turn)


def _demand_previous(incoming: Incoming) -> None:
    """Refuses a request that continues an answer which is not recorded, with NOT_FOUND: the agent
    would be asked without what was said before."""
    if not incoming.previous_answer:
        return
    session = recording.find_session(incoming)
    if (
        session is None
        or session.tree.erasing_at is not None
        or not recording.previous_digest(session, incoming.previous_answer)
    ):
        raise not_found(
            "The answer that previous_response_id names", "Send the whole conversation."
        )


def _continued(
    asked: ProgramRequest, tree: Tree, agent: Participant, point: Node, digest: str
) -> Running:
    args = Continue(ref=parse_ref(point.local_id), using=(parse_ref(f"agent:{agent.uid}"),))
    body = execute(asked.actor, tree, continue_, args, request=Request("", at=point.local_id)).body
    generation = Generation.objects.get(uid=body["generations"][0])
    return Running(tree, digest, generation=generation)


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
        turn = Turn.objects.select_related("node").get(pk=running.turn.pk)
        if turn.ended_at is None:
            return HostedState("", has_ended=False)
        node, error = turn.node, turn.error
    elif running.generation is not None:
        row = Generation.objects.select_related("node").get(pk=running.generation.pk)
        if row.ended_at is None:
            return HostedState(row.text, has_ended=False)
        node, error = row.node, row.error
    else:
        raise RuntimeError("nothing was started")
    if node is None:
        reason = str((error or {}).get("message", "The agent gave no answer."))
        code = str((error or {}).get("code", ""))
        return HostedState("", has_ended=True, error=reason, code=code)
    digest = digest_of(node, running.digest)
    GatewayMessage.objects.get_or_create(tree=running.tree, digest=digest, defaults={"node": node})
    return HostedState(node.text, has_ended=True)


def _state_now(running: Running, key: GatewayKey) -> HostedState:
    """How far it has come; it is stopped once its key is no longer valid."""
    state = _state(running)
    if state.has_ended or is_valid(key):
        return state
    _stop(running)
    return HostedState(state.text, has_ended=True, error=REFUSAL)


async def _send(asked: ProgramRequest, running: Running, reply: Replying) -> None:
    """Sends the answer: in pieces as it grows, or whole once it has ended."""
    is_stream = asked.body.get("stream") is True
    shape = _SHAPES[asked.shape](str(asked.body["model"]), running)
    sent, begun, pinged = "", time.monotonic(), time.monotonic()
    if is_stream:
        await reply.start(200, [(b"content-type", b"text/event-stream; charset=utf-8")])
        await reply.piece(shape.head())
    while True:
        state = await in_thread(_state_now)(running, asked.key)
        if is_stream and state.text.startswith(sent) and len(state.text) > len(sent):
            await reply.piece(shape.piece(state.text[len(sent) :]))
            sent, pinged = state.text, time.monotonic()
        if state.has_ended or time.monotonic() - begun > LONGEST_S:
            break
        if is_stream and time.monotonic() - pinged > PING_EVERY_S:
            await reply.piece(b": working\n\n")
            pinged = time.monotonic()
        await asyncio.sleep(LOOK_EVERY_S)
    if state.error and not is_stream:
        await reply.error(*forwarding.failure_of(state.code), state.error)
        return
    if is_stream:
        await reply.piece(shape.tail(state), more=False)
        return
    data = json.dumps(shape.whole(state.text), ensure_ascii=False).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(data))]
    await reply.start(200, headers)
    await reply.piece(data, more=False)


# The shapes of an answer.


def _event(value: dict[str, Any], name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()


@dataclass
class _Chat:
    """OpenAI's chat, and with `text` in place of messages its completions."""

    model: str
    running: Running
    is_text: bool = False

    def _base(self, choice: dict[str, Any], *, chunk: bool) -> dict[str, Any]:
        kind = "text_completion" if self.is_text else "chat.completion"
        return {
            "id": f"loom-{self.running.uid}",
            "object": kind if self.is_text or not chunk else f"{kind}.chunk",
            "created": int(time.time()),
            "model": self.model,
            "choices": [{"index": 0, **choice}],
        }

    def _delta(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        content = {"text": delta.get("content", "")} if self.is_text else {"delta": delta}
        return _event(self._base({**content, "finish_reason": finish}, chunk=True))

    def head(self) -> bytes:
        """The beginning of a stream."""
        return b"" if self.is_text else self._delta({"role": "assistant", "content": ""})

    def piece(self, text: str) -> bytes:
        """A piece of the text."""
        return self._delta({"content": text})

    def tail(self, state: HostedState) -> bytes:
        """The end of a stream."""
        if state.error:
            return _event({"error": {"message": state.error, "type": "api_error"}})
        return self._delta({}, "stop") + b"data: [DONE]\n\n"

    def whole(self, text: str) -> dict[str, Any]:
        """The whole answer."""
        message: dict[str, Any] = {"message": {"role": "assistant", "content": text}}
        choice = {**({"text": text} if self.is_text else message), "finish_reason": "stop"}
        return {**self._base(choice, chunk=False), "usage": _counted(text)}


def _counted(text: str) -> dict[str, int]:
    tokens = len(text.encode()) // 4
    return {"prompt_tokens": 0, "completion_tokens": tokens, "total_tokens": tokens}


@dataclass
class _Messages:
    """Anthropic's messages."""

    model: str
    running: Running

    def _base(self, content: list[dict[str, Any]], stop: str | None) -> dict[str, Any]:
        return {
            "id": f"msg_loom{self.running.uid}",
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {"input_tokens": 0, "output_tokens": 0},
        }

    def head(self) -> bytes:
        """The beginning of a stream."""
        block = {"type": "text", "text": ""}
        return _event(
            {"type": "message_start", "message": self._base([], None)}, "message_start"
        ) + _event(
            {"type": "content_block_start", "index": 0, "content_block": block},
            "content_block_start",
        )

    def piece(self, text: str) -> bytes:
        """A piece of the text."""
        delta = {"type": "text_delta", "text": text}
        event = {"type": "content_block_delta", "index": 0, "delta": delta}
        return _event(event, "content_block_delta")

    def tail(self, state: HostedState) -> bytes:
        """The end of a stream."""
        if state.error:
            error = {"type": "api_error", "message": state.error}
            return _event({"type": "error", "error": error}, "error")
        tokens = len(state.text.encode()) // 4
        delta = {"stop_reason": "end_turn", "stop_sequence": None}
        ended = {"type": "message_delta", "delta": delta, "usage": {"output_tokens": tokens}}
        return (
            _event({"type": "content_block_stop", "index": 0}, "content_block_stop")
            + _event(ended, "message_delta")
            + _event({"type": "message_stop"}, "message_stop")
        )

    def whole(self, text: str) -> dict[str, Any]:
        """The whole answer."""
        return self._base([{"type": "text", "text": text}], "end_turn")


class _Responses:
    """OpenAI's responses."""

    def __init__(self, model: str, running: Running) -> None:
        self._model, self._running = model, running
        self._numbers: Iterator[int] = iter(range(10**9))
        self._id = answer_id_of(running.uid, running.digest)
        self._item = f"msg_loom{running.uid}"

    def _response(self, status: str, text: str | None = None) -> dict[str, Any]:
        return {
            "id": self._id,
            "object": "response",
            "created_at": int(time.time()),
            "status": status,
            "model": self._model,
            "output": [] if text is None else [self._message(text, "completed")],
            "parallel_tool_calls": False,
            "tool_choice": "auto",
            "tools": [],
            "usage": None,
        }

    def _message(self, text: str, status: str) -> dict[str, Any]:
        content = [{"type": "output_text", "text": text, "annotations": []}] if text else []
        message = {"id": self._item, "type": "message", "role": "assistant", "status": status}
        return {**message, "content": content}

    def _say(self, kind: str, **more: Any) -> bytes:
        return _event({"type": kind, "sequence_number": next(self._numbers), **more}, kind)

    def head(self) -> bytes:
        """The beginning of a stream."""
        part = {"type": "output_text", "text": "", "annotations": []}
        place = {"item_id": self._item, "output_index": 0, "content_index": 0}
        return (
            self._say("response.created", response=self._response("in_progress"))
            + self._say(
                "response.output_item.added",
                output_index=0,
                item=self._message("", "in_progress"),
            )
            + self._say("response.content_part.added", part=part, **place)
        )

    def piece(self, text: str) -> bytes:
        """A piece of the text."""
        place = {"item_id": self._item, "output_index": 0, "content_index": 0}
        return self._say("response.output_text.delta", delta=text, logprobs=[], **place)

    def tail(self, state: HostedState) -> bytes:
        """The end of a stream."""
        if state.error:
            failed = {**self._response("failed"), "error": {"message": state.error}}
            return self._say("response.failed", response=failed)
        place = {"item_id": self._item, "output_index": 0, "content_index": 0}
        item = self._message(state.text, "completed")
        return (
            self._say("response.output_text.done", text=state.text, logprobs=[], **place)
            + self._say("response.output_item.done", output_index=0, item=item)
            + self._say("response.completed", response=self._response("completed", state.text))
        )

    def whole(self, text: str) -> dict[str, Any]:
        """The whole answer."""
        return self._response("completed", text)


def _text(model: str, running: Running) -> _Chat:
    return _Chat(model, running, is_text=True)


_SHAPES: dict[Shape, Callable[[str, Running], Any]] = {
    "chat": _Chat,
    "completions": _text,
    "messages": _Messages,
    "responses": _Responses,
}
