"""Recording what programs say: the messages of a request become nodes of a tree, the answer
becomes a node below them, and the exchange is kept as a call."""

import base64
import binascii
import hashlib
import json
import time
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Annotated, Any, cast

from django.db import transaction
from django.db.models import BinaryField, Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Substr
from django.utils import timezone

from agents.gateway import messages as rules
from agents.gateway import rearranged
from agents.gateway.answers import Answered, answer_in
from agents.gateway.hosted_answers import find_answer
from agents.gateway.messages import ChatHistory, Message, Shape
from agents.gateway.models import (
    AnswerProgress,
    GatewayKey,
    GatewayMessage,
    GatewayRequest,
    GatewaySession,
)
from agents.gateway.sessions import SessionNames
from agents.providers.registry import configuration_of
from loom import access
from loom.access import Actor
from loom.engine import busy, put_aside, streams
from loom.engine.actions import RunningAction, action
from loom.engine.arguments import Args, Secret
from loom.engine.execute import execute
from loom.engine.fields import new_uid
from loom.engine.sweeps import sweeps
from loom.errors import CommandError
from loom.language.refs import Ref
from loom.links.commands.links import LinkArgs, link
from loom.money import other_spending, spending
from loom.money.days import today
from loom.money.models import Purpose
from loom.money.other_spending import OtherUse
from loom.participants.prices import TokenCounts, counts_of, prices_named
from loom.people.models import Participant
from loom.platform.prepared_queries import Given, PreparedQuery, lock_rows
from loom.text.images import described_image, image_reference
from loom.trees import images
from loom.trees.archiving import stops_when_archived
from loom.trees.commands.node_writer import NewNode, add_node
from loom.trees.commands.trees import NewTree, make_tree
from loom.trees.models import Node, Tree
from loom.trees.queries import lookup
from loom.turns.generation_lifecycle import (
    Received,
    begin_beside,
    end_beside,
    progress_beside,
    seal,
)
from loom.turns.models import Call

KEPT_REQUESTS = 20  # of a session, whose whole bodies stay readable
LOOKED_UP = 64  # messages whose places are asked for at once, from the end
NEWEST = 8  # messages whose places are asked for first
MOST_TITLE = 50
MOST_SYSTEM = 200_000  # characters of a program's system prompt that its tree keeps
MOST_IMAGES = 20  # of one request
MOST_OPENINGS = 500  # texts of one place that a prompt is compared with
ANSWER_S, LOOK_S = 5.0, 0.05  # how long an answer of another process is waited for, and how often
MOST_BEGIN = 4096  # bytes of what has arrived in which the id of an answer is looked for
ALIVE = timedelta(seconds=60)  # without a sign for this long, the process of a request is gone


@dataclass(frozen=True)
class Incoming:
    """A request of a program as it is recorded: `sent` is its body; the address and the headers
    (without keys) are those that go to the provider of the `model`, which is the author of answers
    and, if `is_agent`, has a workspace of its own. `demands_images`: one that cannot be kept
    refuses the request, because the model is sent what the nodes hold."""

    actor: Actor
    key: GatewayKey
    model: Participant
    shape: Shape
    named: SessionNames
    history: ChatHistory
    sent: dict[str, Any]
    url: str
    headers: dict[str, str]
    program: str = ""
    previous_answer: str = ""  # the provider's id of the answer that this request continues
    conversation: str = ""  # the provider's id of the conversation that it keeps
    is_agent: bool = False
    demands_images: bool = False

    @property
    def continues(self) -> bool:
        """Whether its provider may hold what was said before, which it does not send again."""
        return bool(self.previous_answer or self.conversation)


@dataclass(frozen=True)
class Previous:
    """What a request goes on from without sending it: the places in the chain of an answer, and of
    the message that it answers; "" for none."""

    answer: str = ""
    asked: str = ""


# A request.


def begin(incoming: Incoming, session: GatewaySession) -> GatewayRequest:
    """Records the messages of a request and its call, before the provider answers."""
    point, digest = place(incoming, session, incoming.model)
    return request_of(incoming, session, point, digest, sent=incoming.sent)


def demand_recordable(incoming: Incoming) -> None:
    """Refuses a request of a session whose tree is archived, with REJECTED. Reads only."""
    session = find_session(incoming)
    if session is not None and session.tree.erasing_at is None:
        access.demand_writable(session.tree)


