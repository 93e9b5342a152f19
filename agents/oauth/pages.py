"""The addresses of OAuth: what programs read about it, where they register and get tokens, and the
page on which a person lets one in."""

import json
from typing import Any
from urllib.parse import urlencode, urlsplit

from authlib.common.urls import add_params_to_uri
from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6749.errors import InsecureTransportError
from django.conf import settings
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from agents.oauth import commands, redirects
from agents.oauth.models import SCOPES, WRITE, ProgramClient
from agents.oauth.server import GRANTED, the_server
from loom import access
from loom.errors import CommandError, not_found
from loom.permissions import limited
from loom.site.page_requests import PersonRequest, anybody, person

MOST_BYTES = 16 * 1024  # of the description of a program
RESOURCES = ("", "/mcp", "/api")  # what a token is for: all of this installation
HINT = "use an API key from Settings, Access"


def _demand_switch() -> None:
    if not settings.OAUTH:
        raise not_found("OAuth", f"The operator has not switched it on; {HINT}.")


def _base(request: HttpRequest) -> str:
    return f"{request.scheme}://{request.get_host()}"


def _json(body: dict[str, Any], status: int = 200) -> HttpResponse:
    """An answer that programs in pages of others may read too: nothing in it is a person's."""
    answer = JsonResponse(body, status=status)
    answer["Access-Control-Allow-Origin"] = "*"
    answer["Cache-Control"] = "no-store"
    return answer


def _off() -> HttpResponse | None:
    """The answer to programs while the switch is off."""
    if settings.OAUTH:
        return None
    body = {
        "error": "not_found",
        "error_description": f"OAuth is not switched on here; {HINT}.",
        "code": "NOT_FOUND",
        "message": "OAuth is not switched on here.",
        "hint": HINT,
    }
    return _json(body, 404)


@require_GET
@anybody
def server_metadata(request: HttpRequest) -> HttpResponse:
    """What the authorization server can do (RFC 8414)."""
    base = _base(request)
    return _off() or _json(
        {
            "issuer": base,
            "authorization_endpoint": f"{base}/oauth/authorize",
            "token_endpoint": f"{base}/oauth/token",
            "registration_endpoint": f"{base}/oauth/register",
            "revocation_endpoint": f"{base}/oauth/revoke",
            "scopes_supported": list(SCOPES),
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "client_id_metadata_document_supported": True,
            "authorization_response_iss_parameter_supported": True,
        }
    )


@require_GET
@anybody
def resource_metadata(request: HttpRequest, name: str = "mcp") -> HttpResponse:
    """Who gives access to the MCP endpoint or the API (RFC 9728)."""
    base = _base(request)
    return _off() or _json(
        {
            "resource": f"{base}/{name}",
            "resource_name": "Heddle",
            "authorization_servers": [base],
            "scopes_supported": list(SCOPES),
            "bearer_methods_supported": ["header"],
        }
    )


@csrf_exempt
@require_POST
@anybody
def register(request: HttpRequest) -> HttpResponse:
    """Registers a program (RFC 7591); programs with a document of their own need not."""
    if (off := _off()) is not None:
        return off
    try:
        given = json.loads(request.body) if len(request.body) <= MOST_BYTES else None
        client = commands.register(given, address=request.META.get("REMOTE_ADDR", ""))
    except (ValueError, RecursionError):
        return _refused("invalid_client_metadata", "Send a JSON object.")
    except commands.BadMetadata as bad:
        return _refused(bad.error, bad.description)
    except CommandError as refused:
        return _refused("temporarily_unavailable", f"{refused.message} {refused.hint}.", 429)
    return _json(
        {
            "client_id": client.client_id,
            "client_id_issued_at": int(client.created_at.timestamp()),
            "client_name": client.name,
            "redirect_uris": client.redirect_uris,
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
            "scope": " ".join(SCOPES),
        },
        201,
    )


def _refused(error: str, description: str, status: int = 400) -> HttpResponse:
    return _json({"error": error, "error_description": description}, status)


@csrf_exempt
@sensitive_post_parameters()
@require_POST
@anybody
def token(request: HttpRequest) -> HttpResponse:
    """Exchanges a code, or a token that renews, for tokens."""
    if (off := _off()) is not None:
        return off
    try:
        _demand_resource(request)
        return _open(the_server().create_token_response(request))
    except InsecureTransportError:
        return _refused("invalid_request", "OAuth needs https, except on this computer.")
    except CommandError as refused:
        return _refused("invalid_target", refused.message)


