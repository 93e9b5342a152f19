"""Portals, embeds and references as they are written in texts, and how a portal is shown: in a
page, to a model, in Markdown and in the shell (docs/model.md §8). Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

MOST_DEEP: Final = 5  # portals inside portals
MOST_TARGETS: Final = 10  # of one portal in a text
LARGE: Final = 10_000  # characters of a text whose size is said before it is opened
EMBED = "embed"  # what the path of a portal calls an embed

Kind = Literal["portal", "embed", "reference"]

_PORTAL = re.compile(r"@\[([a-z_]{1,40}) -> ([^\]\n]{1,200})\]")
_EMBED = re.compile(r"!\[\[([^\[\]\n]{1,300})\]\]")
_REFERENCE = re.compile(r"\[([a-z][0-9][a-z][0-9][a-z0-9]{0,4})\](?![(\[:])", re.IGNORECASE)
_DOCUMENT = re.compile(r'doc:"([^"\n]{1,200})"')
_TARGET = re.compile(r'(?:[^,"]|"[^"]*")+')


@dataclass(frozen=True)
class WrittenRef:
    """A portal, embed or reference at a place of a text: what it names, up to where it goes (not
    included), the type of a portal, and what it names beyond MOST_TARGETS."""

    kind: Kind
    targets: tuple[str, ...]
    end: int
    type: str = ""
    left: tuple[str, ...] = ()


def written_at(text: str, at: int) -> WrittenRef | None:
    """What is written at a place of a text, which is at its first character; None if there is no
    portal, embed or reference."""
    if match := _PORTAL.match(text, at):
        targets = targets_of(match[2])
        if not targets:
            return None
        return WrittenRef("portal", targets, match.end(), match[1], left_of(match[2]))
    if match := _EMBED.match(text, at):
        return WrittenRef("embed", (match[1].strip(),), match.end())
    if match := _REFERENCE.match(text, at):
        return WrittenRef("reference", (match[1].lower(),), match.end())
    if match := _DOCUMENT.match(text, at):
        return WrittenRef("reference", (match[0],), match.end())
    return None


def targets_of(written: str) -> tuple[str, ...]:
    """The refs that a portal names, `{a7x2, doc:"notes" §motive}` or one alone, each once; at most
    MOST_TARGETS."""
    return _every_target(written)[:MOST_TARGETS]


def left_of(written: str) -> tuple[str, ...]:
    """The refs that a portal names beyond MOST_TARGETS, which it does not open."""
    return _every_target(written)[MOST_TARGETS:]


def _every_target(written: str) -> tuple[str, ...]:
    inner = written.strip()
    if inner.startswith("{") and inner.endswith("}"):
        inner = inner[1:-1]
    targets = (target.strip() for target in _TARGET.findall(inner))
    return tuple(dict.fromkeys(target for target in targets if target))


def portals_in(text: str) -> Iterator[WrittenRef]:
    """The portals of a text, in order."""
    for match in _PORTAL.finditer(text):
        if targets := targets_of(match[2]):
            yield WrittenRef("portal", targets, match.end(), match[1], left_of(match[2]))


def named(target: str) -> str:
    """A target as it is shown: `[a7x2]`, `doc:"notes" §motive`."""
    return f"[{target}]" if re.fullmatch(r"[a-z][0-9][a-z][0-9][a-z0-9]{0,4}", target) else target


def too_deep(path: Sequence[str], most: int = MOST_DEEP) -> str:
    """Why nothing opens below a chain of portals, given by their types."""
    return f"Portals lie at most {most} deep: {' → '.join(path)}."


# How a portal is shown. One description, and what is made of it for each reader.


@dataclass(frozen=True)
class PortalItem:
    """An item inside an open portal: its name, who wrote it, what became of it (pruned, erased,
    unavailable), its text ("" if it is not shown), and the portals at its foot."""

    name: str
    by: str = ""
    state: str = ""
    text: str = ""
    portals: tuple["PortalView", ...] = ()


@dataclass(frozen=True)
class PortalView:
    """A portal: its type, how many items it leads to, and those that are shown; none of them if it
    is closed. `name` is the only item, if there is one and it has a name; `nouns` what they are
    called, one and many of them; `marks` what became of some of several, ` · 1 pruned`."""

    type: str
    many: int
    name: str = ""
    items: tuple[PortalItem, ...] = ()
    is_open: bool = False
    nouns: tuple[str, str] = ("node", "nodes")
    marks: str = ""

    @property
    def target(self) -> str:
        """`2 nodes · 1 pruned`, `1 document`, or the only item by its name."""
        return self.name or f"{self.many:,} {self.nouns[self.many != 1]}{self.marks}"

    @property
    def heading(self) -> str:
        """`▶ [supports] ──→ 2 nodes`; ▼ if it is open."""
        return f"{'▼' if self.is_open else '▶'} [{self.type}] ──→ {self.target}"

    @property
    def left(self) -> int:
        """How many items are not among those that are shown."""
        return max(self.many - len(self.items), 0) if self.is_open else 0


def as_lines(portal: PortalView, indent: str = "") -> list[str]:
    """A portal as lines of a terminal: each level is indented."""
    lines = [f"{indent}{portal.heading}"]
    inner = f"{indent}  "
    for item in portal.items:
        lines.append(f"{inner}{_title(item.name, item)}")
        lines += [f"{inner}│ {line}".rstrip() for line in item.text.split("\n") if item.text]
        for below in item.portals:
            lines += as_lines(below, inner)
    return [*lines, f"{inner}… {portal.left:,} more"] if portal.left else lines


def as_markdown(portal: PortalView, depth: int = 0) -> list[str]:
    """A portal as lines of Markdown: its items are quotes, nested by depth."""
    quote = "> " * depth
    lines = [f"{quote}**{portal.heading}**"]
    for item in portal.items:
        lines += item_as_markdown(item, depth + 1)
    return [*lines, quote.rstrip(), f"{quote}… {portal.left:,} more"] if portal.left else lines


def item_as_markdown(item: PortalItem, depth: int, *, is_live: bool = False) -> list[str]:
    """An item as a quote of that depth, after an empty line; with `is_live` its name is a reference
    that leads there, else code."""
    quote = "> " * depth
    name = item.name if is_live else f"`{item.name}`"
    lines = [("> " * (depth - 1)).rstrip(), f"{quote}{_title(name, item)}"]
    if item.text:
        lines += [quote.rstrip(), *(f"{quote}{line}".rstrip() for line in item.text.split("\n"))]
    for below in item.portals:
        lines += [quote.rstrip(), *as_markdown(below, depth)]
    return lines


def _title(name: str, item: PortalItem) -> str:
    by = f" {item.by}" if item.by else ""
    return f"{name}{by}{f' · {item.state}' if item.state else ''}"