def place(
    incoming: Incoming, session: GatewaySession, model: Participant, *, but_last: bool = False
) -> tuple[Node, str]:
    """(the node of the last message, its place in the chain), after recording the messages that the
    tree does not have; `model` is the author of answers, `but_last` leaves out the last message."""
    tree, actor = session.tree, incoming.actor
    before = previous_of(session, incoming).answer
    if incoming.shape == "completions":
        prompt = rules.text_of(incoming.history.messages[0])
        return execute(actor, tree, record_prompt, Told(participant=model.uid, prompt=prompt)), ""
    messages = incoming.history.messages
    messages = messages[:-1] if but_last else messages
    digests = rules.chain(messages, before)
    known = _known(tree, digests)
    if known < len(messages) - 1 and _awaited(incoming, digests):
        known = _known(tree, digests)
    nodes: dict[str, int] = {}
    if known < len(messages) - 1:
        requests = GatewayRequest.objects.filter(session__tree=tree)
        going_on = rearranged.continued(requests, messages, digests)
        if going_on is not None and going_on.count > known:
            known, nodes = going_on.count, going_on.nodes
    told = tuple(
        ToldMessage(
            role=message["role"],
            digest=digests[number],
            content=_with_images(incoming, tree, message) if number >= known else [],
            node=nodes.get(digests[number]),
        )
        for number, message in enumerate(messages)
        # The last one that the tree has says where the others begin.
        if number >= known - 1 or digests[number] in nodes
    )
    args = Told(participant=model.uid, before=before, messages=told)
    point = execute(actor, tree, record_messages, args)
    return point, digests[-1] if digests else before


class ToldMessage(Args):
    """A message that a program sent: its role, its place in the chain, its blocks; or the node that
    has it, if the program sends it again in another form."""

    role: str
    digest: str
    content: Annotated[list[dict[str, Any]], Secret()]
    node: int | None = None


class Told(Args):
    """What a program sent: its messages from the last one that the tree has on, or the prompt of a
    text; `before` is the place of the message in front of them, `participant` the model that is
    the author of answers."""

    participant: str
    before: str = ""
    messages: tuple[ToldMessage, ...] = ()
    prompt: Annotated[str, Secret()] = ""


@action("record_messages", stream="tree", role="writer")
def record_messages(change: RunningAction, args: Told) -> Node:
    """Records the messages of a request of the gateway; returns the node of the last one."""
    tree = change.tree
    access.demand_writable(tree)
    model = _model(change, args.participant)
    digests = [message.digest for message in args.messages]
    rows = GatewayMessage.objects.filter(tree=tree, digest__in=[args.before, *digests])
    places = dict(rows.values_list("digest", "node_id"))
    point = lookup.root_of(tree)
    for digest in (args.before, *digests):
        if digest in places:
            point = lookup.rows().get(pk=places[digest])
    for message in args.messages:
        if message.digest in places:
            continue
        if message.node is not None:
            point = lookup.by_id(message.node)
            GatewayMessage.objects.create(tree=tree, digest=message.digest, node=point)
            continue
        author = model if message.role == "assistant" else change.actor.participant
        point = add_node(change.writer, tree, author, _new_node(message.content, point))
        GatewayMessage.objects.create(tree=tree, digest=message.digest, node=point)
    Tree.objects.filter(pk=tree.pk).update(touched_at=change.now)
    return point


@action("record_prompt", stream="tree", role="writer")
def record_prompt(change: RunningAction, args: Told) -> Node:
    """Records the prompt of a text: the longest path that it begins with, and a node for the rest;
    returns the last node."""
    tree = change.tree
    access.demand_writable(tree)
    point, rest = lookup.root_of(tree), args.prompt
    while rest:
        below = Node.objects.filter(parent_slot=point.slot_id, kind="text", version_pruned=False)
        texts = below.order_by("-id").values_list("pk", "text")[:MOST_OPENINGS]
        fitting = [(len(text), pk) for pk, text in texts if text and rest.startswith(text)]
        if not fitting:
            new = NewNode(rest, parent=point)
            return add_node(change.writer, tree, change.actor.participant, new)
        length, pk = max(fitting)
        point, rest = lookup.rows().get(pk=pk), rest[length:]
    return point


