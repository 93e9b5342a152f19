"""The export page: the formats of a tree, and what each leaves out."""

from collections.abc import Callable
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET

from loom import access
from loom.site.page_requests import (
    PersonRequest,
    frame,
    person,
)
from loom.transfer import exporting
from loom.transfer.exporting import BY_PATH, FORMATS, ExportFormat, Loss
from loom.transfer.selection import ExportSelection

_USUAL = "html"


def _groups() -> list[tuple[str, list[tuple[str, str, str]]]]:
    """The formats, grouped by purpose: (name, label, sentence) each."""
    says = {
        "html": _("one page to read and walk through, without a server"),
        "markdown": _("text with the authors of a dialogue"),
        "text": _("the texts and nothing else"),
        "epub": _("a book of one path"),
        "docx": _("a document of one path"),
        "heddle": _("the whole tree with its proofs; importing it gives the same tree"),
        "zip": _("the same, with texts, calls, thoughts and evidence as files"),
        "pyloom": _("the program loom"),
        "loomsidian": _("the plugin of Obsidian"),
        "exoloom": _("with authors and pruned branches"),
        "miniloom": _("each text as a patch"),
        "sillytavern": _("one path as a chat, with the texts beside it as swipes"),
        "jsonl": _("a line of messages for each path"),
        "preferences": _("a line for each pair of a chosen and a rejected text"),
        "parquet": _("nodes, versions, calls, choices, events and links as data frames"),
    }
    return [
        (title, [(name, _(FORMATS[name].label), says[name]) for name in names.split()])
        for title, names in (
            (_("To read"), "html markdown text epub docx"),
            (_("To keep"), "heddle zip"),
            (_("For other looms and chats"), "pyloom loomsidian exoloom miniloom sillytavern"),
            (_("For training and analysis"), "jsonl preferences parquet"),
        )
    ]


def _words() -> dict[str, Callable[[int], str]]:
    """How many of what is left out, as a phrase."""
    return {
        "other": lambda n: ngettext("%d text on another branch", "%d texts on other branches", n),
        "versions": lambda n: ngettext(
            "%d other version of a text", "%d other versions of texts", n
        ),
        "pruned": lambda n: ngettext(
            "%d pruned text, with what is below it", "%d pruned texts, with what is below them", n
        ),
        "sandbox": lambda n: ngettext("%d sandbox", "%d sandboxes", n),
        "excluded": lambda n: ngettext(
            "%d text that models are not sent", "%d texts that models are not sent", n
        ),
        "authors": lambda n: ngettext("the name of %d author", "the names of %d authors", n),
        "times": lambda n: ngettext("when %d text was written", "when %d texts were written", n),
        "notes": lambda n: ngettext("%d annotation", "%d annotations", n),
        "bookmarks": lambda n: ngettext("%d bookmark", "%d bookmarks", n),
        "tags": lambda n: ngettext("%d tag", "%d tags", n),
        "links": lambda n: ngettext("%d link", "%d links", n),
        "images": lambda n: ngettext(
            "%d image; the text says what it shows", "%d images; the texts say what they show", n
        ),
        "calls": lambda n: ngettext(
            "%d call: what a model was asked and answered",
            "%d calls: what models were asked and answered",
            n,
        ),
        "thoughts": lambda n: ngettext("%d thought of a model", "%d thoughts of models", n),
        "description": lambda n: ngettext("%d description of the tree", "%d descriptions", n),
        "context": lambda n: ngettext("%d system context", "%d system contexts", n),
        "steering": lambda n: ngettext(
            "%d text that models are also sent: the memory or the author's note",
            "%d texts that models are also sent: the memory and the author's note",
            n,
        ),
        "documents": lambda n: ngettext("%d linked document", "%d linked documents", n),
        "commitments": lambda n: ngettext(
            "the commitments of %d claim, which begins again as a hypothesis",
            "the commitments of %d claims, which begin again as hypotheses",
            n,
        ),
        "proofs": lambda n: ngettext(
            "%d hash that proves who wrote what", "%d hashes that prove who wrote what", n
        ),
    }


def _told(loss: Loss) -> str:
    words = _words().get(loss.what)
    told = words(loss.count) % loss.count if words is not None else loss.says
    return _("more than %(many)s") % {"many": told} if loss.is_cut else told


_PARTS: dict[str, dict[str, str]] = {"main": {}, "path": {}, "whole": {"whole": "1"}}


def _part_of(request: PersonRequest, format: ExportFormat, at: str) -> str:
    """Which part of the tree is exported: the main line, the path to a text, or the whole tree."""
    asked = request.GET.get("part", "")
    if format.scope == "tree" or "whole" in request.GET:
        return "whole" if format.scope != "path" else "main"
    if asked in ("main", "path") and (asked == "main" or at):
        return asked
    if asked == "whole" and format.scope == "both":
        return asked
    return "path" if at else ("main" if format.name in BY_PATH else "whole")


@require_GET
@person
def export_page(request: PersonRequest, uid: str) -> HttpResponse:
    """The formats, the options of the selected one, and what it leaves out."""
    actor, tree = access.get_tree(request.user, uid)
    name = request.GET.get("format", _USUAL)
    if name not in FORMATS:
        name = _USUAL
    at = request.GET.get("node", "")
    part = _part_of(request, FORMATS[name], at)
    params = {"format": name, **_PARTS[part], **({"node": at} if part == "path" else {})}
    if request.GET.get("of") == name:  # a box that is not ticked is not sent
        params |= {"calls": "none"}
        if "authors" in FORMATS[name].options.split():
            params["authors"] = "0"
    params |= {
        option: request.GET[option]
        for option in FORMATS[name].options.split()
        if option in request.GET
    }
    format, wanted = exporting.asked(actor, tree, params, of_page=True)
    outcome = exporting.preview(wanted, format)
    context = {
        **frame(request, actor, "trees"),
        "tree": tree,
        "groups": _groups(),
        "format": format,
        "asks": format.options.split(),
        "wanted": wanted,
        "node": at,
        "part": part,
        "address": _address(format, wanted),
        "found": outcome,
        "losses": [_told(loss) for loss in outcome.losses],
        "warnings": [_(warning) for warning in outcome.warnings],
    }
    return render(request, "pages/export.html", context)


def _address(format: ExportFormat, wanted: ExportSelection) -> str:
    """The API address of this file."""
    asked = {"format": format.name}
    if wanted.end is not None:
        asked["node"] = wanted.end.local_id
    elif format.scope == "both":
        asked["whole"] = "1"
    for option in format.options.split():
        is_wanted = bool(getattr(wanted, option))
        asked[option] = ("full" if is_wanted else "none") if option == "calls" else str(+is_wanted)
    return f"/api/trees/{wanted.tree.uid}/export?{urlencode(asked)}"
