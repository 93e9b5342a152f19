"""The mode workspace: what the provider is sent in addition to what the program says.

What the provider sees only grows: the head (system text, tools) is made once for each head of the
program and then stays; the workspace is a text after the newest message of the user. Each such text
is stored with its place in the chain, and put back byte for byte in every later request; what was
once sent without one never gets one (docs/model.md §11).
"""

import contextlib
import hashlib
import json
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import IntegrityError

from agents.agent_prompt import PromptPlace, view_of
from agents.context import sections
from agents.context.agent_request import augments
from agents.gateway import messages as rules
from agents.gateway import recording, results, unrecorded
from agents.gateway.messages import Message, Shape
from agents.gateway.models import (
    HEAD,
    AddedText,
    GatewayMessage,
    GatewayRequest,
    GatewaySession,
    Standing,
)
from agents.gateway.recording import Incoming
from agents.gateway.tool_filter import without_tools
from agents.generation_requests import loaded_augments
from loom import access
from loom.access import Actor
from loom.engine.fields import ALPHABET, new_uid
from loom.errors import CommandError
from loom.people.models import User
from loom.permissions import LOOM
from loom.text.frames import escaped
from loom.text.tokens import count
from loom.trees.models import Node, Tree, Workspace
from loom.trees.queries.lookup import nodes_in, root_of, withheld_from_models

# Sections of the workspace that are not the program's own conversation once more.
SHOWN = ("OUTLINE", "WINDOWS", "CLAIMS", "TODOS", "SCRATCHPAD", "MEMORY", "NOTIFICATIONS")
# The provider's name for messages that last one turn (docs/gateway.md).
TURN_MESSAGES = "mid-conversation-system-clear-at-2026-08-21"
MOST_HEADS = 8  # different heads of a program that a session remembers
AUGMENTS, NOTIFICATIONS, TRANSCRIPT = "AUGMENTS", "NOTIFICATIONS", "TRANSCRIPT"
SOURCE, OWN = "TRANSCRIPT_OF", "own"  # where the transcript came from that was stated last
MOST_ARRIVED = 10  # lines about new results
MOST_NAMED = 120  # characters of the name and id of a tool's result
TRANSCRIPT_TEXTS = 40  # texts of an earlier conversation
TRANSCRIPT_CHARACTERS = 200  # of each

log = logging.getLogger("heddle.gateway")


@dataclass(frozen=True)
class PreparedRequest:
    """A request with the workspace: the body and its bytes as they go to the provider, the uid of
    its session, and the texts that are `new` and not stored yet. `failure` is the kind of error
    because of which no workspace was added for its new messages; "" if there was none."""

    incoming: Incoming
    session: str
    body: dict[str, Any]
    raw: bytes
    new: tuple[AddedText, ...] = ()
    failure: str = ""


def add(incoming: Incoming, uid: str = "") -> PreparedRequest:
    """Adds the workspace to a request, and stores the texts that are new: from then on the provider
    is sent them byte for byte, whatever happens. What cannot be stored is not sent. `uid` is the
    session, if it is known but may not be stored yet."""
    prepared = prepare(incoming, uid)
    try:
        try:
            store(prepared)
        except IntegrityError:  # another process was first: what it has sent counts
            prepared = prepare(incoming, prepared.session)
            store(prepared)
    except Exception as error:  # whatever it is: what is new goes as the program sent it
        log.warning("a workspace could not be stored", exc_info=True)
        prepared = prepare(incoming, prepared.session, failure=type(error).__name__)
    return prepared


def is_known(incoming: Incoming) -> bool:
    """Whether the session of a conversation is known by more than its first message."""
    if recording.find_session(incoming) is not None:
        return True
    return bool(unrecorded.find_later(incoming.key, _names(incoming)))