def _model(change: RunningAction, uid: str) -> Participant:
    return Participant.objects.get(uid=uid, grove=change.actor.grove, kind="model")


def _new_node(content: list[dict[str, Any]], parent: Node, **more: Any) -> NewNode:
    text = "".join(block["text"] for block in content if block["type"] == "text")
    is_plain = len(content) == 1 and content[0]["type"] == "text"
    return NewNode(text, parent=parent, blocks=None if is_plain else content, **more)


def _known(tree: Tree, digests: Sequence[str]) -> int:
    """How many messages at the start have a place in the tree; asks from the end, because most
    requests add one or two messages to a long conversation."""
    end = len(digests)
    while end > 0:
        start = max(0, end - LOOKED_UP)
        rows = GatewayMessage.objects.filter(tree=tree, digest__in=digests[start:end])
        placed = set(rows.values_list("digest", flat=True))
        for number in range(end - 1, start - 1, -1):
            if digests[number] in placed:
                return number + 1
        end = start
    return 0


def _awaited(incoming: Incoming, digests: Sequence[str]) -> bool:
    """Waits for the answers that a conversation goes on from while another web process records
    them: a quick program sends its next message meanwhile. Returns whether there were any."""
    rows = _open_of(incoming.key).filter(digest__in=digests[-NEWEST - 1 : -1])
    until, has_waited = time.monotonic() + ANSWER_S, False
    while time.monotonic() < until and rows.exists():
        has_waited = True
        time.sleep(LOOK_S)
    return has_waited


def _open_of(key: GatewayKey) -> QuerySet[GatewayRequest]:
    """The requests of a key whose answers come or are being recorded, by whichever process."""
    open_anywhere = GatewayRequest.objects.filter(  # found by an index
        ended_at__isnull=True, alive_at__gt=timezone.now() - ALIVE
    )
    return open_anywhere.alias(of_key=lookup.compared("session__key_id")).filter(of_key=key.pk)


def wait_for_previous(incoming: Incoming, here: Collection[int] = ()) -> None:
    """Waits for the answer that a request goes on from without sending it, while another web
    process records it; `here` are the requests of this process, which are waited for elsewhere."""
    if not incoming.continues:
        return
    rows = _open_of(incoming.key).filter(shape=incoming.shape).exclude(pk__in=here)
    if not incoming.previous_answer:
        rows = rows.filter(pk__in=_in_conversation(rows, incoming.conversation))
    until = time.monotonic() + ANSWER_S
    while time.monotonic() < until and _may_bring(rows, incoming) and not _has_previous(incoming):
        time.sleep(LOOK_S)


def _in_conversation(rows: QuerySet[GatewayRequest], conversation: str) -> list[int]:
    """The requests among these in a conversation that the provider keeps."""
    sent = rows.values_list("pk", "shape", "call__request")
    return [
        pk
        for pk, shape, request in sent
        if rules.conversation_in(cast(Shape, shape), request.get("body") or {}) == conversation
    ]


def _may_bring(rows: QuerySet[GatewayRequest], incoming: Incoming) -> bool:
    """Whether the answer to one of these requests may be what another one goes on from. An answer
    begins with its id, and what has arrived of it is stored within a second."""
    if not incoming.previous_answer:
        return rows.exists()
    begin = Substr("partial", 1, MOST_BEGIN, output_field=BinaryField())
    wanted = incoming.previous_answer.encode()
    for packed in rows.annotate(begin=begin).values_list("begin", flat=True):
        if not packed or wanted in zlib.decompressobj().decompress(packed, MOST_BEGIN):
            return True
    return False


def _has_previous(incoming: Incoming) -> bool:
    """Whether it is recorded what a request goes on from."""
    session = find_session(incoming)
    return session is not None and previous_of(session, incoming) != Previous()


def previous_of(session: GatewaySession, incoming: Incoming) -> Previous:
    """What a request goes on from that is recorded in its session. One that sends an answer sends
    all of its conversation, also where that has an id."""
    if incoming.previous_answer:
        if (message := find_answer(incoming.previous_answer)) is not None:
            is_here = message.tree_id == session.tree_id
            return Previous(message.digest) if is_here else Previous()
        rows = GatewayRequest.objects.filter(session=session, answer_id=incoming.previous_answer)
    elif incoming.conversation and all(
        message["role"] != "assistant" for message in incoming.history.messages
    ):
        digest = rules.conversation_digest(incoming.conversation)
        newest = GatewayMessage.objects.filter(tree=session.tree_id, digest=digest)
        rows = GatewayRequest.objects.filter(call__uid__in=newest.values("node__call_uid"))
    else:
        return Previous()
    places = rows.values_list("answer_digest", "digest").first()
    return Previous(*places) if places else Previous()


