"""The one view of this door that writes to trees: a form's line is run as it is, its text and
buttons as commands with arguments.

Scripts post to the API's command endpoint; this is the same page without them.
"""

import re
from urllib.parse import quote

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.views.decorators.http import require_POST

from loom import access
from loom.access import Actor
from loom.commands.args import checked
from loom.commands.continuing import Continue, continue_
from loom.commands.execute import Answer, Request, execute, run_command
from loom.commands.nodes import Respond, respond
from loom.doors.web.fields import text_of
from loom.doors.web.gate import PersonRequest, person
from loom.grammar.refs import Ref
from loom.models import Tree
from loom.rules.refusals import Refused

_COMMAND = re.compile(r" {0,2}(→|->)")


def quoted(text: str) -> str:
    """A quoted string of the line's grammar."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def continue_args(request: PersonRequest) -> list[Continue]:
    """What asks for continuations with the form's settings: one for all models that are to
    write the same number. Raises Refused for a number that is none."""
    form = request.POST
    shared = {
        name: value for name in ("tokens", "temperature") if (value := form.get(name, "").strip())
    }
    usual = form.get("n", "").strip()
    by_count: dict[str, list[Ref]] = {}
    for name in form.getlist("using"):
        count = form.get(f"n:{name}", "").strip() or usual
        by_count.setdefault(count, []).append(Ref("agent", name=name))
    return [
        checked(Continue, {**shared, **({"n": count} if count else {}), "using": tuple(agents)})
        for count, agents in (by_count or {usual: []}).items()
    ]


@require_POST
@person
def run(request: PersonRequest, uid: str) -> HttpResponse:
    """Runs what the form says, and leads back to where that leaves the reader."""
    actor, tree = access.get_tree(request.user, uid)
    text = text_of(request, "text")
    at = request.POST.get("at", "")
    try:
        for one in _asked(request, text):
            answer = _run(actor, tree, one, at)
            at = str(answer.body["position"])
            messages.success(request, answer.reply)
    except Refused as refused:
        messages.error(request, refused.reply)
    return HttpResponseRedirect(
        f"/trees/{tree.uid}?node={quote(at)}" if at else f"/trees/{tree.uid}"
    )


def _asked(request: PersonRequest, text: str) -> list[str | Respond | Continue]:
    """A line, or what the form's text and button mean."""
    if _COMMAND.match(text):
        return [text]
    asked: list[str | Respond | Continue] = [Respond(content=text)] if text else []
    if request.POST.get("action") == "continue":
        asked += continue_args(request)
    return asked or [Respond(content="")]


def _run(actor: Actor, tree: Tree, one: str | Respond | Continue, at: str) -> Answer:
    if isinstance(one, str):
        return execute(actor, tree, Request(line=one, at=at))
    if isinstance(one, Respond):
        return run_command(actor, tree, respond, one, request=Request("", at=at))
    return run_command(actor, tree, continue_, one, request=Request("", at=at))
