"""Who may do what in one tree: `allow` (docs/model.md §5.1)."""

import contextlib
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from django.db.models import Q, QuerySet
from django.utils.translation import gettext_noop

from loom.access import READERS_MAY, Actor, demand_no_sandbox, demand_role
from loom.engine.announcements import access_changed
from loom.engine.arguments import Args, Written
from loom.engine.context import Context, Op, Reply
from loom.engine.execute import execute
from loom.engine.models import Step
from loom.engine.registry import command, describe_verb
from loom.engine.undo import Own, conflict, tells_undone, undoes
from loom.engine.usable import cannot_be_used
from loom.errors import CommandError, not_found
from loom.language.ids import ids_in
from loom.language.refs import label_named
from loom.language.verbs import Verb
from loom.people.models import Membership, Participant
from loom.people.names import as_sent
from loom.permissions import LOOM, USUAL, WRITE, Role, right_in_tree
from loom.trees.models import Tree, TreeRight

Given = Literal["hidden", "read", "comment", "write", "usual"]
GIVEN: tuple[Given, ...] = ("hidden", "read", "comment", "write", "usual")
_ROLES: dict[str, Role] = {"readers": "reader", "writers": "writer"}
_SAID = {
    "hidden": "may not see this tree",
    "read": "may read here",
    "comment": "may comment here",
    "write": "may write here",
    "usual": "may do here what their role allows",
}
MOST_NAMES = 20  # members that a refusal names


class NothingNewError(CommandError):
    """Somebody has the right already that they are given."""


class Allowed(Args):
    """Nothing."""


class AllowRole(Args):
    """All readers or all writers of the grove, and what they may do here."""

    who: Annotated[Literal["readers", "writers"], Written("choice", choices=("readers", "writers"))]
    right: Annotated[Given, Written("choice", choices=GIVEN)]


class AllowMember(Args):
    """A member by name, and what they may do here."""

    who: Annotated[str, Written("quoted")]
    right: Annotated[Given, Written("choice", choices=GIVEN)]


describe_verb(
    Verb(
        "allow",
        done=gettext_noop("Changed who may do what"),
        past="changed what is allowed to",
        example='Let somebody comment here: → allow "Ada" comment',
        takes_documents=False,
        in_pipes=False,
    )
)


@dataclass(frozen=True)
class MemberRight:
    """A member of the grove, and what they may do in a tree: `own` is what they were given there,
    "" if nothing."""

    member: Membership
    own: str
    right: str

    @property
    def is_owner(self) -> bool:
        """Whether they own the grove, so that nothing can be taken from them."""
        return self.member.role == "owner"


@dataclass(frozen=True)
class RoleRight:
    """What readers or writers of the grove may do in a tree: `own` is what the tree says, "" if
    nothing, and `usual` what they may do in any tree."""

    role: Role
    own: str
    usual: str

    @property
    def name(self) -> str:
        """`readers` or `writers`, as lines name them."""
        return f"{self.role}s"


def members_in(actor: Actor, tree: Tree) -> list[MemberRight]:
    """What each member of the grove may do in the tree, in order of joining. For owners; two
    queries."""
    demand_role(actor, "owner")
    rows = Membership.objects.filter(grove=tree.grove_id, user__is_active=True)
    own = dict(TreeRight.objects.filter(tree=tree).values_list("user", "right"))
    return [
        MemberRight(member, given, _right(member, tree, given))
        for member in rows.select_related("participant", "user", "grove").order_by("pk")
        for given in [own.get(member.user_id, "")]
    ]


def roles_in(tree: Tree) -> list[RoleRight]:
    """What readers and writers of the grove may do in the tree."""
    of_readers = tree.grove.settings.get(READERS_MAY) or USUAL["reader"]
    return [
        RoleRight("reader", tree.reader_right, of_readers),
        RoleRight("writer", tree.writer_right, USUAL["writer"]),
    ]


def right_of(member: Membership, tree: Tree) -> str:
    """What a member may do in the tree; one query."""
    own = TreeRight.objects.filter(tree=tree, user=member.user_id).values_list("right", flat=True)
    return _right(member, tree, own.first() or "")