def _with_images(incoming: Incoming, tree: Tree, message: Message) -> list[dict[str, Any]]:
    """The content of a message whose images are stored, and named in a text by their hash."""
    kept = []
    for number, block in enumerate(rules.content_of(message)):
        if block["type"] != "image":
            kept.append(block)
            continue
        reference = (
            _stored_image(incoming, tree, block) if number < MOST_IMAGES else described_image("")
        )
        kept.append({"type": "text", "text": reference})
    return kept


def _stored_image(incoming: Incoming, tree: Tree, block: dict[str, Any]) -> str:
    try:
        raw = base64.b64decode(block["data"], validate=True)
        kept = images.keep(incoming.actor, tree, raw) if raw else None
        return image_reference(kept.sha256, "") if kept else "[image]"
    except (binascii.Error, CommandError) as error:
        if incoming.demands_images:
            raise _unreadable_image() from error
        return described_image("")


def _demand_images(incoming: Incoming) -> None:
    """Refuses a request with an image that cannot be kept, before there is a tree for it."""
    for message in incoming.history.messages:
        for block in message["blocks"]:
            if block["type"] != "image" or not block["data"]:
                continue
            try:
                images.demand_image(base64.b64decode(block["data"], validate=True))
            except (binascii.Error, CommandError) as error:
                raise _unreadable_image() from error


def _unreadable_image() -> CommandError:
    hint = "send a PNG, JPEG, GIF or WebP as base64"
    return CommandError("INVALID_SYNTAX", "An image cannot be read.", hint=hint)


@transaction.atomic
def request_of(
    incoming: Incoming,
    session: GatewaySession,
    point: Node,
    digest: str,
    *,
    sent: dict[str, Any],
    original: dict[str, Any] | None = None,
) -> GatewayRequest:
    """Stores a request with its call: `sent` is the body that goes to the provider, `original` that
    of the program if it differs. What is not JSON in them is replaced (`rules.storable`)."""
    participant = incoming.model
    call = Call.objects.create(
        tree=session.tree,
        participant=participant,
        purpose="gateway",
        provider=participant.model_ref.partition(":")[0],
        configuration=configuration_of(participant, None),
        request={"url": incoming.url, "headers": incoming.headers, "body": rules.storable(sent)},
    )
    request = GatewayRequest.objects.create(
        session=session,
        call=call,
        shape=incoming.shape,
        point=point,
        digest=digest,
        original=rules.storable(original or {}),
    )
    begin_beside(call, point)
    GatewaySession.objects.filter(pk=session.pk).update(seen_at=timezone.now())
    _forget_old_bodies(session)
    return request


def _forget_old_bodies(session: GatewaySession) -> None:
    """Drops the messages of the request that is one too old to be kept whole: each request
    contains all earlier ones, and its messages are nodes."""
    rows = GatewayRequest.objects.filter(session=session).select_related("call")
    old = rows[KEPT_REQUESTS : KEPT_REQUESTS + 1].first()
    if old is None:
        return
    GatewayRequest.objects.filter(pk=old.pk).update(original={})
    sent = old.call.request
    long = ("messages", "input", "prompt", "system", "instructions", "tools")
    body = {name: value for name, value in sent.get("body", {}).items() if name not in long}
    Call.objects.filter(pk=old.call_id).update(request={**sent, "body": body})


# Sessions.


def session_of(incoming: Incoming, uid: str = "") -> GatewaySession:
    """The session of a request, with its tree; made when it is the first. `uid` is the one that a
    new session gets."""
    session = find_session(incoming, uid)
    if session is None and _awaited(incoming, rules.chain(incoming.history.messages)):
        session = find_session(incoming, uid)
    if session is not None and session.tree.erasing_at is None:
        return session
    if incoming.demands_images:
        _demand_images(incoming)
    if session is not None:  # its tree was erased: the program begins again
        GatewaySession.objects.filter(pk=session.pk).delete()
    return _new_session(incoming, uid or new_uid())


