"""Regions: the drafts that somebody makes of the lines that their windows show, with the checks
that apply to them. They are of one workspace, and nobody else reads them."""

from dataclasses import dataclass

from loom.claims.models import TokenState
from loom.claims.queries.checks import applying, results_of
from loom.claims.rules import checks as check_rules
from loom.claims.rules.inline_tokens import MACHINES, InlineToken
from loom.claims.rules.regions import PREFIX, CheckRun, drafted, shown
from loom.errors import not_found
from loom.language import ids
from loom.people.models import Grove
from loom.text.lines import line_span
from loom.trees.models import GroveText, Node, Tree, Workspace
from loom.workspace.models import Window
from loom.workspace.queries.windows import is_fixed, is_lens, seen_by

MOST = 200  # windows
DRAFTS = ("modified", "compiled", "tested")  # states in which there is a draft


@dataclass(frozen=True)
class Region:
    """A window on lines of a text, as it was seen (`text`, `version`), with the draft of these
    lines, which are `first` to `last`, from 1."""

    window: Window
    item: int
    text: str
    version: str
    state: str
    draft: str

    @property
    def key(self) -> str:
        """The key of the token."""
        return f"{PREFIX}{self.window.number}"

    @property
    def whole(self) -> str:
        """The text as it would be."""
        return drafted(self.text, self.window.first, self.window.last, self.draft)

    @property
    def token(self) -> InlineToken:
        """The region as a token of its text; its words are those of the draft."""
        first, last = line_span(self.text, self.window.first, self.window.last)
        target = f"#{self.window.number}"
        return InlineToken(self.key, "region", first, last, self.draft, self.state, target=target)


def stored_key(window: Window) -> str:
    """The key under which the state of a region is stored: that of its row, for the number of a
    window is of one workspace."""
    return f"{PREFIX}{window.pk}"


def regions_of(item: int, workspace: Workspace) -> list[Region]:
    """The regions of an item in a workspace, by the numbers of the windows; at most four
    queries and one for each version that is shown."""
    rows = Window.objects.filter(workspace=workspace, item=item, is_closed=False, is_visible=True)
    windows = [
        window
        for window in rows.order_by("number")[:MOST]
        if is_lens(window) and not is_fixed(window)
    ]
    keys = {stored_key(window): window for window in windows}
    kept = {row.key: row for row in TokenState.objects.filter(item=item, key__in=keys)}
    return [_region(window, kept.get(key)) for key, window in keys.items() if _has_lines(window)]


def _has_lines(window: Window) -> bool:
    return window.last >= window.first >= 1


def _region(window: Window, kept: TokenState | None) -> Region:
    seen = seen_by(window)
    text, version = ("", "") if seen is None else (seen.text, seen.version)
    now = shown(text, window.first, window.last)
    state, draft = MACHINES["region"].initial, now
    if kept is not None:
        state = kept.state
    if kept is not None and state in DRAFTS:
        draft = str(kept.data.get("draft", now))
        if kept.data.get("place") != place_in(window):  # it shows other lines, or another version
            state = "modified"
    return Region(window, window.item_id or 0, text, version, state, draft)


def place_in(window: Window) -> list[str | int]:
    """What a draft was compiled and tested for: a version and its lines."""
    return [window.version_seen, window.first, window.last]


def region_of(item: int, workspace: Workspace, key: str) -> Region:
    """The region with that key. NOT_FOUND if there is none."""
    region = next((region for region in regions_of(item, workspace) if region.key == key), None)
    if region is None:
        raise not_found("This token", "GET …/tokens lists those of the item")
    return region


def checked(region: Region, item: Node | GroveText, tree: Tree, grove: Grove) -> list[CheckRun]:
    """What the checks that apply say about the text with the draft; a judge is not asked again, and
    says nothing about a draft."""
    home = tree if isinstance(item, Node) else item
    version = "" if ids.node_id(region.item) is not None else region.version
    known = {result.rule_id: result.outcome for result in results_of(region.item, version)}
    runs = []
    for check in applying(grove, home):
        if check.kind == "judge":
            continue
        after = check_rules.run(check.kind, check.parameters, region.whole)
        before = known.get(check.pk) == "passed" or (
            check_rules.run(check.kind, check.parameters, region.text).passed
        )
        runs.append(CheckRun(check.name, check.kind, after.passed, after.said, before))
    return runs
