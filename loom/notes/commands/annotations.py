"""Annotations: notes below the item that they are about, replies, and resolving them; and
suggestions: new wordings of a text, which its writers accept (with a merge) or reject
(docs/model.md §2.1, §5.1)."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Literal

from django.utils import timezone
from django.utils.translation import gettext_noop

from loom.access import Actor, demand_own
from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Op, Reply
from loom.engine.registry import command, describe_verb
from loom.engine.undo import Own, conflict, undoes
from loom.errors import CommandError
from loom.language import ids
from loom.language.refs import Ref, tree_named
from loom.language.verbs import Phrases, Verb
from loom.notes.commands.marks import add_mark
from loom.notes.models import Decision, Mark, Mention
from loom.notes.words import MOST_PLACES, place_of, source_of
from loom.people.models import Participant
from loom.permissions import LOOM, WRITE
from loom.text.changes import merged
from loom.trees.commands import drafts as draft_commands
from loom.trees.commands import node_writer
from loom.trees.commands.drafts import settle_draft
from loom.trees.commands.node_writer import NewNode, Source, after_adding, demand_text
from loom.trees.commands.nodes import edited_version, made_nodes
from loom.trees.models import Node, NodeSource
from loom.trees.named_items import get_own_node, touched, tree_of
from loom.trees.queries import lookup, places
from loom.turns import asks
from loom.workspace.commands import lenses
from loom.workspace.commands.lenses import aimed

ANNOTATION_FORMS = ("note", "question", "suggestion", "warning", "objection")


OfWords = Annotated[str, Written("option", key="of", value="quoted")]
Nth = Annotated[
    int | None, Written("option", key="nth", value="int", minimum=1, maximum=MOST_PLACES)
]


class Annotate(Args):
    """A note on a node, with `words` on those, of which the `nth` place in it is meant; on an
    annotation it is a reply."""

    ref: Annotated[RefField, Written("ref", but=("document",))]
    content: Annotated[str, Written("content")]
    words: OfWords = ""
    nth: Nth = None
    form: Annotated[
        Literal["note", "question", "suggestion", "warning", "objection"],
        Written("option", key="as", value="choice", choices=ANNOTATION_FORMS),
    ] = "note"


def _note_phrases() -> tuple[Phrases, ...]:
    """`make note`, `add question`, `leave remark` and the like, and `note` and `comment` alone."""
    phrases_made = []
    verbs = ("make", "add", "leave", "put", "write", "attach", "ask", "post", "raise")
    for noun in ("note", "comment", "annotation", "question", "warning", "objection", "remark"):
        phrases = [f"{verb} {noun}" for verb in verbs]
        phrases += [noun] if noun in ("note", "comment") else []
        before = f"as:{noun}" if noun in ("question", "warning", "objection") else ""
        phrases_made.append(Phrases("|".join(phrases), before=before, needs="text"))
    return tuple(phrases_made)


describe_verb(
    Verb(
        "annotate",
        shown="part",
        done=gettext_noop("Added a note"),
        past="annotated",
        example='Leave a remark: → annotate here "Why now?"',
        taught=(
            "annotate REF CONTENT [as:note|question|suggestion|warning|objection] — a "
            "note beside a text"
        ),
        phrases=(
            Phrases("warn about|warn of", before="as:warning", needs="text"),
            Phrases("object to", before="as:objection", needs="text"),
            *_note_phrases(),
        ),
        swaps=(
            ("with a question", "as:question"),
            ("with the question", "as:question"),
            ("with a warning", "as:warning"),
            ("with the warning", "as:warning"),
            ("with an objection", "as:objection"),
            ("with a note", "as:note"),
            ("as a", "as"),
            ("as an", "as"),
            ("as", ""),
            ("question", "as:question"),
            ("warning", "as:warning"),
            ("objection", "as:objection"),
            ("suggestion", "as:suggestion"),
            ("note", "as:note"),
            ("question:", "as:question"),
            ("warning:", "as:warning"),
            ("objection:", "as:objection"),
        ),
        dropped=("about at for on saying says that to with"),
        options={"form": "as", "type": "as", "kind": "as"},
    )
)


@command(
    "annotate",
    group="Make",
    klass="write",
    permissions={LOOM, WRITE},
    stream="tree",
    annotates=True,
)
def annotate(context: Context, args: Annotate) -> Reply:
    """Adds a note to a node, or to words of it (`of:"words"`), visible to people and loom-aware
    models, never to subjects."""
    demand_text(args.content)
    if args.ref.kind == "tree" and not args.words:
        return _about_tree(context, args)
    target = get_own_node(context, args.ref)
    sources: tuple[Source, ...] = ()
    if args.words:
        _demand_words(target)
        shown = f"[{target.local_id}]"
        place = place_of(target.text, args.words, args.nth or 0, shown=shown)
        sources = (source_of(target.pk, place),)
    note, inverse = _add(context, target, args.content, args.form, sources)
    settle_draft(context, target, "note", args.content)
    answered, did = asks.after_answer(note) if target.form == "question" else ("", {})
    return Reply(
        f"✓ annotation [{note.local_id}] added to [{target.local_id}]{answered}",
        refs=(note.local_id,),
        items=touched(note, target),
        inverse=inverse,
        did=did,
    )


def _about_tree(context: Context, args: Annotate) -> Reply:
    """Adds a note about a tree below the root of this tree; its sources name the tree."""
    about = tree_of(context, args.ref)
    source = (ids.of_tree(about.pk), "primary", "")
    new = NewNode(
        args.content,
        kind="annotation",
        form=args.form,
        parent=lookup.root_of(context.tree),
        sources=(source,),
    )
    note = node_writer.add_node(context.world, context.tree, context.actor.participant, new)
    note_mentions(context.actor, note)
    return Reply(
        f"✓ annotation [{note.local_id}] added to {tree_named(about.title)}",
        refs=(note.local_id,),
        items=touched(note),
        inverse=made_nodes(note),
    )


def _demand_words(node: Node) -> None:
    """Refuses with REJECTED what has no words that a note can be about."""
    if node.kind != "text" or node.parent_slot_id is None:
        raise CommandError(
            "REJECTED",
            "Only words of a text can be named with `of:`.",
            hint=f"→ annotate {node.local_id} without it",
        )


def _add(
    context: Context, target: Node, text: str, form: str, sources: tuple[Source, ...] = ()
) -> tuple[Node, tuple[Op, ...]]:
    new = NewNode(text, kind="annotation", form=form, parent=target, sources=sources)
    note = node_writer.add_node(context.world, context.tree, context.actor.participant, new)
    note_mentions(context.actor, note)
    if target.form == "question":
        asks.answered_by(context.actor.participant, target, note)
    inverse = made_nodes(note)
    if target.kind == "annotation" and target.slot.resolved_at is not None:
        inverse = (*inverse, set_resolved(context, target, False))
    return note, inverse


def note_mentions(actor: Actor, note: Node) -> None:
    """Stores which members an annotation mentions with an @, such as `@Ada`, by their names in the
    grove or those of their accounts. One query if the text has an @, two if it mentions somebody.
    """
    Mention.objects.bulk_create(
        Mention(participant=member, tree=note.tree, node=note, at=note.created_at)
        for member in _mentioned(actor.participant, note)
    )


@after_adding
def mentions_of_wording(node: Node) -> None:
    """Stores which members another wording of an annotation mentions. Whoever the wording before
    it mentioned too is told once."""
    if node.kind != "annotation" or node.slot_id == node.pk:
        return
    members = _mentioned(node.author, node)
    earlier = Mention.objects.filter(node=node.edited_from_id, participant__in=members)
    known = {mention.participant_id: mention for mention in earlier}
    rows = [Mention(participant=member, tree=node.tree, node=node) for member in members]
    for row in rows:
        before = known.get(row.participant_id)
        row.at = before.at if before else node.created_at
        row.seen_at = before.seen_at if before else None
        row.mailed_at = before.mailed_at if before else None
    Mention.objects.bulk_create(rows)


def _mentioned(author: Participant, note: Node) -> list[Participant]:
    """The other members of the author's grove whom a note mentions. One query if it has an @."""
    if "@" not in note.text:
        return []
    people = Participant.objects.filter(
        grove=author.grove_id, kind="human", archived_at__isnull=True
    )
    members = list(people.select_related("user"))
    by_name = {member.user.username.casefold(): member for member in members if member.user}
    # What somebody is called in the grove means them, even if it is the name of an account.
    by_name |= {member.name.casefold(): member for member in members}
    named = {by_name[name] for name in names_in(note.text, by_name)}
    return [member for member in members if member in named and member.pk != author.pk]