def find_session(incoming: Incoming, uid: str = "") -> GatewaySession | None:
    """The session that a request belongs to, with its tree; None if it is the first of one. `uid`
    is the session if it is known. At most two queries for a conversation of 64 messages, one for
    most."""
    named = incoming.named
    if not named.is_empty:
        return _NAMED.first(key=incoming.key.pk, name=named.session, agent=named.agent)
    rows = GatewaySession.objects.filter(key=incoming.key)
    rows = rows.select_related("tree__grove", "attached__grove")
    if uid:
        return rows.filter(uid=uid).first()
    unnamed = rows.filter(name="", agent="")
    # An answer's id leaves no doubt: its session may have a name that this request leaves out.
    if (message := find_answer(incoming.previous_answer)) is not None:
        return rows.filter(tree=message.tree_id).first()
    if incoming.previous_answer:
        # In the order of requests: in that of sessions SQLite would look through those of the key.
        answered = rows.filter(requests__answer_id=incoming.previous_answer)
        return answered.order_by("-requests__id").first()
    if incoming.shape == "completions":
        return _session_of_text(unnamed, rules.text_of(incoming.history.messages[0]))
    # Two conversations may begin alike: one message is not enough to know a session by.
    # Programs may say more than that by themselves, so it is known by an answer that it was given.
    messages = incoming.history.messages
    chain = rules.chain(messages)
    digests = [
        digest
        for digest, message in zip(chain, messages, strict=True)
        if message["role"] == "assistant"
    ]
    if not digests:
        return _that_failed(unnamed, chain)
    newest = digests[-NEWEST:]
    asked = {
        f"digest{n}": digest
        for n, digest in enumerate(newest + newest[-1:] * (NEWEST - len(newest)))
    }
    session = _UNNAMED.first(key=incoming.key.pk, **asked)
    if session is not None:
        return session
    for start in range(max(0, len(digests) - LOOKED_UP), -1, -LOOKED_UP):
        wanted = digests[start : start + LOOKED_UP]
        given = GatewayMessage.objects.filter(digest__in=wanted, node__call_uid__gt="")
        session = unnamed.filter(tree__in=given.values("tree")).first()
        if session is not None:
            return session
    requests = GatewayRequest.objects.filter(session__key=incoming.key)
    requests = requests.filter(session__name="", session__agent="")
    going_on = rearranged.continued(requests, messages, chain)
    if going_on is not None:
        return rows.filter(pk=going_on.request.session_id).first()
    return _that_failed(unnamed, chain)


def _that_failed(sessions: Any, chain: Sequence[str]) -> GatewaySession | None:
    """The session that began with the same request, which its provider refused."""
    tried = GatewayMessage.objects.filter(digest__in=chain[-1:]).values("tree")
    other = ~Q(status=AnswerProgress.REFUSED)
    others = GatewayRequest.objects.filter(other, session=OuterRef("pk"))
    failed = sessions.filter(tree__in=tried).exclude(Exists(others))
    return failed.first()  # type: ignore[no-any-return]


_NAMED = PreparedQuery(
    lambda: GatewaySession.objects.filter(
        key=Given("key"), name=Given("name"), agent=Given("agent")
    ).select_related("tree__grove", "attached__grove")[:1]
)
# Most requests go on from an answer that is among their last messages.
_UNNAMED = PreparedQuery(
    lambda: GatewaySession.objects.filter(
        key=Given("key"),
        name="",
        agent="",
        tree__gateway_messages__digest__in=[Given(f"digest{n}") for n in range(NEWEST)],
        tree__gateway_messages__node__call_uid__gt="",
    ).select_related("tree__grove", "attached__grove")[:1]
)


def _session_of_text(rows: Any, prompt: str) -> GatewaySession | None:
    """The newest session whose text the prompt goes on from."""
    for session in rows.order_by("-seen_at")[:20]:
        below = Node.objects.filter(parent_slot=lookup.root_of(session.tree).slot_id)
        for text in below.values_list("text", flat=True)[:MOST_OPENINGS]:
            if text and prompt.startswith(text):
                return session  # type: ignore[no-any-return]
    return None


