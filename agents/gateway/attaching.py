"""Which workspace a session is sent: its own tree's, or that of another one, such as the tree of a
conversation that its program has cleared."""

from agents.gateway.models import GatewaySession, Mode
from loom import access
from loom.engine.actions import RunningAction, action
from loom.engine.arguments import Args
from loom.engine.execute import execute
from loom.errors import CommandError
from loom.people.models import User
from loom.trees.models import Tree


def attach(user: User, session: GatewaySession, uid: str) -> None:
    """Sends a session the workspace of the tree `uid` of its grove; "": of its own. Raises
    NOT_FOUND, REJECTED."""
    actor = access.get_actor_in(user, session.tree_id)
    wanted = None
    if uid and uid != session.tree.uid:
        _, wanted = access.get_tree(user, uid)
        if wanted.grove_id != session.tree.grove_id:
            raise CommandError(
                "REJECTED",
                "This tree is in another grove.",
                hint="name a tree of the session's grove",
            )
    if session.key.mode != Mode.WORKSPACE:
        raise CommandError(
            "REJECTED",
            "This key passes everything unchanged.",
            hint="use a key of the mode workspace",
        )
    attached = wanted.uid if wanted is not None else ""
    execute(
        actor, session.tree, attach_workspace, WorkspaceAttached(session=session.uid, tree=attached)
    )


class WorkspaceAttached(Args):
    """A session, and the tree whose workspace it is sent; "" for its own."""

    session: str
    tree: str


@action("attach_workspace", stream="tree", role="writer")
def attach_workspace(change: RunningAction, args: WorkspaceAttached) -> None:
    """Keeps which workspace a session is sent."""
    access.demand_writable(change.tree)
    wanted = Tree.objects.filter(uid=args.tree, grove=change.tree.grove).first()
    rows = GatewaySession.objects.filter(uid=args.session, tree=change.tree)
    rows.update(attached=wanted)
