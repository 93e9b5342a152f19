"""sandbox, promote and discard, their undoing, and the end of sandboxes whose days are over."""

from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Annotated

from django.apps import apps
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_noop

from loom import access
from loom.engine import put_aside, streams
from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Op, Reply
from loom.engine.effects import Effects
from loom.engine.registry import command, describe_verb
from loom.engine.steps import numbered_step
from loom.engine.sweeps import sweeps
from loom.engine.undo import Own, conflict, undoes
from loom.engine.views import locked, stored
from loom.errors import CommandError
from loom.language import ids
from loom.language.verbs import Verb
from loom.links.commands.links import is_kept
from loom.links.commands.links import set_removed as set_link_removed
from loom.links.models import Link
from loom.notes.commands.marks import set_removed as set_mark_removed
from loom.notes.models import Mark
from loom.people.names import shown_title
from loom.permissions import LOOM, WRITE
from loom.platform.inserts import insert_row
from loom.sandboxes.copying import copied, write_copies
from loom.sandboxes.promoting import Promoted, promote_nodes
from loom.sandboxes.queries import demand_sandbox, new_nodes, open_sandboxes, origin_of
from loom.text.counts import counted
from loom.text.hashes import instant_or_none
from loom.trees.archiving import end_work, opened, when_opened
from loom.trees.commands.node_writer import demand_text_node, demand_visible
from loom.trees.commands.nodes import made_nodes
from loom.trees.commands.rights import copy_rights
from loom.trees.models import Node, Tree, Workspace
from loom.trees.named_items import get_own_node, touched
from loom.trees.queries import lookup
from loom.turns.archiving import open_generations, open_turns

DAYS, MOST_DAYS = 7, 90
MOST_OPEN = 50  # of a person
MOST_PROMOTED = 2000  # nodes at once
SHOWN = 5


class SandboxArgs(Args):
    """Where it begins, what it is called, and after how many days it ends."""

    ref: Annotated[RefField | None, Written("ref", lead="from")] = None
    label: Annotated[str, Written("quoted")] = ""
    days: Annotated[
        int, Written("option", key="days", value="int", minimum=1, maximum=MOST_DAYS)
    ] = DAYS


describe_verb(
    Verb(
        "sandbox",
        past="began a sandbox at",
        done=gettext_noop("Began a sandbox"),
        takes_documents=False,
        in_pipes=False,
        leads_elsewhere=True,
        meant_by="scratch private experiment",
    )
)


@command("sandbox", group="Make", klass="write", permissions={LOOM, WRITE}, stream="workspace")
def sandbox(context: Context, args: SandboxArgs) -> Reply:
    """Begins a sandbox: a tree with the path to a text, which nobody sees but you (and who invited
    you). `promote` in it adds what you wrote there to this tree; `discard`, or its days, end it."""
    node = get_own_node(context, args.ref)
    demand_text_node(node, "continued")
    demand_visible(node)
    access.demand_no_sandbox(context.tree)
    access.demand_writable(context.tree)
    user = context.actor.user
    if open_sandboxes(user).count() >= MOST_OPEN:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"You have {MOST_OPEN} open sandboxes.",
            hint="→ promote or → discard in one of them",
        )
    tree = _begin(context, node, args)
    until = f"{tree.expires_at:%Y-%m-%d}"
    is_agent = context.actor.participant != context.actor.person
    who = "you and your inviter" if is_agent else "you only"
    # A turn stays where it was begun.
    where = "whoever is asked there writes in it" if context.turn else "lines are run in that tree"
    return Reply(
        f"✓ sandbox at [{node.local_id}], visible to {who}\n"
        f"  tree:{tree.uid} until {until}; {where}",
        items=touched(tree) if tree.pk else (),
        inverse=({"op": "sandbox", "tree": tree.pk, "ends": True},),
    )