def _new_session(incoming: Incoming, uid: str) -> GatewaySession:
    named, origin = incoming.named, fork_origin(incoming)
    # A fork goes on in the tree that it was forked from: what it changes is a branch there.
    tree = _new_tree(incoming) if origin is None else origin.tree
    inherited = {"hidden": origin.hidden, "attached": origin.attached} if origin else {}
    parent = None
    if named.agent or named.parent_session:
        rows = GatewaySession.objects.filter(key=incoming.key)
        name = named.parent_session or named.session
        rows = rows.select_related("tree")
        parent = rows.filter(name=name, agent=named.parent_agent).first()
    session, is_new = GatewaySession.objects.get_or_create(
        key=incoming.key,
        name=named.session,
        agent=named.agent,
        **({} if not named.is_empty else {"tree": tree}),
        defaults={
            "uid": uid,
            "tree": tree,
            "parent": parent,
            "program": incoming.program[:80],
            **inherited,
        },
    )
    if is_new and parent is not None:
        _link_to_parent(incoming.actor, session, parent)
    if not is_new and origin is None:  # two first requests at once
        Tree.objects.filter(pk=tree.pk).update(archived_at=timezone.now())
    rows = GatewaySession.objects.select_related("tree__grove", "attached__grove")
    return rows.get(pk=session.pk)


def _new_tree(incoming: Incoming) -> Tree:
    return make_tree(
        incoming.actor,
        NewTree(
            title=_title(incoming.history),
            mode="buffer" if incoming.shape == "completions" else "dialogue",
            description=f"A session of {incoming.program or 'a program'} over the gateway.",
            system_context=incoming.history.system[:MOST_SYSTEM],
        ),
    )


def fork_origin(incoming: Incoming) -> GatewaySession | None:
    """The session of this key that a session was forked from, as its program says; None if it says
    nothing, or that one is unknown or erased."""
    name = incoming.named.forked_from
    if not name or name == incoming.named.session:
        return None
    rows = GatewaySession.objects.filter(key=incoming.key, name=name, agent="")
    rows = rows.filter(tree__erasing_at__isnull=True)
    return rows.select_related("tree__grove", "attached__grove").first()


def _link_to_parent(actor: Actor, session: GatewaySession, parent: GatewaySession) -> None:
    """Links the tree of a subagent to the place that started it: the newest answer of its parent,
    which asks for it, or the message that is being answered."""
    rows = GatewayRequest.objects.filter(session=parent).select_related("point")
    request = rows.first()
    if request is None:
        return
    answers = GatewayMessage.objects.filter(tree=parent.tree_id, digest=request.answer_digest)
    answer = answers.select_related("node").first() if request.answer_digest else None
    node = answer.node if answer is not None else request.point
    own, home = session.tree.uid, parent.tree.uid
    target = Ref("node", id=node.local_id, tree_id="" if home == own else home)
    name = "subagent " + (session.agent or session.name)[:80]
    args = LinkArgs(source=Ref("tree", tree_id=own), target=target, note=name)
    try:
        execute(actor, session.tree, link, args)
    except CommandError:  # such as a place that was erased: the session is recorded all the same
        return


def _title(history: ChatHistory) -> str:
    """The first words of a person, without what programs put in front of them in tags."""
    for message in history.messages:
        if message["role"] != "user":
            continue
        for block in message["blocks"]:
            text = " ".join(block["text"].split()) if block["type"] == "text" else ""
            if text and not text.startswith("<"):
                return text[:MOST_TITLE]
    return "A session"


# The answer.


def keep_alive(request: GatewayRequest, body: bytes, text: str, chunk: int) -> bool:
    """Stores what has arrived of an answer, in case this process ends before it does, and its
    words, which open pages have been sent in so many pieces. Returns whether somebody asked to
    stop it."""
    rows = GatewayRequest.objects.filter(pk=request.pk, ended_at__isnull=True)
    rows.update(partial=zlib.compress(body, 1), alive_at=timezone.now())
    return progress_beside(request.call, text, chunk)


def end(request_id: int, received: Received, *, cut: str = "") -> list[Node]:
    """Records the answer to a request in one transaction: its nodes, the sealed call and what it
    cost. `cut` says why its end is missing; "" for a whole one. Ending it again changes nothing,
    nor does a late end of one that was ended with its tree."""
    request = _requests().filter(pk=request_id).first()
    if request is None or request.ended_at is not None:
        return []
    answer = _answer_to(request, received, cut)
    return busy.retry_while_busy(lambda: _record_answer(request, answer))


