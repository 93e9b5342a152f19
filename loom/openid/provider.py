"""The organisation's provider of identities, as the environment names it (docs/operating.md), asked
by Authlib: it checks the signature, issuer, nonce and age of what comes back. For whom it was made
is checked here: Authlib takes what was made for another client if `azp` names this one, or `aud`
is empty."""

import logging
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

from authlib.integrations.base_client import OAuthError
from authlib.integrations.django_client import OAuth
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from joserfc.errors import JoseError
from requests import RequestException

from loom.errors import CommandError

log = logging.getLogger("heddle.openid")
TIMEOUT_S = 10
T = TypeVar("T")


class WrongClaims(ValueError):
    """What came back is not for this installation, or names nobody; the message says which."""


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


def _asked(ask: Callable[[Any], T]) -> T:
    """What comes of asking the provider. Whatever it answers instead of what it should is one
    refusal for the reader; its keys and addresses are then asked for again, as they may have
    changed. Raises CommandError UNAUTHENTICATED or UNAVAILABLE."""
    try:
        client = _client()
        _demand_own_issuer(client.load_server_metadata())
        return ask(client)
    except OAuthError as error:
        raise _failed(error.description or error.error or "") from None
    except RequestException:
        _client.cache_clear()
        raise CommandError(
            "UNAVAILABLE",
            f"{settings.OPENID.name} does not answer.",
            hint="Try again in a moment.",
            retryable=True,
        ) from None
    except (JoseError, WrongClaims) as error:
        _client.cache_clear()
        raise _failed(str(error)) from None
    except Exception as error:
        _client.cache_clear()
        log.warning("the provider of identities answered what cannot be read", exc_info=True)
        raise _failed("its answer cannot be read") from error


def _demand_own_issuer(metadata: Mapping[str, Any]) -> None:
    """What describes a provider must be its own description (OpenID Connect Discovery, 4.3)."""
    named = metadata.get("issuer")
    if not isinstance(named, str) or named.rstrip("/") != settings.OPENID.issuer.rstrip("/"):
        raise WrongClaims("its description is that of another provider")


def _failed(reason: str) -> CommandError:
    return CommandError(
        "UNAUTHENTICATED",
        f"{settings.OPENID.name} did not confirm who you are: {reason[:200]}",
        hint="Try again, or sign in in another way.",
    )


def send_there(request: HttpRequest) -> HttpResponse:
    """Redirects to the provider, which sends the browser back to `/openid/back`."""
    back = request.build_absolute_uri("/openid/back")
    sent: HttpResponse = _asked(lambda client: client.authorize_redirect(request, back))
    return sent


def claims_of(request: HttpRequest) -> dict[str, Any]:
    """What the provider says of whom it sent back: `sub`, and maybe names and groups. Raises
    CommandError UNAUTHENTICATED or UNAVAILABLE."""
    refused = request.GET.get("error")
    if refused is not None:
        # Anybody can make such an address: none of its sentences is shown.
        is_code = re.fullmatch("[a-z_]{1,40}", refused)
        raise _failed(refused if is_code else "it answered with an error")
    return _asked(lambda client: _claims(client.authorize_access_token(request)))


def _claims(token: Mapping[str, Any]) -> dict[str, Any]:
    claims = dict(token.get("userinfo") or {})
    audience, client = claims.get("aud"), settings.OPENID.client
    audiences = audience if isinstance(audience, list) else [audience]
    if client not in audiences or (len(audiences) > 1 and claims.get("azp", client) != client):
        raise WrongClaims("its answer is for another program")
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= 255 or not subject.isprintable():
        raise WrongClaims("it names nobody")
    return claims
