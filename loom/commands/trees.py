"""Whole trees: their fields, archiving, public links, and erasing."""

import secrets
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from loom import access
from loom.access import Actor
from loom.commands.context import Args
from loom.commands.erasing import clear_elsewhere
from loom.commands.execute import execute
from loom.commands.node_writer import MODES, NewNode, add_node
from loom.commands.registry import Change, action
from loom.events import streams
from loom.events.streams import Writer, access_changed, enqueue
from loom.models import (
    ORDINAL_BITS,
    BranchSettings,
    Call,
    Chain,
    DocumentView,
    Draft,
    Event,
    Generation,
    Import,
    Item,
    Link,
    Mark,
    Mention,
    Node,
    NodeSource,
    Participant,
    PublicLink,
    Receipt,
    Step,
    StepItem,
    Stream,
    Task,
    Tree,
    Turn,
    VersionChoice,
    WebSearch,
    Window,
    Workspace,
)
from loom.models.base import insert_row
from loom.rules.errors import CommandError, not_found
from loom.rules.names import shown_title
from loom.rules.node_values import digest, instant
from loom.rules.windows import TRUNCATIONS

BATCH = 1000
NODES = 300  # each is removed from the trigram index, too


def waiting() -> list[str]:
    """The uids of trees that are marked as erased but still stored, to resume after a restart. A
    tree that an import is still writing is hidden in the same way, but is not among them.
    """
    rows = Tree.objects.filter(erasing_at__isnull=False)
    return list(rows.exclude(import__status="running").values_list("uid", flat=True))


def erase_rows(tree_uid: str) -> None:
    """Deletes all rows of an erased tree; does nothing if it is gone or not erased."""
    tree = Tree.objects.filter(uid=tree_uid, erasing_at__isnull=False).first()
    if tree is None:
        return
    clear_elsewhere(tree)
    _release(tree)
    views = list(Workspace.objects.filter(tree=tree).values_list("uid", flat=True))
    names = [streams.name_of(tree), *(f"workspace:{uid}" for uid in views)]
    Stream.objects.filter(name__in=names).update(erasing=True)
    Turn.objects.filter(tree=tree).update(generation=None)  # the two tables reference each other
    for rows in (
        Event.objects.filter(stream__name__in=names),
        StepItem.objects.filter(step__workspace__tree=tree),
        StepItem.objects.filter(step__workspace=None, step__stream=streams.name_of(tree)),
        Window.objects.filter(workspace__tree=tree),
        Step.objects.filter(workspace__tree=tree),
        Step.objects.filter(workspace=None, stream=streams.name_of(tree)),
        Receipt.objects.filter(tree=tree),
        VersionChoice.objects.filter(workspace__tree=tree),
        Draft.objects.filter(workspace__tree=tree),
        WebSearch.objects.filter(workspace__tree=tree),
        DocumentView.objects.filter(workspace__tree=tree),
        Task.objects.filter(workspace__tree=tree),
        Workspace.objects.filter(tree=tree),
        BranchSettings.objects.filter(tree=tree),
        Mention.objects.filter(tree=tree),
        Mark.objects.filter(tree=tree),
        Link.objects.filter(tree=tree),
        Generation.objects.filter(tree=tree),
        Call.objects.filter(tree=tree),
        Turn.objects.filter(tree=tree),
    ):
        _delete_in_batches(rows)
    _delete_nodes(tree)
    _delete_in_batches(_unreferenced(tree))
    with transaction.atomic():
        tree.delete()
        Stream.objects.filter(name__in=names).delete()


def _release(tree: Tree) -> None:
    """Removes references from outside: workspaces of other trees with their position here move to
    their own root."""
    with transaction.atomic():
        strangers = Workspace.objects.filter(position__tree=tree).exclude(tree=tree)
        for view in strangers:
            strangers.filter(pk=view.pk).update(position=(view.tree_id << ORDINAL_BITS) + 1)
        VersionChoice.objects.filter(node__tree=tree).exclude(workspace__tree=tree).delete()
        Import.objects.filter(tree=tree).update(tree=None)


def _delete_in_batches(rows: Any) -> None:
    # Newest first: rows of one table only point at older rows.
    while ids := list(rows.order_by("-pk").values_list("pk", flat=True)[:BATCH]):
        with transaction.atomic():
            rows.model.objects.filter(pk__in=ids)._raw_delete(rows.db)