def prepare(incoming: Incoming, uid: str = "", *, failure: str = "") -> PreparedRequest:
    """A request with the workspace; only reads. Because of a `failure`, what is new goes as the
    program sent it."""
    session, uid = _session_of(incoming, uid)
    previous = recording.Previous()
    if session is not None:
        previous = recording.previous_of(session, incoming)
    digests, messages = _names(incoming, previous.answer), incoming.history.messages
    users = [
        digest
        for digest, message in zip(digests, messages, strict=True)
        if message["role"] == "user"
    ]
    # The newest answer too: if its record is lost, the conversation is known by it.
    roles = [message["role"] for message in messages[:-1]]
    answers = [digest for digest, role in zip(digests, roles, strict=False) if role != "user"][-1:]
    names = [_head_name(incoming), *users, *answers]
    earlier = _own_names(incoming, [previous.asked])[0] if previous.asked else ""
    known = _sent_before(uid, [*names, *filter(None, [earlier])])
    held = [known.pop(earlier)] if earlier in known else []
    # A fork is sent what the session that it was forked from was sent, and goes on with its
    # workspace and what is hidden there.
    origin = recording.fork_origin(incoming) if session is None else None
    basis = session or origin
    is_begun = session is not None or bool(known)
    copied = [] if is_begun else _inherited(incoming, uid, origin, digests, names)
    known |= {row.name: row for row in copied}
    sent_users = {digest: known[digest] for digest in users if digest in known}
    hidden = _hidden_results(incoming, basis, digests, sent_users)
    # Models that do not know of trees are sent no workspace, wherever they are asked from.
    is_told = not incoming.is_agent or LOOM in incoming.model.permissions
    new = _rows(incoming, uid, [name for name in names if name not in known])
    arrived = _arrived(messages, [digest not in known for digest in digests])
    if not is_begun and not copied:
        _begin(new, digests)
    _begin_rows(new, names[0], hidden)
    if not failure:
        since = _since_answer(messages, digests, known) if is_told else set()
        try:
            for row in new:
                row.names_results = row.name in since
                if row.name == names[0]:
                    row.text = _system(incoming, basis, goes_on=bool(previous.answer))
                    row.left_out = _hidden(incoming)
                elif is_told and row.name == digests[-1] == users[-1]:
                    # others have been sent, or were said elsewhere
                    head = known[names[0]] if names[0] in known else new[0]
                    told = SentBefore(
                        list(sent_users.values()),
                        head.text,
                        hidden,
                        arrived,
                        held,
                        goes_on=bool(previous.answer),
                    )
                    _state(row, incoming, basis, told)
        except Exception as error:  # whatever it is: what is new goes as the program sent it
            log.warning("a workspace could not be added", exc_info=True)
            failure = type(error).__name__
            _begin_rows(new, names[0], hidden)
    known |= {row.name: row for row in new}
    added = [
        (known[digest].text, known[digest].lasts_a_turn) if digest in known else ("", False)
        for digest in digests
    ]
    body = results.without(incoming.shape, _with_head(incoming, known[names[0]]), hidden)
    named = {digest for digest in digests if digest in known and known[digest].names_results}
    body = results.with_ids(incoming.shape, body, _places(incoming, body, digests, named), hidden)
    body = with_added(incoming.shape, body, added)
    return PreparedRequest(incoming, uid, body, rules.raw_of(body), (*copied, *new), failure)


def _session_of(incoming: Incoming, uid: str) -> tuple[GatewaySession | None, str]:
    """The session that a request belongs to, None if it is not stored yet, and its uid."""
    session = recording.find_session(incoming, uid)
    is_unnamed = incoming.named.is_empty and not incoming.previous_answer
    if session is None and not uid and is_unnamed:
        uid = unrecorded.find_uid(incoming.key, _names(incoming))
        session = recording.find_session(incoming, uid) if uid else None
    if session is None:
        return None, uid or _uid_of_new(incoming)
    return (session, session.uid) if session.tree.erasing_at is None else (None, new_uid())


def _inherited(
    incoming: Incoming,
    uid: str,
    origin: GatewaySession | None,
    digests: list[str],
    names: list[str],
) -> list[AddedText]:
    """The texts that a session `uid` begins with, not stored yet: those of the session that it was
    forked from, or of one without a name that has begun alike."""
    if origin is not None:
        return unrecorded.copied_from(origin.uid, uid, names)
    if incoming.named.is_empty and not incoming.previous_answer:
        return unrecorded.copies(incoming.key, uid, digests, names)
    return []


def _since_answer(
    messages: Sequence[Message], digests: Sequence[str], known: Collection[str]
) -> set[str]:
    """The names of the messages that the user has sent since the last answer, if they are new: no
    provider has seen them yet."""
    since: set[str] = set()
    for message, digest in zip(reversed(messages), reversed(digests), strict=True):
        if message["role"] != "user" or digest in known:
            break
        since.add(digest)
    return since