def names_in(text: str, names: Iterable[str]) -> set[str]:
    """Those of the names that follow an @ in the text, as whole words and in any case. Where one
    name is the beginning of another, the longer one counts."""
    mentioned = set()
    rest = text.casefold()
    for name in sorted(names, key=len, reverse=True):
        pattern = rf"(?<![\w@])@{re.escape(name.casefold())}(?!\w)"
        if re.search(pattern, rest):
            mentioned.add(name)
            rest = re.sub(pattern, " ", rest)
    return mentioned


def set_resolved(context: Context, node: Node, resolved: bool, *, decision: str = "") -> Op:
    """Resolves or reopens an annotation; returns the inverse."""
    at = timezone.now() if resolved else None
    Node.objects.filter(pk=node.slot_id).update(resolved_at=at)
    kind = "annotation.resolved" if resolved else "annotation.reopened"
    context.world.append(kind, {"node": node.slot.local_id, "resolved": resolved})
    before = _decide(node, decision)
    op: Op = {"op": "resolve", "node": node.slot_id, "value": not resolved}
    return {**op, "decision": before} if before else op


def _decide(node: Node, decision: str) -> str:
    """Stores how a suggestion was decided, "" for not at all; returns how it was before."""
    rows = Decision.objects.filter(node=node.slot_id)
    before = rows.values_list("decision", flat=True).first() or ""
    if decision:
        values = {"tree_id": node.tree_id, "decision": decision}
        Decision.objects.update_or_create(node_id=node.slot_id, defaults=values)
    elif before:
        rows.delete()
    return before