def _unreferenced(tree: Tree) -> QuerySet[Item]:
    """The items of the tree that nothing points at any more. The others stay, so that links from
    other trees are shown as broken."""
    first, last = tree.pk << ORDINAL_BITS, ((tree.pk + 1) << ORDINAL_BITS) - 1
    own = OuterRef("pk")
    return Item.objects.filter(pk__range=(first, last)).exclude(
        Exists(Link.objects.filter(source=own))
        | Exists(Link.objects.filter(target=own))
        | Exists(Mark.objects.filter(item=own))
        | Exists(NodeSource.objects.filter(item=own))
        | Exists(StepItem.objects.filter(item=own))
        | Exists(Window.objects.filter(item=own))
    )


def _delete_nodes(tree: Tree) -> None:
    newest_first = Node.objects.filter(tree=tree).order_by("-id").values_list("id", flat=True)
    while ids := list(newest_first[:NODES]):
        with transaction.atomic(), connection.cursor() as cursor:
            NodeSource.objects.filter(node__in=ids)._raw_delete(newest_first.db)
            Chain.objects.filter(pk__range=(ids[-1], ids[0]))._raw_delete(newest_first.db)
            # By hand: the trigger of the index must see each row, and Django would first
            # load them all.
            cursor.execute(
                "DELETE FROM loom_node WHERE tree_id = %s AND id BETWEEN %s AND %s",
                [tree.pk, ids[-1], ids[0]],
            )


# Public links: an owner lets anybody read a tree for some days, and can revoke the link.


MAX_DAYS = 365
MAX_OPEN = 50


def make_public_link(actor: Actor, tree: Tree, *, days: float) -> tuple[PublicLink, str]:
    """A new link and its secret, which is shown only once. For owners."""
    args = NewPublicLink(days=days)
    return execute(actor, tree, _make_public_link, args)


class NewPublicLink(Args):
    """How long a public link lasts."""

    days: float


@action("make_public_link", stream="tree", role="owner")
def _make_public_link(change: Change, args: NewPublicLink) -> tuple[PublicLink, str]:
    """Makes a link with which anybody can read a tree for some days."""
    if not args.days > 0:
        raise CommandError("INVALID_SYNTAX", "A link must expire in the future.", hint="try 7 days")
    if args.days > MAX_DAYS:
        raise CommandError(
            "LIMIT_EXCEEDED", f"A link can last at most {MAX_DAYS} days.", hint="try 7 days"
        )
    if open_links(change.actor, change.tree).count() >= MAX_OPEN:
        raise CommandError(
            "LIMIT_EXCEEDED", f"A tree has at most {MAX_OPEN} open links.", hint="revoke one first"
        )
    secret = secrets.token_urlsafe(32)
    made = PublicLink.objects.create(
        tree=change.tree,
        digest=digest(secret),
        made_by=change.actor.participant,
        expires_at=change.now + timedelta(days=args.days),
    )
    return made, secret


def open_links(actor: Actor, tree: Tree) -> QuerySet[PublicLink]:
    """The links that can still be used for the tree, oldest first. For owners."""
    access.demand_role(actor, "owner")
    rows = PublicLink.objects.filter(tree=tree).select_related("made_by")
    return rows.filter(revoked_at__isnull=True, expires_at__gt=timezone.now())


def revoke_public_link(actor: Actor, tree: Tree, uid: str) -> PublicLink:
    """Revokes a link; NOT_FOUND if it is not the tree's or has ended. For owners."""
    return execute(actor, tree, _revoke_public_link, PublicLinkNamed(link=uid))


class PublicLinkNamed(Args):
    """A public link, by id."""

    link: str


@action("revoke_public_link", stream="tree", role="owner")
def _revoke_public_link(change: Change, args: PublicLinkNamed) -> PublicLink:
    """Revokes a public link."""
    open_ones = PublicLink.objects.filter(tree=change.tree, revoked_at__isnull=True)
    link = open_ones.filter(uid=args.link).select_related("made_by").first()
    if link is None:
        raise not_found("This link")
    link.revoked_at = change.now
    link.save(update_fields=["revoked_at"])
    return link


