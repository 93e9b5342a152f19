"""Regions: drafting the lines that a window shows, testing the draft, and writing it
(docs/model.md §9). Each transition is a step; `commit` runs the ordinary lines."""

from dataclasses import dataclass
from typing import Any

from loom import access
from loom.access import Actor
from loom.claims.models import TokenState
from loom.claims.queries.regions import Region, checked, place_in, region_of, stored_key
from loom.claims.rules.inline_tokens import MACHINES
from loom.claims.rules.regions import RegionDemand, demands_of
from loom.engine.actions import RunningAction, action
from loom.engine.arguments import Args
from loom.engine.by_name import line_for, run_command
from loom.engine.context import Request
from loom.engine.execute import execute, execute_line
from loom.errors import CommandError, not_found
from loom.language import ids
from loom.trees.grove_texts import is_text
from loom.trees.models import GroveText, Node, Tree, Workspace
from loom.workspace.models import Window

MOST_DRAFT = 4 * 1024 * 1024  # bytes, as of a text


@dataclass(frozen=True)
class RegionRun:
    """What an input of a region compiled to, what had to hold, and the reply."""

    lines: list[str]
    demands: list[RegionDemand]
    reply: str


class RegionStep(Args):
    """The state that a region of the caller's window reaches; `draft` is the text of its lines."""

    item: int
    key: str
    given: str
    draft: str = ""


@action("draft_region", stream="tree", role="writer")
def _move(change: RunningAction, args: RegionStep) -> str:
    """Leads a region of one's own window to its next state, and returns it."""
    region = region_of(args.item, _own(change.actor, change.tree), args.key)
    after = MACHINES["region"].transitions.get((region.state, args.given))
    if after is None:
        raise refusal(region, args.given)
    draft = args.draft if args.given == "edit" else region.draft
    TokenState.objects.update_or_create(
        item=args.item,
        key=stored_key(region.window),
        defaults={
            "kind": "region",
            "state": after,
            "data": {"draft": draft, "place": place_in(region.window)},
            "at": change.now,
        },
    )
    change.message = f"✓ {after} {args.key}"
    return change.message


class RegionWritten(Args):
    """A region whose draft was written: its window (row id), which may show another item now."""

    item: int
    window: int


@action("commit_region", stream="tree", role="writer")
def _commit(change: RunningAction, args: RegionWritten) -> None:
    """Leads a region whose draft was written to its last state."""
    own = _own(change.actor, change.tree)
    window = Window.objects.filter(workspace=own, pk=args.window).first()
    if window is None or window.item_id is None:
        raise not_found("This window")
    TokenState.objects.filter(item=args.item, key=stored_key(window)).delete()
    TokenState.objects.create(
        item=window.item_id,
        key=stored_key(window),
        kind="region",
        state="committed",
        at=change.now,
    )
    change.message = f"✓ committed #{window.number}"


def refusal(region: Region, given: str) -> CommandError:
    """REJECTED: the machine has no such transition."""
    allowed = ", ".join(MACHINES["region"].inputs(region.state))
    return CommandError("REJECTED", f"It is {region.state}.", hint=f"allowed now: {allowed}")


def _own(actor: Actor, tree: Tree) -> Workspace:
    return access.workspace_of(actor.participant, tree)


@dataclass(frozen=True)
class RegionInput:
    """What a region (`key`) is given, with the text of a draft; or only what it would compile to
    (`is_dry`)."""

    key: str
    given: str
    text: str = ""
    is_dry: bool = False


def give(actor: Actor, tree: Tree, item: Node | GroveText, sent: RegionInput) -> RegionRun:
    """Gives a region an input, or only compiles it. Raises CommandError if what has to hold does
    not, and then the state stays as it was."""
    number = ids.of_node(item.pk) if isinstance(item, Node) else item.item_id
    given, text = sent.given, sent.text
    region = region_of(number, _own(actor, tree), sent.key)
    if given not in MACHINES["region"].inputs(region.state):
        raise refusal(region, given)
    if given == "edit" and len(text.encode("utf-8", "surrogatepass")) > MOST_DRAFT:
        raise CommandError("LIMIT_EXCEEDED", "This draft is too long.", hint="4 MiB", is_size=True)
    lines = [] if given in ("edit", "drop") else [_line(region)]
    demands = [] if given in ("edit", "drop") else _demands(actor, tree, item, region, given)
    if sent.is_dry:
        return RegionRun(lines, demands, "")
    unmet = [demand for demand in demands if not demand.met]
    if unmet:
        why = "; ".join(demand.says for demand in unmet[:5])
        raise CommandError("REJECTED", f"{why}.", hint="edit the draft, then compile and test it")
    if given == "commit":
        reply = _written(actor, tree, region)
        execute(actor, tree, _commit, RegionWritten(item=number, window=region.window.pk))
        return RegionRun(lines, demands, reply)
    step = RegionStep(item=number, key=sent.key, given=given, draft=text)
    moved = execute(actor, tree, _move, step)
    return RegionRun(lines, demands, moved)


def _line(region: Region) -> str:
    """The line that writes the draft."""
    values: dict[str, Any] = {"ref": f"#{region.window.number}", "content": region.draft}
    return line_for("write" if is_text(region.item) else "edit", values)


def _demands(
    actor: Actor, tree: Tree, item: Node | GroveText, region: Region, given: str
) -> list[RegionDemand]:
    """That the draft applies to the text as it is now, and from `test` on what checks say."""
    try:
        execute_line(actor, tree, Request(_line(region), dry_run=True))
    except CommandError as refused:
        return [RegionDemand(f"applies: {refused.message.rstrip('.')}", met=False)]
    applies = RegionDemand("applies", met=True)
    if given == "compile":
        return [applies]
    return [applies, *demands_of(checked(region, item, tree, tree.grove))]


def _written(actor: Actor, tree: Tree, region: Region) -> str:
    """Writes the draft, and has the checks say so of the version that it made: strong evidence."""
    answer = execute_line(actor, tree, Request(_line(region)))
    replies = [answer.reply]
    refs = answer.body["refs"] or ["here"]
    try:
        replies.append(run_command(actor, tree, "check", {"ref": refs[0]}).reply)
    except CommandError as refused:  # no check applies, or a judge would have to be asked
        if refused.code not in ("NOT_FOUND", "PERMISSION_DENIED", "REJECTED"):
            raise
    return "\n".join(replies)