def _begin(context: Context, node: Node, args: SandboxArgs) -> Tree:
    """The new tree with its copies."""
    origin, by = context.tree, context.actor.participant
    nodes = copied(context.actor, origin, context.workspace, node)
    tree = Tree(
        grove=origin.grove,
        title=shown_title(args.label)[:300] or origin.title,
        mode=origin.mode,
        system_context=origin.system_context,
        truncation=origin.truncation,
        memory=origin.memory,
        author_note=origin.author_note,
        note_depth=origin.note_depth,
        lore_scan=origin.lore_scan,
        lore_budget=origin.lore_budget,
        maker=by,
        sandbox_at=node.pk,
        sandbox_copies=len(nodes),
        sandbox_of=context.actor.user,
        expires_at=context.now + timedelta(days=args.days),
    )
    if context.writer is not None and context.writer.is_dry:
        return tree
    insert_row(tree)
    streams.open_stream(tree)
    writer = streams.lock(tree, actor=by.uid)
    new = write_copies(writer, tree, nodes)
    writer.append("tree.created", {"tree": tree.uid, "title": tree.title, "mode": tree.mode})
    writer.flush()
    # Last, so that nobody waits for the copies. From here on `allow` changes its rights as well;
    # what it changed meanwhile counts, or they would read here what they may no longer read there.
    streams.lock(origin)
    access.demand(access.get_actor_now(context.actor), {LOOM, WRITE}, "a sandbox")
    copy_rights(origin, tree)
    view = stored(access.workspace_of(by, tree))
    Workspace.objects.filter(pk=view.pk).update(position=new[node.pk])
    return tree


class PromoteArgs(Args):
    """Nothing: it is the sandbox in which the line is run."""


describe_verb(
    Verb(
        "promote",
        past="promoted",
        done=gettext_noop("Promoted a sandbox"),
        is_destructive=True,
        in_pipes=False,
        takes_documents=False,
    )
)


@command("promote", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def promote(context: Context, args: PromoteArgs) -> Reply:
    """Adds what was written in this sandbox to the tree that it hangs at, with its authors and
    hashes, and closes the sandbox. The checks that apply to its texts have to pass."""
    demand_sandbox(context.tree)
    origin, node = _home_of(context)
    count = new_nodes(context.tree).order_by().count()
    if not count:
        raise CommandError(
            "REJECTED", "Nothing was written in this sandbox.", hint="→ discard ends it"
        )
    if count > MOST_PROMOTED:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"At most {MOST_PROMOTED:,} nodes are promoted at once; here are {count:,}.",
            hint="write what should stay in the tree itself",
            is_size=True,
        )
    _demand_idle(context)
    _demand_checks(context, origin)
    by, dry = context.actor.participant.uid, context.world.is_dry
    writer = streams.lock(origin, actor=by, origin=context.world.origin, is_dry=dry)
    origin, node = _home_of(context)  # what somebody did there until now counts
    home = Context(
        actor=context.actor,
        tree=origin,
        workspace=context.workspace,
        at="",
        now=context.now,
        origin=context.origin,
        turn=context.turn,
        writer=writer,
        effects=Effects(),
    )
    done = promote_nodes(home, context.tree)
    promoted = list(done.nodes.values())
    reply = _said(done, origin, node)
    if not dry:
        Tree.objects.filter(pk=origin.pk).update(touched_at=context.now)
        writer.flush()
        _to_undo(context, origin, done, writer.seqs, reply)
    _close(context.tree, context.world, "promoted", turn=context.turn)
    return Reply(
        reply,
        refs=tuple(node.local_id for node in promoted[:SHOWN]),
        items=touched(*promoted[:SHOWN]) if not dry else (),
    )


def _home_of(context: Context) -> tuple[Tree, Node]:
    """The tree and the text at which this sandbox hangs, if its texts may be added there."""
    there, origin, node = origin_of(context.actor, context.tree)
    access.demand(there, {WRITE}, "promoting")
    access.demand_writable(origin)
    demand_visible(lookup.with_tree(origin, node))
    return origin, node


def _demand_idle(context: Context) -> None:
    """Refuses with CONFLICT while an answer is being written in the sandbox, which would be left
    behind; the turn that promotes it goes on."""
    turns = open_turns(context.tree, but=context.turn)
    generations = open_generations(context.tree, but=context.turn)
    at_work = [
        *turns.values_list("participant__name", flat=True)[:1],
        *generations.values_list("participant__name", flat=True)[:1],
    ]
    if at_work:
        raise CommandError(
            "CONFLICT",
            f"{at_work[0]} is writing an answer in this sandbox.",
            hint="wait until it ends, or stop it; then → promote",
        )