def public_link_body(one: PublicLink) -> dict[str, object]:
    """A link as the API shows it; never its secret."""
    return {
        "id": one.uid,
        "made_by": one.made_by.uid,
        "created_at": instant(one.created_at),
        "expires_at": instant(one.expires_at),
        "revoked_at": instant(one.revoked_at) if one.revoked_at else None,
    }


# Fields of trees, archiving, and erasing. Nodes are written by `node_writer`.


STEERING = ("memory", "author_note", "note_depth", "lore_scan", "lore_budget")
FIELDS = ("title", "description", "system_context", "summary", "truncation", *STEERING)
MAX_TITLE = 300
LOOKED_THROUGH = 50  # events that are searched for who changed a field last
RANGES = {"note_depth": (1, 100), "lore_scan": (1, 100_000), "lore_budget": (0, 100_000)}
SAID = {
    "memory": "the memory",
    "author_note": "the author's note",
    "note_depth": "the place of the author's note",
    "lore_scan": "how far back lore looks for its keys",
    "lore_budget": "the budget of lore",
}


def change_tree(actor: Actor, tree: Tree, changes: Mapping[str, Any]) -> Tree:
    """Changes title, description, system_context, summary, truncation, the additions for subjects
    (STEERING: `→ undo` undoes these), or `archived`.

    An archived tree is read-only: it takes nothing but `archived`, or other fields together with
    `archived: false`. Unchanged values write no event. `seen` holds fields as the caller has read
    them: CONFLICT if a field that would change has another value by now.
    """
    names = (*FIELDS, "archived", "seen")
    known = {name: value for name, value in changes.items() if name in names}
    return execute(actor, tree, _change_tree, TreeChanges(**known))


class TreeChanges(Args):
    """The changes to a tree; fields that are not given stay."""

    title: str = ""
    description: str = ""
    system_context: str = ""
    summary: str = ""
    truncation: str = TRUNCATIONS[0]
    memory: str = ""
    author_note: str = ""
    note_depth: int = 3
    lore_scan: int = 2000
    lore_budget: int = 1000
    archived: bool | None = None
    seen: dict[str, str | int] = {}


@action("change_tree", stream="tree", role="writer")
def _change_tree(change: Change, args: TreeChanges) -> Tree:
    """Changes the fields of a tree, archives it, or takes it out of the archive."""
    fields = {name: getattr(args, name) for name in FIELDS if name in args.model_fields_set}
    if "title" in fields:
        fields["title"] = shown_title(args.title)
    _demand_fields(fields)
    row = Tree.objects.select_related("grove").get(pk=change.tree.pk)
    if row.erasing_at is not None:
        raise not_found("This tree")
    if row.archived_at is not None and args.archived is not False and fields:
        raise CommandError(
            "REJECTED", "This tree is archived and read-only.", hint="send archived: false"
        )
    changed = {name: value for name, value in fields.items() if getattr(row, name) != value}
    _demand_seen(row, changed, args.seen)
    steered = {name: getattr(row, name) for name in STEERING if name in changed}
    if steered:
        change.inverse = [
            {"op": "steer", "fields": steered, "now": {n: changed[n] for n in steered}}
        ]
        change.message = f"changed {' and '.join(SAID[name] for name in steered)}"
    for name, value in changed.items():
        setattr(row, name, value)
    if args.archived is not None and args.archived != (row.archived_at is not None):
        row.archived_at = change.now if args.archived else None
        changed["archived_at"] = instant(row.archived_at) if row.archived_at else None
    if changed:
        row.touched_at = change.now
        row.save(update_fields=[*changed, "touched_at"])
        change.writer.append("tree.changed", {"tree": row.uid, **changed})
    return row


def _demand_seen(row: Tree, changed: Mapping[str, Any], seen: Mapping[str, Any]) -> None:
    name = next((one for one in changed if one in seen and seen[one] != getattr(row, one)), None)
    if name is None:
        return
    events = Event.objects.filter(stream__name=streams.name_of(row), kind="tree.changed")
    recent = events.order_by("-seq").values_list("actor", "payload")[:LOOKED_THROUGH]
    uid = next((actor for actor, payload in recent if name in payload), "")
    who = Participant.objects.filter(uid=uid).values_list("name", flat=True).first()
    raise CommandError(
        "CONFLICT",
        f"{who or 'Somebody'} has changed {SAID.get(name, name)} since you read it.",
        hint="look at what it is now, then save again what should stay",
    )