@dataclass(frozen=True)
class AnswerToRecord:
    """The answer to a request as it is recorded: its choices, how it ended, and the bytes that
    came."""

    answered: Answered
    status: AnswerProgress
    finish: str
    received: Received


def _answer_to(request: GatewayRequest, received: Received, cut: str) -> AnswerToRecord:
    if received.status is not None and received.status >= 400:
        answered, status = Answered(is_whole=False), AnswerProgress.REFUSED
    else:
        content_type = received.headers.get("content-type", "")
        answered = answer_in(cast(Shape, request.shape), content_type, received.body)
        status = AnswerProgress.DONE if answered.is_whole and not cut else AnswerProgress.BROKEN
    finish = "complete"
    if status == AnswerProgress.BROKEN:
        finish = f"interrupted:{cut or 'the answer has no end'}"[:80]
    with_usage = replace(received, usage=rules.clean(answered.usage))
    return AnswerToRecord(answered, status, finish, with_usage)


@transaction.atomic
def _record_answer(request: GatewayRequest, answer: AnswerToRecord) -> list[Node]:
    """Stores the answer, unless another process has: this one may have been taken for dead. What
    its person may do was asked when the request was sent; the answer is kept whatever has changed
    since, as that of any generation."""
    tree, call = request.session.tree, request.call
    writer = streams.lock(tree, actor=call.participant.uid)
    lock_rows(GatewayRequest, pk=request.pk)
    if not GatewayRequest.objects.filter(pk=request.pk, ended_at__isnull=True).exists():
        return []
    nodes: list[Node] = []
    digest = answer_said = ""
    for choice in answer.answered.choices:
        digests = rules.chain(choice, request.digest)
        added = _add_choice(writer, request, choice, digests, answer.finish)
        if not nodes:  # the first, whose words were shown as they came
            digest, answer_said = digests[-1], rules.hash_of(choice[-1])
            end_beside(writer, call, added[-1], finish=answer.finish)
        nodes += added
    if not nodes:
        end_beside(writer, call, None, finish=answer.finish)
    conversation = rules.conversation_in(cast(Shape, request.shape), call.request.get("body") or {})
    if nodes and conversation and answer.status == AnswerProgress.DONE:
        GatewayMessage.objects.update_or_create(
            tree=tree,
            digest=rules.conversation_digest(conversation),
            defaults={"node": nodes[0]},
        )
    writer.flush()
    seal(call, answer.received, nodes)
    if nodes:
        Tree.objects.filter(pk=tree.pk).update(touched_at=timezone.now())
    if answer.status != AnswerProgress.REFUSED:
        _pay(request, answer.answered)
    GatewayRequest.objects.filter(pk=request.pk).update(
        status=answer.status,
        answer_id=answer.answered.answer_id,
        answer_digest=digest,
        answer_said=answer_said,
        partial=b"",
        ended_at=timezone.now(),
    )
    return nodes


def _add_choice(
    writer: streams.Writer,
    request: GatewayRequest,
    choice: Sequence[Message],
    digests: Sequence[str],
    finish: str,
) -> list[Node]:
    """The nodes of the messages of one choice, each below the one before it."""
    tree, call = request.session.tree, request.call
    parent, nodes = lookup.rows().get(pk=request.point_id), []
    for message, digest in zip(choice, digests, strict=True):
        new = _new_node(
            rules.content_of(message),
            parent,
            call_uid=call.uid,
            configuration=call.configuration,
            finish=finish,
        )
        parent = add_node(writer, tree, call.participant, new)
        nodes.append(parent)
        GatewayMessage.objects.get_or_create(
            tree=tree, digest=_unique(digest, request), defaults={"node": parent}
        )
    return nodes


def _pay(request: GatewayRequest, answered: Answered) -> None:
    """Adds the cost of an answer to what its person has spent today."""
    people = Participant.objects.filter(grove=request.session.tree.grove, kind="human")
    payer = people.filter(user=request.session.key.user).first()  # also who has left meanwhile
    if payer is None:
        return
    counts, body = counts_of(answered.usage), request.call.request.get("body")
    if counts.is_empty:
        sent = json.dumps(body, ensure_ascii=False)
        counts = _estimated(sent.encode(errors="replace"), answered)
    named = body.get("model") if isinstance(body, dict) else None
    _add_cost(payer, request.call.participant, named, counts, request.session.tree)