def _places(
    incoming: Incoming, body: dict[str, Any], digests: Sequence[str], named: Collection[str]
) -> set[int]:
    """Where the messages that have these names are in the list of the body."""
    raws = body.get(rules.key_of(incoming.shape))
    if not named or not isinstance(raws, list):
        return set()
    pairs = zip(rules.places_of(incoming.shape, raws), digests, strict=True)
    return {place for place, digest in pairs if digest in named}


def _begin_rows(rows: Iterable[AddedText], head: str, hidden: list[str]) -> None:
    """Makes these the rows of messages that go as the program sent them, but for hidden results."""
    for row in rows:
        row.text, row.stated, row.lasts_a_turn, row.names_results = "", {}, False, False
        row.left_out = [] if row.name == head else hidden


def _rows(incoming: Incoming, uid: str, names: Iterable[str]) -> list[AddedText]:
    """Rows without texts for these names, each once."""
    is_unnamed = incoming.named.is_empty
    return [
        AddedText(key=incoming.key, session=uid, is_unnamed=is_unnamed, name=name)
        for name in dict.fromkeys(names)
    ]


def _begin(rows: Iterable[AddedText], digests: Sequence[str]) -> None:
    """Notes that these are the texts of the first request of a session."""
    for row in rows:
        row.stands = Standing.LAST if row.name in digests[-1:] else Standing.LEAD


def _hidden_results(
    incoming: Incoming,
    session: GatewaySession | None,
    digests: list[str],
    known: Mapping[str, AddedText],
) -> list[str]:
    """The ids of the results that are hidden in this request. What was sent with a message stays:
    the same request again, and all that a thinking of the model was about, which is only valid with
    the same bytes. What was hidden or shown since counts behind it."""
    if digests and digests[-1] in known:
        return list(known[digests[-1]].left_out)
    now = set(session.hidden) if session is not None else set()
    shape, body = incoming.shape, incoming.sent
    thought = results.last_thought(shape, body)
    then: set[str] = set()
    raws = body.get(rules.key_of(shape))
    if thought >= 0 and isinstance(raws, list):
        places = zip(rules.places_of(shape, raws), digests, strict=True)
        asked = [digest for place, digest in places if place < thought and digest in known]
        then = set(known[asked[-1]].left_out) if asked else set()
    return results.hidden_in(shape, body, thought=thought, then=then, now=now)


def store(prepared: PreparedRequest) -> None:
    """Stores the texts that are new. Raises `IntegrityError` if one is stored already."""
    if prepared.new:
        AddedText.objects.bulk_create(prepared.new)


def record(prepared: PreparedRequest) -> GatewayRequest:
    """Records a request that was sent with the workspace."""
    incoming = prepared.incoming
    session = recording.session_of(incoming, prepared.session)
    point, digest = recording.place(incoming, session, incoming.model)
    request = recording.request_of(
        incoming, session, point, digest, sent=prepared.body, original=incoming.sent
    )
    if prepared.failure:
        # That nothing was added: nothing is later.
        AddedText.objects.bulk_create(prepared.new, ignore_conflicts=True)
        recording.bypassed(request.pk, prepared.failure)
    heads = AddedText.objects.filter(session=session.uid, name__startswith=HEAD).order_by("-pk")
    old = list(heads.values_list("pk", flat=True)[MOST_HEADS : MOST_HEADS + 1])
    if old:
        AddedText.objects.filter(pk__in=old).delete()
    return request


def sent_as_it_was(incoming: Incoming, session: GatewaySession) -> None:
    """Keeps that the provider was sent a request without any workspace: what it has seen is never
    given one later."""
    messages = incoming.history.messages
    digests = _names(incoming, recording.previous_of(session, incoming).answer)
    pairs = zip(digests, messages, strict=True)
    users = [digest for digest, message in pairs if message["role"] == "user"]
    rows = _rows(incoming, session.uid, [_head_name(incoming), *users])
    if not AddedText.objects.filter(session=session.uid).exists():
        _begin(rows, digests)
    AddedText.objects.bulk_create(rows, ignore_conflicts=True)


def _uid_of_new(incoming: Incoming) -> str:
    """The uid of a session that is not stored yet. That of a session with a name follows from it,
    so that every process, also after a crash, finds what was sent in it."""
    named = incoming.named
    if named.is_empty:
        return new_uid()
    identity = json.dumps([incoming.key.digest, named.session, named.agent])
    return "".join(
        ALPHABET[byte % len(ALPHABET)] for byte in hashlib.sha256(identity.encode()).digest()[:16]
    )


