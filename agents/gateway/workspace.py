"""The mode workspace: what the provider is sent in addition to what the program says.

What the provider sees only grows: the head (system text, tools) is made once for each head of the
program and then stays; the workspace is a text after the newest message of the user, stored with
its place in the chain and put back byte for byte in every later request (docs/model.md §11).
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agents.agent_prompt import PromptPlace, view_of
from agents.context import sections
from agents.context.agent_request import augments
from agents.gateway import messages as rules
from agents.gateway import recording, results
from agents.gateway.messages import Message, Shape
from agents.gateway.models import GatewayMessage, GatewayRequest, GatewaySession
from agents.gateway.recording import Incoming
from agents.generation_requests import loaded_augments
from loom.text.frames import escaped
from loom.text.tokens import count
from loom.trees.commands import node_writer
from loom.trees.models import Node, Tree
from loom.trees.queries.lookup import root_of

# Sections of the workspace that are not the program's own conversation once more.
SHOWN = ("OUTLINE", "WINDOWS", "CLAIMS", "TODOS", "SCRATCHPAD", "MEMORY", "NOTIFICATIONS")
# The provider's name for messages that last one turn (docs/gateway.md).
TURN_MESSAGES = "mid-conversation-system-clear-at-2026-08-21"
MOST_HEADS = 8  # different heads of a program that a session remembers
TRANSCRIPT_TEXTS = 40  # texts of an earlier conversation
TRANSCRIPT_CHARACTERS = 200  # of each


@dataclass(frozen=True)
class PreparedRequest:
    """A request with the workspace: its body as it goes to the provider, and its record."""

    body: dict[str, Any]
    request: GatewayRequest


def prepare(incoming: Incoming) -> PreparedRequest:
    """Records a request and adds the workspace to it."""
    session = recording.session_of(incoming)
    point, digest = recording.place(incoming, session, incoming.key.participant)
    before = recording.previous_digest(session, incoming.previous_answer)
    digests = rules.chain(incoming.history.messages, before)
    rows = GatewayMessage.objects.filter(tree=session.tree, digest__in=digests)
    known = {one.digest: one for one in rows}
    if digests and incoming.history.messages[-1]["role"] == "user":
        newest = known[digests[-1]]
        if not newest.added:
            _state(incoming, session, point, newest, [known[one] for one in digests])
    added = [(known[one].added, known[one].lasts_a_turn) for one in digests]
    body = results.without(incoming.shape, _with_head(incoming, session, point), session.hidden)
    body = with_added(incoming.shape, body, added)
    request = recording.request_of(
        incoming, session, point, digest, sent=body, original=incoming.sent
    )
    return PreparedRequest(body, request)


# The text of the workspace.


def _state(
    incoming: Incoming,
    session: GatewaySession,
    point: Node,
    newest: GatewayMessage,
    path: list[GatewayMessage],
) -> None:
    """Stores with the newest message what has changed since the last one that had a workspace; the
    whole workspace the first time, nothing if nothing has changed."""
    tree = session.attached or session.tree
    workspace = node_writer.workspace_of(incoming.actor.participant, tree)
    if tree != session.tree:
        point = workspace.position or root_of(tree)
    view = view_of(PromptPlace(incoming.actor, tree, workspace, point))
    now = [(name, text) for name, text in sections.rendered(view) if name in SHOWN]
    newest.lasts_a_turn = _has_turn_messages(incoming)
    known = (one.stated for one in reversed(path) if one.stated and not one.lasts_a_turn)
    before: Mapping[str, str] = {} if newest.lasts_a_turn else next(known, {})
    changed = sections.stated(now, before)
    if not changed and before:
        return
    sizes = " | ".join(f"{name} ≈{count(text)}" for name, text in now)
    status = sections.framed("STATUS", sizes or "The workspace is empty.")
    more = f" revision {workspace.revision}" + (" · only what changed" if before else "")
    body = "\n".join([status, *(text for _, text in changed)])
    newest.added = sections.framed("WORKSPACE", body, more=more)
    newest.stated = dict(now) or {"STATUS": status}
    newest.save(update_fields=["added", "stated", "lasts_a_turn"])


def _has_turn_messages(incoming: Incoming) -> bool:
    """Whether the provider has messages that last one turn: the program has switched them on."""
    switched = incoming.headers.get("anthropic-beta", "")
    return incoming.shape == "messages" and TURN_MESSAGES in switched


def with_added(shape: Shape, body: dict[str, Any], added: list[tuple[str, bool]]) -> dict[str, Any]:
    """The body with these texts after the messages of its history, in order; "" adds nothing. A
    text becomes a part of the user's message; a result of a tool that is a message of its own is
    followed by one. If it lasts one turn (True), it is a message of the system behind the user's,
    unless another of the user follows, before which no such message may stand."""
    key = "input" if shape == "responses" else "messages"
    said = body.get(key)
    if shape == "responses" and isinstance(said, str):
        content = [{"type": "input_text", "text": said}]
        said = [{"type": "message", "role": "user", "content": content}]
    if not isinstance(said, list) or not any(text for text, _ in added):
        return body
    texts = dict(zip(rules.places_of(shape, said), added, strict=True))
    sent: list[Any] = []
    for place, raw in enumerate(said):
        text, lasts_a_turn = texts.get(place, ("", False))
        following = said[place + 1] if place + 1 < len(said) else {}
        if not text or (lasts_a_turn and following.get("role") == "user"):
            sent.append(raw)
        elif lasts_a_turn:
            sent += [raw, {"role": "system", "clear_at": "next_user_message", "content": text}]
        elif raw.get("role") == "user":
            sent.append({**raw, "content": _longer(shape, raw.get("content"), text)})
        else:
            sent += [raw, _message(shape, text)]
    return {**body, key: sent}


def _longer(shape: Shape, content: Any, text: str) -> Any:
    """The content of a user's message with a text behind it."""
    if isinstance(content, list):
        return [*content, _block(shape, text)]
    if shape == "chat":  # many servers of this shape take no blocks
        return f"{content or ''}\n\n{text}"
    return [_block(shape, str(content or "")), _block(shape, text)]