def pay_for_passed(
    actor: Actor,
    model: Participant,
    shape: Shape,
    *,
    named: Any,
    sent: bytes,
    received: Received,
    is_text: bool,
) -> None:
    """Adds the cost of an answer that is not recorded to what its person has spent today; `named`
    is the model that the program names. Of an answer that is no text only what its provider counts
    is known."""
    if received.status is None or received.status >= 400:
        return
    answered = answer_in(shape, received.headers.get("content-type", ""), received.body)
    counts = counts_of(answered.usage)
    if counts.is_empty:
        if not is_text:
            return
        counts = _estimated(sent, answered)
    with transaction.atomic():
        _add_cost(actor.person, model, named, counts, None)


def _estimated(sent: bytes, answered: Answered) -> TokenCounts:
    """A quarter of the bytes that were sent and of the text that came."""
    words = "".join(rules.text_of(message) for choice in answered.choices for message in choice)
    return TokenCounts(len(sent) // 4, spending.estimate(words))


def _add_cost(
    payer: Participant, model: Participant, named: Any, counts: TokenCounts, tree: Tree | None
) -> None:
    """Adds a cost at the price of the model that the program names: programs ask for several of
    their provider, such as a small one for titles."""
    prices = prices_named(model, named if isinstance(named, str) else "")
    nano = prices.of(counts) if prices is not None else None
    use = OtherUse(Purpose.GATEWAY, model, tree, counts, answers=1)
    day = today()
    spending.lock(payer, day)
    other_spending.add(payer, day, nano, use)


def _requests() -> Any:
    return GatewayRequest.objects.select_related(
        "session__key__user", "session__tree__grove", "call__tree", "call__participant"
    )


def _unique(digest: str, request: GatewayRequest) -> str:
    """The place in the chain of an answer; that of a text has none, so it gets one of its own."""
    if request.shape != "completions":
        return digest
    return hashlib.sha256(f"{request.uid}{digest}".encode()).hexdigest()


ASIDE = "gateway_request"  # the kind of a request in put_aside


@sweeps
def sweep() -> int:
    """Ends requests whose process is gone: what has arrived is kept and marked. One whose end
    cannot be stored stops no other. Returns how many were ended."""
    rows = GatewayRequest.objects.filter(
        ended_at__isnull=True, alive_at__lt=timezone.now() - ALIVE
    ).exclude(put_aside.among(ASIDE))
    abandoned = rows.select_related("session__tree__grove")
    return sum(
        put_aside.attempt(
            ASIDE,
            request.uid,
            partial(_end_early, request, "the server stopped"),
            grove=request.session.tree.grove,
        )
        for request in list(abandoned.order_by("alive_at")[:100])  # in the order of their index
    )


def _end_early(request: GatewayRequest, why: str) -> None:
    """Ends a request with what has arrived of its answer."""
    body = zlib.decompress(bytes(request.partial)) if request.partial else b""
    kind = "application/json" if body[:1] == b"{" else "text/event-stream"
    end(request.pk, Received(body=body, headers={"content-type": kind}), cut=why)


@put_aside.when_dropped(ASIDE)
def give_up(uid: str) -> None:
    """Ends a request whose answer could not be stored, without it."""
    request = _requests().filter(uid=uid, ended_at__isnull=True).first()
    if request is None:
        return
    nothing = Answered(is_whole=False)
    finish = "interrupted:it could not be stored"
    _record_answer(request, AnswerToRecord(nothing, AnswerProgress.BROKEN, finish, Received(b"")))


@stops_when_archived
def _end_all(tree: Tree, _turn: str) -> int:
    """Ends the answers that still come in a tree that is archived, with what has arrived: the
    program gets the rest, and the tree does not."""
    open_anywhere = GatewayRequest.objects.filter(ended_at__isnull=True)  # found by an index
    going = open_anywhere.alias(of_tree=lookup.compared("session__tree_id"))
    requests = list(going.filter(of_tree=tree.pk).order_by("alive_at"))
    for request in requests:
        _end_early(request, "the tree was archived")
    return len(requests)


def bypassed(request_id: int, why: str) -> None:
    """Notes why the original of a request was sent after all."""
    GatewayRequest.objects.filter(pk=request_id).update(bypass=why[:200])
