"""The commands view, list and compare, and the text of what they show. They change nothing."""

import difflib
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Literal

from loom.access import Actor
from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Reply
from loom.engine.jobs import enqueue
from loom.engine.registry import command, describe_verb
from loom.engine.steps import items_of
from loom.errors import CommandError
from loom.language import ids
from loom.language.refs import ParseError, Ref, Slice, print_ref, tree_named
from loom.language.slices import PART_CHARACTERS, get, part_size, parts_of
from loom.language.verbs import Phrases, Verb
from loom.links import link_types
from loom.links.derived import derived_type, nodes_of, text_annotated
from loom.links.foot import Portal, portals_of
from loom.links.sides import LinkSide, links_of, mentioning
from loom.links.vocabulary import archetype_of, vocabulary_of
from loom.notes.queries import marks_shown
from loom.notes.words import words_shown
from loom.participants.queries import get_agents
from loom.people.grove_settings import number_of
from loom.people.models import Participant
from loom.people.names import as_sent
from loom.permissions import LOOM, in_order
from loom.reading.queries import margins
from loom.reading.queries.tree_bodies import tree_body
from loom.text.ages import age
from loom.text.counts import MOST_COUNTED, at_most, counted
from loom.text.frames import escaped
from loom.text.shortening import excerpt, summary_or_excerpt
from loom.text.unified_diff import unified_diff
from loom.trees.lists import LISTS, lister_of
from loom.trees.models import GroveText, Node, Tree
from loom.trees.named_items import get_node, is_range, range_of, touched, tree_of
from loom.trees.node_lines import lines_below
from loom.trees.queries import around, lookup, places
from loom.trees.queries.lookup import NodeRow, withheld
from loom.workspace.commands.lenses import aimed, no_part, shown_part
from loom.workspace.commands.tasks import get_task
from loom.workspace.commands.windows import get_stash
from loom.workspace.models import Window
from loom.workspace.queries.open_windows import get_window
from loom.workspace.queries.window_contents import contents_of
from loom.workspace.queries.window_contents import nodes_of as several_of
from loom.workspace.queries.windows import WITHHELD
from loom.workspace.queries.workspace_bodies import task_lines
from loom.workspace.window_rules import total_of


def named(who: Participant) -> str:
    """`Ada (human)`."""
    return f"{as_sent(who.name)} ({who.kind})"


def header(node: Node, now: datetime) -> str:
    """`[a7x2] Ada (human) · 3m ago · depth:7`; with ` · imported` for a node from a file."""
    head = f"[{node.local_id}] {named(node.author)} · {age(now, node.created_at)}"
    return f"{head} · depth:{node.depth}{mark_of(node)}"


def mark_of(node: Node) -> str:
    """The mark of an imported node: nobody here saw its author write it."""
    return "" if node.imported is None else " · imported"


def line_of(
    node: Node,
    now: datetime,
    *,
    withheld: Collection[int] = (),
    marks: Mapping[int, str] = MappingProxyType({}),
) -> str:
    """One line of a list: id, author, age, what an annotation is, first words, marks; no words for
    nodes in `withheld`."""
    words = WITHHELD if node.pk in withheld else summary_or_excerpt(node.summary, node.text)
    head = f"  [{node.local_id}] {named(node.author)} · {age(now, node.created_at)}"
    form = f" · {node.form}" if node.kind == "annotation" and node.form else ""
    form += " · resolved" if form and node.slot.resolved_at is not None else ""
    marked = f" · {marks[node.pk]}" if node.pk in marks else ""
    return f"{head}{mark_of(node)}{form} · {words}{marked}"


def escaped_for(actor: Actor, text: str) -> str:
    """A whole text in a reply; for a model, what looks like a frame or header is escaped."""
    return escaped(text) if actor.participant.kind == "model" else text


# Viewing more than one node: a branch, a range, a whole tree.


MAX_SUMMARY = 50