def _right(member: Membership, tree: Tree, own: str) -> str:
    of_role = tree.reader_right if member.role == "reader" else tree.writer_right
    usual = member.grove.settings.get(READERS_MAY, "") if member.role == "reader" else ""
    return right_in_tree(member.role, own, of_role, usual, "owner")  # type: ignore[arg-type]


@command("allow", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def allow_role(context: Context, args: AllowRole) -> Reply:
    """Says what all readers or all writers of the grove may do in this tree: hidden, read, comment
    or write; usual: what their role allows. For owners of the grove."""
    tree = _tree(context)
    role = _ROLES[args.who]
    before = tree.reader_right if role == "reader" else tree.writer_right
    given = _stored(args.right)
    _demand_new(before, given, f"all {args.who}")
    _give_role(context, tree, role, given)
    inverse = {"op": "allow", "role": role, "right": before, "now": given}
    return Reply(f"✓ all {args.who} {_SAID[args.right]}", inverse=(inverse,))


@command("allow", group="Make", klass="write", permissions={LOOM, WRITE}, stream="tree")
def allow(context: Context, args: AllowMember) -> Reply:
    """Says what a member of the grove may do in this tree: hidden, read, comment or write; usual:
    what their role allows. For owners of the grove, who may always do everything."""
    tree = _tree(context)
    member = _member(tree, args.who)
    own = TreeRight.objects.filter(tree=tree, user=member.user_id).values_list("right", flat=True)
    before, given = own.first() or "", _stored(args.right)
    name = as_sent(member.participant.name)
    if member.role == "owner" and given:
        raise CommandError(
            "REJECTED",
            f"{name} owns the grove and may do everything in each of its trees.",
            hint="give them another role first",
        )
    _demand_new(before, given, name)
    _give_member(context, tree, member.user_id, member.participant.uid, given)
    inverse = {
        "op": "allow",
        "user": member.user_id,
        "participant": member.participant.uid,
        "right": before,
        "now": given,
    }
    return Reply(f"✓ {name} {_SAID[args.right]}", inverse=(inverse,))


@tells_undone("allow")
def _whose(step: Step) -> dict[str, str]:
    """Whose rights a step changed: those of a role, or of somebody, by name."""
    op = (step.inverse or [{}])[0]
    if role := op.get("role"):
        return {"role": role}
    who = Participant.objects.filter(uid=op.get("participant", "")).first()
    return {"who": who.name} if who is not None else {}


@command("allow", group="Make", klass="look", permissions={LOOM})
def list_allowed(context: Context, args: Allowed) -> Reply:
    """Lists who may do what in this tree. For owners of the grove."""
    tree = _tree(context)
    lines = [f"Who may do what in this tree · {tree.title or 'Untitled tree'}"]
    for role in roles_in(tree):
        usual = "" if role.own else " (as in every tree)"
        lines.append(f"  all {role.name}: {role.own or role.usual}{usual}")
    for row in members_in(context.actor, tree):
        own = " (given here)" if row.own and not row.is_owner else ""
        owner = " (owner)" if row.is_owner else own
        lines.append(f"  {as_sent(row.member.participant.name)}: {row.right}{owner}")
    return Reply("\n".join(lines))


def give(actor: Actor, tree: Tree, who: str, right: Given) -> None:
    """Does as `allow` for `who`: `readers`, `writers`, or a member by name. What is so already
    stays, without a refusal."""
    with contextlib.suppress(NothingNewError):
        if who in _ROLES:
            execute(actor, tree, allow_role, AllowRole(who=who, right=right))
        else:
            execute(actor, tree, allow, AllowMember(who=who, right=right))


@cannot_be_used
def unusable(actor: Actor) -> dict[str, str]:
    """`allow`, for agents."""
    return {"allow": "only owners use it"} if actor.participant.kind == "model" else {}


def _tree(context: Context) -> Tree:
    """The tree as it is stored now, for an owner."""
    _demand_owner(context)
    demand_no_sandbox(context.tree)
    return Tree.objects.select_related("grove").get(pk=context.tree.pk)


def _demand_owner(context: Context) -> None:
    if context.actor.participant != context.actor.person:
        raise CommandError(
            "PERMISSION_DENIED",
            "Agents cannot see or change who may do what.",
            hint="ask an owner of the grove",
        )
    demand_role(context.actor, "owner")


def _stored(given: Given) -> str:
    return "" if given == "usual" else given


def _demand_new(before: str, given: str, name: str) -> None:
    if before == given:
        raise NothingNewError("REJECTED", f"This is so for {name} already.", hint="nothing to do")


def _member(tree: Tree, name: str) -> Membership:
    """The member with that name, or that user name."""
    asked = name.strip().removeprefix("@").casefold()
    rows = Membership.objects.filter(grove=tree.grove_id).select_related("participant", "user")
    members = list(rows.order_by("pk"))
    for member in members:
        if asked in (member.participant.name.casefold(), member.user.username.casefold()):
            return member
    names = ", ".join(
        label_named(as_sent(member.participant.name)) for member in members[:MOST_NAMES]
    )
    raise not_found(f"A member called {label_named(name.strip()[:60])}", f"there are {names}")


def copy_rights(origin: Tree, sandbox: Tree) -> None:
    """Gives a new sandbox the rights of the tree that it hangs at. It gets later changes too, so
    that nobody reads in it what they may no longer read there."""
    now = Tree.objects.only("reader_right", "writer_right").get(pk=origin.pk)
    sandbox.reader_right, sandbox.writer_right = now.reader_right, now.writer_right
    sandbox.save(update_fields=["reader_right", "writer_right"])
    for row in TreeRight.objects.filter(tree=origin, user=sandbox.sandbox_of_id):
        TreeRight.objects.create(tree=sandbox, user_id=row.user_id, right=row.right)


def _with_sandboxes(tree: Tree) -> QuerySet[Tree]:
    """The tree, and the sandboxes that hang at it."""
    return Tree.objects.filter(Q(pk=tree.pk) | Q(sandbox_at__range=ids_in(tree.pk)))


def _give_role(context: Context, tree: Tree, role: Role, right: str) -> None:
    _with_sandboxes(tree).update(**{f"{role}_right": right})
    _changed(context, tree, {"role": role, "right": right})


def _give_member(context: Context, tree: Tree, user: int, participant: str, right: str) -> None:
    for own_tree in _with_sandboxes(tree).filter(Q(pk=tree.pk) | Q(sandbox_of=user)):
        if right:
            TreeRight.objects.update_or_create(
                tree=own_tree, user_id=user, defaults={"right": right}
            )
        else:
            TreeRight.objects.filter(tree=own_tree, user=user).delete()
    _changed(context, tree, {"participant": participant, "right": right})


def _changed(context: Context, tree: Tree, rights: dict[str, Any]) -> None:
    """Writes the event, and has open sockets checked after the commit."""
    context.world.append("tree.changed", {"tree": tree.uid, "rights": rights})
    access_changed(tree.grove.uid, context.actor.user.pk)


@undoes("allow")
def _allow_again(context: Context, op: Op, own: Own) -> list[Op]:
    """Gives back the right that a role or a member had before."""
    tree = _tree(context)
    if "role" in op:
        before = tree.reader_right if op["role"] == "reader" else tree.writer_right
    else:
        rows = TreeRight.objects.filter(tree=tree, user=op["user"]).values_list("right", flat=True)
        before = rows.first() or ""
    if before != op["now"]:
        raise conflict("Who may do what here")
    if "role" in op:
        _give_role(context, tree, op["role"], op["right"])
    else:
        _give_member(context, tree, op["user"], op["participant"], op["right"])
    return [{**op, "right": op["now"], "now": op["right"]}]


def body_of(actor: Actor, tree: Tree) -> dict[str, Any]:
    """Who may do what in a tree, as the API returns it."""
    return {
        "roles": [
            {"role": role.role, "given": role.own or "usual", "right": role.own or role.usual}
            for role in roles_in(tree)
        ],
        "members": [
            {
                "user": row.member.user.username,
                "name": row.member.participant.name,
                "participant": row.member.participant.uid,
                "role": row.member.role,
                "given": row.own if row.own and not row.is_owner else "usual",
                "right": row.right,
            }
            for row in members_in(actor, tree)
        ],
    }