def _sent_before(uid: str, names: list[str]) -> dict[str, AddedText]:
    """The texts of a session with these names, by name."""
    rows = AddedText.objects.filter(session=uid, name__in=names)
    return {row.name: row for row in rows}


def _reader(incoming: Incoming) -> Actor:
    """Whose workspace the model is sent: that of the person whose program it is, or an agent's own,
    with what both of them may read."""
    person, model = incoming.actor, incoming.model
    if not incoming.is_agent:
        return person
    allowed = person.permissions & frozenset(model.permissions)
    return replace(person, participant=model, permissions=allowed)


def _names(incoming: Incoming, before: str = "") -> list[str]:
    """The names of the texts behind the messages, by their places in the chain: agents that answer
    in the same session have texts of their own."""
    return _own_names(incoming, rules.chain(incoming.history.messages, before))


def _own_names(incoming: Incoming, digests: list[str]) -> list[str]:
    if not incoming.is_agent:
        return digests
    uid = incoming.model.uid
    return [hashlib.sha256(f"{uid}{digest}".encode()).hexdigest() for digest in digests]


# The text of the workspace.


@dataclass(frozen=True)
class SentBefore:
    """What a provider knows when a message is added: the texts that were sent on its path, the
    oldest first, and the head; the ids of the results that it is not sent, and a line for each that
    is new. If the request `goes_on` from an answer that the provider keeps, `held` is the text
    behind the message that was answered there."""

    path: list[AddedText]
    head: str
    hidden: list[str]
    arrived: list[str]
    held: list[AddedText]
    goes_on: bool


def _arrived(messages: Sequence[Message], are_new: Sequence[bool]) -> list[str]:
    """A line for each result of a tool in the messages that are new; the last ten."""
    tools: dict[str, str] = {}
    lines: list[str] = []
    for message, is_new in zip(messages, are_new, strict=True):
        for block in message["blocks"]:
            if block["type"] == "tool_use":
                tools[block["id"]] = block["name"]
            elif block["type"] == "tool_result" and is_new:
                given = block["tool_use_id"]
                named = " ".join(f"{tools.get(given, '')} {given}".split())[:MOST_NAMED]
                mark = "✗" if block["is_error"] else "✓"
                lines.append(f"{mark} {named}: ≈{rules.size_of_result(block)} tokens")
    left_out = len(lines) - MOST_ARRIVED
    return [f"… {left_out} more results", *lines[-MOST_ARRIVED:]] if left_out > 0 else lines


def _state(
    row: AddedText, incoming: Incoming, session: GatewaySession | None, told: SentBefore
) -> None:
    """Enters in `row` what has changed since the last message of its path that had a workspace: the
    whole workspace the first time, nothing if nothing has changed and no result is new. Augments
    that were loaded since the head was made are a part of it, and what was said before if the head
    has not got it."""
    revision, now, loaded = 0, [], ""
    if session is not None:
        tree = workspace_tree(incoming.actor.user, session)
        actor = _reader(incoming)
        workspace = access.workspace_of(actor.participant, tree)
        end = workspace.position or root_of(tree)
        place = PromptPlace(actor, tree, workspace, end)
        revision, now = workspace.revision, sections.rendered(view_of(place, SHOWN), SHOWN)
        loaded = _loaded(workspace)
    row.lasts_a_turn = _has_turn_messages(incoming)
    known = (
        earlier.stated
        for earlier in reversed([*told.held, *told.path])
        if earlier.stated and not earlier.lasts_a_turn
    )
    last: Mapping[str, str] = {} if row.lasts_a_turn else next(known, {})
    before = {name: text for name, text in last.items() if name in SHOWN}
    changed = sections.stated(now, before)
    outside = {AUGMENTS: loaded}
    source = _source(session)
    if session is not None and source != last.get(SOURCE, OWN if last or told.goes_on else ""):
        user, messages = incoming.actor.user, incoming.history.messages
        outside[TRANSCRIPT] = transcript_of(user, session, messages, goes_on=told.goes_on)
    else:
        outside[TRANSCRIPT] = last.get(TRANSCRIPT, "")
    differing = {}
    for name, text in outside.items():
        if text != last.get(name, text if text and text in told.head else ""):
            differing[name] = text or sections.framed(name, sections.EMPTY)
    if not changed and not differing and not told.arrived and last:
        if incoming.shape == "responses":  # the next request may send none of the messages again
            row.stated = dict(last)
        return
    shown = [*((name, text) for name, text in outside.items() if name in differing and text), *now]
    status = sections.framed("STATUS", _sizes(incoming, told, shown))
    more = f" revision {revision}" + (" · only what changed" if last else "")
    texts = [status, *differing.values(), *(text for _, text in changed)]
    row.text = sections.framed(
        "WORKSPACE", _with_arrived("\n".join(texts), told.arrived), more=more
    )
    row.stated = dict(now) or {"STATUS": status}
    if source:
        row.stated[SOURCE] = source
    for name, text in outside.items():
        if name in differing or name in last:
            row.stated[name] = text