def view_tree(context: Context, ref: Ref) -> Reply:
    """A tree's title, size and what it is about."""
    tree = tree_of(context, ref)
    body = tree_body(tree, None)
    lines = [
        f"{tree_named(tree.title)} ({tree.mode} mode)",
        f"{counted(body['node_count'], 'node')} · "
        f"{counted(body['branch_count'], 'branch', 'branches')} · depth: {body['depth']}",
    ]
    about = (f"summary: {tree.summary}" if tree.summary else "", tree.description)
    lines += [escaped_for(context.actor, line) for line in about if line]
    return Reply("\n".join(lines), refs=(f"tree:{tree.uid}",), items=touched(tree))


def view_range(context: Context, ref: Ref, *, full: bool, form: str | None) -> Reply:
    """Shows the nodes of a branch (from the root) or of a range, from the top."""
    every = [row for row in range_of(context, ref) if row.text]
    gone = withheld(context.actor, [row.id for row in every])
    rows = [row for row in every if row.id not in gone]
    seen = tuple(ids.of_node(row.id) for row in rows[-1:])
    if form == "prose":
        text = escaped_for(context.actor, "".join(row.text for row in rows if not row.is_ask))
        return Reply(text, refs=_refs(rows), items=seen, quotes=tuple(rows))
    shown = rows if full else rows[-MAX_SUMMARY:]
    lines = (
        [f"… {counted(len(rows) - len(shown), 'node')} before"] if len(shown) < len(rows) else []
    )
    for row in shown:
        who = f"{as_sent(row.author_name)} ({row.author_kind})"
        mark = " · imported" if row.imported else ""
        lines.append(f"[{row.local_id}] {who} · {age(context.now, row.created_at)}{mark}")
        lines.append(f'"{escaped_for(context.actor, row.text)}"' if full else excerpt(row.text))
    text = "\n".join(lines) or "nothing written there yet"
    return Reply(text, refs=_refs(shown), items=seen, quotes=tuple(shown))


def _refs(rows: list[NodeRow]) -> tuple[str, ...]:
    return tuple(row.local_id for row in rows)


# View.


MAX_LINES = 50
MAX_NAMED = 100  # items of a list without a line that it names
MOST_SKIPPED = 100_000


class ViewArgs(Args):
    """What to view, and how much of it."""

    ref: Annotated[RefField, Written("ref", but=("document",))]
    length: Annotated[
        Literal["full", "summary"] | None, Written("choice", choices=("full", "summary"))
    ] = None
    with_annotations: Annotated[bool, Written("flag", lead="with-annotations")] = False
    form: Annotated[
        Literal["prose", "nodes", "diff"] | None,
        Written("option", key="as", value="choice", choices=("prose", "nodes", "diff")),
    ] = None


describe_verb(
    Verb(
        "view",
        past="viewed",
        example="Read a text: → view here",
        taught=(
            'view REF{|doc:"name"} [full|summary] [with-annotations] — reads it: the '
            "first words or a summary, all with full"
        ),
        is_harmless=True,
        takes_each=True,
        phrases=(
            Phrases(
                "view|show|see|look|look at|read|display|inspect|examine|have a look at"
                "|take a look at|what is|what is in|what is at|what does * say"
                "|what is written in|tell me about|give me|let me see|let me read|describe"
                "|what does * contain|print out|bring up|text of"
            ),
            Phrases(
                "read all of|what exactly does * say|full text of|whole text of", before="full"
            ),
            Phrases("summarise|summarize|sum up|summary of", before="summary"),
            Phrases("show diff of|view diff of|diff of", before="as:diff"),
            Phrases("open|print|pull up"),
            Phrases("look|look around|look here", before="here"),
            Phrases(
                "path|path to|path of|show path|show path to|show path of|view path"
                "|view path to|view path of|ancestors of|ancestors|list ancestors of"
                "|show ancestors of|list * ancestors|list * parents|list * parent|list * path"
                "|view * ancestors|what leads to|what is above",
                before="branch",
            ),
            Phrases("path|path here|show path|view path", before="branch here"),
        ),
        swaps=(
            ("with all its annotations", "with-annotations"),
            ("with its annotations", "with-annotations"),
            ("with the annotations", "with-annotations"),
            ("with annotations", "with-annotations"),
            ("and its annotations", "with-annotations"),
            ("including annotations", "with-annotations"),
            ("including its annotations", "with-annotations"),
            ("once more", "again"),
            ("in full", "full"),
            ("full text", "full"),
            ("whole text", "full"),
            ("whole", "full"),
            ("entire", "full"),
            ("complete", "full"),
            ("completely", "full"),
            ("in brief", "summary"),
            ("in short", "summary"),
            ("briefly", "summary"),
            ("short version", "summary"),
            ("all of", "full"),
            ("first paragraph", "para:1"),
        ),
        dropped=("'s about again at content contents id in of on section text"),
        options={"format": "as"},
    )
)


