"""`digest`: what matters in a tree or below a node, in at most 200 tokens (docs/model.md §5.1)."""

import re
from collections.abc import Iterable
from typing import Annotated, NamedTuple

from django.db.models import F, OuterRef, QuerySet, Subquery

from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Reply
from loom.engine.registry import command, describe_verb
from loom.language import ids as item_ids
from loom.language.refs import Ref, label_named, print_ref, tag_named, tree_named
from loom.language.verbs import Phrases, Verb
from loom.notes.models import Mark
from loom.people.names import as_sent
from loom.permissions import LOOM
from loom.text.ages import age
from loom.text.counts import counted
from loom.text.shortening import excerpt, plain
from loom.text.tokens import count
from loom.trees.grove_texts import grove_texts
from loom.trees.models import Node
from loom.trees.named_items import get_node, item_of, tree_of
from loom.trees.queries import lookup, places
from loom.trees.queries.outline import Size, size_of
from loom.workspace.queries.windows import WITHHELD

TOKENS = 200
# What is read, whatever the tree: its newest nodes, its deepest texts, what is below a node.
NEWEST = 2_000
DEEPEST = 200
BELOW = 500
LEAVES = 100  # of which the end is read
MARKS = 60
# How many entries a line has, and how many words an entry, until everything fits.
SIZES = ((4, 8), (3, 6), (2, 5), (1, 4), (1, 0))
_END = re.compile(r"[.!?…。！？:;)\]}\"'”’»›*_`—–]\s*\Z")


class Digest(Args):
    """A tree, or a node with what is below it; otherwise this tree."""

    of: Annotated[
        RefField | None,
        Written(
            "ref",
            lead="of",
            refs=("tree", "branch", "node", "here", "root", "parent"),
            shown='tree:"…"|branch:x',
        ),
    ] = None


describe_verb(
    Verb(
        "digest",
        past="read the digest",
        taught="digest [of branch:x] — what matters here, in 200 tokens",
        is_harmless=True,
        phrases=(
            Phrases("overview|show overview|give me overview|what matters|what matters here"),
        ),
        dropped="of this tree whole",
    )
)


@command("digest", group="Keep", klass="look", permissions={LOOM})
def digest(context: Context, args: Digest) -> Reply:
    """Shows in at most 200 tokens what matters in the tree, or with `of branch:a7x2` at and below
    a node: what is marked, the longest threads, open questions, texts that break off, and what was
    written last."""
    part = _part_of(context, args.of)
    text, refs = digest_of(part)
    return Reply(text, refs=refs, items=(item_of(part.start),))


class DigestEntry(NamedTuple):
    """A node that a line of the digest names, and what stands before and after its words."""

    slot: int
    before: str = ""
    after: str = ""


_TEXTS = Node.objects.filter(kind="text", slot=F("pk"), pruned=False, depth__gt=0).order_by()


class DigestScope:
    """What a digest is of: the tree of `start`, or if that is not its root what is at and below
    it."""

    def __init__(self, context: Context, start: Node) -> None:
        self.context, self.start = context, start
        self.slots: list[int] | None = None
        self.size: Size | None = None
        if start.parent_slot_id is None:
            self.size = size_of(context.actor, start.tree)
        else:
            self.slots = places.slots_from(start.slot_id, most=BELOW)

    @property
    def texts(self) -> QuerySet[Node]:
        """The texts without their further versions."""
        if self.slots is not None:
            return _TEXTS.filter(pk__in=self.slots)
        return _TEXTS.filter(tree=self.start.tree)

    @property
    def recent(self) -> QuerySet[Node]:
        """The texts, of a tree only those among its newest nodes."""
        return self.texts if self.slots is not None else self._newest(_TEXTS)

    @property
    def notes(self) -> QuerySet[Node]:
        """The annotations, of a tree only those among its newest nodes."""
        rows = Node.objects.filter(kind="annotation", slot=F("pk"), pruned=False)
        if self.slots is not None:
            return rows.filter(parent_slot__in=self.slots).order_by()
        return self._newest(rows)

    @property
    def marks(self) -> QuerySet[Mark]:
        """The bookmarks and tags of texts, the newest first."""
        rows = Mark.objects.filter(kind__in=("bookmark", "tag"), removed_at__isnull=True)
        if self.slots is not None:
            rows = rows.filter(item__node__slot__in=self.slots)
        return rows.filter(tree=self.start.tree, item__node__isnull=False).order_by("-pk")

    def _newest(self, rows: QuerySet[Node]) -> QuerySet[Node]:
        """Those among the newest nodes of the tree, whose ids rise."""
        first, last = item_ids.ids_in(self.start.tree_id)
        nodes = self.size.nodes if self.size is not None else 0
        return rows.filter(pk__range=(max(first, first + nodes - NEWEST + 1), last))

    @property
    def leaves(self) -> QuerySet[Node]:
        """The newest texts with no text below."""
        # A value of each row: PostgreSQL would join them all with all that are below something.
        below = Node.objects.filter(parent_slot=OuterRef("pk"), slot=F("pk"), pruned=False)
        first = below.filter(kind="text").order_by().values("pk")[:1]
        return self.recent.order_by("-pk").alias(text_below=Subquery(first)).filter(text_below=None)


def _part_of(context: Context, of: Ref | None) -> DigestScope:
    if of is not None and of.kind != "tree":
        return DigestScope(context, get_node(context, of))
    return DigestScope(
        context, lookup.root_of(context.tree if of is None else tree_of(context, of))
    )