def _with_arrived(text: str, arrived: list[str]) -> str:
    """The sections with a line for each new result among the notifications."""
    if not arrived:
        return text
    end = f"\n---{NOTIFICATIONS}_END"
    lines = "\n".join(arrived)
    if text.endswith(end):
        return f"{text.removesuffix(end)}\n{lines}{end}"
    return f"{text}\n{sections.framed(NOTIFICATIONS, lines)}"


def _sizes(incoming: Incoming, told: SentBefore, shown: list[tuple[str, str]]) -> str:
    """The STATUS line: about how many tokens each part of the request has, and all of them."""
    history = sum(rules.size_of(message, told.hidden) for message in incoming.history.messages)
    parts = {
        "PROMPT": count(told.head or incoming.history.system),
        "MESSAGES": history + sum(count(row.text) for row in told.path if not row.lasts_a_turn),
        **{name: count(text) for name, text in shown},
    }
    sizes = " | ".join(f"{name} ≈{size}" for name, size in parts.items())
    line = f"{sizes} | ≈{sum(parts.values())} of {incoming.model.context_limit}"
    return line if shown else f"{line}\nThe workspace is empty."


def _has_turn_messages(incoming: Incoming) -> bool:
    """Whether the provider has messages that last one turn: the program has switched them on."""
    switched = incoming.headers.get("anthropic-beta", "")
    return incoming.shape == "messages" and TURN_MESSAGES in switched


def with_added(shape: Shape, body: dict[str, Any], added: list[tuple[str, bool]]) -> dict[str, Any]:
    """The body with these texts after the messages of its history, in order; "" adds nothing. A
    text becomes a part of the user's message; a result of a tool that is a message of its own is
    followed by one. If it lasts one turn (True), it is a message of the system behind the user's,
    unless another of the user follows, before which no such message may stand."""
    key = rules.key_of(shape)
    messages = body.get(key)
    if shape == "responses" and isinstance(messages, str):
        content = [{"type": "input_text", "text": messages}]
        messages = [{"type": "message", "role": "user", "content": content}]
    if not isinstance(messages, list) or not any(text for text, _ in added):
        return body
    texts = dict(zip(rules.places_of(shape, messages), added, strict=True))
    sent: list[Any] = []
    for place, raw in enumerate(messages):
        text, lasts_a_turn = texts.get(place, ("", False))
        following = messages[place + 1] if place + 1 < len(messages) else {}
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


def _head_name(incoming: Incoming) -> str:
    """The name of what replaces this system text and these tools."""
    parts = [incoming.history.system, incoming.sent.get("tools")]
    if incoming.is_agent:
        parts.append(incoming.model.uid)
    identity = json.dumps(parts, sort_keys=True, ensure_ascii=False)
    return HEAD + hashlib.sha256(identity.encode(errors="replace")).hexdigest()[:16]


def _with_head(incoming: Incoming, head: AddedText) -> dict[str, Any]:
    """The body with the system text and tools of this session: made when the program sends a head
    for the first time, and the same ever after."""
    body = without_tools(incoming.shape, incoming.sent, head.left_out)
    return with_system(incoming.shape, body, head.text)


def _hidden(incoming: Incoming) -> list[str]:
    """The names of tools that are not passed on for this participant."""
    return [str(name) for name in incoming.model.tool_filter]


