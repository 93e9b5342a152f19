"""Texts outside of Heddle: the portals and embeds in them are opened below the line in which they
stand, in Markdown as quotes, in plain text as a terminal shows them (docs/model.md §8)."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from loom.access import Actor
from loom.language.portals import (
    EMBED,
    PortalView,
    WrittenRef,
    as_lines,
    as_markdown,
    written_at,
)
from loom.links.portals import items_named, opened
from loom.text.images import described
from loom.trees.models import Tree

MOST_OPENED = 50  # portals of one document; others stay closed
_MARK = re.compile(r"@\[|!\[\[")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


class OpenedPortals:
    """Opens the portals in the texts of a tree for one reader, MOST_OPENED of them in all; without
    `authors` it does not say who wrote what they lead to, without `feet` not what that is linked
    to, without `pruned` not the texts of what is pruned. `read` has the items whose texts were
    shown."""

    def __init__(
        self,
        actor: Actor,
        tree: Tree,
        *,
        authors: bool = True,
        feet: bool = True,
        pruned: bool = False,
    ) -> None:
        self.actor = actor
        self.tree = tree
        self.authors = authors
        self.feet = feet
        self.pruned = pruned
        self.left = MOST_OPENED
        self.read: set[int] = set()

    def text(self, text: str) -> str:
        """The text in Markdown, each portal as its heading, and what it leads to in quotes after
        the line."""
        return self._opened(text, _quoted)

    def plain(self, text: str) -> str:
        """The text without marks: each portal as its heading, and what it leads to on indented
        lines after the line."""
        return self._opened(text, _indented)

    def _opened(self, text: str, shown: Callable[[PortalView], list[str]]) -> str:
        if not _MARK.search(text):
            return text
        lines: list[str] = []
        fence = ""
        for line in text.split("\n"):
            mark = _FENCE.match(line)
            if mark is not None and not fence:
                fence = mark[1]
            elif mark is not None and mark[1].startswith(fence):
                fence = ""
            if fence or mark is not None or not _MARK.search(line):
                lines.append(line)
            else:
                lines += self._line(line, shown)
        return "\n".join(lines)

    def _line(self, line: str, shown: Callable[[PortalView], list[str]]) -> Iterator[str]:
        """The line without what is written for Heddle alone, and what it leads to after it."""
        parts: list[str] = []
        views: list[PortalView] = []
        at = 0
        for mark in _MARK.finditer(line):
            if mark.start() < at or line.count("`", 0, mark.start()) % 2:  # in code
                continue
            ref = written_at(line, mark.start())
            if ref is None:
                continue
            view = self._view(ref)
            views.append(view)
            parts += [line[at : mark.start()], view.heading if ref.kind == "portal" else ""]
            at = ref.end
        words = "".join([*parts, line[at:]])
        yield from [words] if words.strip() or not views else []
        for view in views:
            if view.is_open:
                yield ""
                yield from shown(view)
        if any(view.is_open for view in views):
            yield ""

    def _view(self, ref: WrittenRef) -> PortalView:
        kind = ref.type or EMBED
        if not self.left:
            return PortalView(kind, len(ref.targets) + len(ref.left), nouns=("item", "items"))
        self.left -= 1
        items = items_named(self.actor, self.tree, ref.targets)
        self.read.update(named.item for named in items if named.item)
        many = len(items) + len(ref.left)
        view = opened(self.actor, self.tree, kind, items, many, pruned=self.pruned)
        shown = (
            replace(
                item,
                text=described(item.text),
                by=item.by if self.authors else "",
                portals=item.portals if self.feet else (),
            )
            for item in view.items
        )
        return replace(view, items=tuple(shown))


def _indented(view: PortalView) -> list[str]:
    return as_lines(view)[1:]


def _quoted(view: PortalView) -> list[str]:
    """What a portal leads to, in quotes; its heading is in the text already."""
    lines = as_markdown(view)[1:]
    return lines[1:] if lines and not lines[0] else lines