@command("view", group="Look", klass="look", permissions={LOOM}, aliases=("read",))
def view(context: Context, args: ViewArgs) -> Reply:
    """Shows a node, a tree, a branch or a range: its summary, or with `full` all of it;
    `view #14 part:2` reads on in a window or result that was cut. Also a task (`view t3`), a stash
    (`view stash:"label"`), an agent (`view agent:"name"`), a trail or a pipe."""
    part = args.ref.slice
    if args.ref.kind in _NO_TEXTS:
        return _NO_TEXTS[args.ref.kind](context, args.ref)
    if args.ref.kind == "window":
        window = get_window(context, int(args.ref.id))
        in_parts = part is not None and part.kind == "part"
        if in_parts or window.kind not in ("node", "search"):
            return _of_window(context, window, args.ref)
    args = args.model_copy(update={"ref": aimed(context, args.ref).ref})
    if part is None or part.kind != "part":
        return _viewed(context, args)
    whole = args.model_copy(
        update={"ref": replace(args.ref, slice=None), "length": args.length or "full"}
    )
    return _part(context, _viewed(context, whole), part, f"{print_ref(whole.ref)} full")


def _of_window(context: Context, window: Window, ref: RefField) -> Reply:
    """What a window shows, or a part of it: also a result that is not visible."""
    (shown,) = contents_of(context.actor, context.workspace, [window])
    steps = [window.step] if window.step is not None else []
    touched_by = items_of(steps).get(window.step_id or 0, []) if steps else []
    own = [window.item_id] if window.item_id is not None else []
    # The answers of lines were escaped when they were given, and have headers of ours.
    text = shown.text if window.kind == "result" else escaped_for(context.actor, shown.text)
    if window.kind not in ("result", "node", "search"):
        text = f"{shown.name}\n{text}"
    several = several_of(window.nodes) if shown.is_open else []
    items = [*own, *touched_by, *map(ids.of_node, window.nodes)]
    context.note_read(*items)
    reply = Reply(text, items=tuple(dict.fromkeys(items)), quotes=tuple(several))
    part = ref.slice
    if part is None:
        return reply
    if part.kind != "part":
        reply = replace(reply, text=_slice_of(window, shown.whole or shown.text, part))
        return replace(reply, text=escaped_for(context.actor, reply.text))
    return _part(context, reply, part, f"#{window.number}")


def _task(context: Context, ref: Ref) -> Reply:
    """The line of a task, and its notes."""
    lines = task_lines(get_task(context, ref))
    return Reply("\n".join(escaped_for(context.actor, line) for line in lines))


def _stash(context: Context, ref: Ref) -> Reply:
    """The text that was put aside."""
    return _of_window(context, get_stash(context, ref.name or ref.id), ref)


def _agent(context: Context, ref: Ref) -> Reply:
    """The name of an agent, its model, its role, and what it may do."""
    (agent,) = get_agents(context, (ref,))
    may = ", ".join(in_order(agent.permissions)) or "only what it is sent"
    lines = [
        print_ref(Ref("agent", name=as_sent(agent.name))),
        f"model: {agent.model_ref}",
        f"role: {agent.archetype} · authority {agent.authority}",
        f"may use: {may}",
    ]
    return Reply("\n".join(escaped_for(context.actor, line) for line in lines))


def _step_or_turn(context: Context, ref: Ref) -> Reply:
    """INVALID_SYNTAX: what happened is listed by other commands."""
    named = print_ref(ref)
    hint = f"→ since {named} shows what others changed since; → memory trace your last steps"
    raise CommandError("INVALID_SYNTAX", f"{named} has no text to view.", hint=hint)