class Resolve(Args):
    """The annotation, and why it is resolved."""

    ref: Annotated[RefField, Written("ref")]
    reason: Annotated[str, Written("quoted")] = ""


describe_verb(
    Verb(
        "resolve",
        done=gettext_noop("Resolved a note"),
        past="resolved",
        phrases=(Phrases("resolve|mark * resolved|mark * as resolved|settle|close * as resolved"),),
        dropped=("because"),
    )
)


@command(
    "resolve",
    group="Make",
    klass="write",
    permissions={LOOM, WRITE},
    stream="tree",
    annotates=True,
)
def resolve(context: Context, args: Resolve) -> Reply:
    """Marks an annotation as settled; a reason is kept as a reply to it. An objection needs one."""
    node = get_own_node(context, args.ref)
    if node.kind != "annotation":
        raise CommandError(
            "REJECTED",
            f"[{node.local_id}] is not an annotation.",
            hint=f"→ list {node.local_id} annotations shows them",
        )
    demand_own(context.actor, node, "resolve")
    if node.slot.resolved_at is not None:
        raise CommandError(
            "REJECTED", f"[{node.local_id}] is already resolved.", hint="a reply reopens it"
        )
    if node.form == "objection" and not args.reason.strip():
        raise CommandError(
            "REJECTED",
            f"[{node.local_id}] is an objection: resolving it needs a reason.",
            hint=f'write → resolve {node.local_id} "why it is settled"',
        )
    refs: tuple[str, ...] = (node.local_id,)
    inverse: tuple[Op, ...] = ()
    if args.reason:
        demand_text(args.reason)
        reply, inverse = _add(context, node, args.reason, "note")
        refs = (node.local_id, reply.local_id)
    return Reply(
        f"✓ resolved [{node.local_id}]",
        refs=refs,
        items=touched(node),
        inverse=(*inverse, set_resolved(context, node, True)),
    )


# -- suggestions


SUGGESTION_FORM = "diff"


@dataclass(frozen=True)
class Suggestion:
    """An open suggestion for an item of another feature: its node, the item, and the version that
    it was made from."""

    node: Node
    item: int
    version: str


Accepts = Callable[[Context, Suggestion, str | None], Reply]
_accepts: dict[str, Accepts] = {}


def accepts(kind: str) -> Callable[[Accepts], Accepts]:
    """Registers who makes a suggestion for items of a kind, or a text in its place, their text."""

    def register(accept: Accepts) -> Accepts:
        _accepts[kind] = accept
        return accept

    return register


class Suggest(Args):
    """The text (or slice) and its whole new wording; with `words` what stands in their place, of
    which the `nth` is meant."""

    ref: Annotated[RefField, Written("ref", but=("document",))]
    content: Annotated[str, Written("content")]
    words: OfWords = ""
    nth: Nth = None


