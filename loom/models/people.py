"""People: users, their keys, and the links by which they come in."""

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils import timezone

from loom.models.base import Item
from loom.rules.permissions import Scope
from loom.rules.preferences import Preferences, read


class User(AbstractUser):
    """Somebody who can sign in. What he may do is decided by his memberships."""

    display_name = models.CharField(max_length=80, blank=True)
    theme = models.CharField(max_length=10, default="system")
    preferences = models.JSONField(default=dict)  # read them by `likes`
    is_operator = models.BooleanField(default=False)  # made by the first start

    # Not stored: what the API key of this request allows at most, see `ApiKey.scope`.
    scope: Scope = "owner"

    @property
    def likes(self) -> Preferences:
        """How this person wants the page."""
        return read(self.preferences)

    def __str__(self) -> str:
        return self.display_name or self.username


class ApiKey(Item):
    """A bearer key of a user. Only its SHA-256 is kept; the key is shown once."""

    user = models.ForeignKey(User, models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=80)
    digest = models.CharField(max_length=64, unique=True)
    hint = models.CharField(max_length=8)  # the last characters, to recognise it by
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    # The role that the key has at most, whatever the role of its person: see `access.get_actor`.
    scope = models.CharField(max_length=8, default="owner")
    expires_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created_at", "-id"]

    @property
    def is_over(self) -> bool:
        """Whether its time is over."""
        return self.expires_at is not None and self.expires_at <= timezone.now()

    def __str__(self) -> str:
        return f"{self.name} …{self.hint}"


class SigninLink(models.Model):
    """A link that signs its user in once."""

    user = models.ForeignKey(User, models.CASCADE)
    digest = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"link of {self.user_id}"


class UserSession(models.Model):
    """A signed-in browser, so that its owner can see and end it."""

    user = models.ForeignKey(User, models.CASCADE, related_name="browsers")
    session_key = models.CharField(max_length=40, unique=True)
    uid = models.CharField(max_length=32, unique=True)
    agent = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    seen_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["-seen_at", "-id"]

    def __str__(self) -> str:
        return self.agent