class NewTree(Args):
    """The initial fields of a tree."""

    title: str = ""
    mode: str = "dialogue"
    description: str = ""
    system_context: str = ""


def make_tree(actor: Actor, args: NewTree) -> Tree:
    """A new tree of the actor's grove, with its empty root. For writers."""
    return execute(actor, None, _make_tree, args)


@action("make_tree", stream="tree", role="writer")
def _make_tree(change: Change, args: NewTree) -> Tree:
    """Makes a tree with its empty root."""
    tree = Tree(**args.model_dump())
    store_tree(tree, change.actor)
    add_root(change.open(tree, change.actor.participant), tree)
    return tree


def _demand_fields(fields: Mapping[str, Any]) -> None:
    if len(fields.get("title", "")) > MAX_TITLE:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"A title has at most {MAX_TITLE} characters.",
            hint="shorten it",
            status=413,
        )
    for name, (least, most) in RANGES.items():
        if not least <= fields.get(name, least) <= most:
            raise CommandError(
                "INVALID_SYNTAX",
                f"{name} is from {least:,} to {most:,}.",
                hint="choose a number between them",
            )
    if fields.get("truncation", TRUNCATIONS[0]) not in TRUNCATIONS:
        raise CommandError(
            "INVALID_SYNTAX",
            "This way of truncation does not exist.",
            hint=" or ".join(TRUNCATIONS),
        )


def erase(actor: Actor, tree: Tree, title: str) -> None:
    """Erases an archived tree whose title was typed as confirmation. It is hidden immediately; its
    rows are deleted in batches, and one event of the grove remains. There is no undo."""
    execute(actor, actor.grove, _erase_tree, TreeErased(tree=tree, title=title))


class TreeErased(Args):
    """A tree, and its title as typed for confirmation."""

    tree: Tree
    title: str


@action("erase_tree", stream="grove", role="owner")
def _erase_tree(change: Change, args: TreeErased) -> None:
    """Erases an archived tree permanently."""
    tree = args.tree
    streams.lock(tree)
    row = Tree.objects.get(pk=tree.pk)
    if row.erasing_at is not None:
        raise not_found("This tree")
    if row.archived_at is None:
        raise CommandError(
            "REJECTED", "Only an archived tree can be erased.", hint="archive it first"
        )
    if args.title != row.title:
        raise CommandError(
            "REJECTED", "This is not the title of the tree.", hint=f"type {row.title!r}"
        )
    row.erasing_at = change.now
    row.save(update_fields=["erasing_at"])
    Stream.objects.filter(name=streams.name_of(tree)).update(erasing=True)
    Generation.objects.filter(tree=tree).update(stop_asked=True)
    change.writer.append("tree.erased", {"tree": tree.uid, "title": row.title})
    access_changed(change.grove.uid, change.actor.user.pk)
    enqueue("loom.tasks.erase_tree", [tree.uid], queue="transfer")


def new_tree(
    actor: Actor,
    *,
    title: str = "",
    mode: str = "dialogue",
    description: str = "",
    system_context: str = "",
) -> Tree:
    """A new tree with its root, without a step; for tests. `make_tree` is the command."""
    made = Tree(title=title, mode=mode, description=description, system_context=system_context)
    with transaction.atomic():
        store_tree(made, actor)
        streams.open_stream(made)
        writer = streams.lock(made, actor=actor.participant.uid)
        add_root(writer, made)
        writer.flush()
    return made


def store_tree(tree: Tree, maker: Actor) -> None:
    """Stores a new tree in its maker's grove. Its stream and root are still missing."""
    if tree.mode not in MODES:
        raise CommandError(
            "INVALID_SYNTAX", f"There is no mode {tree.mode!r}.", hint="dialogue or buffer"
        )
    tree.title = shown_title(tree.title)
    tree.grove, tree.maker = maker.grove, maker.participant
    insert_row(tree)


def add_root(writer: Writer, tree: Tree) -> Node:
    """Writes the first event of a new tree, and its root, a text node with empty text."""
    body = {"tree": tree.uid, "title": tree.title, "mode": tree.mode}
    writer.append("tree.created", body)
    return add_node(writer, tree, tree.maker, NewNode(text=""))