_NO_TEXTS: dict[str, Callable[[Context, Ref], Reply]] = {
    "task": _task,
    "stash": _stash,
    "agent": _agent,
    "step": _step_or_turn,
    "turn": _step_or_turn,
}


def _slice_of(window: Window, text: str, part: Slice) -> str:
    try:
        cut = get(text, part)
    except ParseError as bad:
        raise CommandError(bad.code, bad.message, hint=f"→ view #{window.number} part:1") from None
    if cut.last < cut.first:
        raise no_part(f"#{window.number}", total_of(text), f"#{window.number}")
    return cut.shown


def _part(context: Context, reply: Reply, part: Slice, name: str) -> Reply:
    """One or several parts of a long reply, counted as in the notice that shortened it."""
    who = context.actor.participant
    sent_whole = number_of(context.tree.grove.settings, "result_threshold")
    size = part_size(who.context_limit, sent_whole) if who.kind == "model" else PART_CHARACTERS
    parts = parts_of(reply.text, size)
    if part.first > len(parts):
        raise CommandError(
            "NOT_FOUND",
            f"There is no part {part.first}; this has {counted(len(parts), 'part')}.",
            hint=f"→ view {name} part:{len(parts)}",
        )
    text = "".join(parts[part.first - 1 : part.last])
    rest = ""
    if part.last < len(parts):
        rest = f" · → view {name} part:{part.last + 1}"
    return replace(reply, text=f"{text}\n(part {part.first} of {len(parts)}{rest})")


def _viewed(context: Context, args: ViewArgs) -> Reply:
    if args.ref.kind == "tree":
        return view_tree(context, args.ref)
    if is_range(args.ref):
        return view_range(context, args.ref, full=args.length == "full", form=args.form)
    node = get_node(context, args.ref, slices=True)
    lines = [header(node, context.now), _text(context, node, args)]
    if args.with_annotations:
        notes = list(around.annotations_of(node))
        gone = withheld(context.actor, [note.pk for note in notes])
        about = words_shown(context.actor, notes)
        lines += [line_of(note, context.now, withheld=gone, marks=about) for note in notes]
    current = lookup.selected_version(node.slot_id, context.workspace)
    if current is not None and current.pk != node.pk:
        lines.append(f"[{node.local_id}] is now [{current.local_id}]")
    if lines[1] != WITHHELD:
        lines += lines_below(node)
    lines.append(_foot(context, node))
    refs = (lookup.node_ref(node, context.tree.pk),)
    asks = args.length == "summary" or not (context.turn or args.length)
    if context.writer is None and asks and not (args.form or args.ref.slice):
        _want_summary(context, node)
    return Reply("\n".join(lines), refs=refs, items=touched(node), quotes=(node,))


def _want_summary(context: Context, node: Node) -> None:
    """Queues the summary that a node lacks, for the next time."""
    if not node.summary and excerpt(node.text).endswith('…"'):
        named_ = [node.tree.uid, context.actor.person.pk, [node.pk], False, context.turn]
        enqueue("agents.tasks.summarise", named_, queue="continue")


def _text(context: Context, node: Node, args: ViewArgs) -> str:
    before = [node.edited_from_id] if args.form == "diff" and node.edited_from_id else []
    if withheld(context.actor, [node.pk, *before]):
        return WITHHELD
    return escaped_for(context.actor, _whole(node, args))


def _whole(node: Node, args: ViewArgs) -> str:
    if args.ref.slice is not None:
        return shown_part(node, args.ref)
    if args.form == "prose":
        return node.text
    if args.form == "diff":
        return _diff(node)
    return (
        f'"{node.text}"' if args.length == "full" else summary_or_excerpt(node.summary, node.text)
    )


def _diff(node: Node) -> str:
    """The difference between the node and the one that it was edited from, line by line."""
    before = node.edited_from
    if before is None:
        raise CommandError(
            "REJECTED",
            f"[{node.local_id}] was not edited from anything.",
            hint=f"→ view {node.local_id} full",
        )
    names = before.local_id, node.local_id
    return "\n".join(unified_diff(before.text.splitlines(), node.text.splitlines(), names))


