"""Random sessions of a program in the mode workspace, and a provider that holds them to what it has
seen: whatever happens between two requests, the bytes in front of a message stay as they were, a
thinking is only sent behind what it was thought about, and uses and results of tools stay together.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from agents.gateway.results import id_above
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import Script

Messages = list[dict[str, Any]]
Kind = Literal["chat", "messages"]
TURN_MESSAGES = "mid-conversation-system-clear-at-2026-08-21"
LINES = (
    'todo add "one"', "todo done t1", 'stash "a" "b"', 'scratchpad "mine"', "hide all", "tree",
    'augment store a/b "Read a lamp."', "augment load a/b", "augment unload a/b", "view root",
    'note root "a note"', "bookmark root", 'search "Answer"', "show #1", "undo",
)  # fmt: skip
OUTPUT = "a line of output\n" * 30
INJECTED = "---WORKSPACE"


class GatewayWorld(Protocol):
    """Where the sessions are held: the gateway, and what people do in the page meanwhile."""

    provider: ScriptedProvider

    def send(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> int:
        """Sends a request; returns the status of the answer."""

    def cut(self, path: str, body: dict[str, Any], headers: dict[str, str]) -> None:
        """Sends a request whose answer never comes to its end."""

    def line(self, text: str) -> None:
        """Runs a line in the workspace of the last session; a refusal is no failure."""

    def turn(self, tool_use_id: str, *, visible: bool) -> None:
        """Hides a result in the last session, or shows it; a refusal is no failure."""

    def restart(self) -> None:
        """Ends the process of the gateway and starts another one."""


def unmarked(value: Any) -> Any:
    """JSON without the marks of caches, which programs move."""
    if isinstance(value, dict):
        return {name: unmarked(child) for name, child in value.items() if name != "cache_control"}
    return [unmarked(child) for child in value] if isinstance(value, list) else value


def written(*values: Any) -> str:
    """JSON as it is compared: a text as its only block, since marks make programs change that, and
    providers take both for the same."""
    return json.dumps(_in_blocks(list(values)), ensure_ascii=False)


def _in_blocks(value: Any) -> Any:
    if isinstance(value, list):
        return [_in_blocks(item) for item in value]
    if not isinstance(value, dict):
        return value
    content = value.get("content")
    if "role" in value and isinstance(content, str):
        return {**value, "content": [{"type": "text", "text": content}]}
    return value


@dataclass
class StrictProvider:
    """What a provider has seen of one session. Without a name, a conversation that begins again
    is a session of its own, with a head of its own."""

    kind: Kind
    is_named: bool = True
    prefixes: dict[str, str] = field(default_factory=dict)
    thoughts: dict[str, tuple[str, str]] = field(default_factory=dict)  # (what was said, sent)
    turned: set[str] = field(default_factory=set)  # results that were ever hidden

    def look(self, asked: dict[str, Any], sent: dict[str, Any], thought: str) -> None:
        """Checks a request against all before it; its answer will hold the `thought`."""
        asked, marks = unmarked(asked), json.dumps(sent).count('"cache_control"')
        sent = unmarked(sent)
        assert marks <= 4
        self._paired(sent["messages"])
        self._grows(asked, sent)
        for place, message in enumerate(sent["messages"]):
            for known in thoughts_in(message):
                from_program, before = self.thoughts[known]
                # A program that changes its own instructions, or what it said before, loses its
                # thinking by itself, also without a gateway; otherwise nothing may have changed.
                if from_program == self._said_before(asked, known):
                    now = written(_head(sent), sent["messages"][:place])
                    assert before == now, "a thinking lost what it was about"
        if thought:
            from_program = written(_head(asked), asked["messages"])
            self.thoughts[thought] = from_program, written(_head(sent), sent["messages"])

    def _said_before(self, asked: dict[str, Any], thought: str) -> str:
        messages = asked["messages"]
        place = next(n for n, message in enumerate(messages) if thought in thoughts_in(message))
        return written(_head(asked), messages[:place])

    def _grows(self, asked: dict[str, Any], sent: dict[str, Any]) -> None:
        messages, passed = list(asked["messages"]), list(sent["messages"])
        lead = sum(1 for message in messages if message["role"] == "system")
        own = [asked.get("system"), asked.get("tools"), messages[:lead]]
        theirs = [sent.get("system"), sent.get("tools"), passed[:lead]]
        messages, passed = messages[lead:], passed[lead:]
        for message in (None, *messages):
            if message is not None:
                own.append(message)
                theirs.append(passed.pop(0))
                while passed and is_added(passed[0]):
                    theirs.append(passed.pop(0))
            elif not self.is_named:
                continue
            name, value = written(*own), self._still(written(*theirs))
            assert self._still(self.prefixes.setdefault(name, value)) == value, "bytes changed"
        assert not passed

    def _still(self, text: str) -> str:
        """The bytes without the results that somebody hid or showed."""
        for call_id in self.turned:
            hidden = f"tool_use_id: {call_id} (hidden)"
            for shown in (f"{id_above(call_id)}\n{OUTPUT}{call_id}", OUTPUT + call_id):
                text = text.replace(json.dumps(shown)[1:-1], hidden)
        return text

    def _paired(self, messages: Messages) -> None:
        for place, message in enumerate(messages):
            uses = [use["id"] for use in uses_in(message)]
            following = messages[place + 1 :]
            if self.kind == "chat":
                results = [reply.get("tool_call_id") for reply in following[: len(uses)]]
            else:
                content = following[0]["content"] if following and uses else []
                results = [block.get("tool_use_id") for block in content[: len(uses)]]
                is_last = message.get("clear_at") and following
                assert not (is_last and following[0]["role"] == "user")
            assert results == uses, "a use and its result were parted"


def _head(body: dict[str, Any]) -> list[Any]:
    """What comes before the messages."""
    return [body.get("system"), body.get("tools")]


def is_added(message: dict[str, Any]) -> bool:
    """Whether a message was added by the gateway."""
    return isinstance(message["content"], str) and message["content"].startswith(INJECTED)


def uses_in(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The uses of tools in a message."""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    return [block for block in (*message.get("tool_calls", ()), *blocks)
            if block.get("type") in ("tool_use", "function")]  # fmt: skip


