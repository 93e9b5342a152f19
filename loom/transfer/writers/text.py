"""A path or a whole tree as text, Markdown, or one HTML page.

The page works without a server. It requests nothing, and no text of the tree is ever markup: it
forbids every script and style except its own, by their hashes.
"""

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import nh3
from django.utils import timezone
from django.utils.html import escape
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from loom.access import Actor
from loom.errors import CommandError
from loom.language.portals import written_at
from loom.links.written_portals import OpenedPortals
from loom.text.images import IMAGE_SIGN, described, described_image, images_replaced
from loom.text.markdown_blocks import with_shown_definitions
from loom.transfer.selection import ExportSelection, Selection, WalkStep, notes_of, select
from loom.trees.archive_files import marked_texts
from loom.trees.images import data_url
from loom.trees.models import ORDER, Image, Node, Tree, Workspace
from loom.trees.queries.lookup import NodeRow, rows_of, selected_versions
from loom.trees.queries.places import path_ids

PAGE = 1000


def as_text(actor: Actor, tree: Tree, workspace: Workspace | None, node: Node) -> Iterator[bytes]:
    """The texts of the path: joined without separator in a buffer, by blank lines in a dialogue,
    there with what their portals lead to, without names of authors. What turns were asked for in a
    buffer is no part of its text."""
    is_buffer = tree.mode == "buffer"
    joint = "" if is_buffer else "\n\n"
    portals = OpenedPortals(actor, tree, authors=False)
    before = ""
    for rows in _pages(actor, tree, workspace, node):
        texts = [row.text for row in rows if not row.is_ask]
        yield (before + joint.join(texts if is_buffer else map(portals.plain, texts))).encode()
        before = joint


def as_markdown(
    actor: Actor,
    tree: Tree,
    workspace: Workspace | None,
    node: Node,
    *,
    authors: bool = True,
) -> Iterator[bytes]:
    """The path under the tree's title; in a dialogue each text with its author and id, and what its
    portals lead to in quotes. Without `authors` there are no names."""
    portals = OpenedPortals(actor, tree, authors=authors)
    title = " ".join(tree.title.split())
    yield f"# {title}\n\n".encode() if title else b""
    if tree.mode == "buffer":
        yield from as_text(actor, tree, workspace, node)
        yield b"\n"
        return
    for rows in _pages(actor, tree, workspace, node):
        yield "".join(_markdown_of(row, portals) for row in rows).encode()


def _markdown_of(row: NodeRow, portals: OpenedPortals) -> str:
    """A text of a dialogue, below who wrote it and when."""
    by = _author(row, authors=portals.authors)
    return f"**{by}** · `{row.local_id}` · {row.at}\n\n{portals.text(row.text)}\n\n"


def _author(row: NodeRow, *, authors: bool) -> str:
    """The name of the author; without `authors` what they are."""
    if authors:
        return row.author_name
    return "Model" if row.author_kind == "model" else "Person"


def _pages(
    actor: Actor, tree: Tree, workspace: Workspace | None, node: Node
) -> Iterator[list[NodeRow]]:
    """The nodes of the path with a text, in chunks."""
    ids = [key for _, key in path_ids(actor, tree, workspace, node)]
    for first in range(0, len(ids), PAGE):
        rows = [row for row in _told(rows_of(ids[first : first + PAGE])) if row.text]
        if rows:
            yield rows


def _told(rows: Iterable[NodeRow]) -> list[NodeRow]:
    """The rows with what features mark in their texts, and with descriptions in place of images,
    whose addresses mean nothing elsewhere."""
    every = list(rows)
    texts = marked_texts({row.id: row.text for row in every})
    return [
        row._replace(text=described(text) if IMAGE_SIGN in text else text)
        for row in every
        for text in [texts[row.id]]
    ]


# A whole tree as text or Markdown: every visible branch, one after the other.


NODES_AT_ONCE = 500
NEW = "\n\n"


@dataclass(frozen=True)
class _Step:
    """One slot of a walk through the tree: number `place` of `of` below `above`."""

    slot: int
    above: int
    place: int
    of: int


def tree_as_text(actor: Actor, tree: Tree, workspace: Workspace | None) -> Iterator[bytes]:
    """The texts, separated only by a line where a branch starts; in a dialogue with what their
    portals lead to, without names of authors."""
    joint = "" if tree.mode == "buffer" else NEW
    portals = OpenedPortals(actor, tree, authors=False)
    between, begun = "", False

    def drawn(row: NodeRow, head: str) -> str:
        nonlocal between, begun
        before = f"{NEW if begun else between}--- {head} ---{NEW}" if head else between
        between, begun = joint, True
        return before + (row.text if tree.mode == "buffer" else portals.plain(row.text))

    return _pieces(tree, workspace, drawn)