describe_verb(
    Verb(
        "suggest",
        shown="part",
        done=gettext_noop("Suggested a change"),
        past="suggested",
    )
)


def demand_whole(ref: Ref) -> None:
    """Refuses words together with a slice: both say what is meant."""
    if ref.slice is not None:
        raise CommandError(
            "INVALID_SYNTAX", "Name a part or words of it, not both.", hint='leave out of:"…"'
        )


@command("suggest", group="Make", klass="write", permissions={LOOM}, stream="tree")
def suggest(context: Context, args: Suggest) -> Reply:
    """Suggests another wording of a text, of words of it (`of:"words"`), or of the lines that a
    window shows (`suggest #4 …`); its writers accept it as a version, or reject it."""
    ref = aimed(context, args.ref, writes=True).ref
    target = get_own_node(context, ref, slices=True)
    if target.kind != "text" or target.parent_slot_id is None:
        raise CommandError("REJECTED", "Only a text can be reworded.", hint="→ annotate here")
    node_writer.demand_visible(target)
    sources: tuple[Source, ...] = ()
    if args.words:
        demand_whole(ref)
        shown = f"[{target.local_id}]"
        place = place_of(target.text, args.words, args.nth or 0, shown=shown)
        text = f"{target.text[: place[0]]}{args.content}{target.text[place[1] :]}"
        sources = (source_of(target.pk, place),)
    else:
        text = lenses.with_slice(target.text, ref.slice, args.content)
    demand_text(text)
    if text == target.text:
        raise CommandError(
            "REJECTED", "The suggestion is the same as the text.", hint="change the text"
        )
    new = NewNode(text, kind="annotation", form=SUGGESTION_FORM, parent=target, sources=sources)
    suggestion = node_writer.add_node(context.world, context.tree, context.actor.participant, new)
    note_mentions(context.actor, suggestion)
    return Reply(
        f"✓ suggestion [{suggestion.local_id}] on [{target.local_id}]",
        refs=(suggestion.local_id,),
        items=touched(suggestion, target),
        inverse=made_nodes(suggestion),
    )


class Accept(Args):
    """A suggestion; or a text that was written after an older wording of the text above it."""

    ref: Annotated[RefField, Written("ref")]


class AcceptEdited(Args):
    """A suggestion, and the wording to use instead."""

    ref: Annotated[RefField, Written("ref")]
    edited: Annotated[str, Written("word", lead="edited")]
    content: Annotated[str, Written("content")]


class Reject(Args):
    """A suggestion, and the reason."""

    ref: Annotated[RefField, Written("ref")]
    reason: Annotated[str, Written("quoted")] = ""


describe_verb(
    Verb(
        "accept",
        done=gettext_noop("Accepted a suggestion"),
        past="accepted",
    )
)


