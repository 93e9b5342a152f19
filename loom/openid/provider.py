"""The organisation's provider of identities, as the environment names it (docs/operating.md), asked
by Authlib: it checks the signature, issuer, audience, nonce and age of what comes back."""

from functools import cache
from typing import Any

from authlib.integrations.base_client import OAuthError
from authlib.integrations.django_client import OAuth
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from joserfc.errors import JoseError
from requests import RequestException

from loom.errors import CommandError

TIMEOUT_S = 10


@cache
def _client() -> Any:
    openid = settings.OPENID
    registered = OAuth()
    registered.register(
        "organisation",
        client_id=openid.client,
        client_secret=openid.secret,
        server_metadata_url=f"{openid.issuer.rstrip('/')}/.well-known/openid-configuration",
        client_kwargs={
            "scope": openid.scope,
            "code_challenge_method": "S256",
            "default_timeout": TIMEOUT_S,
        },
    )
    return registered.create_client("organisation")


def _failed(error: Exception) -> CommandError:
    name = settings.OPENID.name
    if isinstance(error, RequestException):
        return CommandError(
            "UNAVAILABLE", f"{name} does not answer.", hint="Try again in a moment.", retryable=True
        )
    reason = getattr(error, "description", "") or getattr(error, "error", "") or str(error)
    return CommandError(
        "UNAUTHENTICATED",
        f"{name} did not confirm who you are: {str(reason)[:200]}",
        hint="Try again, or sign in in another way.",
    )


def send_there(request: HttpRequest) -> HttpResponse:
    """Redirects to the provider, which sends the browser back to `/openid/back`."""
    try:
        back = request.build_absolute_uri("/openid/back")
        sent: HttpResponse = _client().authorize_redirect(request, back)
    except (OAuthError, RequestException, ValueError) as error:
        raise _failed(error) from None
    return sent


def claims_of(request: HttpRequest) -> dict[str, Any]:
    """What the provider says of whom it sent back: `sub`, and maybe names and groups. Raises
    CommandError UNAUTHENTICATED or UNAVAILABLE."""
    try:
        token = _client().authorize_access_token(request)
    except (OAuthError, JoseError, RequestException, ValueError, KeyError) as error:
        raise _failed(error) from None
    claims = dict(token.get("userinfo") or {})
    if not isinstance(claims.get("sub"), str) or not 0 < len(claims["sub"]) <= 255:
        raise _failed(ValueError("it names nobody"))
    return claims