def _block(shape: Shape, text: str) -> dict[str, Any]:
    return {"type": "input_text" if shape == "responses" else "text", "text": text}


def _message(shape: Shape, text: str) -> dict[str, Any]:
    if shape == "responses":
        return {"type": "message", "role": "user", "content": [_block(shape, text)]}
    return {"role": "user", "content": text}


# The head.


def _with_head(incoming: Incoming, session: GatewaySession, point: Node) -> dict[str, Any]:
    """The body with the system text and tools of this session: made when the program sends a head
    for the first time, and the same ever after."""
    body = incoming.sent
    system, tools = incoming.history.system, body.get("tools")
    said = json.dumps([system, tools], sort_keys=True, ensure_ascii=False)
    name = hashlib.sha256(said.encode(errors="replace")).hexdigest()[:16]
    head = session.head.get(name)
    if head is None:
        head = {"system": _system(incoming, session, point), "hidden": _hidden(incoming)}
        session.head = {**dict(list(session.head.items())[1 - MOST_HEADS :]), name: head}
        session.save(update_fields=["head"])
    body = _without_tools(body, head["hidden"])
    return with_system(incoming.shape, body, head["system"])


def _hidden(incoming: Incoming) -> list[str]:
    """The names of tools that are not passed on for this participant."""
    return [str(name) for name in incoming.key.participant.tool_filter]


def _without_tools(body: dict[str, Any], hidden: list[str]) -> dict[str, Any]:
    tools = body.get("tools")
    if not hidden or not isinstance(tools, list):
        return body
    kept = [one for one in tools if _tool_name(one) not in hidden]
    return {**body, "tools": kept} if len(kept) < len(tools) else body


def _tool_name(tool: Any) -> str:
    if not isinstance(tool, dict):
        return ""
    function = tool.get("function")
    return str((function if isinstance(function, dict) else tool).get("name", ""))


def _system(incoming: Incoming, session: GatewaySession, point: Node) -> str:
    """The system text: the persona, what the program said, the loaded augments, and the beginning
    of what was said before its conversation was cleared."""
    attached = session.attached or session.tree
    workspace = node_writer.workspace_of(incoming.actor.participant, attached)
    core = incoming.history.system
    parts = [
        escaped(incoming.key.participant.persona),
        sections.framed("CORE", core) if core else "",
        augments([one for one in loaded_augments(workspace) if one.mark]),
        _transcript(session.tree, incoming.history.messages),
    ]
    return "\n\n".join(filter(None, parts))


def _transcript(tree: Tree, messages: tuple[Message, ...]) -> str:
    """The words of the conversation that was last held in this session, if the program has begun
    another one; without tools, each shortened."""
    opening = rules.chain(messages[:1])
    held = GatewayMessage.objects.filter(tree=tree, digest__in=opening).first()
    openings = Node.objects.filter(parent_slot=root_of(tree).slot_id, pruned=False)
    if held is None or not openings.exclude(pk=held.node_id).exists():
        return ""
    last = Node.objects.filter(tree=tree, pk__lt=held.node_id).exclude(text="").order_by("-id")
    rows = list(last.select_related("author")[:TRANSCRIPT_TEXTS])
    lines = [
        f"{row.author.name}: {' '.join(row.text.split())[:TRANSCRIPT_CHARACTERS]}"
        for row in reversed(rows)
    ]
    return sections.framed("TRANSCRIPT", escaped("\n".join(lines))) if lines else ""


def with_system(shape: Shape, body: dict[str, Any], system: str) -> dict[str, Any]:
    """The body with this system text in place of its own. The block by which a program names
    itself stays first and alone."""
    if not system:
        return body
    if shape == "responses":
        return {**body, "instructions": system}
    if shape == "messages":
        own = body.get("system")
        first = own[0] if isinstance(own, list) and own else None
        is_name = isinstance(first, dict) and str(first.get("text", "")).startswith(
            rules.ATTRIBUTION
        )
        marks = [one for one in own if "cache_control" in one] if isinstance(own, list) else []
        block: dict[str, Any] = {"type": "text", "text": system}
        if marks:
            block["cache_control"] = marks[-1]["cache_control"]
        return {**body, "system": [*([first] if is_name else []), block]}
    said = body.get("messages")
    if not isinstance(said, list):
        return body
    lead = next(
        (n for n, one in enumerate(said) if not _is_system(one)),
        len(said),
    )
    role = said[0]["role"] if lead else "system"
    return {**body, "messages": [{"role": role, "content": system}, *said[lead:]]}


def _is_system(raw: Any) -> bool:
    return isinstance(raw, dict) and raw.get("role") in ("system", "developer")
