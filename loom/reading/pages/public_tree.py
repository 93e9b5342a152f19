"""A tree for anybody with a public link: read-only, and without anything else of its grove."""

import logging
from dataclasses import dataclass
from urllib.parse import quote

from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from loom import access
from loom.errors import CommandError, not_found
from loom.language.ids import looks_like_id
from loom.platform.networks import network_of
from loom.reading.queries import public_tree
from loom.reading.queries.margins import Margin
from loom.site import markdown
from loom.site.display import MAX_SHOWN, age_of, cast_of
from loom.site.page_requests import anybody
from loom.text.hashes import digest
from loom.text.images import images_replaced
from loom.trees.images import served
from loom.trees.queries.lookup import NodeRow

log = logging.getLogger("heddle.web")

A_MINUTE = 120
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
    colours = {uid: who.colour for uid, who in cast_of(actor).items()}
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
    """Limits the pages per minute for one network; without the broker there is no limit."""
    key = f"public:{digest(network_of(request.META.get('REMOTE_ADDR', '')))}"
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


def _text(
    secret: str, row: NodeRow, margin: Margin, *, mode: str, colours: dict[str, int]
) -> PublicText:
    draw = _plain if mode == "buffer" else markdown.to_read
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
