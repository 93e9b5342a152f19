"""Texts as Markdown documents outside of Heddle: the portals and embeds in them are opened below
the line in which they stand, as quotes (docs/model.md §8)."""

import re
from collections.abc import Iterator

from loom.access import Actor
from loom.language.portals import EMBED, PortalView, WrittenRef, as_markdown, written_at
from loom.links.portals import items_named, opened
from loom.trees.models import Tree

MOST_OPENED = 50  # portals of one document; others stay closed
_MARK = re.compile(r"@\[|!\[\[")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


class OpenedPortals:
    """Opens the portals in the texts of a tree for one reader, MOST_OPENED of them in all."""

    def __init__(self, actor: Actor, tree: Tree) -> None:
        self.actor = actor
        self.tree = tree
        self.left = MOST_OPENED

    def text(self, text: str) -> str:
        """The text, each portal as its heading, and what it leads to in quotes after the line."""
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
                lines += self._line(line)
        return "\n".join(lines)

    def _line(self, line: str) -> Iterator[str]:
        """The line without what is written for Heddle alone, and the quotes after it."""
        parts: list[str] = []
        views: list[PortalView] = []
        at = 0
        for mark in _MARK.finditer(line):
            if mark.start() < at or line.count("`", 0, mark.start()) % 2:  # in code
                continue
            found = written_at(line, mark.start())
            if found is None:
                continue
            view = self._view(found)
            views.append(view)
            parts += [line[at : mark.start()], view.heading if found.kind == "portal" else ""]
            at = found.end
        words = "".join([*parts, line[at:]])
        yield from [words] if words.strip() or not views else []
        for view in views:
            if view.is_open:
                yield ""
                yield from _shown(view)
        if any(view.is_open for view in views):
            yield ""

    def _view(self, found: WrittenRef) -> PortalView:
        kind = found.type or EMBED
        if not self.left:
            return PortalView(kind, len(found.targets), nouns=("item", "items"))
        self.left -= 1
        items = items_named(self.actor, self.tree, found.targets)
        return opened(self.actor, self.tree, kind, items, len(items))


def _shown(view: PortalView) -> list[str]:
    """What a portal leads to, in quotes; its heading is in the text already."""
    lines = as_markdown(view)[1:]
    return lines[1:] if lines and not lines[0] else lines