def digest_of(part: DigestScope) -> tuple[str, tuple[str, ...]]:
    """The digest, and the refs of the nodes that it names. At most twenty queries, of few rows."""
    lines = {
        "marked": _marked(part),
        "longest threads": _threads(part),
        "open questions": _questions(part),
        "unfinished": _unfinished(part),
        "written last": _last(part),
    }
    hidden = places.hidden_among({entry.slot for some in lines.values() for entry in some})
    most = SIZES[0][0]
    kept = {
        name: [entry for entry in some if entry.slot not in hidden][:most]
        for name, some in lines.items()
    }
    texts = _texts_of(part, (entry.slot for some in kept.values() for entry in some))
    kept = {name: [entry for entry in some if entry.slot in texts] for name, some in kept.items()}
    head, foot, shown_lines, shown = _head(part), _documents(part), list[str](), list[DigestEntry]()
    for most, words in SIZES:
        shown = [entry for some in kept.values() for entry in some[:most]]
        shown_lines = [
            f"{name}: {' · '.join(_line(texts[entry.slot], entry, words) for entry in some[:most])}"
            for name, some in kept.items()
            if some
        ]
        if count("\n".join([head, *shown_lines, *foot])) <= TOKENS:
            break
    else:
        foot = []
        while count("\n".join([head, *shown_lines])) > TOKENS:
            shown_lines.pop()
    tree = part.context.tree.pk
    refs = [lookup.node_ref(texts[entry.slot][0], tree) for entry in shown]
    return "\n".join([head, *shown_lines, *foot]), tuple(dict.fromkeys(refs))


def _head(part: DigestScope) -> str:
    if part.size is None:
        return f"at and below [{part.start.local_id}]:"
    tree, size = part.start.tree, part.size
    branches = f"{size.branches:,} branch{'' if size.branches == 1 else 'es'}"
    named = excerpt(tree.title, 8).strip('"')
    return f"{tree_named(named)} · {counted(size.nodes, 'node')} · {branches} · depth {size.depth}"


def _texts_of(part: DigestScope, slots: Iterable[int]) -> dict[int, tuple[Node, str]]:
    """The current version of each slot, and its text as the caller may see it."""
    selected = lookup.selected_versions(set(slots), part.context.workspace)
    nodes = lookup.rows().select_related("tree").in_bulk([key for key, _ in selected.values()])
    gone = lookup.withheld(part.context.actor, nodes)
    return {
        node.slot_id: (node, WITHHELD if key in gone else node.text) for key, node in nodes.items()
    }


def _line(read: tuple[Node, str], entry: DigestEntry, words: int) -> str:
    node, text = read
    excerpted = text if text == WITHHELD else excerpt(text, words) if words else ""
    return " ".join(
        part for part in (f"[{node.local_id}]", entry.before, excerpted, entry.after) if part
    )


def _marked(part: DigestScope) -> list[DigestEntry]:
    labels: dict[int, list[str]] = {}
    marks = part.marks.values_list("kind", "label", "item__node__slot")
    for kind, name, slot in marks[:MARKS]:
        label = excerpt(plain(name), 4).strip('"')
        bookmarked = "bookmarked" + (f" {label_named(label)}" if label else "")
        named = tag_named(label) if kind == "tag" else bookmarked
        labels.setdefault(slot, []).append(named)
    # What is bookmarked before what is only tagged.
    slots = sorted(
        labels, key=lambda slot: not any("bookmarked" in label for label in labels[slot])
    )
    return [DigestEntry(slot, " ".join(dict.fromkeys(labels[slot][:3]))) for slot in slots]


def _threads(part: DigestScope) -> list[DigestEntry]:
    """The deepest texts that are leaves."""
    deepest = list(part.texts.order_by("-depth", "-pk").values_list("pk", "depth")[:DEEPEST])
    keys = [key for key, _ in deepest]
    below = Node.objects.filter(parent_slot__in=keys, kind="text", slot=F("pk"), pruned=False)
    inner = set(below.values_list("parent_slot", flat=True))
    return [DigestEntry(key, f"depth {depth}") for key, depth in deepest if key not in inner]


def _questions(part: DigestScope) -> list[DigestEntry]:
    rows = part.notes.filter(form="question", resolved_at__isnull=True).order_by("-pk")
    newest = rows.values_list("pk", "parent_slot__local_id")[: 2 * SIZES[0][0]]
    return [DigestEntry(key, f"on [{at}]") for key, at in newest]


def _unfinished(part: DigestScope) -> list[DigestEntry]:
    """Leaves that were interrupted, or that end without a mark of punctuation."""
    newest = list(part.leaves.values_list("pk", flat=True)[:LEAVES])
    selected = lookup.selected_versions(set(newest), part.context.workspace)
    rows = Node.objects.filter(pk__in=[key for key, _ in selected.values()]).exclude(text="")
    entries = []
    for slot, text, finish in rows.order_by("-pk").values_list("slot", "text", "finish"):
        if finish != "complete":
            entries.append(DigestEntry(slot, finish.removeprefix("interrupted:")[:20]))
        elif not _END.search(text[-20:]):
            entries.append(DigestEntry(slot))
    return entries


def _last(part: DigestScope) -> list[DigestEntry]:
    rows = part.recent.select_related("author").order_by("-pk")
    now = part.context.now
    return [
        DigestEntry(node.pk, f"{as_sent(node.author.name)} {age(now, node.created_at)}")
        for node in rows.only("created_at", "author__name")[:4]
    ]


def _documents(part: DigestScope) -> list[str]:
    """The document of the tree that was written last."""
    if part.size is None:
        return []
    context = part.context
    for newest in grove_texts().linked(context.actor, part.start.tree)[:1]:
        named = print_ref(Ref("document", name=newest.title[:60]))
        return [f"document: {named} · updated {age(context.now, newest.touched_at)}"]
    return []