@csrf_exempt
@sensitive_post_parameters()
@require_POST
@anybody
def revoke(request: HttpRequest) -> HttpResponse:
    """A program gives its access back (RFC 7009)."""
    if (off := _off()) is not None:
        return off
    try:
        return _open(the_server().create_endpoint_response("revocation", request))
    except InsecureTransportError:
        return _refused("invalid_request", "OAuth needs https, except on this computer.")


def _open(answer: HttpResponse) -> HttpResponse:
    answer["Access-Control-Allow-Origin"] = "*"
    return answer


def _demand_resource(request: HttpRequest) -> None:
    """Refuses a token for anything that is not here (RFC 8707). Programs may leave it out."""
    for asked in (*request.GET.getlist("resource"), *request.POST.getlist("resource")):
        target = urlsplit(asked)
        origin = f"{target.scheme}://{target.netloc}"
        if origin != _base(request) or target.path.rstrip("/") not in RESOURCES:
            raise CommandError(
                "REJECTED",
                f"{asked[:200]!r} is not here.",
                hint=f"ask for {_base(request)}/mcp",
                status=400,
            )


@never_cache
@sensitive_variables("answer")
@require_http_methods(["GET", "HEAD", "POST"])
@person
def authorize(request: PersonRequest) -> HttpResponse:
    """Asks the person whether a program may come in; a POST is their answer, with which the browser
    is sent back to the program."""
    _demand_switch()
    server = the_server()
    try:
        _demand_resource(request)
        commands.learn(request.GET.get("client_id", ""), request.user)
        grant = server.get_consent_grant(request, end_user=request.user)
    except OAuth2Error as error:
        # Anybody can register an address; only that of a program which the person has let in is
        # followed without asking (RFC 9700 §4.11.2).
        client_id = request.GET.get("client_id", "")
        if error.redirect_uri and commands.has_let_in(request.user, client_id):
            return _back(request, server.handle_response(*error()))
        raise _not_asked(error) from None
    if request.method != "POST":
        return _asked(request, grant)
    user = request.user if request.POST.get("answer") == "allow" else None
    with transaction.atomic():
        answer = server.create_authorization_response(grant.request, grant_user=user, grant=grant)
    return _back(request, answer)


def _back(request: HttpRequest, answer: HttpResponse) -> HttpResponse:
    """The browser on its way back to the program, which is told who sends it (RFC 9207)."""
    if "Location" in answer:
        answer["Location"] = add_params_to_uri(answer["Location"], [("iss", _base(request))])
    return answer


def _not_asked(error: OAuth2Error) -> CommandError:
    """Why a program cannot ask. Nobody is sent back: the address may be somebody else's."""
    if isinstance(error, InsecureTransportError):
        return CommandError(
            "REJECTED",
            "Programs can only be let in over https, or on this computer.",
            hint="Use an API key from Settings, Access.",
            status=400,
        )
    reason = error.get_error_description() or error.error or "its request is not valid"
    return CommandError(
        "REJECTED",
        f"This program cannot be let in: {str(reason).rstrip('.')[:300]}.",
        hint="Begin again in the program, or use an API key from Settings, Access.",
        status=400,
    )


def _asked(request: PersonRequest, grant: Any) -> HttpResponse:
    """The page that says what the program gets."""
    client: ProgramClient = grant.request.client
    wants_write = WRITE in grant.request.scope.split()
    actors = access.get_actors(request.user, access.visible_groves(request.user))
    groves = [(actor.grove, limited(actor.role, "write")) for actor in actors]
    context = {
        "client": client,
        "host": urlsplit(client.client_id).hostname if client.read_at else "",
        "target": redirects.host_of(grant.redirect_uri),
        "scheme": redirects.scheme_of(grant.redirect_uri),
        "wants_write": wants_write,
        "groves": groves,
        "field": GRANTED,
        "query": urlencode([(n, v) for n in request.GET for v in request.GET.getlist(n)]),
        "days": commands.UNUSED.days,
    }
    answer = render(request, "oauth/consent.html", context)
    # Browsers follow the answer to this form to the program only if the policy names its address.
    source = redirects.source_of(grant.redirect_uri)
    answer._csp_update = {"form-action": [source]}  # type: ignore[attr-defined]
    return answer


WELL_KNOWN = ".well-known/oauth-protected-resource"
PATHS = [
    path(".well-known/oauth-authorization-server", server_metadata),
    path(WELL_KNOWN, resource_metadata),
    path(f"{WELL_KNOWN}/mcp", resource_metadata, {"name": "mcp"}),
    path(f"{WELL_KNOWN}/api", resource_metadata, {"name": "api"}),
    path("oauth/register", register),
    path("oauth/token", token),
    path("oauth/revoke", revoke),
    path("oauth/authorize", authorize),
]
