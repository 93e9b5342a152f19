"""The page of a person's gateway keys and sessions, with the lines to paste into known
programs."""

from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import URLPattern, URLResolver, path
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_POST

from agents.gateway import attaching, hiding, keys, queries
from agents.gateway.models import GatewayKey
from agents.gateway.recording import KEPT_REQUESTS
from loom import access
from loom.errors import CommandError, not_found
from loom.people.models import Participant
from loom.people.pages.accounts import KEY_DAYS
from loom.site.forms import Days, PageForm, Text, Word
from loom.site.page_requests import PersonRequest, in_one_line, person, shown_once, word_of

SHOWN_SESSIONS = 20
PLACEHOLDER, MODEL = "YOUR_KEY", "MODEL"


@dataclass(frozen=True)
class Recipe:
    """What to paste into a program so that it calls the gateway."""

    program: str
    lines: str


def recipes(address: str, secret: str) -> list[Recipe]:
    """The lines for each known program; `address` is this installation's, without a slash."""
    base = f"{address}/gateway"
    return [
        Recipe(
            "Claude Code",
            f"export ANTHROPIC_BASE_URL={base}\nexport ANTHROPIC_AUTH_TOKEN={secret}",
        ),
        Recipe(
            "Codex CLI",
            f"export HEDDLE_KEY={secret}\n\n# ~/.codex/config.toml\n"
            'model_provider = "heddle"\n\n[model_providers.heddle]\nname = "Heddle"\n'
            f'base_url = "{base}/v1"\nenv_key = "HEDDLE_KEY"\nwire_api = "responses"',
        ),
        Recipe(
            "opencode",
            "// opencode.json\n"
            '{\n  "provider": {\n    "heddle": {\n      "npm": "@ai-sdk/openai-compatible",\n'
            f'      "options": {{ "baseURL": "{base}/v1", "apiKey": "{secret}" }},\n'
            f'      "models": {{ "{MODEL}": {{}} }}\n    }}\n  }}\n}}',
        ),
        Recipe(
            "aider",
            f"aider --openai-api-base {base}/v1 --openai-api-key {secret} --model openai/{MODEL}",
        ),
        Recipe(
            "llm",
            f"llm keys set heddle --value {secret}\n\n# extra-openai-models.yaml\n"
            f"- model_id: heddle\n  model_name: {MODEL}\n  api_base: {base}/v1\n"
            "  api_key_name: heddle",
        ),
        Recipe(
            "LibreChat",
            "# librechat.yaml\nendpoints:\n  custom:\n    - name: Heddle\n"
            f"      apiKey: {secret}\n      baseURL: {base}/v1\n"
            f"      models: {{ default: [{MODEL}], fetch: true }}\n"
            '      headers: { X-Loom-Session: "{{LIBRECHAT_BODY_CONVERSATIONID}}" }',
        ),
        Recipe("OpenAI SDK", f"export OPENAI_BASE_URL={base}/v1\nexport OPENAI_API_KEY={secret}"),
        Recipe(
            "Anthropic SDK",
            f"export ANTHROPIC_BASE_URL={base}\nexport ANTHROPIC_API_KEY={secret}",
        ),
        Recipe("Open WebUI", f"Base URL: {base}/v1\nAPI key: {secret}"),
        Recipe(gettext("Others"), f"Base URL: {base}/v1\nAPI key: {secret}"),
    ]


def _models(request: PersonRequest) -> list[Participant]:
    """The model participants that a key of this person may name."""
    actors = access.get_actors(request.user, access.visible_groves(request.user))
    groves = [actor.grove for actor in actors if actor.role != "reader"]
    return keys.models_of(groves)


@sensitive_variables("secret")
def _shown(request: PersonRequest, *, secret: str = "", fresh: str = "") -> HttpResponse:
    address = f"{request.scheme}://{request.get_host()}"
    asked = request.GET.get("offset", "")
    offset = int(asked) if asked.isdecimal() and len(asked) < 9 else 0
    sessions = list(queries.sessions_of(request.user)[offset : offset + SHOWN_SESSIONS + 1])
    context = {
        "current": "gateway",
        "keys": keys.keys_of(request.user),
        "models": _models(request),
        "key_days": KEY_DAYS,
        "sessions": sessions[:SHOWN_SESSIONS],
        "next": offset + SHOWN_SESSIONS if len(sessions) > SHOWN_SESSIONS else 0,
        "before": max(0, offset - SHOWN_SESSIONS) if offset else None,
        "recipes": recipes(address, secret or PLACEHOLDER),
        "fresh_secret": secret,
        "fresh_name": fresh,
        "address": f"{address}/gateway",
    }
    return render(request, "pages/settings/gateway.html", context)


class GatewayKeyForm(PageForm):
    """A new key of the gateway."""

    participant = Word()
    name = Word()
    mode = Word(empty="observe")
    days = Days()