def _to_undo(
    context: Context, origin: Tree, done: Promoted, events: Sequence[int], reply: str
) -> None:
    """Writes a step in the tree of origin, where its undo prunes the nodes that were promoted,
    removes their links and marks, leads their tasks back, and opens the sandbox again: the line
    itself belongs to the sandbox."""
    promoted = list(done.nodes.values())
    stands = [node for node in promoted if not node.pruned and not node.version_pruned]
    view = locked(stored(access.workspace_of(context.actor.participant, origin)))
    again: Op = {"op": "sandbox", "tree": context.tree.pk, "ends": False, "state": "promoted"}
    numbered_step(
        view,
        by=context.actor,
        items=touched(*promoted[:SHOWN]),
        turn_uid=context.turn,
        line="→ promote",
        canonical="→ promote",
        outcome="ok",
        message=reply,
        stream=f"tree:{origin.uid}",
        events=list(events),
        inverse=[*made_nodes(*stands), *_relations(done), *done.tasks, again],
    )


def _relations(done: Promoted) -> Sequence[Op]:
    """The inverse of adding links and marks: they go with the nodes, so that promoting
    again does not add them twice."""
    if not done.links and not done.marks:
        return ()
    return ({"op": "promoted", "links": done.links, "marks": done.marks, "removed": True},)


@undoes("promoted")
def _undo_relations(context: Context, op: Op, own: Own) -> list[Op]:
    """Removes or restores the links and marks of a promotion. What others have removed since stays
    as it is, and so does a link that is evidence by now."""
    links, marks = [], []
    there = {"removed_at__isnull": op["removed"]}
    for key, ends in op["links"]:
        link = Link.objects.select_related("by").filter(pk=key, **there).first()
        if link is not None and not is_kept(link):
            set_link_removed(context, link, ends, op["removed"])
            links.append((key, ends))
    for key, item in op["marks"]:
        mark = Mark.objects.select_related("participant").filter(pk=key, **there).first()
        if mark is not None:
            set_mark_removed(context, mark, item, op["removed"])
            marks.append((key, item))
    return [{"op": "promoted", "links": links, "marks": marks, "removed": not op["removed"]}]


def _demand_checks(context: Context, origin: Tree) -> None:
    """Refuses with REJECTED if a text that would be seen fails a check of the tree of origin, or a
    judge has said that it does. A judge that was not asked says nothing."""
    if not apps.is_installed("loom.claims"):
        return
    from loom.claims.queries.checks import applying, results_of
    from loom.claims.rules import checks as check_rules

    rules = list(applying(origin.grove, origin))
    if not rules:
        return
    failed = []
    for node in new_nodes(context.tree).filter(kind="text", version_pruned=False):
        if lookup.hidden_by(node) is not None or _is_older(node, context):
            continue
        for rule in rules:
            if rule.kind == "judge":
                judged = [
                    result
                    for result in results_of(ids.of_node(node.pk))
                    if result.rule_id == rule.pk
                ]
                failed += [
                    (node, rule.name, result.said)
                    for result in judged
                    if result.outcome == "failed"
                ]
                continue
            outcome = check_rules.run(rule.kind, rule.parameters, node.text)
            if not outcome.passed:
                failed.append((node, rule.name, outcome.said))
    if failed:
        named = "; ".join(
            f"[{node.local_id}] {name} {reason}".rstrip() for node, name, reason in failed[:SHOWN]
        )
        more = f" and {len(failed) - SHOWN} more" if len(failed) > SHOWN else ""
        raise CommandError(
            "REJECTED",
            f"{counted(len(failed), 'check')} failed: {named}{more}.",
            hint="edit or prune these texts, then → promote",
        )


def _is_older(node: Node, context: Context) -> bool:
    """Whether a newer wording of the slot is shown in its place."""
    shown = lookup.selected_version(node.slot_id, context.workspace)
    return shown is not None and shown.pk != node.pk


def _said(done: Promoted, origin: Tree, node: Node) -> str:
    lines = [f"✓ promoted {counted(len(done.nodes), 'node')} below [{node.local_id}]"]
    if done.renamed:
        named = ", ".join(f"[{old}] is [{new}]" for old, new in done.renamed[:SHOWN])
        lines.append(f"  {named} there")
    if done.left:
        named = ", ".join(counted(many, name) for name, many in sorted(done.left.items()))
        lines.append(f"  left in the sandbox: {named}")
    lines.append(f"  tree:{origin.uid}")
    return "\n".join(lines)


