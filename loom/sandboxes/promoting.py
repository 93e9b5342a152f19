"""What promoting a sandbox writes into the tree that it hangs at: its nodes with their authors,
instants and hashes, and what belongs to them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.apps import apps
from django.db.models import Q

from loom.engine.context import Context, Op
from loom.engine.effects import Effects
from loom.engine.items import make_items
from loom.language import ids
from loom.language.ids import ORDINAL_BITS
from loom.links.commands.counting import count_added
from loom.links.commands.links import link_body
from loom.links.models import Link
from loom.links.queries import slots_of
from loom.notes.commands.marks import mark_body
from loom.notes.models import Mark
from loom.sandboxes.queries import new_nodes
from loom.trees.commands.node_writer import NewNode, Source, add_node, flag
from loom.trees.models import Node, NodeSource, Tree
from loom.trees.named_items import item_of
from loom.trees.queries import lookup
from loom.turns.models import Call, Generation

BATCH = 500
FLAGS = ("excluded", "version_pruned", "pruned")


@dataclass
class Promoted:
    """What was promoted: the new nodes by the ids of those of the sandbox, those that have another
    local id than there, what stays behind, counted by its name, the new links and marks by row id,
    each with its ends or its item as events name them, and what leads the tasks of the new nodes
    back to what their texts say."""

    nodes: dict[int, Node] = field(default_factory=dict)
    renamed: list[tuple[str, str]] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)
    links: list[tuple[int, list[str]]] = field(default_factory=list)
    marks: list[tuple[int, str]] = field(default_factory=list)
    tasks: list[Op] = field(default_factory=list)


def promote_nodes(context: Context, sandbox: Tree) -> Promoted:
    """Writes what is new in a sandbox into the tree of `context`, which is locked there."""
    done = Promoted()
    known = _originals(context.tree, sandbox)
    nodes = list(new_nodes(sandbox))
    sources = _sources(nodes)
    sandboxes = _sandboxes(sources)

    def of_home(item: int) -> int:
        """The item there for one of the sandbox; itself if there is none."""
        is_tree = ids.tree_id(item) == sandbox.pk
        return ids.of_tree(context.tree.pk) if is_tree else _item(item, known)

    for node in nodes:
        if node.kind == "claim":
            done.left["claim"] += 1  # its evidence is of the sandbox, and strong there alone
            continue
        parent = _parent_of(node, known)
        if parent is None:
            done.left["note"] += 1  # below a claim
            continue
        slot = known.get(node.slot_id) if node.slot_id != node.pk else None
        moved = [(of_home(item), role, seen) for item, role, seen in sources[node.pk]]
        kept = tuple(source for source in moved if ids.home_of(source[0]) not in sandboxes)
        if len(kept) < len(moved):
            done.left["source"] += len(moved) - len(kept)
        promoted = add_node(
            context.world,
            context.tree,
            node.author,
            NewNode(
                text=node.text,
                kind=node.kind,
                form=node.form,
                parent=parent,
                slot=slot,
                edited_from=known.get(node.edited_from_id or 0),
                blocks=node.blocks,
                call_uid=node.call_uid,
                configuration=node.configuration,
                generation_uid=node.generation_uid,
                finish=node.finish,
                sources=kept,
                created_at=node.created_at,
                proof_author=node.proof_author,
                local_id=node.local_id,
            ),
        )
        known[node.pk] = done.nodes[node.pk] = promoted
        if promoted.local_id != node.local_id:
            done.renamed.append((node.local_id, promoted.local_id))
    if not context.world.is_dry:
        _set_flags(context, nodes, done.nodes)
        _move_calls(context.tree, sandbox, nodes, known)
        _copy_links(context, sandbox, known, done)
        _copy_marks(context, sandbox, known, done)
    if apps.is_installed("loom.claims"):  # which keeps what became of tasks
        _copy_tasks(context, sandbox, done)
    return done


def _originals(origin: Tree, sandbox: Tree) -> dict[int, Node]:
    """The originals of the copies, by the ids of the copies."""
    first = sandbox.pk << ORDINAL_BITS
    copies = Node.objects.filter(pk__range=(first, first + (sandbox.sandbox_copies or 0)))
    names = dict(copies.values_list("pk", "local_id"))
    keys = sorted(names.values())
    rows: dict[str, Node] = {}
    for start in range(0, len(keys), BATCH):
        some = lookup.rows().filter(tree=origin, local_id__in=keys[start : start + BATCH])
        rows.update((node.local_id, node) for node in some)
    for node in rows.values():
        node.tree = origin
    return {pk: rows[name] for pk, name in names.items() if name in rows}


def _parent_of(node: Node, known: Mapping[int, Node]) -> Node | None:
    """The version above that a node was written for."""
    versions = Node.objects.filter(slot=node.parent_slot_id, hash=node.parent_hash)
    for pk in versions.values_list("pk", flat=True):
        if pk in known:
            return known[pk]
    return known.get(node.parent_slot_id or 0)


def _sources(nodes: Sequence[Node]) -> dict[int, list[Source]]:
    """What each node was written from, in order."""
    by_node: dict[int, list[Source]] = {node.pk: [] for node in nodes}
    for start in range(0, len(nodes), BATCH):
        some = [node.pk for node in nodes[start : start + BATCH]]
        rows = NodeSource.objects.filter(node__in=some).order_by("id")
        for key, item, role, seen in rows.values_list("node_id", "item_id", "role", "version_seen"):
            by_node[key].append((item, role, seen))
    return by_node


def _sandboxes(sources: Mapping[int, Sequence[Source]]) -> set[int]:
    """The row ids of the sandboxes in which something was that nodes were written from."""
    homes = sorted({ids.home_of(item) for rows in sources.values() for item, _, _ in rows} - {0})
    found: set[int] = set()
    for start in range(0, len(homes), BATCH):
        rows = Tree.objects.filter(pk__in=homes[start : start + BATCH], sandbox_of__isnull=False)
        found.update(rows.values_list("pk", flat=True))
    return found


def _item(item: int, known: Mapping[int, Node]) -> int:
    """The item that stands for one of the sandbox in the tree of origin."""
    promoted = known.get(ids.node_id(item) or 0)
    return item if promoted is None else item_of(promoted)


def _set_flags(context: Context, nodes: Sequence[Node], promoted: Mapping[int, Node]) -> None:
    # What is hidden moves nobody: the flags are those of another tree than the line's.
    apart = replace(context, effects=Effects())
    for old in nodes:
        new = promoted.get(old.pk)
        if new is None:
            continue
        for name in FLAGS:
            if getattr(old, name):
                flag(apart, lookup.by_id(new.pk), name, True)
        kept: dict[str, object] = {}
        if old.summary:
            kept["summary"] = old.summary
        if old.resolved_at is not None:
            kept["resolved_at"] = old.resolved_at
            body = {"node": new.local_id, "resolved": True}
            context.world.append("annotation.resolved", body)
        if kept:
            Node.objects.filter(pk=new.pk).update(**kept)


def _move_calls(
    origin: Tree, sandbox: Tree, nodes: Sequence[Node], known: Mapping[int, Node]
) -> None:
    """The calls and generations that made the nodes go with them, as their evidence."""
    calls = sorted({node.call_uid for node in nodes if node.call_uid})
    generations = sorted({node.generation_uid for node in nodes if node.generation_uid})
    for start in range(0, len(calls), BATCH):
        some = calls[start : start + BATCH]
        named = Q(uid__in=some, origin="") | Q(origin__in=some)
        Call.objects.filter(named, tree=sandbox).update(tree=origin)
    for start in range(0, len(generations), BATCH):
        rows = Generation.objects.filter(tree=sandbox, uid__in=generations[start : start + BATCH])
        for row in rows.values_list("pk", "point", "node"):
            point, node = known.get(row[1]), known.get(row[2] or 0)
            if point is not None and node is not None:
                there = {"tree": origin, "point": point, "node": node}
                Generation.objects.filter(pk=row[0]).update(**there)


def _shown(context: Context, item: int, known: Mapping[int, Node]) -> str | None:
    """An item as events of the tree of origin name it; None for one of the sandbox that stays."""
    promoted = known.get(ids.node_id(item) or 0)
    if promoted is not None:
        return promoted.local_id
    if ids.document_id(item) is not None or ids.trail_id(item) is not None:
        return None
    node = Node.objects.select_related("tree").filter(pk=ids.node_id(item) or 0).first()
    if node is None or node.tree.sandbox_of_id is not None:
        return None
    here = node.tree_id == context.tree.pk
    return node.local_id if here else f"tree:{node.tree.uid} node:{node.local_id}"


def _copy_links(context: Context, sandbox: Tree, known: Mapping[int, Node], done: Promoted) -> None:
    rows = Link.objects.filter(tree=sandbox, removed_at__isnull=True).select_related("by")
    for link in rows:
        source, target = _item(link.source_id, known), _item(link.target_id, known)
        shown, shown_to = (
            _shown(context, link.source_id, known),
            _shown(context, link.target_id, known),
        )
        at_home = ids.home_of(source) == context.tree.pk
        if shown is None or shown_to is None or not at_home or link.type == "evidence":
            done.left["link"] += 1
            continue
        make_items([source, target])
        slots = slots_of([source, target])
        ends = {"source_slot": slots[source], "target_slot": slots[target]}
        if Link.objects.filter(type=link.type, removed_at__isnull=True, **ends).exists():
            continue  # the texts above, which were copied, have it there already
        new_link = Link.objects.create(
            tree=context.tree,
            type=link.type,
            source_id=source,
            target_id=target,
            **ends,
            note=link.note,
            words=link.words,
            confidence=link.confidence,
            by=link.by,
            at=link.at,
        )
        count_added(new_link, context.tree.grove_id)
        context.world.append("link.added", {"link": link_body(new_link, shown, shown_to)})
        done.links.append((new_link.pk, [shown, shown_to]))


def _copy_marks(context: Context, sandbox: Tree, known: Mapping[int, Node], done: Promoted) -> None:
    kept = ("bookmark", "tag")
    rows = Mark.objects.filter(tree=sandbox, kind__in=kept, removed_at__isnull=True)
    for mark in rows.select_related("participant"):
        promoted = known.get(ids.node_id(mark.item_id) or 0)
        if promoted is None:
            continue
        item = item_of(promoted)
        same = {"kind": mark.kind, "label": mark.label, "participant": mark.participant}
        if Mark.objects.filter(item=item, removed_at__isnull=True, **same).exists():
            continue
        make_items([item])
        row = Mark.objects.create(
            tree=context.tree,
            kind=mark.kind,
            label=mark.label,
            item_id=item,
            participant=mark.participant,
            at=mark.at,
        )
        done.marks.append((row.pk, promoted.local_id))
        context.world.append("mark.added", {"mark": mark_body(row, promoted.local_id)})


def _copy_tasks(context: Context, sandbox: Tree, done: Promoted) -> None:
    """Gives the tasks of the promoted texts their states and notes. Those of texts that the sandbox
    was begun with stay there: what promoting adds changes no text that others wrote."""
    from loom.claims.commands.text_tasks import copy_task_states
    from loom.claims.models import TokenState

    if not context.world.is_dry:
        done.tasks = copy_task_states(context, done.nodes)
    first = sandbox.pk << ORDINAL_BITS
    copies = first + 1, first + (sandbox.sandbox_copies or 0)
    if changed := TokenState.objects.filter(item__range=copies, kind="task").count():
        done.left["changed task"] += changed