def _make_key(request: PersonRequest) -> tuple[GatewayKey, str]:
    given = GatewayKeyForm.read(request)
    return keys.make_key(request.user, given.pop("participant"), **given)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@person
def gateway_page(request: PersonRequest) -> HttpResponse:
    """The person's keys, and their sessions from `?offset=`; a POST makes a key, which is shown
    once."""
    if request.method != "POST":
        return _shown(request)
    return shown_once(
        request,
        lambda: _make_key(request),
        lambda pair: _shown(request, secret=pair[1], fresh=pair[0].name),
        back="/settings/gateway",
    )


@never_cache
@require_POST
@person
def revoke(request: PersonRequest) -> HttpResponse:
    """Revokes a key."""
    try:
        keys.revoke_key(request.user, word_of(request, "key"))
        messages.success(request, gettext("The key has been revoked."))
    except CommandError as refused:
        messages.error(request, in_one_line(refused))
    return HttpResponseRedirect("/settings/gateway")


@never_cache
@require_http_methods(["GET", "HEAD"])
@person
def session_page(request: PersonRequest, uid: str) -> HttpResponse:
    """A session: what its program sent in a request, what its provider got, and what differs; the
    results of tools, and the workspace that it is sent."""
    session = queries.get_session(request.user, uid)
    requests = list(queries.requests_of(session))
    named = request.GET.get("request", "")
    chosen = next((row for row in requests if row.uid == named), None) or next(iter(requests), None)
    if named and (chosen is None or chosen.uid != named):
        raise not_found("This request")
    parts = queries.compared_bodies(chosen) if chosen is not None else []
    context = {
        "current": "gateway",
        "session": session,
        "children": queries.children_of(request.user, session),
        "others": queries.other_trees(request.user, session),
        "requests": requests,
        "chosen": chosen,
        "kept": KEPT_REQUESTS,
        "parts": parts,
        "changes": sum(part.state != "equal" for part in parts),
        "results": hiding.results_of(session),
        "sizes": queries.sizes_of(chosen) if chosen is not None else "",
        "transcript": queries.transcript_shown(request.user, session, requests[:1]),
        "most_transcript": attaching.MOST_TRANSCRIPT,
    }
    return render(request, "pages/settings/session.html", context)


class ResultForm(PageForm):
    """A result of a tool to be hidden, or shown again."""

    tool_use_id = Word()
    visible = Word(empty="")
    anyway = Word(empty="")


@never_cache
@require_POST
@person
def result(request: PersonRequest, uid: str) -> HttpResponse:
    """Hides a result of a session, or shows it again."""
    session = queries.get_session(request.user, uid)
    given = ResultForm.read(request)
    try:
        hiding.change(
            access.get_actor_in(request.user, session.tree_id),
            session,
            given["tool_use_id"],
            visible=bool(given["visible"]),
            anyway=bool(given["anyway"]),
        )
        messages.success(request, gettext("The next request is sent so."))
    except CommandError as refused:
        messages.error(request, in_one_line(refused))
    return HttpResponseRedirect(f"/settings/gateway/sessions/{uid}#results")


class TranscriptForm(PageForm):
    """What a session is told was said before: the `text`, "nothing" or "said" (what was)."""

    text = Text()
    what = Word(empty="text")


@never_cache
@require_POST
@person
def transcript(request: PersonRequest, uid: str) -> HttpResponse:
    """Keeps what a session is told was said before."""
    session = queries.get_session(request.user, uid)
    given = TranscriptForm.read(request)
    texts = {"nothing": "", "said": None}
    try:
        text = texts.get(given["what"], given["text"])
        attaching.set_transcript(request.user, session, text)
        messages.success(request, gettext("The next request is sent so."))
    except CommandError as refused:
        messages.error(request, in_one_line(refused))
    return HttpResponseRedirect(f"/settings/gateway/sessions/{uid}#before")


@never_cache
@require_POST
@person
def workspace_of_session(request: PersonRequest, uid: str) -> HttpResponse:
    """Sends a session the workspace of another tree."""
    session = queries.get_session(request.user, uid)
    try:
        attaching.attach(request.user, session, word_of(request, "tree"))
        messages.success(request, gettext("The next request is sent so."))
    except CommandError as refused:
        messages.error(request, in_one_line(refused))
    return HttpResponseRedirect(f"/settings/gateway/sessions/{uid}")


urlpatterns: list[URLPattern | URLResolver] = [
    path("settings/gateway", gateway_page),
    path("settings/gateway/sessions/<slug:uid>", session_page),
    path("settings/gateway/sessions/<slug:uid>/results", result),
    path("settings/gateway/sessions/<slug:uid>/workspace", workspace_of_session),
    path("settings/gateway/sessions/<slug:uid>/transcript", transcript),
    path("settings/gateway/revoke", revoke),
]
