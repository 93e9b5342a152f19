"""Pages outside of a grove: a tree for anybody with a public link, read-only and without anything
else of its grove; and about, the guide and the offline page.

Also, for owners, the page where such links are created and revoked.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.conf import settings
from django.contrib import messages
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop
from django.views.decorators.cache import cache_control, never_cache
from django.views.decorators.http import require_GET, require_POST
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

from loom import access
from loom.access import Actor
from loom.errors import CommandError, not_found
from loom.language.ids import looks_like_id
from loom.people.commands import groves
from loom.reading.queries import public_tree
from loom.reading.queries.margins import Margin
from loom.site import markdown
from loom.site.display import COLOURS, MAX_SHOWN, age_of
from loom.site.forms import Number, PageForm, Text, Word, Words
from loom.site.page_requests import PersonRequest, anybody, frame, in_one_line, person
from loom.text.hashes import digest
from loom.text.images import images_replaced
from loom.trees.commands import public_links, rights
from loom.trees.images import served
from loom.trees.models import Tree
from loom.trees.queries.lookup import NodeRow

log = logging.getLogger("heddle.web")

A_MINUTE = 120
MOST_CHANGED = 200  # rights that one form changes
EXCERPT = 160
MOST_INDENT = 12


@dataclass(frozen=True)
class PublicText:
    """A text as the public page shows it, with only the name of its author."""

    id: str
    by: str
    colour: int
    at: str
    age: str
    body: SafeString
    is_cut: bool
    margin: Margin


@never_cache
@require_GET
@anybody
def page(request: HttpRequest, secret: str) -> HttpResponse:
    """The main line, or the path to `?node=` and what is below, for anybody; 404 once the link has
    ended."""
    _demand_room(request)
    actor, link = access.get_public_tree(secret)
    named = request.GET.get("node", "").lower()
    if named and not looks_like_id(named):
        raise not_found(f"[{named[:20]}]", "Open the link without it.")
    path = public_tree.public_path(actor, link.tree, named)
    lines, is_cut = public_tree.public_lines(actor, link.tree)
    colours = _colours([*(row for _, row in lines), *path.rows, *path.below])
    context = {
        "tree": link.tree,
        "link": link,
        "node": path.node.local_id,
        "nodes": [
            _text(secret, row, path.margins[row.id], mode=link.tree.mode, colours=colours)
            for row in path.rows
            if link.tree.mode == "dialogue" or not row.is_ask  # no part of the story
        ],
        "above": path.rows[0].local_id if path.has_above else "",
        "below": [(row, _words(row), colours[row.author_uid]) for row in path.below],
        "has_more": path.has_more,
        "onward": path.onward,
        "lines": [
            (min(level, MOST_INDENT), row, _words(row), colours[row.author_uid])
            for level, row in lines
        ],
        "is_cut": is_cut,
    }
    answer = render(request, "pages/public.html", context)
    answer["X-Robots-Tag"] = "noindex, nofollow, noarchive"
    answer["Referrer-Policy"] = "no-referrer"
    return answer


def _demand_room(request: HttpRequest) -> None:
    """Limits the pages per minute for one address; without the broker there is no limit."""
    key = f"public:{digest(request.META.get('REMOTE_ADDR', ''))}"
    try:
        cache.add(key, 0, 60)
        count = cache.incr(key)
    except Exception:
        log.warning("cannot count readers", exc_info=True)
        return
    if count > A_MINUTE:
        raise CommandError(
            "LIMIT_EXCEEDED",
            _("You opened more than %(n)s pages in a minute.") % {"n": A_MINUTE},
            hint=_("Wait a minute."),
        )


def _colours(rows: list[NodeRow]) -> dict[str, int]:
    authors = dict.fromkeys(row.author_uid for row in rows)
    return {uid: place % COLOURS for place, uid in enumerate(authors)}


def _text(
    secret: str, row: NodeRow, margin: Margin, *, mode: str, colours: dict[str, int]
) -> PublicText:
    draw = _plain if mode == "buffer" else markdown.rendered
    shown = row.text[:MAX_SHOWN]
    return PublicText(
        id=row.local_id,
        by=row.author_name,
        colour=colours[row.author_uid],
        at=row.at,
        age=age_of(row.created_at),
        body=_with_images(draw(shown), secret, row.local_id),
        is_cut=row.length > MAX_SHOWN,
        margin=margin,
    )


def _plain(text: str) -> SafeString:
    """The text of a buffer unchanged, with its images."""
    shown = images_replaced(
        str(markdown.plain(text)),
        lambda alt, sha256: f'<img src="/api/images/{sha256}" alt="{alt}" loading="lazy">',
    )
    return mark_safe(shown)  # noqa: S308  (escaped, as what an image shows is)


def _with_images(body: SafeString, secret: str, local_id: str) -> SafeString:
    """The HTML with image addresses that anybody with the link can open."""
    address = f'<img src="/public/{quote(secret, safe="")}/images/{local_id}/'
    return mark_safe(body.replace('<img src="/api/images/', address))  # noqa: S308 (quoted)


@require_GET
@anybody
def image(request: HttpRequest, secret: str, local_id: str, sha256: str) -> HttpResponse:
    """An image for anybody with the link, if a text that the link shows names it."""
    _demand_room(request)
    actor, link = access.get_public_tree(secret)
    return served(public_tree.public_image(actor, link.tree, local_id.lower(), sha256))


def _words(row: NodeRow) -> str:
    return " ".join(row.text[: EXCERPT * 2].split())[:EXCERPT]


@never_cache
@require_GET
@person
def share(request: PersonRequest, uid: str) -> HttpResponse:
    """Who can read a tree: the members of the grove, and the public links to it. For owners."""
    actor, tree = access.get_tree(request.user, uid, role="owner")
    return render(request, "pages/share.html", _context(request, actor, tree))


def _context(request: PersonRequest, actor: Actor, tree: Tree) -> dict[str, object]:
    links = [
        (link, link.made_by.name if link.made_by != actor.participant else _("You"))
        for link in public_links.open_links(actor, tree)
    ]
    shown = _rights_shown(actor, tree)
    return {**frame(request, actor, "trees"), "tree": tree, "links": links, "rights": shown}


_RIGHTS = {
    "hidden": gettext_noop("see nothing of it"),
    "read": gettext_noop("only read"),
    "comment": gettext_noop("read and comment"),
    "write": gettext_noop("read and write"),
}


def _rights_shown(actor: Actor, tree: Tree) -> list[dict[str, object]]:
    """The rows of the table of rights: all readers, all writers, and each member."""
    roles = rights.roles_in(tree)
    rows: list[dict[str, object]] = [
        {
            "who": role.name,
            "name": _("All readers") if role.role == "reader" else _("All writers"),
            "role": role.role,
            "is_all": True,
            "given": role.own or "usual",
            "choices": _choices(role.usual),
        }
        for role in roles
    ]
    of_role = {role.role: role.own or role.usual for role in roles}
    for row in rights.members_in(actor, tree):
        member = row.member
        usual = of_role.get(member.role, "write")  # type: ignore[call-overload]
        rows.append(
            {
                "who": member.user.username,
                "name": member.participant.name,
                "role": member.role,
                "given": row.own or "usual",
                "choices": _choices(usual),
            }
        )
    return rows


def _choices(usual: str) -> list[tuple[str, str]]:
    """The values of a select and their words; `usual` is what counts if nothing is said."""
    usual_words = _("as usual: %(right)s") % {"right": _(_RIGHTS[usual])}
    return [("usual", usual_words), *((name, _(words)) for name, words in _RIGHTS.items())]


class RightsForm(PageForm):
    """Who was shown with which right, and which one was chosen, in the order of the table."""

    who = Words()
    before = Words()
    right = Words()


def _give_rights(request: PersonRequest, actor: Actor, tree: Tree) -> None:
    """Gives the rights that were changed in the table; the others stay as they are by now."""
    sent = RightsForm.read(request)
    changed = [
        (who, right)
        for who, before, right in zip(sent["who"], sent["before"], sent["right"], strict=False)
        if right != before
    ]
    for who, right in changed[:MOST_CHANGED]:
        if right not in rights.GIVEN:
            raise CommandError(
                "INVALID_SYNTAX", _("There is no such right."), hint=_("Reload the page.")
            )
        rights.give(actor, tree, who, right)
    if changed:
        messages.success(request, _("The rights have been saved."))


class PublicLinkForm(PageForm):
    """For how long a public link works, or which one is revoked."""

    days = Number(empty=7)
    link = Word()


class ReaderForm(PageForm):
    """An invitation that leads to a tree."""

    role = Text()
    days = Number(empty=7)


def _invite(request: PersonRequest, actor: Actor, tree: Tree) -> HttpResponse:
    """The page with an invitation that leads to the tree; its link is shown only this once."""
    _made, secret = groves.make_invitation(actor, **ReaderForm.read(request), uses=1)
    link = request.build_absolute_uri(f"/invitations/{secret}?tree={tree.uid}")
    return render(request, "pages/share.html", {**_context(request, actor, tree), "invited": link})


@never_cache
@require_POST
@person
def change(request: PersonRequest, uid: str, action: str) -> HttpResponse:
    """Creates a link, which is shown only this once, or revokes one; or changes rights."""
    actor, tree = access.get_tree(request.user, uid, role="owner")
    try:
        if action == "make":
            days = PublicLinkForm.read(request)["days"]
            _made, secret = public_links.make_public_link(actor, tree, days=days)
            shown = request.build_absolute_uri(f"/public/{secret}")
            context = {**_context(request, actor, tree), "fresh": shown}
            return render(request, "pages/share.html", context)
        if action == "invite":
            return _invite(request, actor, tree)
        if action == "rights":
            _give_rights(request, actor, tree)
            return HttpResponseRedirect(f"/trees/{tree.uid}/share")
        if action != "revoke":
            raise CommandError(
                "NOT_FOUND", _("This form does not exist."), hint=_("Reload the page.")
            )
        public_links.revoke_public_link(actor, tree, PublicLinkForm.read(request)["link"])
        messages.success(request, _("The link has been revoked and no longer works."))
    except CommandError as refused:
        messages.error(request, in_one_line(refused))
    return HttpResponseRedirect(f"/trees/{tree.uid}/share")


# The program itself: about, the guide, and the offline page.


# The software that Heddle is built with, and the licence of each.
PARTS = (
    ("Django", "django", "BSD-3-Clause", "https://www.djangoproject.com/"),
    ("Channels", "channels", "BSD-3-Clause", "https://channels.readthedocs.io/"),
    (
        "Django REST framework",
        "djangorestframework",
        "BSD-3-Clause",
        "https://www.django-rest-framework.org/",
    ),
    ("Celery", "celery", "BSD-3-Clause", "https://docs.celeryq.dev/"),
    ("LiteLLM", "litellm", "MIT", "https://docs.litellm.ai/"),
    ("xllamacpp", "xllamacpp", "Apache-2.0", "https://github.com/xorbitsai/xllamacpp"),
    ("CodeMirror", "", "MIT", "https://codemirror.net/"),
    ("htmx", "", "0BSD", "https://htmx.org/"),
    ("EB Garamond, Inter, JetBrains Mono", "", "OFL-1.1", "https://fontsource.org/"),
)


@require_GET
@person
def about(request: PersonRequest) -> HttpResponse:
    """Version, licence, and the software that Heddle is built with."""
    parts = [(name, _version(package), licence, link) for name, package, licence, link in PARTS]
    context = {"version": settings.VERSION, "parts": parts}
    return render(request, "pages/house/about.html", context)


def _version(package: str) -> str:
    try:
        return version(package) if package else ""
    except PackageNotFoundError:
        return ""


@require_GET
@person
def guide(request: PersonRequest) -> HttpResponse:
    """The guide: docs/guide.md, with its pictures in both themes."""
    return render(request, "pages/house/guide.html", {"guide": rendered()})


@require_GET
def offline(request: HttpRequest) -> HttpResponse:
    """The page that the browser shows when it cannot reach Heddle: the same for everybody."""
    return render(request, "pages/house/offline.html")


@require_GET
@cache_control(no_cache=True)
def worker(request: HttpRequest) -> HttpResponse:
    """The service worker that keeps the offline page. It is served at the root, because its scope
    is the folder it is served from."""
    built = Path(settings.BASE_DIR) / "static" / "dist" / "offline.js"
    return HttpResponse(built.read_bytes(), content_type="text/javascript; charset=utf-8")


# The guide as a page: the file docs/guide.md, with pictures for both themes.


class _Renderer(RendererHTML):
    """Renders each picture twice, for the style sheet to choose, and links within the program."""

    def image(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        name = Path(str(tokens[idx].attrs["src"])).name.removesuffix("-light.png")
        return "".join(
            format_html(
                '<img class="only-{}" src="{}" alt="{}" loading="lazy">',
                theme,
                static(f"pictures/{name}-{theme}.png"),
                tokens[idx].content,
            )
            for theme in ("light", "dark")
        )

    def link_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        # The guide links to the API reference as a file; here it is the page of the API.
        target = str(tokens[idx].attrs["href"])
        return str(
            format_html('<a href="{}">', "/api/docs/" if target == "commands.md" else target)
        )


@lru_cache(maxsize=1)
def rendered() -> SafeString:
    """The guide as HTML."""
    text = (Path(settings.BASE_DIR) / "docs" / "guide.md").read_text()
    parser = MarkdownIt("commonmark", renderer_cls=_Renderer)
    markup = str(parser.render(text))
    return mark_safe(markup)  # noqa: S308  (a file of the program itself)