def tree_as_markdown(
    actor: Actor, tree: Tree, workspace: Workspace | None, *, authors: bool = True
) -> Iterator[bytes]:
    """The texts under the tree's title, in a dialogue each text with its author and id, and what
    its portals lead to in quotes. Without `authors` there are no names."""
    portals = OpenedPortals(actor, tree, authors=authors)
    title = " ".join(tree.title.split())
    if title:
        yield f"# {title}\n\n".encode()

    def drawn(row: NodeRow, head: str) -> str:
        mark = f"\n\n## {head}\n\n" if head and tree.mode == "buffer" else ""
        if tree.mode == "buffer":
            return mark + row.text
        mark = f"## {head}\n\n" if head else ""
        return mark + _markdown_of(row, portals)

    yield from _pieces(tree, workspace, drawn)


def _pieces(
    tree: Tree, workspace: Workspace | None, drawn: Callable[[NodeRow, str], str]
) -> Iterator[bytes]:
    """What `drawn` returns for each text and for the line where its branch starts."""
    steps = list(_way(tree))
    names: dict[int, str] = {}  # slot → the local id of the text at a fork
    forks = {step.above for step in steps if step.of > 1}
    for first in range(0, len(steps), NODES_AT_ONCE):
        page = steps[first : first + NODES_AT_ONCE]
        standing = selected_versions([step.slot for step in page], workspace)
        read = rows_of([step for step, _ in standing.values()])
        rows = {row.slot_id: row for row in _told(read)}
        names.update({slot: rows[slot].local_id for slot in rows.keys() & forks})
        shown = ""
        for step in page:
            row = rows[step.slot]
            if row.text or step.of > 1:
                shown += drawn(row, _head(step, names))
        yield shown.encode()


def _head(step: _Step, names: dict[int, str]) -> str:
    if step.of < 2:
        return ""
    return f"{step.place} of {step.of} below [{names[step.above]}]"


def _way(tree: Tree) -> Iterator[_Step]:
    """The visible slots, each before what is below it, siblings in order."""
    rows = Node.objects.filter(tree=tree, kind="text", pruned=False, sandbox=False)
    below: dict[int | None, list[int]] = {}
    rows = rows.order_by(ORDER, "id")
    for key, slot, parent in rows.values_list("id", "slot_id", "parent_slot_id"):
        if key == slot:
            below.setdefault(parent, []).append(slot)
    ahead = [_Step(slot, 0, 1, 1) for slot in below.get(None, [])]
    while ahead:
        step = ahead.pop()
        yield step
        slots = below.get(step.slot, [])
        steps = [_Step(node_id, step.slot, at, len(slots)) for at, node_id in enumerate(slots, 1)]
        ahead.extend(reversed(steps))


# -- the HTML page


MAX_RENDERED = 40_000  # longer texts are shown plain
_NAMED = re.compile(r"\[([a-z][0-9][a-z][0-9][a-z0-9]{0,4})\]", re.IGNORECASE)
_TAGS = set("p br hr strong em s code pre blockquote ul ol li h3 h4 h5 h6 a".split())