def _text_named(text: GroveText) -> str:
    """`doc:"name"`."""
    return print_ref(Ref("document", name=text.title))


def _foot(context: Context, node: Node) -> str:
    counts = margins.counts_of(context.actor, node)
    about = text_annotated(context.actor, node, context.tree)
    parts = [
        *([f"on {_text_named(about)}"] if about is not None else []),
        *places.places_of([node.pk], context.workspace)[node.pk],
        counted(counts.continuations, "continuation", most=MOST_COUNTED),
        counted(counts.annotations, "annotation"),
        counted(counts.links, "link"),
    ]
    if counts.versions > 1:
        parts.append(counted(counts.versions, "version"))
    if counts.sources:
        parts.append(counted(counts.sources, "source"))
    if counts.merges:
        parts.append(f"a source of {counted(counts.merges, 'node')}")
    parts += marks_shown({node.pk: node.slot_id}).values()
    return " · ".join(parts)


# Comparing two items.


MOST_WORDS = 20_000  # of the longer text; above this both texts are shown side by side
MOST_PAIRS = 400_000  # pairs of equal words in the two texts, which is what the comparison costs
_PIECES = re.compile(r"[^\W_]+ ?|.", re.DOTALL)
AROUND = 12  # words that are kept on each side of a difference


class Compare(Args):
    """The two items, and whether to show their difference or both texts."""

    # Not a whole tree: `tree:"notes" node:a` is one reference.
    ref: Annotated[RefField, Written("ref", but=("tree",))]
    other: Annotated[RefField, Written("ref", but=("tree",))]
    form: Annotated[
        Literal["words", "side"] | None,
        Written("option", key="as", value="choice", choices=("words", "side")),
    ] = None


describe_verb(
    Verb(
        "compare",
        taught="compare REF REF — what differs, word by word",
        is_harmless=True,
        phrases=(
            Phrases(
                "compare|diff|difference between|what is difference between"
                "|show difference between|diff between|compare between|what changed between"
                "|how do|show diff between"
            ),
        ),
        swaps=(
            ("side by side", "as:side"),
            ("side-by-side", "as:side"),
            ("word by word", "as:words"),
        ),
        dropped=("against and between differ from to versus vs with"),
        options={"mode": "as"},
    )
)


@command("compare", group="Look", klass="look", permissions={LOOM}, aliases=("diff",))
def compare(context: Context, args: Compare) -> Reply:
    """Compares two nodes: what differs, word by word (`[-old-] {+new+}`), or with `as:side`
    both texts. Texts too long for that, or with little in common, are shown side by side."""
    refs = [aimed(context, ref).ref for ref in (args.ref, args.other)]
    pair = [get_node(context, ref, slices=True) for ref in refs]
    gone = withheld(context.actor, [node.pk for node in pair])
    lines = [_placed(context, node) for node in pair]
    texts = [
        WITHHELD if node.pk in gone else escaped_for(context.actor, shown_part(node, ref))
        for node, ref in zip(pair, refs, strict=True)
    ]
    words = None if gone or args.form == "side" else word_difference(*texts)
    if words is not None:
        lines.append(words)
    else:
        lines = [f'{head}\n"{text}"' for head, text in zip(lines, texts, strict=True)]
        if not gone and args.form != "side":
            lines.append("(too long or too different to compare word by word)")
    named = tuple(lookup.node_ref(node, context.tree.pk) for node in pair)
    return Reply("\n".join(lines), refs=named, items=touched(*pair), quotes=tuple(pair))


def _placed(context: Context, node: Node) -> str:
    """The header of a node, with its parent: ` · below [x2a3]`."""
    above = places.version_above(node, context.workspace)
    return f"{header(node, context.now)}{f' · below [{above.local_id}]' if above else ''}"