class DiscardArgs(Args):
    """Nothing: it is the sandbox in which the line is run."""


describe_verb(
    Verb(
        "discard",
        past="discarded",
        done=gettext_noop("Discarded a sandbox"),
        is_destructive=True,
        asks_first=True,
        in_pipes=False,
        takes_documents=False,
    )
)


@command("discard", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def discard(context: Context, args: DiscardArgs) -> Reply:
    """Ends this sandbox without promoting it. It stays readable for you, in the archive, with what
    was written there so far: who still writes is stopped."""
    demand_sandbox(context.tree)
    stopped = _close(context.tree, context.world, "discarded", turn=context.turn)
    reply = "✓ discarded this sandbox; it is in your archive"
    if stopped:
        context.workspace.refresh_from_db()
        reply += "\n  stopped what was being written there; what had arrived is kept"
    return Reply(reply)


def _close(tree: Tree, writer: streams.Writer, state: str, *, turn: str = "") -> int:
    """Archives a sandbox, whose stream is locked, as a token in its last state. What goes on in it
    ends first, with what it has written, but for `turn`; returns how much that was."""
    if writer.is_dry:
        return 0
    stopped = end_work(tree, writer, turn=turn)
    tree.archived_at = timezone.now()
    Tree.objects.filter(pk=tree.pk).update(archived_at=tree.archived_at)
    writer.append(
        "tree.changed", {"tree": tree.uid, "archived_at": instant_or_none(tree.archived_at)}
    )
    if not apps.is_installed("loom.claims"):  # which keeps the last states of tokens
        return stopped
    from loom.claims.models import TokenState
    from loom.claims.queries.inline_tokens import SELF

    kept = {"kind": "sandbox", "state": state, "at": tree.archived_at}
    TokenState.objects.update_or_create(item=ids.of_tree(tree.pk), key=SELF, defaults=kept)
    body = {"item": f"tree:{tree.uid}", "key": SELF, "token": "sandbox", "state": state}
    writer.append("token.changed", {**body, "notes": []})
    return stopped


@undoes("sandbox")
def _undo_sandbox(context: Context, op: Op, own: Own) -> list[Op]:
    """Discards a sandbox that was begun, or opens it again."""
    tree = access.known_trees(context.actor).filter(pk=op["tree"]).first()
    if tree is None or (tree.archived_at is None) != op["ends"]:
        if tree is not None and access.is_over(tree):
            raise CommandError(
                "CONFLICT",
                "The days of this sandbox are over.",
                hint="restore it in the archive, which gives it days again, and repeat this",
            )
        raise conflict("The sandbox")
    if not context.world.is_dry:
        writer = streams.lock(tree, actor=context.actor.participant.uid)
        if op["ends"]:
            _close(tree, writer, op.get("state", "discarded"), turn=context.turn)
        else:
            opened(tree)
            Tree.objects.filter(pk=tree.pk).update(archived_at=None)
            writer.append("tree.changed", {"tree": tree.uid, "archived_at": None})
        writer.flush()
    return [{**op, "ends": not op["ends"]}]


@when_opened
def _give_days(tree: Tree) -> None:
    """Gives a sandbox that is opened again as many days as a new one has, unless it has more."""
    if tree.sandbox_of_id is None or tree.expires_at is None:
        return
    tree.expires_at = max(tree.expires_at, timezone.now() + timedelta(days=DAYS))
    Tree.objects.filter(pk=tree.pk).update(expires_at=tree.expires_at)


@sweeps
def discard_ended() -> int:
    """Discards sandboxes whose days are over; returns how many. One that cannot be discarded stops
    no other."""
    over = Tree.objects.filter(
        sandbox_at__isnull=False,
        archived_at__isnull=True,
        erasing_at__isnull=True,
        expires_at__lt=timezone.now(),
    )
    over = over.exclude(put_aside.among("sandbox")).select_related("grove")
    return sum(
        put_aside.attempt("sandbox", tree.uid, partial(_discard_ended, tree), grove=tree.grove)
        for tree in list(over[:100])
    )


@transaction.atomic
def _discard_ended(tree: Tree) -> None:
    writer = streams.lock(tree)
    now = Tree.objects.filter(pk=tree.pk, archived_at__isnull=True).first()
    if now is not None:
        _close(now, writer, "expired")
        writer.flush()
