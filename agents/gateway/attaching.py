"""Which workspace a session is sent: its own tree's, or that of another one, such as the tree of a
conversation that its program has cleared; and what it is told was said before."""

from typing import Annotated

from agents.gateway.messages import printable
from agents.gateway.models import GatewaySession, Mode
from loom import access
from loom.engine.actions import RunningAction, action
from loom.engine.arguments import Args, Secret
from loom.engine.execute import execute
from loom.errors import CommandError
from loom.people.models import User
from loom.trees.models import Tree

MOST_TRANSCRIPT = 20_000  # characters


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
        raise _passes()
    attached = wanted.uid if wanted is not None else ""
    execute(
        actor, session.tree, attach_workspace, WorkspaceAttached(session=session.uid, tree=attached)
    )


def set_transcript(user: User, session: GatewaySession, text: str | None) -> None:
    """Keeps what a session is told was said before, from its next message on; None for what was
    said. Raises REJECTED, LIMIT_EXCEEDED."""
    if session.key.mode != Mode.WORKSPACE:
        raise _passes()
    if text is not None and len(text) > MOST_TRANSCRIPT:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"A transcript has at most {MOST_TRANSCRIPT:,} characters.",
            hint="shorten it",
            is_size=True,
        )
    actor = access.get_actor_in(user, session.tree_id)
    args = TranscriptTold(session=session.uid, text=None if text is None else printable(text))
    execute(actor, session.tree, tell_transcript, args)


def _passes() -> CommandError:
    return CommandError(
        "REJECTED",
        "This key passes everything unchanged.",
        hint="use a key of the mode workspace",
    )


class TranscriptTold(Args):
    """A session, and what it is told was said before; None for what was said."""

    session: str
    text: Annotated[str | None, Secret()]


@action("tell_transcript", stream="tree", role="writer")
def tell_transcript(change: RunningAction, args: TranscriptTold) -> None:
    """Keeps what a session is told was said before."""
    access.demand_writable(change.tree)
    rows = GatewaySession.objects.filter(uid=args.session, tree=change.tree)
    rows.update(transcript=args.text)


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