def word_difference(old: str, new: str) -> str | None:
    """The difference between two texts, word by word, with long runs of equal words cut short.
    None if they are too long to compare (`MOST_WORDS`) or have too little in common for a readable
    difference. Common words at both ends are not compared.
    """
    if old == new:
        return "(the same text)"
    old_pieces, two = _PIECES.findall(old), _PIECES.findall(new)
    first = _common(old_pieces, two)
    last = _common(old_pieces[first:][::-1], two[first:][::-1])
    before, after = old_pieces[:first], old_pieces[len(old_pieces) - last :]
    old_pieces, two = old_pieces[first : len(old_pieces) - last], two[first : len(two) - last]
    counts = Counter(two)
    pairs = sum(number * counts[word] for word, number in Counter(old_pieces).items())
    if max(len(old_pieces), len(two)) > MOST_WORDS or pairs > MOST_PAIRS:
        return None
    matcher = difflib.SequenceMatcher(None, old_pieces, two, autojunk=True)
    steps = matcher.get_opcodes()
    same = len(before) + len(after) + sum(b - a for tag, a, b, _, _ in steps if tag == "equal")
    if same * 4 < max(len(old_pieces), len(two)) and len(steps) > 1:
        return None
    parts = [_shortened(before, is_first=True)]
    for tag, a, b, c, d in steps:
        if tag == "equal":
            parts.append(_shortened(old_pieces[a:b]))
            continue
        parts += [f"[-{''.join(old_pieces[a:b])}-]"] if b > a else []
        parts += [f"{{+{''.join(two[c:d])}+}}"] if d > c else []
    return "".join([*parts, _shortened(after, is_last=True)])


def _common(old: list[str], two: list[str]) -> int:
    """How many pieces are the same at the beginning of both."""
    pairs = zip(old, two, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(old), len(two)))


def _shortened(pieces: list[str], *, is_first: bool = False, is_last: bool = False) -> str:
    """Equal words, with those far from a difference replaced by `…`."""
    most = AROUND * 2  # a word and a blank each
    head = [] if is_first else pieces[:most]
    tail = [] if is_last else pieces[max(len(head), len(pieces) - most) :]
    is_cut = len(head) + len(tail) < len(pieces)
    return "".join([*head, *([" … "] if is_cut else []), *tail])


class ViewListArgs(Args):
    """The item, and which of its lists or link types."""

    ref: Annotated[RefField, Written("ref", but=("document",))]
    type: Annotated[str, Written("type")] = ""
    after: Annotated[
        int, Written("option", key="after", value="int", minimum=0, maximum=MOST_SKIPPED)
    ] = 0


describe_verb(
    Verb(
        "list",
        past="listed",
        taught=(
            'list REF{|doc:"name"} [TYPE] — its continuations, annotations, links, '
            "versions, siblings, …; list tags|bookmarks{|documents}"
        ),
        is_harmless=True,
        takes_each=True,
        takes_type=True,
        shown="item",
        phrases=(
            Phrases(
                "list|show|see|view|display|what|which|what are|give me|let me see|look at"
                "|get|enumerate|are there|are there any|any|find|how many",
                needs="type",
            ),
            Phrases(
                "what is under|what is below|what is beneath|what follows|what comes after"
                "|what is after|what comes next after|what hangs below|what hangs under"
                "|what lies below|what lies under|where does * lead|where can i go from"
                "|how does * continue|how does * go on|show what is under|show what is below"
                "|see what is under|see what is below|list what is under|list what is below"
                "|show what follows|list everything under|list everything below"
                "|what is there below|what is there under|what is there after",
                before="continuations",
            ),
            Phrases("what is beside|what is next to|what stands beside", before="siblings"),
            Phrases("what is * linked to|what is linked to|what does * link to", before="links"),
            Phrases("which nodes link to|what links to", before="links"),
            Phrases("what was noted on|what do people say about", before="annotations"),
            Phrases("what has been said about|what was said about", before="annotations"),
            Phrases("history of|show history of|view history of", before="versions"),
        ),
        dropped=(
            "'s about after all any are around at below does every for from has have of on"
            " other there to under"
        ),
    )
)


