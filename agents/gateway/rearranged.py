"""Conversations that a program sends again in another form. Some take a reminder off a message once
it is answered, and put it behind the next one; or they lead files and maps along in messages of
their own, which move and change. Where nothing but that differs, the conversation goes on from the
answer that it had, and is no branch (docs/decisions/2026-11-26-reminders.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from agents.gateway import messages as rules
from agents.gateway.messages import Block, Message
from agents.gateway.models import GatewayMessage, GatewayRequest
from loom.trees.models import Node, Tree
from loom.trees.queries import lookup

LOOKED_AT = 8  # answers at the end of a request that are looked for
MOST_CANDIDATES = 4  # earlier requests that are compared
MOST_PLACED = 16  # messages in front of the answer that get a place


@dataclass(frozen=True)
class KeptMessage:
    """A message as the tree has it: its content, whether a model is its author, and whether a
    provider gave it."""

    content: list[Block]
    is_answer: bool
    is_given: bool


@dataclass(frozen=True)
class Continuation:
    """What a request goes on from: the earlier request, how many of its own messages are behind the
    answer to that, the answer included, and the nodes of the last of them by their place in the
    chain."""

    request: GatewayRequest
    count: int
    nodes: dict[str, int]


# Pure.


def same(sent: Sequence[Message], kept: Sequence[KeptMessage], last: Message) -> list[int | None]:
    """Which of the `kept` messages each of the `sent` ones is, None for one that only the program
    says; empty if it is another conversation. Both end with the same answer; `last` is what the
    request ends with.

    What people and providers said must be equal. Two things are left out: a message with an answer
    that no provider gave, which a program says by itself; and what stands behind a message, or is
    one, and stands again at the end of the request. Time is linear in the texts."""
    told = [_Compared(message["role"] == "assistant", message["blocks"]) for message in sent]
    had = [_Compared(message.is_answer, message.content) for message in kept]
    end = _text(last["blocks"])
    given = {
        compared.content for compared, message in zip(had, kept, strict=True) if message.is_given
    }
    own_kept = _own(had, [compared.is_answer and compared.content not in given for compared in had])
    own_told = _own(
        told, [compared.is_answer and compared.content not in given for compared in told]
    )
    places: list[int | None] = []
    at = 0
    for number, compared in enumerate(told):
        if own_told[number]:
            places.append(None)
            continue
        while at < len(had) and not _is(compared, had[at], end):
            if not own_kept[at] and not _is_moved(had[at], end):
                return []
            at += 1
        if at == len(had):
            return []
        places.append(at)
        at += 1
    return places


class _Compared:
    """A message as it is compared: its content, and its words if it is nothing but text."""

    def __init__(self, is_answer: bool, blocks: list[Block]) -> None:
        self.is_answer = is_answer
        self.content = rules.canonical({"role": "", "blocks": blocks})
        self.text = _text(blocks)


def _own(messages: Sequence[_Compared], canned: Sequence[bool]) -> list[bool]:
    """Which messages a program says by itself: the `canned` answers, and what they answer."""
    own = list(canned)
    for number in range(1, len(own)):
        if canned[number] and not messages[number - 1].is_answer:
            own[number - 1] = True
    return own


def _is(told: _Compared, had: _Compared, end: str) -> bool:
    """Whether it is this message, perhaps without what stands at the end of the request now."""
    if told.is_answer != had.is_answer:
        return False
    if told.content == had.content:
        return True
    if told.is_answer or not told.text or not had.text.startswith(told.text):
        return False
    return end.endswith(had.text[len(told.text) :].strip())


def _is_moved(had: _Compared, end: str) -> bool:
    return bool(had.text) and not had.is_answer and end.endswith(had.text)


def _text(blocks: list[Block]) -> str:
    if any(block["type"] != "text" for block in blocks):
        return ""
    return "".join(block["text"] for block in blocks).strip()


# In the trees.


def continued(
    requests: QuerySet[GatewayRequest], messages: Sequence[Message], digests: Sequence[str]
) -> Continuation | None:
    """What a request goes on from, of those `requests`, if the tree has not got its beginning as it
    is. At most four queries, and three for each of four candidates; one for most."""
    answers = [
        (number, rules.hash_of(message))
        for number, message in enumerate(messages[:-1])
        if message["role"] == "assistant"
    ][-LOOKED_AT:]
    if not answers:
        return None
    rows = requests.filter(answer_said__in=[digest for _, digest in answers])
    rows = rows.select_related("session__tree").order_by("-id")
    for request in rows[:MOST_CANDIDATES]:
        for number, digest in reversed(answers):
            if digest != request.answer_said:
                continue
            if nodes := _places(request, messages, digests, number + 1):
                return Continuation(request, number + 1, nodes)
    return None


def _places(
    request: GatewayRequest, messages: Sequence[Message], digests: Sequence[str], count: int
) -> dict[str, int]:
    """The nodes of the first `count` messages, the last of them at least, if they are the
    conversation that ended with the answer to this request; else empty."""
    tree = request.session.tree
    rows = GatewayMessage.objects.filter(tree=tree, digest__in=digests[:count])
    placed = dict(rows.values_list("digest", "node_id"))
    known = next((n for n in range(count, 0, -1) if digests[n - 1] in placed), 0)
    if known == count:
        return {}
    top = lookup.by_id(placed[digests[known - 1]]) if known else lookup.root_of(tree)
    path = _path(tree, request.answer_digest, top)
    if not path:
        return {}
    kept = [_kept(row) for row in path]
    places = same(messages[known:count], kept, messages[-1])
    nodes, node = {}, top.pk
    for digest, place in zip(digests[known:count], places, strict=False):
        node = node if place is None else path[place].id
        nodes[digest] = node
    return dict(list(nodes.items())[-MOST_PLACED:])


def _path(tree: Tree, digest: str, top: Node) -> list[lookup.NodeRow]:
    """The nodes as they were recorded from below `top` to that of the place `digest`; empty if it
    is not below."""
    place = GatewayMessage.objects.filter(tree=tree, digest=digest).select_related("node").first()
    if place is None or place.node.depth <= top.depth:
        return []
    slots = lookup.slots_up(place.node, top.depth)
    return lookup.rows_of(slots[1:]) if slots[:1] == [top.slot_id] else []


def _kept(row: Any) -> KeptMessage:
    return KeptMessage(row.content, row.author_kind == "model", bool(row.call_uid))
