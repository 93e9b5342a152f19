"""Node texts as safe HTML, with highlighted code. The only module that turns text into markup."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from html import unescape
from itertools import accumulate, groupby, pairwise
from operator import itemgetter
from typing import Any
from urllib.parse import quote as quoted

import nh3
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language, gettext, ngettext
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Token as CodeToken
from pygments.token import _TokenType
from pygments.util import ClassNotFound

from loom.language.portals import EMBED, PortalView, named, written_at
from loom.text.markdown_blocks import blocks_parser, is_task, may_have_tables

MAX_COLOURED = 10_000  # characters of code that are highlighted in one text
PIECE = 1_000  # characters highlighted at once; code that spans two pieces may get wrong colours
_BLANKS = re.compile(r"\s{41}")  # more blanks than code is usually indented by

# Supported languages; code in any other is shown plain.
LANGUAGES = frozenset(
    "bash c cpp cs css diff docker go haskell html ini java javascript js json jsx kotlin lua"
    " make markdown md perl php py python r rb ruby rs rust sh sql swift toml ts tsx typescript"
    " xml yaml yml zsh".split()
)
_ALIASES = {"rs": "rust", "md": "markdown"}

# The first entry that contains a token's type gives its class.
_CLASSES: tuple[tuple[_TokenType, str], ...] = (
    (CodeToken.Comment, "c-note"),
    (CodeToken.Keyword, "c-key"),
    (CodeToken.Operator.Word, "c-key"),
    (CodeToken.Literal.String, "c-text"),
    (CodeToken.Literal.Number, "c-number"),
    (CodeToken.Name.Function, "c-name"),
    (CodeToken.Name.Class, "c-name"),
    (CodeToken.Name.Tag, "c-name"),
    (CodeToken.Name.Decorator, "c-name"),
    (CodeToken.Name.Builtin, "c-built"),
    (CodeToken.Name.Attribute, "c-built"),
    (CodeToken.Generic.Inserted, "c-new"),
    (CodeToken.Generic.Deleted, "c-gone"),
    (CodeToken.Generic.Heading, "c-key"),
    (CodeToken.Generic.Subheading, "c-key"),
)
CLASSES = frozenset(name for _, name in _CLASSES)


def coloured(code: str, language: str) -> str:
    """The code as escaped HTML with spans; plain if the language is unknown, or where it is long or
    has long runs of blanks."""
    lexer = _lexer(language)
    if lexer is None or len(code) > MAX_COLOURED:
        return str(escape(code))
    parts: list[tuple[str, list[str]]] = []
    for piece in pieces(code):
        for name, text in _classed(piece, lexer):
            if parts and parts[-1][0] == name:
                parts[-1][1].append(text)
            else:
                parts.append((name, [text]))
    return "".join(_marked("".join(texts), name) for name, texts in parts)


def _marked(text: str, name: str) -> str:
    return f'<span class="{name}">{escape(text)}</span>' if name else str(escape(text))


def pieces(code: str) -> Iterator[str]:
    """The code split at line ends, after a blank line if there is one in the second half of a
    piece. A piece has at most PIECE characters, unless it is one line."""
    lines: list[str] = []
    size = 0
    for line in code.splitlines(keepends=True):
        if lines and size + len(line) > PIECE:
            cut = _cut(lines)
            yield "".join(lines[:cut])
            lines = lines[cut:]
            size = sum(map(len, lines))
            if lines and size + len(line) > PIECE:
                yield "".join(lines)
                lines, size = [], 0
        lines.append(line)
        size += len(line)
    if lines:
        yield "".join(lines)


def _cut(lines: list[str]) -> int:
    """The number of lines after which to split."""
    blank = (at for at in range(len(lines) - 1, len(lines) // 2, -1) if not lines[at].strip())
    return next(blank, len(lines) - 1) + 1


def _classed(piece: str, lexer: Lexer) -> Iterator[tuple[str, str]]:
    """The class and the text of each part of a piece."""
    if len(piece) > PIECE or _BLANKS.search(piece):
        yield "", piece
        return
    # Not get_tokens: it would change line ends and blanks.
    for _, kind, text in lexer.get_tokens_unprocessed(piece):
        yield _class_of(kind), text


def _lexer(language: str) -> Lexer | None:
    words = language[:40].lower().split()
    return _lexer_named(words[0]) if words and words[0] in LANGUAGES else None


@cache
def _lexer_named(name: str) -> Lexer | None:
    try:
        return get_lexer_by_name(_ALIASES.get(name, name))
    except ClassNotFound:
        return None


@cache
def _class_of(kind: _TokenType) -> str:
    return next((name for parent, name in _CLASSES if kind in parent), "")


# Text of nodes as safe HTML. The only place that turns text into markup.


# Longer texts are shown plain: parsing megabytes would block everybody.
MAX_RENDERED = 40_000
MOST_EMBEDS = 100  # of one text that are shown; further ones stay as they are written
MAX_LOOKED_AT = 400_000  # characters of a text whose blocks of code are found

_OWN_IMAGE = re.compile("image:[0-9a-f]{64}")
_TAGS = set(
    "p br hr strong em s code pre span blockquote ul ol li h3 h4 h5 h6 a"
    " table thead tbody tr th td img details summary div".split()
)
_ATTRIBUTES = {
    "a": {"href", "title", "data-ref"},
    "details": {"data-edge-type", "data-portal", "data-to", "open"},
    "div": {"aria-live"},
    "span": {"aria-hidden"},
    "img": {"src", "alt", "loading"},
    "li": {"data-task"},
    "ol": {"start"},
    "pre": {"tabindex", "role", "aria-label"},
}


class _Renderer(RendererHTML):
    """Renders images that Heddle has, and others as their description; headings are below those of
    the page; highlights a limited amount of code per text, and shows the rest plain."""

    def fence(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        env["coloured"] = env.get("coloured", 0) + len(tokens[idx].content)
        if env["coloured"] > MAX_COLOURED:
            options = OptionsDict({**options, "highlight": None})  # type: ignore[typeddict-item]
        return super().fence(tokens, idx, options, env)

    def image(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        source = str(tokens[idx].attrs.get("src", ""))
        if _OWN_IMAGE.fullmatch(source):
            address = f"/api/images/{source.removeprefix('image:')}"
            return f'<img src="{address}" alt="{escape(tokens[idx].content)}" loading="lazy">'
        words = tokens[idx].content or source
        return escape(f"[image: {words}]")

    def paragraph_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        if _holds_portals(tokens[idx + 1]) and not tokens[idx].hidden:
            return '<div class="p">'  # a paragraph can hold no block
        return self.renderToken(tokens, idx, options, env)

    def paragraph_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        if _holds_portals(tokens[idx - 1]) and not tokens[idx].hidden:
            return "</div>\n"
        return self.renderToken(tokens, idx, options, env)

    def reference(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        target, base = tokens[idx].content, env["base"]
        href = f"{base}/ref?to={quoted(target)}"
        if base.startswith("/trees/") and named(target) != target:
            href = f"{base}?node={target}"
        shown = escape(named(target))
        return f'<a class="ref" href="{escape(href)}" data-ref="{escape(target)}">{shown}</a>'

    def list_item_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        if not is_task(tokens, idx, env):
            return self.renderToken(tokens, idx, options, env)
        env["tasks"] = env.get("tasks", 0) + 1  # a script makes a box of it, and finds its token so
        return f'<li data-task="{env["tasks"]}">'

    def blockquote_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return '<blockquote class="quote">\n' if _is_quote(tokens, idx) else "<blockquote>\n"

    def portal(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return closed_portal(env["base"], tokens[idx].info, tokens[idx].meta["targets"])

    def heading_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return f"<h{_level(tokens[idx])}>"

    def heading_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        return f"</h{_level(tokens[idx])}>\n"


def _is_quote(tokens: Sequence[Token], at: int) -> bool:
    """Whether a block of quoted words names its source, in a reference at its end."""
    depth = 0
    for place in range(at, len(tokens)):
        depth += tokens[place].nesting if tokens[place].type.startswith("blockquote") else 0
        if not depth:
            last = next(
                (token for token in reversed(tokens[at:place]) if token.type == "inline"), None
            )
            words = [
                token for token in (last.children or () if last else ()) if token.content.strip()
            ]
            return bool(words) and words[-1].type == "reference"
    return False


def _holds_portals(inline: Token) -> bool:
    return any(token.type == "portal" for token in inline.children or ())


def closed_portal(base: str, kind: str, targets: Sequence[str]) -> str:
    """A portal that is written in a text, closed: a script fills it when it is opened, from
    `{base}/portal`. An embed is open: it is the item itself."""
    to = ", ".join(targets)
    address = escape(f"{base}/portal?type={quoted(kind)}&to={quoted(to)}")
    head = escape(f"[{kind.replace('_', ' ')}] ──→ {_portal_of(kind, targets).target}")
    look, is_open = "portal", ""
    if kind == EMBED:
        look, is_open, head = "portal embedded", " open", escape(named(targets[0]))
    return (
        f'<details class="{look}" data-edge-type="{escape(kind)}" data-portal="{address}"'
        f' data-to="{escape(to)}"{is_open}><summary><span class="sign" aria-hidden="true">▶ </span>'
        f'{head}</summary><div class="portal-in" aria-live="polite"></div></details>'
    )


def _portal_of(kind: str, targets: Sequence[str]) -> PortalView:
    """The portal as it is written; what its targets are, only the reader of one can say."""
    many = len(targets)
    noun = ngettext("item", "items", many)
    return PortalView(kind, many, named(targets[0]) if many == 1 else "", nouns=(noun, noun))


def _tokens_rule(state: StateInline, silent: bool) -> bool:
    """Portals, embeds and references, in texts that are given a base."""
    start = state.src[state.pos]
    if start not in "@![:" or not state.env.get("base"):
        return False
    at = state.pos
    if start == ":":  # Markdown stops at punctuation, so `doc` has been read by now
        if not state.pending.endswith("doc"):
            return False
        at -= 3
    written = written_at(state.src, at)
    is_embed = written is not None and written.kind == "embed"
    if written is None or (is_embed and not state.env["embeds"]) or written.end > state.posMax:
        return False
    if not silent:
        state.env["embeds"] -= is_embed
        state.pending = state.pending[: len(state.pending) - (state.pos - at)]
        token = state.push("reference" if written.kind == "reference" else "portal", "", 0)
        token.content = written.targets[0]
        token.info = EMBED if is_embed else written.type
        token.meta = {"targets": (*written.targets, *written.left)}
    state.pos = written.end
    return True


def _level(token: Token) -> int:
    return min(int(token.tag[1]) + 2, 6)


def _coloured(code: str, language: str, _attributes: str) -> str:
    return coloured(code, language)


def _parser(*, tables: bool) -> MarkdownIt:
    parser = blocks_parser(tables=tables, renderer_cls=_Renderer)
    parser.options["highlight"] = _coloured
    parser.inline.ruler.before("link", "tokens", _tokens_rule)
    return parser


_with_tables, _without_tables = _parser(tables=True), _parser(tables=False)


def _parser_for(text: str) -> MarkdownIt:
    return _with_tables if may_have_tables(text) else _without_tables


def _scrolling_pre() -> SafeString:
    """The start of a block of code, which has a name because it can have the focus."""
    return format_html('<pre tabindex="0" role="group" aria-label="{}">', gettext("Code"))


@lru_cache(maxsize=512)
def _rendered(text: str, base: str, embeds: bool, _language: str | None) -> str:
    env = {"base": base, "embeds": MOST_EMBEDS if embeds else 0}
    return nh3.clean(
        # Wide code scrolls, which has to work with keys too. There is no other <pre> here.
        _parser_for(text).render(text, env).replace("<pre>", str(_scrolling_pre())),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        allowed_classes={
            "blockquote": {"quote"},
            "span": {*CLASSES, "sign"},
            "a": {"ref"},
            "details": {"portal", "embedded"},
            "div": {"p", "portal-in"},
        },
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
        strip_comments=True,
    )


def rendered(text: str, base: str = "", *, embeds: bool = True) -> SafeString:
    """The text as HTML: Markdown without raw HTML and images; plain above MAX_RENDERED. With a
    `base` (`/trees/…` or `/documents/…`) the references in it lead there, and its portals and (if
    wanted) `embeds` can be opened; else they stay as they are written."""
    if len(text) > MAX_RENDERED:
        return plain(text)
    language = get_language() if base else None
    return mark_safe(_rendered(text, base, embeds, language))  # noqa: S308  (allow-listed)


_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


def rendered_part(text: str, first: int, part: str, base: str = "") -> SafeString:
    """`rendered` for a part of a text that begins at its line `first`: a part that begins inside a
    block of code is code. This is not checked for a very long text."""
    opened = ""
    for line in text.split("\n", first - 1)[: first - 1] if len(text) <= MAX_LOOKED_AT else ():
        fence = _FENCE.fullmatch(line)
        if fence is None:
            continue
        if not opened:
            opened = line
        elif fence[1].startswith(opened.strip()[:3]) and not fence[2].strip():
            opened = ""
    return rendered(f"{opened}\n{part}" if opened else part, base)


_DRAWN_TASK = re.compile(r'(<li data-task="\d+">\s*(?:<p>)?)\[([ xX])\] ')


def with_boxes(drawn: SafeString) -> SafeString:
    """A rendered text whose tasks begin with a box in place of `[ ]`, for pages without the script
    that makes boxes to check."""
    boxed = _DRAWN_TASK.sub(lambda task: f"{task[1]}{'☐' if task[2] == ' ' else '☑'} ", drawn)
    return mark_safe(boxed)  # noqa: S308  (only marks of tasks have changed)


def to_read(text: str, base: str = "") -> SafeString:
    """The text as `rendered` draws it, where nobody can check its tasks."""
    return with_boxes(rendered(text, base))


def plain(text: str) -> SafeString:
    """The text unchanged; the style sheet preserves blanks and lines."""
    return mark_safe(f'<span class="plain">{escape(text)}</span>')  # noqa: S308  (escaped)


# The authors of the characters of a text that is rendered as Markdown.

MAX_SKIPPED = 2_000  # characters of a text that Markdown does not show, such as an address
# The heading of a portal is no words of the text: it counts as a tag.
_TAG_OR_TEXT = re.compile(r'(<summary>(?:[^<]|<(?!/summary>))*|<(?:"[^"]*"|[^">])*>)|([^<]+)')


def rendered_by(text: str, spans: Sequence[tuple[int, str]], base: str = "") -> SafeString:
    """`rendered`, with the characters of each author in a span. `spans`: the number of characters
    and the opening tags (none: no span), in order. Tags of Markdown stay around them."""
    drawn = str(rendered(text, base))
    edges = [0, *accumulate(length for length, _ in spans)]
    at, parts = 0, []
    for tag, words in _TAG_OR_TEXT.findall(drawn):
        if tag or not words.strip():
            parts.append(tag or words)
            continue
        letters = unescape(words)
        places = _places(text, letters, at)
        at = places[-1] + 1
        owners = [min(bisect_right(edges, place), len(spans)) - 1 for place in places]
        for owner, some in groupby(zip(owners, letters, strict=True), key=itemgetter(0)):
            parts.append(_spanned(spans[owner][1], "".join(letter for _, letter in some)))
    return mark_safe("".join(parts))  # noqa: S308  (texts in it are escaped, tags were allowed)


def _spanned(tags: str, text: str) -> str:
    return f"{tags}{escape(text)}{'</span>' * tags.count('<span')}"


def plain_by(text: str, spans: Sequence[tuple[int, str]]) -> SafeString:
    """The text unchanged, or its beginning, with `spans` as in `rendered_by`."""
    parts, at = [], 0
    for length, tags in spans:
        if at < len(text):
            parts.append(_spanned(tags, text[at : at + length]))
        at += length
    return mark_safe("".join(parts))  # noqa: S308  (texts in it are escaped)


MOST_MARKED = 200  # places of one text


def with_places(
    spans: Sequence[tuple[int, str]], places: Sequence[tuple[tuple[int, int], str]]
) -> list[tuple[int, str]]:
    """The spans, cut where places (first character, the one after the last, and an opening tag)
    begin and end, with the tag of the shortest place inside of each."""
    marked = places[:MOST_MARKED]
    edges = {0, *accumulate(length for length, _ in spans)}
    end = max(edges)
    edges |= {edge for place, _ in marked for edge in place if edge < end}
    cuts = sorted(edges)
    shortest = sorted(marked, key=lambda place: place[0][1] - place[0][0])
    whole: list[tuple[int, str]] = []
    own, left = iter(spans), 0
    tags = ""
    for start, stop in pairwise(cuts):
        while not left:
            left, tags = next(own)
        inside = next((tag for (a, b), tag in shortest if a <= start and stop <= b), "")
        whole.append((stop - start, f"{tags}{inside}"))
        left -= stop - start
    return whole


def _places(text: str, letters: str, at: int) -> list[int]:
    """The positions of the letters in the text, after a given position: rendered Markdown has the
    order of its source, with some characters left out. A letter that is not found is placed next
    to the previous one."""
    start = text.find(letters, at)
    if start >= 0:
        return list(range(start, start + len(letters)))
    places = []
    for letter in letters:
        place = text.find(letter, at, at + MAX_SKIPPED)
        places.append(place if place >= 0 else max(0, min(at, len(text)) - 1))
        at = place + 1 if place >= 0 else at
    return places
