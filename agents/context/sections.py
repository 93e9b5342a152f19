"""The sections of a request's changing part: registrations of name, order and renderer. PURE.

The page's panel and the request show the same text. See docs/model.md §6.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from agents.context.view import View

# Whatever a model may take for the start of a line.
_FRAME = re.compile("(^|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029])(?=---[A-Z])")
Renderer = Callable[[View], str]


@dataclass(frozen=True)
class Section:
    """One section: its name, its place, and what it says ("": left out). What it says is
    escaped by whoever writes other people's texts into it."""

    name: str
    order: int
    render: Renderer


_sections: dict[str, Section] = {}


def section(name: str, order: int) -> Callable[[Renderer], Renderer]:
    """Registers a renderer as a section of the WORKSPACE message."""

    def register(render: Renderer) -> Renderer:
        _sections[name] = Section(name, order, render)
        return render

    return register


def rendered(view: View) -> list[tuple[str, str]]:
    """(name, framed text) of all sections that say something, in their order."""
    told = []
    for one in sorted(_sections.values(), key=lambda one: one.order):
        body = one.render(view)
        if body:
            told.append((one.name, framed(one.name, body)))
    return told


def framed(name: str, body: str, *, more: str = "") -> str:
    """A section between its whole lines `---NAME` and `---NAME_END`."""
    return f"---{name}{more}\n{body}\n---{name}_END"


def escaped(text: str) -> str:
    """The text with a backslash before what would be a frame at the start of a line."""
    return _FRAME.sub(r"\1\\", text)


def plain(text: str) -> str:
    """A name or title on one line."""
    return " ".join(text.split())


def thousands(tokens: int) -> str:
    """`0.4k`, `18.6k`, `50k`."""
    return f"{tokens / 1000:.1f}".removesuffix(".0") + "k"


@section("STATUS", 10)
def status(view: View) -> str:
    """What is used of the context, by part, and of the turn's budget."""
    parts = [
        f"{name} {thousands(tokens)}" for name, tokens in view.tokens if tokens or name == "PROMPT"
    ]
    used = sum(tokens for _, tokens in view.tokens)
    sizes = " | ".join([*parts, f"{thousands(used)}/{thousands(view.limit)}"])
    return f"{sizes}\n{view.budget}" if view.budget else sizes


@section("NOTIFICATIONS", 80)
def notifications(view: View) -> str:
    """What the reader must know that happened, a line each."""
    return "\n".join(escaped(one) for one in view.notifications)


@section("LOOM", 90)
def loom(view: View) -> str:
    """The tree, where the reader stands in it, what he may do, and who else is there."""
    nodes = f"{view.nodes:,} node{'' if view.nodes == 1 else 's'}"
    branches = f"{view.branches:,} branch{'' if view.branches == 1 else 'es'}"
    lines = [
        f'Tree: "{plain(view.title)}" ({view.mode} mode)',
        f"{nodes} · {branches} · depth: {view.depth}",
        f"Position: {_position(view.position)}",
        f"Permissions: {', '.join(view.permissions) or 'none'}",
    ]
    lines += [f"{kind} active at [{at}], depth:{depth}" for kind, at, depth in view.others]
    return escaped("\n".join(lines))


def _position(ids: tuple[str, ...]) -> str:
    """`… → [a7x2] → [b3k9]*`: the last nodes of the path."""
    last = " → ".join(f"[{one}]" for one in ids[-2:])
    return f"… → {last}*" if len(ids) > 2 else f"{last}*"