@command("list", group="Look", klass="look", permissions={LOOM})
def list_(context: Context, args: ViewListArgs) -> Reply:
    """Lists what belongs to a node or tree, one line each; without a type, its links by type."""
    kind = args.type.lower()
    if args.ref.kind == "tree":
        return _of_tree(context, tree_of(context, args.ref), kind, args.after)
    node = get_node(context, args.ref)
    if not kind:
        return _affordances(context, node)
    lister = lister_of(kind, node)
    if lister is not None:
        return lister(context, node)
    words = _link_words(context)
    if kind == "links" or kind in words:
        return _links(context, node, kind, args.after)
    if derived_type(kind) not in link_types.OF_NODES:
        raise CommandError(
            "INVALID_SYNTAX",
            f"There is no list {kind!r}.",
            hint="there are " + ", ".join((*LISTS, *sorted(words))),
        )
    kind = derived_type(kind)
    text = text_annotated(context.actor, node, context.tree) if kind == "annotates" else None
    if text is not None:
        context.note_read(text.item_id)
        reply = f"[{node.local_id}] → 1 annotate:\n  {_text_named(text)}"
        return Reply(reply, refs=(f"doc:{text.uid}",), items=touched(node))
    nodes, every = nodes_of(
        context.actor, node, kind, context.workspace, after=args.after, most=MAX_LINES + MAX_NAMED
    )
    return _listed(context, node, kind, nodes, (args.after, every))


def _link_words(context: Context) -> set[str]:
    """The names and reverses of the link types that the caller sees, and `mentioned_by`."""
    types = vocabulary_of(context.tree.grove)
    return {*types.words(archetype_of(context.actor)), "mentioned_by"}


def _listed(
    context: Context, node: Node, kind: str, nodes: list[Node], part: tuple[int, int]
) -> Reply:
    """A list of nodes; `part`: how many come before these, and how many there are."""
    thing, every = kind.removesuffix("s"), part[1]
    names = [lookup.node_ref(row, context.tree.pk) for row in nodes[MAX_LINES:]]
    nodes = nodes[:MAX_LINES]
    refs = tuple(lookup.node_ref(row, context.tree.pk) for row in nodes)
    lines = [
        f"[{node.local_id}] → {counted(every, thing, most=MOST_COUNTED)}:"
        if every
        else f"[{node.local_id}] → no {kind}"
    ]
    gone = withheld(context.actor, [row.pk for row in nodes])
    marks = marks_shown({row.pk: row.slot_id for row in nodes})
    for key, words in words_shown(context.actor, nodes).items():
        marks[key] = f"{words} · {marks[key]}" if key in marks else words
    lines += [line_of(row, context.now, withheld=gone, marks=marks) for row in nodes]
    line = f"list {lookup.node_ref(node, context.tree.pk)} {kind}"
    is_all = every <= MOST_COUNTED
    lines += _left(line, names, part[0] + len(nodes), every, is_all=is_all)
    return Reply("\n".join(lines), refs=refs, items=touched(node))


def _left(
    line: str, names: Sequence[str], shown: int, every: int, *, is_all: bool = True
) -> list[str]:
    """`  … and [b3k9] [k2m9] … (950 more: → list a7x2 supports after:50)`: what has no line, how
    many there are (if that `is_all`), and the line that shows them."""
    if every <= shown:
        return []
    named = " ".join(
        [*(f"[{name}]" for name in names), *(["…"] if every > shown + len(names) else [])]
    )
    more = f"{every - shown:,} more" if is_all else "more"
    return [f"  … and {named} ({more}: → {line} after:{shown})"]


def _of_tree(context: Context, tree: Tree, kind: str, skip: int) -> Reply:
    if not kind:
        item = ids.of_tree(tree.pk)
        parts = _counts(portals_of(context.actor, {item: item}).get(item, ()))
        words = f"{_named(tree)} links: {' · '.join(parts) or 'none'}"
        return Reply(words, refs=(f"tree:{tree.uid}",), items=touched(tree))
    if kind != "links" and kind not in _link_words(context):
        raise CommandError(
            "INVALID_SYNTAX",
            f"A tree has no list {kind!r}.",
            hint="list its links, or → list root continuations",
        )
    return _links(context, tree, kind, skip)


def _named(item: Node | Tree) -> str:
    return tree_named(item.title) if isinstance(item, Tree) else f"[{item.local_id}]"