@command("accept", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def accept(context: Context, args: Accept) -> Reply:
    """Makes a suggestion a version; of a text, marks the older wording above it as read."""
    node = get_own_node(context, args.ref)
    if node.kind == "text":
        return _read(context, node)
    if (reply := _decided_elsewhere(context, node, None)) is not None:
        return reply
    base, newest = _open_suggestion(context, node)
    text = merged(base.text, newest.text, node.text)
    if text is None:
        raise CommandError(
            "CONFLICT",
            f"[{newest.local_id}] by {newest.author.name} changed the same passage since.",
            hint=f"→ accept {node.local_id} edited, with the text that both lead to",
        )
    return _taken(context, node, newest, text, decision="accepted")


@command("accept", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def accept_edited(context: Context, args: AcceptEdited) -> Reply:
    """Decides a suggestion with a text of your own in its place."""
    node = get_own_node(context, args.ref)
    demand_text(args.content)
    if (reply := _decided_elsewhere(context, node, args.content)) is not None:
        return reply
    _, newest = _open_suggestion(context, node)
    return _taken(context, node, newest, args.content, decision="edited")


describe_verb(
    Verb(
        "reject",
        done=gettext_noop("Rejected a suggestion"),
        past="rejected",
        is_destructive=True,
        asks_first=True,
        meant_by="refuse decline",
    )
)


@command("reject", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def reject(context: Context, args: Reject) -> Reply:
    """Rejects a suggestion; a reason is kept as a reply to it."""
    node = get_own_node(context, args.ref)
    _demand_open(node)
    inverse: tuple[Op, ...] = ()
    refs = [node.local_id]
    if args.reason:
        demand_text(args.reason)
        new = NewNode(args.reason, kind="annotation", form="note", parent=node)
        reply = node_writer.add_node(context.world, context.tree, context.actor.participant, new)
        inverse, refs = made_nodes(reply), [node.local_id, reply.local_id]
    resolved = _decided(context, node, "rejected", "")
    return Reply(
        f"✓ rejected [{node.local_id}]",
        refs=tuple(refs),
        items=touched(node),
        inverse=(*inverse, resolved),
    )


def _demand_open(node: Node) -> None:
    if node.kind != "annotation" or node.form != SUGGESTION_FORM:
        raise CommandError(
            "REJECTED",
            f"[{node.local_id}] is not a suggestion.",
            hint=f"→ resolve {node.local_id} settles a note",
        )
    if node.slot.resolved_at is not None:
        raise CommandError(
            "REJECTED", f"[{node.local_id}] is decided already.", hint="make another suggestion"
        )


def _open_suggestion(context: Context, node: Node) -> tuple[Node, Node]:
    """(the version that a suggestion is about, the newest one there). Refuses one that is decided,
    and CONFLICT if a model would take a person's unsaved edit away."""
    _demand_open(node)
    newest = places.newest_version(lookup.rows().get(pk=node.parent_slot_id or 0))
    node_writer.demand_visible(newest)
    draft_commands.demand_free(context.actor, newest)
    versions = lookup.rows().filter(slot=newest.slot_id, hash=node.parent_hash)
    return versions.first() or newest, newest


def _taken(context: Context, node: Node, newest: Node, text: str, *, decision: str) -> Reply:
    """Makes the text a version, unless the slot already has this text, and closes the
    suggestion."""
    if text == newest.text:
        resolved = _decided(context, node, decision, newest.local_id)
        return Reply(
            f"✓ accepted [{node.local_id}]; [{newest.local_id}] reads so already",
            refs=(newest.local_id,),
            items=touched(node, newest),
            inverse=(resolved,),
        )
    version = edited_version(context, newest, text)
    resolved = _decided(context, node, decision, version.local_id)
    return Reply(
        f"✓ accepted [{node.local_id}] as version [{version.local_id}]",
        refs=(version.local_id,),
        items=touched(version, node, newest),
        inverse=(resolved, *made_nodes(version)),
    )


def _decided_elsewhere(context: Context, node: Node, own: str | None) -> Reply | None:
    """Accepts a suggestion for an item of another feature; None if it is about a node."""
    _demand_open(node)
    rows = NodeSource.objects.filter(node=node.slot_id, role="primary", item__kind__in=_accepts)
    row = rows.values_list("item__kind", "item", "version_seen").first()
    if row is None:
        return None
    return _accepts[row[0]](context, Suggestion(node, row[1], row[2]), own)


def _decided(context: Context, node: Node, decision: str, version: str) -> Op:
    """Closes a suggestion; returns the inverse."""
    inverse = set_resolved(context, node, True, decision=decision)
    body = {"node": node.slot.local_id, "decision": decision, "version": version or None}
    context.world.append("suggestion.decided", body)
    return inverse


def _read(context: Context, node: Node) -> Reply:
    """Stores that the current wording above a text was read, so that the text is no longer marked
    as written after an older one."""
    above = places.version_above(node, context.workspace)
    item = ids.of_node(node.pk)
    known = Mark.objects.filter(item=item, kind="read", removed_at__isnull=True)
    if not node.parent_hash or above is None or above.hash == node.parent_hash:
        raise CommandError(
            "REJECTED",
            f"[{node.local_id}] was written after what is above it now.",
            hint="nothing to do",
        )
    if known.filter(label=above.hash).exists():
        raise CommandError(
            "REJECTED", f"[{node.local_id}] was read here already.", hint="nothing to do"
        )
    inverse = add_mark(context, item, node.local_id, "read", above.hash)
    return Reply(
        f"✓ [{node.local_id}] marked as read below [{above.local_id}]",
        refs=(node.local_id,),
        items=touched(node),
        inverse=(inverse,),
        did={"accepted": "as read"},
    )


@undoes("resolve")
def _undo_resolved(context: Context, op: Op, own: Own) -> list[Op]:
    node = lookup.rows().get(pk=op["node"])
    if (node.resolved_at is not None) == op["value"]:
        raise conflict(f"[{node.local_id}]")
    return [set_resolved(context, node, op["value"], decision=op.get("decision", ""))]
