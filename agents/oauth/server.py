"""The authorization server, by Authlib: codes with PKCE for public programs, and tokens that renew
by rotation. It decides nothing else: who may be let in is asked of the person, in pages."""

import secrets
from functools import cache
from typing import Any

from authlib.integrations.django_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import InvalidGrantError, InvalidRequestError, grants
from authlib.oauth2.rfc6750 import BearerTokenGenerator
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge

from agents.oauth import commands
from agents.oauth.models import (
    READ,
    AuthorizationCode,
    ProgramClient,
    ProgramConnection,
    RefreshToken,
)
from loom.people.models import User
from loom.text.hashes import digest

GRANTED = "granted"  # the field of the consent form: what the person allows


class ProgramServer(AuthorizationServer):  # type: ignore[misc]  # Authlib has no types
    """Authlib's server over our rows."""

    def __init__(self) -> None:
        super().__init__(ProgramClient, ProgramConnection)

    def load_config(self, config: dict[str, Any]) -> None:
        """How tokens are made."""
        generator = BearerTokenGenerator(
            access_token_generator=lambda **_: "hd_" + secrets.token_urlsafe(32),
            refresh_token_generator=lambda **_: "hr_" + secrets.token_urlsafe(32),
            expires_generator=commands.ACCESS_S,
        )
        self.register_token_generator("default", generator)

    def query_client(self, client_id: str) -> ProgramClient | None:
        """The program with this id, if it is known."""
        if not client_id.isprintable():
            return None
        return ProgramClient.objects.filter(client_id=client_id).first()

    def save_token(self, token: dict[str, Any], request: Any) -> None:
        """Stores new tokens: of a connection that begins, or of one that goes on."""
        given = {"access": token["access_token"], "refresh": token["refresh_token"]}
        renewed = getattr(request, "refresh_token", None)
        if renewed is None:
            is_in = commands.connect(request.authorization_code, **given) is not None
        else:
            is_in = commands.renew(renewed.connection, **given, scope=token["scope"])
        if not is_in:  # the same code or token came twice at once
            raise InvalidGrantError()


class CodeGrant(grants.AuthorizationCodeGrant):  # type: ignore[misc]
    """A code for what a person allowed."""

    TOKEN_ENDPOINT_AUTH_METHODS = ["none"]

    def save_authorization_code(self, code: str, request: Any) -> None:
        """Stores the code, with what the person allowed of what was asked for."""
        data = request.payload.data
        is_read_only = data.get(GRANTED) == READ
        commands.keep_code(
            code,
            request.client,
            request.user,
            redirect_uri=request.payload.redirect_uri or request.client.get_default_redirect_uri(),
            scope=READ if is_read_only else request.scope,
            challenge=data["code_challenge"],
            method=data["code_challenge_method"],
        )

    def query_authorization_code(
        self, code: str, client: ProgramClient
    ) -> AuthorizationCode | None:
        """The code, which is used up by this."""
        return commands.take_code(code, client)

    def delete_authorization_code(self, authorization_code: AuthorizationCode) -> None:
        """It is used up already; a second use must be known for what it is."""

    def authenticate_user(self, authorization_code: AuthorizationCode) -> User | None:
        """Who let the program in, unless their account was closed."""
        user = authorization_code.user
        return user if user.is_active else None


class RefreshGrant(grants.RefreshTokenGrant):  # type: ignore[misc]
    """The next tokens for the last ones."""

    TOKEN_ENDPOINT_AUTH_METHODS = ["none"]
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, refresh_token: str) -> RefreshToken | None:
        """The token, if it may still be used."""
        return commands.find_refresh(refresh_token, self.request.client)

    def authenticate_user(self, refresh_token: RefreshToken) -> User:
        """Who let the program in."""
        return refresh_token.connection.user

    def issue_token(self, user: User, refresh_token: RefreshToken) -> dict[str, Any]:
        """The next tokens. The last one is used up first: of two requests at once one gets them."""
        if not commands.take_refresh(refresh_token):
            raise InvalidGrantError()
        tokens: dict[str, Any] = super().issue_token(user, refresh_token)
        return tokens

    def revoke_old_credential(self, refresh_token: RefreshToken) -> None:
        """It was used up when the new one was made."""


class Challenge(CodeChallenge):  # type: ignore[misc]
    """PKCE, which Authlib only demands with the code: here a request without it is refused before
    the person is asked."""

    SUPPORTED_CODE_CHALLENGE_METHOD = ["S256"]

    def validate_code_challenge(self, grant: Any, redirect_uri: str) -> None:
        """Refuses a request without a challenge of the method S256."""
        data = grant.request.payload.data
        if not data.get("code_challenge") or data.get("code_challenge_method") != "S256":
            raise InvalidRequestError(
                "PKCE is needed: send a code_challenge and code_challenge_method=S256."
            )
        super().validate_code_challenge(grant, redirect_uri)


class Revocation(RevocationEndpoint):  # type: ignore[misc]
    """A program gives its access back (RFC 7009), with either token."""

    CLIENT_AUTH_METHODS = ["none"]

    def query_token(self, token_string: str, token_type_hint: str | None) -> RefreshToken | None:
        """The newest token of the connection that has this one."""
        rows = RefreshToken.objects.select_related("connection__user", "connection__key")
        own = digest(token_string)
        by_refresh = rows.filter(digest=own).first()
        return by_refresh or rows.filter(connection__key__digest=own).order_by("-pk").first()

    def revoke_token(self, token: RefreshToken, request: Any) -> None:
        """Ends the connection."""
        commands.end(token.connection)


@cache
def the_server() -> ProgramServer:
    """The server."""
    server = ProgramServer()
    server.register_grant(CodeGrant, [Challenge(required=True)])
    server.register_grant(RefreshGrant)
    server.register_endpoint(Revocation)
    return server