class _Renderer(RendererHTML):
    """Renders an image as its description: the page requests nothing."""

    def image(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        source = str(tokens[idx].attrs.get("src", ""))
        if source.startswith("image:"):
            return escape(f"![{tokens[idx].content}]({source})")
        return escape(described_image(tokens[idx].content))


def _reference(state: StateInline, silent: bool) -> bool:
    """`[a7x2]` leads to that text, if it is one of the page (`env["known"]`)."""
    if state.src[state.pos] != "[":
        return False
    reference = written_at(state.src, state.pos)
    if (
        reference is None
        or reference.kind != "reference"
        or reference.targets[0] not in state.env["known"]
    ):
        return False
    if not silent:
        state.push("link_open", "a", 1).attrs = {"href": f"#{reference.targets[0]}"}
        state.push("text", "", 0).content = state.src[state.pos : reference.end]
        state.push("link_close", "a", -1)
    state.pos = reference.end
    return True


_MARKDOWN = with_shown_definitions(
    MarkdownIt("commonmark", {"html": False, "breaks": True}, renderer_cls=_Renderer)
).enable("strikethrough")
_MARKDOWN.inline.ruler.before("link", "reference", _reference)
_LOWER = {f"<{end}h{level}>": f"<{end}h{level + 2}>" for end in ("", "/") for level in (4, 3, 2, 1)}


def html(wanted: ExportSelection) -> Iterator[bytes]:
    """The page: each text as an article that names the one above it, each before what is below."""
    selection = select(replace(wanted, images=True))
    tree = selection.tree
    title = escape(tree.title or "Untitled tree")
    position = selection.position()
    here = escape(selection.local_id(position) if position else "")
    about = f"<p>{escape(tree.description)}</p>\n" if tree.description else ""
    yield (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n{_policy()}'
        '<meta name="viewport" content="width=device-width">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="generator" content="Heddle">\n'
        f"<title>{title}</title>\n<style>{_part('walk.css')}</style>\n</head>\n"
        f'<body class="{escape(tree.mode)}" data-here="{here}">\n<header>\n<h1>{title}</h1>\n'
        f'{about}<p class="soft">Exported on {timezone.now():%Y-%m-%d} UTC</p>\n</header>\n<main>\n'
    ).encode()
    names: dict[int, str] = {}
    portals = OpenedPortals(wanted.actor, tree, authors=wanted.authors)
    for page in selection.pages():
        notes = notes_of(tree, [step.slot for step, _ in page]) if wanted.notes else {}
        known = _known(selection, [row.text for _, row in page])
        for step, row in page:
            if step.depth or row.text:  # an empty root is left out
                names[step.slot] = row.local_id
                text = _text(selection, row, portals, known)
                above = names.get(step.above, "")
                yield _article(selection, step, row, above, text).encode()
            yield _notes(wanted, notes.get(step.slot, [])).encode()
    yield (
        "</main>\n"
        '<footer><p id="help" hidden>← and → show what else was written at the marked place; '
        "n and p go to the next and previous such place.</p></footer>\n"
        f'<p id="said" role="status" class="soft"></p>\n<script>{_part("walk.js")}</script>\n'
        "</body>\n</html>\n"
    ).encode()


def _policy() -> str:
    allowed = f"script-src '{_hash('walk.js')}'; style-src '{_hash('walk.css')}'; img-src data:"
    return (
        '<meta http-equiv="Content-Security-Policy" '
        f"content=\"default-src 'none'; {allowed}; base-uri 'none'; form-action 'none'\">\n"
    )


@cache
def _part(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")


@cache
def _hash(name: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(_part(name).encode()).digest()).decode()


def _known(selection: Selection, texts: Iterable[str]) -> set[str]:
    """Those of the nodes that texts name which are in the page. One query, none if none is
    named."""
    if selection.tree.mode == "buffer":
        return set()
    named = {name.lower() for text in texts for name in _NAMED.findall(text)}
    if not named:
        return set()
    rows = Node.objects.filter(tree=selection.tree, local_id__in=named)
    shown = rows.values_list("local_id", "slot_id", "pk")
    return {name for name, slot, key in shown if selection.chosen.get(slot) == key}


def _article(selection: Selection, step: WalkStep, row: NodeRow, above: str, text: str) -> str:
    return (
        f'<article id="{row.local_id}" data-above="{above}" class="{row.author_kind}">'
        f"<header>{_by(selection.wanted, row)}{_ways(step, above)}</header>"
        f"{text}</article>" + ("\n" if selection.tree.mode == "dialogue" else "")
    )


def _by(wanted: ExportSelection, row: NodeRow) -> str:
    if wanted.tree.mode == "buffer":
        return ""
    name = _author(row, authors=wanted.authors)
    at = f'<time datetime="{row.at}">{row.at[:16].replace("T", " ")}</time>'
    return f'<span class="by">{escape(name)}</span>{at if wanted.authors else ""}'


def _ways(step: WalkStep, above: str) -> str:
    if step.of < 2:
        return ""
    words = f"{step.place} of {step.of}"
    if above:
        words += f' below <a href="#{above}">{above}</a>'
    return f'<span class="ways">{words}</span>'


def _text(selection: Selection, row: NodeRow, portals: OpenedPortals, known: Set[str]) -> str:
    tree = selection.tree
    if tree.mode == "buffer":
        return f'<span class="text plain">{_pictured(tree, escape(row.text))}</span>'
    text = portals.text(row.text)
    if len(text) > MAX_RENDERED:
        return f'<div class="text plain">{_pictured(tree, escape(text))}</div>'
    return f'<div class="text">{_pictured(tree, rendered(text, known))}</div>'


def _pictured(tree: Tree, escaped: str) -> str:
    """The HTML with the tree's images inside it; missing ones are described."""
    return images_replaced(escaped, lambda alt, sha256: _image(tree, alt, sha256))


def _image(tree: Tree, alt: str, sha256: str) -> str:
    row = Image.objects.filter(tree=tree, sha256=sha256).first()
    try:
        return f'<img src="{data_url(row)}" alt="{alt}">' if row else described_image(alt)
    except CommandError:
        return described_image(alt)


def rendered(text: str, known: Set[str] = frozenset()) -> str:
    """Markdown as HTML: no raw HTML, no images, and links that open only on request; the names of
    `known` nodes lead to them in the page."""
    rendered_text = _MARKDOWN.render(text, {"known": known})
    for tag, lower in _LOWER.items():
        rendered_text = rendered_text.replace(tag, lower)
    return nh3.clean(
        rendered_text,
        tags=_TAGS,
        attributes={"a": {"href", "title"}, "ol": {"start"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )


def _notes(wanted: ExportSelection, notes: list[tuple[int, NodeRow]]) -> str:
    return "".join(
        f'<aside class="note level-{level}"><b>{_label(wanted, row)}</b>'
        f"{escape(row.text)}</aside>\n"
        for level, row in notes
    )


def _label(wanted: ExportSelection, row: NodeRow) -> str:
    form = row.form or "note"
    return escape(f"{form} · {row.author_name}" if wanted.authors else form)