def _links(context: Context, item: Node | Tree, kind: str, skip: int) -> Reply:
    typed = "" if kind == "links" else kind
    upto = skip + MAX_LINES + MAX_NAMED
    seen = links_of(context.actor, item, kind=typed, most=upto + 1)
    if len(seen) <= upto and isinstance(item, Node) and typed in ("", "mentioned_by"):
        seen += mentioning(context.actor, item)
    every = len(seen) if len(seen) <= upto else _how_many(context, item, typed)
    name = "links" if kind == "links" else f"[{kind}] links"
    head = counted(every, name.removesuffix("s")) if every else f"no {name}"
    seen = seen[skip:]
    lines = [f"{_named(item)} → {head}{':' if seen else ''}"]
    refs = []
    rest = [_end_name(context, side) for side in seen[MAX_LINES:]]
    seen = seen[:MAX_LINES]
    gone = withheld(context.actor, [side.node.pk for side in seen if side.node])
    for side in seen:
        note = f" · note: {excerpt(side.note)}" if side.note else ""
        lines.append(f"  {link_types.arrow(side.type)} {_end(context, side, gone)}{note}")
        if side.node:
            refs.append(lookup.node_ref(side.node, context.tree.pk))
            context.note_read(ids.of_node(side.node.pk))
        elif not side.is_broken:
            refs.append(side.whole[0])
    ref = f"tree:{item.uid}" if isinstance(item, Tree) else lookup.node_ref(item, context.tree.pk)
    lines += _left(f"list {ref} {kind}", rest, skip + len(seen), every)
    return Reply("\n".join(lines), refs=tuple(refs), items=touched(item))


def _end_name(context: Context, seen: LinkSide) -> str:
    """The id or title of what a link leads to."""
    if seen.node is not None:
        return lookup.node_ref(seen.node, context.tree.pk)
    return "erased" if seen.is_broken else seen.whole[1]


def _how_many(context: Context, item: Node | Tree, kind: str) -> int:
    """How many links of a type (or of all) the caller sees on an item, by the counts."""
    slot = ids.of_tree(item.pk) if isinstance(item, Tree) else item.slot_id
    portals = portals_of(context.actor, {slot: slot}).get(slot, ())
    return sum(portal.many for portal in portals if not kind or portal.type == kind)


def _counts(portals: Iterable[Portal]) -> list[str]:
    """`supports 3` for each type, the most frequent first; `supports 3 (1 pruned, 1 erased)`."""
    ordered = sorted(portals, key=lambda portal: -portal.many)
    return [f"{portal.type} {portal.many}{_gone(portal)}" for portal in ordered]


def _gone(portal: Portal) -> str:
    gone = ", ".join(f"{many:,} {word}" for many, word in portal.gone)
    state = portal.state if portal.targets == 1 else ""
    return f" ({gone or state})" if gone or state else ""


def _end(context: Context, seen: LinkSide, gone: Collection[int]) -> str:
    if seen.node is None:
        return seen.tree_title if seen.is_broken else seen.whole[1]
    home = seen.node.tree
    where = "" if home == context.tree else f" in {tree_named(home.title or home.uid)}"
    words = WITHHELD if seen.node.pk in gone else excerpt(seen.node.text)
    marks = "".join(f" · {mark}" for mark in (seen.state, seen.changes) if mark)
    return f"[{seen.node.local_id}]{where} {words}{marks}"


def _affordances(context: Context, node: Node) -> Reply:
    counts = margins.counts_of(context.actor, node)
    parts = _counts(portals_of(context.actor, {node.pk: node.slot_id}).get(node.pk, ()))
    mentions = len(mentioning(context.actor, node))
    derived = (
        ("continues", counts.continuations),
        ("annotations", counts.annotations),
        ("versions", counts.versions if counts.versions > 1 else 0),
        ("sources", counts.sources),
        ("merges", counts.merges),
        ("mentioned_by", mentions),
    )
    parts += [f"{name} {at_most(number)}" for name, number in derived if number]
    return Reply(f"[{node.local_id}] links: {' · '.join(parts) or 'none'}", items=touched(node))
