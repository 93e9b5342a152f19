"""Programs that ask for access, the people who gave it, and their codes and tokens."""

from typing import Any

from django.db import models
from django.utils import timezone

from agents.oauth import redirects
from loom.engine.fields import PublicIdentity
from loom.people.models import ApiKey, User

READ, WRITE = "read", "write"
SCOPES = (READ, WRITE)


def allowed_scope(asked: str) -> str:
    """What a program can get of the scopes that it asks for: `read`, or `read write`; "" if it asks
    for others only. Without any it gets `read`."""
    names = asked.split() or [READ]
    if WRITE in names:
        return f"{READ} {WRITE}"
    return READ if READ in names else ""


class ProgramClient(PublicIdentity):
    """A program that asks people for access. It registered itself (RFC 7591), or its id is the
    address of a document about it, `read_at` some time. Always public: no program has a secret. The
    methods without underscores before their names are those that Authlib asks a client."""

    client_id = models.CharField(max_length=500, unique=True)
    name = models.CharField(max_length=80)
    redirect_uris = models.JSONField(default=list)
    read_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.name

    def get_client_id(self) -> str:
        """Its id."""
        return self.client_id

    def get_default_redirect_uri(self) -> str | None:
        """Where a browser is sent that was given no address: only if there is one alone."""
        return self.redirect_uris[0] if len(self.redirect_uris) == 1 else None

    def get_allowed_scope(self, scope: str | None) -> str | None:
        """What it can get of these scopes; None if nothing."""
        return allowed_scope(scope or "") or None

    def check_redirect_uri(self, redirect_uri: str) -> bool:
        """Whether a browser may be sent there."""
        return not redirects.why_not(redirect_uri) and any(
            redirects.is_same(registered, redirect_uri) for registered in self.redirect_uris
        )

    def check_client_secret(self, client_secret: str) -> bool:
        """No program has a secret."""
        return False

    def check_endpoint_auth_method(self, method: str, endpoint: str) -> bool:
        """A program is known by its id alone, and proves itself by PKCE."""
        return method == "none"

    def check_response_type(self, response_type: str) -> bool:
        """Only codes are given."""
        return response_type == "code"

    def check_grant_type(self, grant_type: str) -> bool:
        """Codes, and tokens that renew."""
        return grant_type in ("authorization_code", "refresh_token")


class ProgramConnection(PublicIdentity):
    """A person has let a program in. Its access token is an API key, which each renewal replaces by
    another secret; when the key is revoked, nothing renews it any more."""

    user = models.ForeignKey(User, models.CASCADE, related_name="program_connections")
    client = models.ForeignKey(ProgramClient, models.CASCADE, related_name="connections")
    key = models.OneToOneField(ApiKey, models.CASCADE, related_name="+")
    scope = models.CharField(max_length=40)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.client_id} of {self.user_id}"

    @property
    def is_over(self) -> bool:
        """Whether it was revoked, or its account closed."""
        return self.key.revoked_at is not None or not self.user.is_active


class AuthorizationCode(models.Model):
    """What a program exchanges for tokens, once. Only its SHA-256 is stored."""

    digest = models.CharField(max_length=64, unique=True)
    client = models.ForeignKey(ProgramClient, models.CASCADE, related_name="+")
    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    redirect_uri = models.CharField(max_length=redirects.MOST_URI)
    scope = models.CharField(max_length=40)
    code_challenge = models.CharField(max_length=128)
    code_challenge_method = models.CharField(max_length=8)
    expires_at = models.DateTimeField(db_index=True)
    used_at = models.DateTimeField(null=True)
    connection = models.ForeignKey(ProgramConnection, models.SET_NULL, null=True, related_name="+")

    def __str__(self) -> str:
        return self.digest[:8]

    def get_redirect_uri(self) -> str:
        """The address that the code was sent to."""
        return self.redirect_uri

    def get_scope(self) -> str:
        """What the person allowed."""
        return self.scope


class RefreshToken(models.Model):
    """What a program exchanges for its next tokens, once. Only its SHA-256 is stored. Used ones are
    kept until they expire: one that comes twice was stolen."""

    connection = models.ForeignKey(ProgramConnection, models.CASCADE, related_name="refresh_tokens")
    digest = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField(db_index=True)
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.digest[:8]

    @property
    def is_expired(self) -> bool:
        """Whether it is too old."""
        return self.expires_at <= timezone.now()

    def check_client(self, client: Any) -> bool:
        """Whether it was given to this program."""
        return bool(self.connection.client_id == client.pk)

    def get_scope(self) -> str:
        """What the person allowed."""
        return self.connection.scope
