"""Fetches an item for somebody, or refuses. All reads and writes of items go through this module
and through the `access.py` of features, which use it.

Outsiders get NOT_FOUND, members without the permission PERMISSION_DENIED. There is no flag that
skips the check, and no actor None.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import F, FilteredRelation, Model, Q, QuerySet, Subquery, Value
from django.db.models.expressions import Exists, OuterRef
from django.db.models.functions import Concat
from django.utils import timezone

from loom.engine.models import Step, StepItem, Stream
from loom.errors import CommandError, not_found, require
from loom.language.ids import ORDINAL_BITS, home_of, of_workspace, workspace_parts
from loom.people.models import Grove, Membership, Participant, User
from loom.permissions import (
    CROSS_TREE,
    OF_ROLE,
    ROLES,
    SCOPE_REMEDY,
    WRITE,
    Permission,
    Right,
    Role,
    Scope,
    lacking,
    limited,
    named,
    permissions_in_tree,
    remedy,
    right_in_tree,
    role_in_tree,
)
from loom.platform.prepared_queries import Given, PreparedQuery
from loom.text.hashes import digest
from loom.trees.models import ErasedTree, Image, Node, PublicLink, Tree, TreeRight, Workspace


@dataclass(frozen=True)
class Actor:
    """Somebody in one grove: who acts, on whose behalf, and what they may do there. `participant`
    acts and is the author; `person` is the member who is responsible (the same for people, the
    inviter for an agent's turn). `permissions` is the intersection. `within` is the row id of the
    tree in which they act, which opens a sandbox to an agent that was asked there.

    Somebody who was fetched for a tree has its row id in `tree`, and `role` and `permissions` are
    those of the `right` there; else those of the grove. `in_grove` are the permissions of the role
    in the grove, which decide about what belongs to no tree. `annotates`: they may write notes and
    marks of their own.
    """

    participant: Participant
    person: Participant
    user: User
    grove: Grove
    role: Role
    permissions: frozenset[Permission] = field(default_factory=frozenset)
    within: int = 0
    tree: int | None = None
    right: Right = "read"
    in_grove: frozenset[Permission] = field(default_factory=frozenset)
    annotates: bool = False

    @property
    def is_owner(self) -> bool:
        """Whether the person owns the grove."""
        return self.role == "owner"


def _actor_of(member: Membership, scope: Scope) -> Actor:
    role = limited(member.role, scope)  # type: ignore[arg-type]
    member.user.scope = scope  # applies to everything that is fetched for this actor
    own, person, held = member.participant, member.user, OF_ROLE[role]
    right = right_in_tree(member.role, "", "", "", scope)  # type: ignore[arg-type]
    annotates = WRITE in held
    return Actor(
        own, own, person, member.grove, role, held, right=right, in_grove=held, annotates=annotates
    )


def _actor_in_tree(member: Membership, scope: Scope, tree: int, own: str, of_role: str) -> Actor:
    """The member in a tree with that row id: `own` is the right that they were given there, and
    `of_role` that of their role there ("": none). NOT_FOUND if the tree is hidden from them."""
    actor = _actor_of(member, scope)
    role: Role = member.role  # type: ignore[assignment]
    usual = member.grove.settings.get(READERS_MAY, "") if role == "reader" else ""
    right = right_in_tree(role, own, of_role, usual, scope)
    if right == "hidden":
        raise not_found("This tree")
    held = permissions_in_tree(actor.role, right)
    annotates = right in ("comment", "write")
    role = role_in_tree(role, right, scope)
    return replace(
        actor,
        role=role,
        permissions=held,
        within=tree,
        tree=tree,
        right=right,
        annotates=annotates,
    )


_MEMBER = PreparedQuery(
    lambda: Membership.objects.select_related("participant", "user", "grove").filter(
        user=Given("user"), grove=Given("grove"), user__is_active=True
    )
)


def get_actor(user: User | AnonymousUser, grove: Grove) -> Actor:
    """`user` as a member of `grove`, limited by the scope of an API key. NOT_FOUND for outsiders;
    one query."""
    member = _MEMBER.first(user=user.pk, grove=grove.pk) if user.is_authenticated else None
    if member is None:
        raise not_found("This")
    return _actor_of(member, getattr(user, "scope", "owner"))


_RIGHT = TreeRight.objects.filter(user=Given("user")).values("right")
_MEMBER_IN = PreparedQuery(
    lambda: (
        Membership.objects.select_related("participant", "user", "grove")
        .filter(user=Given("user"), user__is_active=True)
        .filter(grove__trees=Given("tree"), grove__trees__erasing_at__isnull=True)
        .annotate(own_right=Subquery(_RIGHT.filter(tree=Given("tree"))[:1]))
        .annotate(of_reader=F("grove__trees__reader_right"))
        .annotate(of_writer=F("grove__trees__writer_right"))
    )
)


def get_actor_in(user: User | AnonymousUser, tree_id: int) -> Actor:
    """`user` in the tree with that row id, with their right there. NOT_FOUND for outsiders and for
    those from whom it is hidden; one query."""
    member: Any = _MEMBER_IN.first(user=user.pk, tree=tree_id) if user.is_authenticated else None
    if member is None:
        raise not_found("This tree")
    of_role = member.of_reader if member.role == "reader" else member.of_writer
    scope: Scope = getattr(user, "scope", "owner")
    return _actor_in_tree(member, scope, tree_id, member.own_right or "", of_role)


def in_tree(actor: Actor, tree: Tree) -> Actor:
    """The actor with their right in the tree. No query for one who was fetched for it, such as by
    `get_tree`; else one. NOT_FOUND if the tree is hidden from them."""
    if actor.tree == tree.pk or actor.user.pk is None or not actor.participant.pk:
        return actor
    person = get_actor_in(actor.user, tree.pk)
    return person if actor.participant == actor.person else _as_before(person, actor)


def _as_before(person: Actor, actor: Actor) -> Actor:
    """The person in a tree acting as the agent that `actor` acts as, with no more than it had."""
    return replace(
        person,
        participant=actor.participant,
        permissions=person.permissions & actor.permissions,
        in_grove=person.in_grove & actor.in_grove,
        annotates=person.annotates and actor.annotates,
    )


def get_actors(user: User, groves: Iterable[Grove]) -> list[Actor]:
    """`user` as a member of those of the groves that they belong to, in order of joining; one
    query."""
    rows = Membership.objects.select_related("participant", "user", "grove").order_by("pk")
    members = rows.filter(user=user, user__is_active=True, grove__in=groves)
    return [_actor_of(member, getattr(user, "scope", "owner")) for member in members]


def own_permissions(agent: Participant) -> frozenset[Permission]:
    """The permissions of an agent; none if it is archived."""
    return named(agent.permissions if agent.archived_at is None else ())


def acting_as(person: Actor, agent: Participant) -> Actor:
    """A member acting as an agent, with the permissions of both; none if the agent is archived."""
    return limited_to(replace(person, participant=agent), agent)


def limited_to(actor: Actor, agent: Participant) -> Actor:
    """The actor with no more permissions than an agent has."""
    own = own_permissions(agent)
    return replace(
        actor,
        permissions=actor.permissions & own,
        in_grove=actor.in_grove & own,
        annotates=actor.annotates and WRITE in own,
    )


_NAMED_NOW = PreparedQuery(lambda: Participant.objects.filter(pk=Given("pk")))


def get_actor_now(actor: Actor) -> Actor:
    """The actor with the role and permissions of this moment, which may have changed while a lock
    was waited for. NOT_FOUND if the person is no longer a member, or the tree in which they act is
    hidden from them now; one query, two for an agent."""
    person = person_now(actor)
    if actor.participant == actor.person:
        return replace(person, within=actor.within)
    agent = _NAMED_NOW.first(pk=actor.participant.pk)
    if agent is None:
        raise not_found("This participant")
    return replace(acting_as(person, agent), within=actor.within)


def person_now(actor: Actor) -> Actor:
    """The person who is responsible, as `get_actor_now` would return them acting for themselves."""
    if actor.tree is None:
        return get_actor(actor.user, actor.grove)
    return get_actor_in(actor.user, actor.tree)


def visible_groves(user: User) -> QuerySet[Grove]:
    """The groves the user is a member of, in order of joining, so that the first stays first when
    they are invited elsewhere."""
    return Grove.objects.filter(memberships__user=user).order_by("memberships__pk")


def first_grove(user: User) -> Grove:
    """The caller's first grove. NOT_FOUND if they have none."""
    grove = visible_groves(user).first()
    if grove is None:
        raise not_found("A grove of yours", "Ask somebody for an invitation.")
    return grove


_MEMBER_OF = PreparedQuery(
    lambda: Membership.objects.select_related("participant", "grove").filter(
        user=Given("user"), grove__uid=Given("uid")
    )
)


def get_grove(user: User, uid: str, *, role: Role = "reader") -> tuple[Actor, Grove]:
    """The grove for a member with at least `role`; NOT_FOUND for outsiders. One query."""
    member = _MEMBER_OF.first(user=user.pk or 0, uid=uid) if user.is_active else None
    if member is None:
        raise not_found("This grove")
    member.user = user
    actor = _actor_of(member, getattr(user, "scope", "owner"))
    demand_role(actor, role)
    return actor, actor.grove


def no_sandbox_of_others(user: User | Given) -> Q:
    """The condition that a tree is no sandbox of somebody else. Of columns that are read anyway."""
    return Q(sandbox_of__isnull=True) | Q(sandbox_of=user)


def is_sandbox_of_another(tree: Any, user: User) -> bool:
    """Whether a row's tree (None: it has none) is a sandbox that the user may not see."""
    return getattr(tree, "sandbox_of_id", None) not in (None, user.pk)


def at_tree(actor: Actor, tree: Tree) -> Actor:
    """The actor while they act in a tree."""
    return actor if actor.within == tree.pk else replace(actor, within=tree.pk)


def visible_trees(user: User) -> QuerySet[Tree]:
    """The trees of the user's groves, including archived ones, without those being erased, those
    that are hidden from the user, and the sandboxes of others."""
    own = TreeRight.objects.filter(tree=OuterRef("pk"), user=user)
    is_hidden, is_named = Exists(own.filter(right="hidden")), Exists(own)
    by_role = Q(grove__memberships__role="reader") & ~Q(reader_right="hidden")
    by_role |= Q(grove__memberships__role="writer") & ~Q(writer_right="hidden")
    seen = Q(grove__memberships__role="owner") | (~is_hidden & (is_named | by_role))
    members = Tree.objects.filter(seen, grove__memberships__user=user, erasing_at__isnull=True)
    return members.filter(no_sandbox_of_others(user))


def annotated_trees(user: User, trees: Iterable[int]) -> set[int]:
    """Those of the trees (row ids) in which the user may write notes now; one query."""
    own = TreeRight.objects.filter(tree=OuterRef("pk"), user=user).values("right")
    rows = visible_trees(user).filter(pk__in=trees, archived_at__isnull=True)
    columns = rows.annotate(own_right=Subquery(own[:1])).values_list(
        "pk",
        "grove__memberships__role",
        "grove__settings",
        "own_right",
        "reader_right",
        "writer_right",
    )
    annotated = set()
    for key, role, settings, own_right, of_reader, of_writer in columns:
        is_reader = role == "reader"
        usual = settings.get(READERS_MAY, "") if is_reader else ""
        of_role = of_reader if is_reader else of_writer
        scope: Scope = getattr(user, "scope", "owner")
        right = right_in_tree(role, own_right or "", of_role, usual, scope)  # type: ignore[arg-type]
        if right in ("comment", "write"):
            annotated.add(key)
    return annotated


def written_trees(actor: Actor) -> QuerySet[Tree]:
    """The trees of the actor's grove in which the person may write."""
    own = TreeRight.objects.filter(tree=OuterRef("pk"), user=actor.user)
    by_role = Q(grove__memberships__role="reader", reader_right="write")
    by_role |= Q(grove__memberships__role="writer", writer_right__in=("", "write"))
    written = Exists(own.filter(right="write")) | (~Exists(own) & by_role)
    written = Q(grove__memberships__role="owner") | written
    rows = Tree.objects.filter(written, grove__memberships__user=actor.user)
    return rows.filter(pk__in=grove_trees(actor).values("pk"))


def hidden_from_some() -> Q:
    """The condition that a tree is hidden from somebody in its grove."""
    own = TreeRight.objects.filter(tree=OuterRef("pk"), right="hidden")
    return Q(reader_right="hidden") | Q(writer_right="hidden") | Q(Exists(own))


def in_hidden_tree() -> Exists:
    """The condition that the tree of a row is hidden from somebody in its grove."""
    return Exists(Tree.objects.filter(hidden_from_some(), pk=OuterRef("tree")))


def known_trees(actor: Actor) -> QuerySet[Tree]:
    """The trees of which the actor may know that they are there: for a person those of all their
    groves, for an agent those of its own grove only, whoever started it, and of the sandboxes that
    its inviter may see those that it made and the one in which it was asked."""
    trees = visible_trees(actor.user)
    if actor.participant == actor.person:
        return trees
    own = Q(sandbox_of__isnull=True) | Q(maker=actor.participant) | Q(pk=actor.within)
    return trees.filter(own, grove=actor.grove)


def trees_for(actor: Actor) -> QuerySet[Tree]:
    """The trees whose text the actor may fetch: those that they know, but for an agent without
    cross_tree only the one in which it acts. The database joins the condition, so that it costs
    no query."""
    trees = known_trees(actor)
    return trees if reaches_trees(actor) else trees.filter(pk=actor.within)


def reaches_trees(actor: Actor) -> bool:
    """Whether the actor may fetch text of other trees than the one in which they act."""
    return actor.participant == actor.person or CROSS_TREE in actor.permissions


def erased_trees_for(actor: Actor, trees: Iterable[int]) -> set[int]:
    """Those of the trees, by row id, that were erased and that the actor could read until then: for
    others there was never anything. One query, none for no trees."""
    asked = set(trees)
    if not asked or not reaches_trees(actor):
        return set()
    rows = ErasedTree.objects.filter(pk__in=asked, grove__memberships__user=actor.user)
    if actor.participant != actor.person:
        rows = rows.filter(grove=actor.grove)
    user, erased = actor.user.pk, set()
    for row in rows.annotate(role=F("grove__memberships__role")):
        by_role = row.role not in row.hidden_roles and user not in row.hidden_from
        if row.role == "owner" or user in row.shown_to or by_role:
            erased.add(row.tree)
    return erased


def grove_trees(actor: Actor) -> QuerySet[Tree]:
    """The trees of the actor's grove that they may see."""
    return trees_for(actor).filter(grove=actor.grove)


def may_reach(actor: Actor, tree_id: int, *, here: Tree) -> bool:
    """Whether the actor, in the tree `here`, may fetch text of the tree with that row id:
    of another tree only with cross_tree."""
    if tree_id == here.pk:
        return True
    return CROSS_TREE in actor.permissions and trees_for(actor).filter(pk=tree_id).exists()


def _trees() -> QuerySet[Tree]:
    """The tree with an id, with its grove and the user's membership there as `member`. The
    database joins the tables: separate queries would take longer."""
    of_user = FilteredRelation(
        "grove__memberships", condition=Q(grove__memberships__user_id=Given("user"))
    )
    trees = Tree.objects.filter(uid=Given("uid"), erasing_at__isnull=True).order_by()
    trees = trees.filter(no_sandbox_of_others(Given("user")))
    trees = trees.annotate(own_right=Subquery(_RIGHT.filter(tree=OuterRef("pk"))[:1]))
    # (The stubs know no names of annotated relations.)
    return trees.annotate(member=of_user).select_related("grove", "member__participant")  # type: ignore[misc]


def _trees_in_use() -> QuerySet[Tree]:
    """The tree with an id, with its grove and the user's membership there as `member`, the member's
    workspace `own`, the node `named`, the `head` of its stream, and
    whether it has pruned slots. Texts are deferred: most readers need others."""
    own = FilteredRelation(
        "workspaces", condition=Q(workspaces__participant=F("member__participant"))
    )
    named = FilteredRelation("nodes", condition=Q(nodes__local_id=Given("named")))
    streams = Stream.objects.filter(name=Concat(Value("tree:"), OuterRef("uid")))
    pruned = Node.objects.filter(tree=OuterRef("pk"), pruned=True)
    nodes = ("own__position", "own__position__slot", "named", "named__slot")
    return (
        _trees()
        .annotate(own=own, named=named, head=Subquery(streams.values("head")[:1]))
        .annotate(has_pruned=Exists(pruned))
        .select_related("grove", "member__participant", *nodes)  # type: ignore[misc]
        .defer(*(f"{node}__text" for node in nodes), *(f"{node}__blocks" for node in nodes))
    )


_TREE = PreparedQuery(_trees)
_IN_USE = PreparedQuery(_trees_in_use)


def get_tree(user: User, uid: str, *, role: Role = "reader") -> tuple[Actor, Tree]:
    """The tree for a member of its grove with at least `role`; NOT_FOUND for outsiders. One
    query."""
    tree = _TREE.first(user=user.pk or 0, uid=uid)
    actor = _member_of(user, tree)
    demand_role(actor, role)
    return actor, require(tree, "the tree")


def _member_of(user: User, tree: Any) -> Actor:
    """The member that was loaded with the tree (None: there is no such tree)."""
    member = getattr(tree, "member", None)
    if member is None or not user.is_active:
        raise not_found("This tree")
    member.grove, member.participant.grove, member.user = tree.grove, tree.grove, user
    of_role = tree.reader_right if member.role == "reader" else tree.writer_right
    scope: Scope = getattr(user, "scope", "owner")
    return _actor_in_tree(member, scope, tree.pk, tree.own_right or "", of_role)


@dataclass(frozen=True)
class Visit:
    """Somebody at a tree: the actor, their workspace (not stored if they have none yet), the node
    that they named (None: none, or no such node), the last seq of its stream, and whether anything
    in it is pruned."""

    actor: Actor
    tree: Tree
    workspace: Workspace
    named: Node | None
    seq: int
    has_pruned: bool


def get_visit(user: User, uid: str, named: str = "") -> Visit:
    """Somebody at the node with that local id in a tree, or at their position; NOT_FOUND for
    outsiders. One query for everything."""
    tree: Any = _IN_USE.first(user=user.pk or 0, uid=uid, named=named)
    actor = _member_of(user, tree)
    # (Django sets no attribute for a joined row that is not there.)
    workspace = getattr(tree, "own", None) or new_workspace(actor.participant, tree)
    workspace.participant, workspace.tree = actor.participant, tree
    node = getattr(tree, "named", None)
    if node is not None:
        node.tree = tree
    return Visit(actor, tree, workspace, node, tree.head or 0, bool(tree.has_pruned))


_WORKSPACE = PreparedQuery(
    lambda: Workspace.objects.select_related("position").filter(
        participant=Given("participant"), tree=Given("tree")
    )
)


def known_workspace_of(participant: Participant, tree: Tree) -> Workspace | None:
    """The participant's workspace in the tree; None if there is none yet."""
    workspace = _WORKSPACE.first(participant=participant.pk, tree=tree.pk)
    if workspace is not None:
        workspace.participant, workspace.tree = participant, tree
    return workspace


def workspace_of(participant: Participant, tree: Tree) -> Workspace:
    """The participant's workspace in the tree; if there is none yet, one that is not stored."""
    return known_workspace_of(participant, tree) or new_workspace(participant, tree)


def new_workspace(participant: Participant, tree: Tree) -> Workspace:
    """A workspace at the root that is not stored, with the id it will have. Its row id is 0, which
    no row has, so nothing is found that belongs to it."""
    uid = of_workspace(tree.uid, participant.uid)
    root = (tree.pk << ORDINAL_BITS) + 1
    return Workspace(pk=0, uid=uid, participant=participant, tree=tree, position_id=root)


def find_invited_tree(grove: Grove, uid: str, role: Role) -> Tree | None:
    """The tree of the grove to which an invitation leads whoever accepts it; None if it names none,
    or one that is hidden from the role that it gives. For whoever holds the invitation, who is to
    see no more than its title."""
    rows = Tree.objects.filter(grove=grove, erasing_at__isnull=True, sandbox_of__isnull=True)
    if role != "owner":
        rows = rows.exclude(**{f"{role}_right": "hidden"})
    return rows.filter(uid=uid).first()


def is_hidden_from_some(tree_id: int) -> bool:
    """Whether the tree with that row id is hidden from somebody in its grove. One query."""
    return Tree.objects.filter(hidden_from_some(), pk=tree_id).exists()


def open_trees(grove: int, trees: Iterable[int]) -> set[int]:
    """Those of the trees, by row id, that all members of the grove may see: no sandbox, and hidden
    from nobody. What is written into a document for good names no others. One query."""
    rows = Tree.objects.exclude(hidden_from_some()).filter(grove=grove, sandbox_of=None)
    return set(rows.filter(pk__in=set(trees)).values_list("pk", flat=True))


def demand_open(*trees: Tree) -> None:
    """Refuses with REJECTED, in a line that copies texts of the trees into a document, if one is
    hidden from somebody in its grove: they may read the document. One query."""
    if Tree.objects.filter(hidden_from_some(), pk__in=[tree.pk for tree in trees]).exists():
        raise CommandError(
            "REJECTED",
            "The tree is hidden from members of the grove, who may read its documents.",
            hint='write in your own words what all may know: → write doc:"…" new "…"',
        )


def get_public_tree(secret: str) -> tuple[Actor, PublicLink]:
    """The link with its tree, for anybody with its secret; NOT_FOUND if it has ended. The actor is
    nobody: not a member of any grove, without permissions or rows.
    """
    rows = PublicLink.objects.select_related("tree__grove").filter(tree__erasing_at__isnull=True)
    open_now = rows.filter(revoked_at__isnull=True, expires_at__gt=timezone.now())
    link = open_now.filter(digest=digest(secret)).first()
    if link is None:
        raise not_found(
            "This link", "It was revoked or has expired; ask the person who gave it to you."
        )
    nobody = Participant(pk=0, grove=link.tree.grove, kind="human", name="")
    user = User(pk=0, username="", is_active=False)
    return Actor(nobody, nobody, user, link.tree.grove, "reader"), link


def demand_role(actor: Actor, role: Role) -> None:
    """Refuses with PERMISSION_DENIED below `role`."""
    if ROLES.index(actor.role) < ROLES.index(role):
        raise CommandError(
            "PERMISSION_DENIED",
            f"This needs the role {role}; you are {actor.role} here.",
            hint="Ask an owner of the grove.",
        )


def demand(
    actor: Actor,
    needed: Collection[Permission],
    what: str,
    *,
    annotates: bool = False,
    of_grove: bool = False,
) -> None:
    """Refuses with PERMISSION_DENIED if the actor lacks one of `needed`; `what` is the verb.
    `annotates`: it only makes notes and marks of the actor's own, for which the right to comment
    stands for loom_write. `of_grove`: it changes something that belongs to the grove and to no
    tree, so that the right in a tree does not count."""
    wanted = frozenset(needed)
    if annotates and actor.annotates:
        wanted -= {WRITE}
    held = actor.in_grove if of_grove else actor.permissions
    missing = lacking(wanted, held)
    if missing:
        asker = "" if actor.participant == actor.person else actor.person.name
        right = None if actor.tree is None or of_grove else actor.right
        hint = remedy(wanted, role_of(actor), asked_by=asker, right=right, held=held)
        if not asker and getattr(actor.user, "scope", "owner") == "read":
            hint = SCOPE_REMEDY  # whatever the person may do: this key allows none of it
        message = f"{what} needs {', '.join(missing)}."
        raise CommandError("PERMISSION_DENIED", message, hint=hint, lacks=missing)


def role_of(actor: Actor) -> Role:
    """The role of the person in the grove, as their permissions there show it."""
    if actor.is_owner or actor.participant != actor.person:
        return actor.role
    return "writer" if WRITE in actor.in_grove else "reader"


def may_change(actor: Actor, node: Node) -> bool:
    """Whether the actor may change a node: with loom_write any, else a note of their own."""
    if WRITE in actor.permissions:
        return True
    is_own = node.kind == "annotation" and node.author_id == actor.participant.pk
    return actor.annotates and is_own


def demand_own(actor: Actor, node: Node, what: str) -> None:
    """Refuses with PERMISSION_DENIED if the actor may only comment and the note is of somebody
    else."""
    if not may_change(actor, node):
        raise CommandError(
            "PERMISSION_DENIED",
            f"{what} needs loom_write: [{node.local_id}] is not a note of yours.",
            hint="You may comment here. Ask an owner of the grove for the right to write.",
        )


def demand_right_to_write(actor: Actor, tree: Tree) -> None:
    """Refuses with PERMISSION_DENIED who may not write in the tree, such as in a line that belongs
    to the grove and changes what models are sent in that tree. No query if the actor was fetched
    for it."""
    right = in_tree(actor, tree).right
    if right != "write":
        named_tree = "this tree" if tree.pk == actor.tree else f"tree:{tree.uid}"
        raise CommandError(
            "PERMISSION_DENIED",
            f"This changes {named_tree}, in which you may not write.",
            hint=remedy(frozenset({WRITE}), role_of(actor), right=right),
            lacks=[WRITE.value],
        )


def is_over(sandbox: Tree) -> bool:
    """Whether a sandbox was archived because its days are over."""
    end, ended = sandbox.expires_at, sandbox.archived_at
    return end is not None and ended is not None and ended >= end


def demand_writable(tree: Tree) -> None:
    """Refuses with REJECTED if the tree is archived, and so read-only."""
    if tree.archived_at is not None:
        if tree.sandbox_of_id is not None and is_over(tree):
            reason = "The days of this sandbox are over: it is archived and read-only."
            hint = "Restore it in the archive, which gives it days again."
            raise CommandError("REJECTED", reason, hint=hint)
        reason, hint = "This tree is archived and read-only.", "An owner or writer can restore it."
        raise CommandError("REJECTED", reason, hint=hint)


def demand_no_sandbox(tree: Tree) -> None:
    """Refuses with REJECTED in a sandbox, where nothing outside of it is changed."""
    if tree.sandbox_of_id is not None:
        raise CommandError(
            "REJECTED",
            "A sandbox changes nothing outside of itself.",
            hint="→ promote first, or run the line in the tree that it hangs at",
        )


def demand_outside_sandboxes(tree: Tree, items: Iterable[int]) -> None:
    """Refuses with REJECTED items of sandboxes, in a line that stores in `tree` that something
    refers to them: only what is written in a sandbox may, since nobody else could follow it. One
    query, none if all are in the tree itself or in no tree."""
    homes = {home_of(item) for item in items} - {0, tree.pk}
    if homes and Tree.objects.filter(pk__in=homes, sandbox_of__isnull=False).exists():
        raise CommandError(
            "REJECTED",
            "Nothing outside of a sandbox refers to what is in it.",
            hint="→ promote in the sandbox first, or run the line there",
        )


def of_grove(user: User, rows: PreparedQuery[Any], uid: str, what: str) -> tuple[Actor, Any]:
    """The row with an id that `rows` (see `by_uid`) finds in one of the user's groves, and who they
    are there. NOT_FOUND, which names `what`, for outsiders too."""
    row = rows.first(uid=uid)
    if row is None or is_sandbox_of_another(getattr(row, "tree", None), user):
        raise not_found(what)
    try:
        if not hasattr(row, "grove"):
            return get_actor_in(user, row.tree_id), row
        actor = get_actor(user, row.grove)
        of_tree = getattr(row, "tree", None)  # of an import, which may have none
        if of_tree is not None and of_tree.erasing_at is None:
            get_actor_in(user, of_tree.pk)
        return actor, row
    except CommandError:
        raise not_found(what) from None


def by_uid(model: type[Model], *near: str) -> PreparedQuery[Any]:
    """The row with an id and its related rows, unless its tree is being erased."""

    def rows() -> QuerySet[Any]:
        rows = model._default_manager.select_related(*near).filter(uid=Given("uid"))
        return rows.filter(tree__erasing_at__isnull=True) if near[0] == "tree__grove" else rows

    return PreparedQuery(rows)


_PARTICIPANT = by_uid(Participant, "grove")
_OF_WORKSPACE = by_uid(Workspace, "tree__grove", "participant", "position")


def get_participant(user: User, uid: str, *, role: Role = "reader") -> tuple[Actor, Participant]:
    """A participant of one of the user's groves."""
    actor, row = of_grove(user, _PARTICIPANT, uid, "This participant")
    demand_role(actor, role)
    return actor, row


# The setting of a grove: what its readers may do in trees that say nothing else.
READERS_MAY = "readers_may"
CLOSED = "(you may not see this any longer)"  # shown instead of what is closed


def closed_steps(
    actor: Actor, steps: Iterable[Step], touched: Mapping[int, Sequence[int]] | None = None
) -> set[int]:
    """The row ids of those steps whose texts the actor may not see: steps that touched an item in
    a tree that the actor may not see, such as one of a grove that they have left, or a sandbox.
    Owners see those of others, by the rule for calls, but of no sandbox. What was erased is not
    closed: its words are gone from the steps. `touched` are the items of each, if the caller has
    read them. At most three queries."""
    steps = list(steps)
    if not steps:
        return set()
    if touched is None:
        touched = _touched([step.pk for step in steps])
    homes = {step.pk: set(map(home_of, touched.get(step.pk, ()))) for step in steps}
    every = set().union(*homes.values()) - {0}
    if not every:
        return set()
    seen = set(visible_trees(actor.user).filter(pk__in=every).values_list("pk", flat=True))
    if every <= seen:
        return set()
    unseen = Tree.objects.filter(pk__in=every - seen).values_list("pk", "sandbox_of")
    hidden = dict(unseen)
    sandboxes = {pk for pk, of in hidden.items() if of is not None}
    own = actor.participant.pk

    def closes(step: Step) -> Collection[int]:
        is_by_others = own not in (step.actor_id, step.on_behalf_of_id)
        return sandboxes if actor.is_owner and is_by_others else hidden.keys()

    return {step.pk for step in steps if not homes[step.pk].isdisjoint(closes(step))}


def _touched(steps: Collection[int]) -> dict[int, list[int]]:
    """The items that each step touched outside of its own tree: who may read a workspace may read
    its tree. One query."""
    rows = StepItem.objects.filter(step__in=steps).order_by()
    by_step: dict[int, list[int]] = {}
    elsewhere = rows.exclude(item__tree=F("step__workspace__tree"))
    for step, item in elsewhere.values_list("step_id", "item_id"):
        by_step.setdefault(step, []).append(item)
    return by_step


def get_image(user: User, sha256: str) -> Image:
    """The image with that hash in a tree that the user may see. NOT_FOUND otherwise, also if
    another grove has the same bytes."""
    row = Image.objects.filter(sha256=sha256, tree__in=visible_trees(user)).first()
    if row is None:
        raise not_found("This image")
    return row


def get_workspace(user: User, uid: str) -> tuple[Actor, Workspace]:
    """A workspace, perhaps not stored yet: a person's own, or an agent's of the user's groves."""
    workspace = _OF_WORKSPACE.first(uid=uid)
    try:
        if workspace is not None and is_sandbox_of_another(workspace.tree, user):
            raise not_found("This workspace")
        if workspace is not None and (
            workspace.participant.kind == "model" or workspace.participant.user_id == user.pk
        ):
            return get_actor_in(user, workspace.tree_id), workspace
        of_tree, of_whom = workspace_parts(uid)
        actor, tree = get_tree(user, of_tree)
        return actor, workspace_of(workspace_owner(actor, of_whom), tree)
    except CommandError:
        raise not_found("This workspace") from None


def workspace_owner(actor: Actor, uid: str) -> Participant:
    """The participant whose workspaces the actor may read: themselves, or a model of their
    grove."""
    if uid == actor.participant.uid:
        return actor.participant
    owner = Participant.objects.filter(grove=actor.grove, uid=uid, kind="model").first()
    if owner is None:
        raise not_found("This workspace")
    return owner