def thoughts_in(message: dict[str, Any]) -> Iterator[str]:
    """The signatures of the thinking in a message."""
    if isinstance(message.get("content"), list):
        yield from (
            block["signature"] for block in message["content"] if block["type"] == "thinking"
        )


class RandomSession:
    """A program that holds one session: it goes on, asks again, edits, rewinds and clears, with
    tools and thinking, while its person works in the page. It has a name for itself (`is_named`) or
    not; None: as the seed says."""

    def __init__(self, world: GatewayWorld, seed: int, *, is_named: bool | None = None) -> None:
        self._world, self._dice = world, random.Random(seed)
        self._kind: Kind = self._dice.choice(("chat", "messages"))
        self._path = "/chat/completions" if self._kind == "chat" else "/messages"
        has_name = self._dice.random() < 0.8
        is_named = has_name if is_named is None else is_named
        self._headers = {"x-session-id": f"random-{seed}"} if is_named else {}
        if self._kind == "messages":
            self._headers["anthropic-version"] = "2023-06-01"
        if self._kind == "messages" and self._dice.random() < 0.3:
            self._headers["anthropic-beta"] = TURN_MESSAGES
        self._upstream = StrictProvider(self._kind, bool(self._headers.get("x-session-id")))
        self._system, self._count, self._seed = "You code.", 0, seed
        self._said: Messages = [self._words()]
        self._earlier: list[Messages] = []
        self._results: list[str] = []

    def hold(self, requests: int) -> None:
        """Sends that many requests."""
        for _ in range(requests):
            self._ask()
            self._go_on()
            for _ in range(self._dice.randint(0, 3)):
                self._meanwhile()

    # -- the program

    def _words(self) -> dict[str, Any]:
        self._count += 1
        return {"role": "user", "content": f"Request {self._seed} {self._count}"}

    def _body(self) -> dict[str, Any]:
        messages: Messages = json.loads(json.dumps(self._said))
        if self._kind == "chat":
            messages = [{"role": "system", "content": self._system}, *messages]
            return {"model": "m", "messages": messages}
        if isinstance(messages[-1]["content"], str) and self._dice.random() < 0.5:
            block = {"type": "text", "text": messages[-1]["content"]}
            self._said[-1]["content"] = [block]
            messages[-1]["content"] = [{**block, "cache_control": {"type": "ephemeral"}}]
        system = [{"type": "text", "text": "x-anthropic-billing-header: cc=1"},
                  {"type": "text", "text": self._system}]  # fmt: skip
        return {"model": "m", "max_tokens": 99, "system": system, "messages": messages}

    def _ask(self) -> None:
        body, before = self._body(), len(self._world.provider.seen)
        answer, thought = self._answer()
        self._earlier.append(json.loads(json.dumps(self._said)))
        if self._dice.random() < 0.1:
            self._world.provider.script(
                Script(
                    (
                        "A piece",
                        "",
                    ),
                    rate=50,
                    forever=True,
                )
            )
            self._world.cut(self._path, {**body, "stream": True}, self._headers)
            sent = {**self._world.provider.seen[-1].json}
            sent.pop("stream")
            self._upstream.look(body, sent, "")
            before += 1
        self._world.provider.script(Script(body=json.dumps(self._whole(answer)).encode()))
        assert self._world.send(self._path, body, self._headers) == 200
        assert len(self._world.provider.seen) == before + 1
        self._upstream.look(body, self._world.provider.seen[-1].json, thought)
        self._answered = answer

    def _answer(self) -> tuple[dict[str, Any], str]:
        """What the model says, and the signature of its thinking."""
        self._count += 1
        text, thought = f"Answer {self._seed} {self._count}", ""
        uses = [f"t{self._seed}-{self._count}-{n}" for n in range(self._dice.choice((0, 0, 1, 2)))]
        if self._kind == "chat":
            calls = [{"id": use, "type": "function", "function": {"name": "ls", "arguments": "{}"}}
                     for use in uses]  # fmt: skip
            more = {"tool_calls": calls} if calls else {}
            return {"role": "assistant", "content": text, **more}, ""
        content: list[dict[str, Any]] = []
        if self._dice.random() < 0.3:
            thought = f"s{self._seed}-{self._count}"
            content.append({"type": "thinking", "thinking": "hm", "signature": thought})
        content.append({"type": "text", "text": text})
        content += [{"type": "tool_use", "id": use, "name": "ls", "input": {}} for use in uses]
        return {"role": "assistant", "content": content}, thought

    def _whole(self, answer: dict[str, Any]) -> dict[str, Any]:
        if self._kind == "chat":
            return {"id": "c", "choices": [{"index": 0, "message": answer}]}
        return {"id": "m", "type": "message", **answer}

    def _go_on(self) -> None:
        chance = self._dice.random()
        if chance < 0.15:  # the same once more
            return
        if chance < 0.35:  # back to an earlier request, as it was or with other words
            self._said = json.loads(json.dumps(self._dice.choice(self._earlier)))
            is_words = self._said[-1]["role"] == "user" and not results_in(self._said[-1])
            if is_words and self._dice.random() < 0.7:
                self._said[-1] = self._words()
            return
        if chance < 0.42:  # another conversation, perhaps with other instructions
            self._system = self._dice.choice((self._system, f"You code {self._count}."))
            self._said = [self._words()]
            return
        self._said.append(self._answered)
        uses = [use["id"] for use in uses_in(self._answered)]
        self._results += uses
        if not uses:
            self._said.append(self._words())
        elif self._kind == "chat":
            self._said += [{"role": "tool", "tool_call_id": use, "content": OUTPUT + use}
                           for use in uses]  # fmt: skip
        else:
            content = [{"type": "tool_result", "tool_use_id": use, "content": OUTPUT + use}
                       for use in uses]  # fmt: skip
            self._said.append({"role": "user", "content": content})

    # -- its person, and the machine

    def _meanwhile(self) -> None:
        chance = self._dice.random()
        if chance < 0.08:
            self._world.restart()
        elif chance < 0.35 and self._results:
            result_id = self._dice.choice(self._results)
            self._upstream.turned.add(result_id)
            self._world.turn(result_id, visible=self._dice.random() < 0.3)
        else:
            self._world.line(self._dice.choice(LINES))


def results_in(message: dict[str, Any]) -> bool:
    """Whether a message has results of tools."""
    content = message["content"]
    return isinstance(content, list) and any(block["type"] == "tool_result" for block in content)
