"""The sections of a request's changing part: registrations of name, order and renderer. PURE.

The page's panel and the request show the same text. See docs/model.md §6.
"""

from collections.abc import Callable
from dataclasses import dataclass

from agents.context.view import View
from loom.rules.framing import frames_escaped, plain

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


def thousands(tokens: int) -> str:
    """`0.4k`, `18.6k`, `50k`."""
    return f"{tokens / 1000:.1f}".removesuffix(".0") + "k"


@section("STATUS", 10)
def status(view: View) -> str:
    """What is used of the context, by part, and of the turn's budget; whose request it is."""
    parts = [
        f"{name} {thousands(tokens)}" for name, tokens in view.tokens if tokens or name == "PROMPT"
    ]
    used = sum(tokens for _, tokens in view.tokens)
    sizes = " | ".join([*parts, f"{thousands(used)}/{thousands(view.limit)}"])
    asked = frames_escaped(f"request: {plain(view.request)}") if view.request else ""
    return "\n".join(line for line in (sizes, view.budget, asked) if line)


@section("NOTIFICATIONS", 80)
def notifications(view: View) -> str:
    """What the reader must know that happened, a line each."""
    return "\n".join(frames_escaped(one) for one in view.notifications)


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
    return frames_escaped("\n".join(lines))


def _position(ids: tuple[str, ...]) -> str:
    """`… → [a7x2] → [b3k9]*`: the last nodes of the path."""
    last = " → ".join(f"[{one}]" for one in ids[-2:])
    return f"… → {last}*" if len(ids) > 2 else f"{last}*"