def _system(incoming: Incoming, session: GatewaySession | None, *, goes_on: bool) -> str:
    """The system text: the persona, what the program said, the loaded augments, and the beginning
    of what was said before its conversation was cleared."""
    core = incoming.history.system
    parts = [
        escaped(incoming.model.persona),
        sections.framed("CORE", core) if core else "",
    ]
    if session is not None:
        user = incoming.actor.user
        tree = workspace_tree(user, session)
        workspace = access.workspace_of(_reader(incoming).participant, tree)
        parts += [
            _loaded(workspace),
            transcript_of(user, session, incoming.history.messages, goes_on=goes_on),
        ]
    return "\n\n".join(filter(None, parts))


def _loaded(workspace: Workspace) -> str:
    """The texts of the loaded augments."""
    return augments([augment for augment in loaded_augments(workspace) if augment.mark])


def workspace_tree(user: User, session: GatewaySession) -> Tree:
    """The tree whose workspace a session is sent: the attached one while its person may read it."""
    if session.attached is not None:
        with contextlib.suppress(CommandError):
            return access.get_tree(user, session.attached.uid)[1]
    return session.tree


def _source(session: GatewaySession | None) -> str:
    """Where a session's transcript comes from; it is stated again when that changes."""
    if session is None:
        return ""
    if session.transcript is not None:
        return f"text {hashlib.sha256(session.transcript.encode()).hexdigest()[:16]}"
    return f"tree {session.attached.uid}" if session.attached is not None else OWN


def transcript_of(
    user: User, session: GatewaySession, messages: Sequence[Message], *, goes_on: bool
) -> str:
    """The section TRANSCRIPT: what was said before the conversation that begins with these
    messages, or `goes_on` with them."""
    text = session.transcript
    if text is None:
        text = words_before(user, session, messages, goes_on=goes_on)
    return sections.framed(TRANSCRIPT, escaped(text)) if text.strip() else ""


def words_before(
    user: User, session: GatewaySession, messages: Sequence[Message], *, goes_on: bool
) -> str:
    """The words of the conversation that was last held in the tree whose workspace a session is
    sent, a line each; without tools, each shortened. Empty if the program has not begun another one
    there since."""
    tree = workspace_tree(user, session)
    nodes = nodes_in(tree.pk)
    if tree.pk == session.tree_id:
        if goes_on:
            return ""
        opening = rules.chain(messages[:1])
        held = GatewayMessage.objects.filter(tree=tree, digest__in=opening).first()
        openings = Node.objects.filter(parent_slot=root_of(tree).slot_id, pruned=False)
        if held is not None:
            openings = openings.exclude(pk=held.node_id)
            nodes = nodes_in(tree.pk, last=held.node_id - 1)
        if not openings.exists():
            return ""
    texts = nodes.filter(kind="text", version_pruned=False, parent_slot__isnull=False)
    texts = texts.exclude(text="").order_by("-id").select_related("author")
    rows = list(texts[:TRANSCRIPT_TEXTS])
    withheld = withheld_from_models(row.pk for row in rows)
    return "\n".join(
        f"{row.author.name}: {' '.join(row.text.split())[:TRANSCRIPT_CHARACTERS]}"
        for row in reversed(rows)
        if row.pk not in withheld
    )


def with_system(shape: Shape, body: dict[str, Any], system: str) -> dict[str, Any]:
    """The body with this system text in place of its own. The block by which a program names
    itself stays first and alone."""
    if not system:
        return body
    if shape == "responses":
        given = body.get("input")
        # What a program says there before the conversation is in the system text already.
        items = given[rules.lead_of(given) :] if isinstance(given, list) else given
        return {**body, "instructions": system, **({} if items is None else {"input": items})}
    if shape == "messages":
        own = body.get("system")
        first = own[0] if isinstance(own, list) and own else None
        is_name = isinstance(first, dict) and str(first.get("text", "")).startswith(
            rules.ATTRIBUTION
        )
        marks = [part for part in own if "cache_control" in part] if isinstance(own, list) else []
        block: dict[str, Any] = {"type": "text", "text": system}
        if marks:
            block["cache_control"] = marks[-1]["cache_control"]
        return {**body, "system": [*([first] if is_name else []), block]}
    messages = body.get("messages")
    if not isinstance(messages, list):
        return body
    lead = next(
        (n for n, message in enumerate(messages) if not _is_system(message)),
        len(messages),
    )
    role = messages[0]["role"] if lead else "system"
    return {**body, "messages": [{"role": role, "content": system}, *messages[lead:]]}


def _is_system(raw: Any) -> bool:
    return isinstance(raw, dict) and raw.get("role") in ("system", "developer")
