"""The one view of this door that writes to trees: a form's line, or its text, as a command.

Scripts post to the API's command endpoint; this is the same page without them.
"""

import re
from urllib.parse import quote

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.views.decorators.http import require_POST

from loom import access
from loom.commands.execute import Request, execute
from loom.doors.web.fields import text_of
from loom.doors.web.gate import PersonRequest, person
from loom.rules.refusals import Refused

_COMMAND = re.compile(r" {0,2}(→|->)")


def quoted(text: str) -> str:
    """A quoted string of the line's grammar."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def respond_line(text: str) -> str:
    """The line that writes `text` below here; its block cannot be ended by the text."""
    if any(line.strip() == "←" for line in text.split("\n")):
        return f"respond {quoted(text)}"
    return f"respond\n{text}\n←"


def continue_lines(request: PersonRequest) -> list[str]:
    """The lines that ask for continuations with the form's settings: one for all who give
    the same number."""
    shared = [
        f"{name}:{value}"
        for name in ("tokens", "temperature")
        if (value := request.POST.get(name, "").strip())
    ]
    usual = request.POST.get("n", "").strip()
    by_count: dict[str, list[str]] = {}
    for name in request.POST.getlist("using"):
        by_count.setdefault(request.POST.get(f"n:{name}", "").strip() or usual, []).append(name)
    lines = []
    for count, names in (by_count or {usual: []}).items():
        parts = ["continue", *([f"n:{count}"] if count else []), *shared]
        parts += ["using", *(f"agent:{quoted(name)}" for name in names)] if names else []
        lines.append(" ".join(parts))
    return lines


@require_POST
@person
def run(request: PersonRequest, uid: str) -> HttpResponse:
    """Runs what the form says, and leads back to where that leaves the reader."""
    actor, tree = access.get_tree(request.user, uid)
    text = text_of(request, "text")
    at = request.POST.get("at", "")
    try:
        for line in _lines(request, text):
            answer = execute(actor, tree, Request(line=line, at=at))
            at = str(answer.body["position"])
            messages.success(request, answer.reply)
    except Refused as refused:
        messages.error(request, refused.reply)
    return HttpResponseRedirect(
        f"/trees/{tree.uid}?node={quote(at)}" if at else f"/trees/{tree.uid}"
    )


def _lines(request: PersonRequest, text: str) -> list[str]:
    if _COMMAND.match(text):
        return [text]
    lines = [respond_line(text)] if text else []
    if request.POST.get("action") == "continue":
        lines += continue_lines(request)
    return lines or [respond_line("")]
