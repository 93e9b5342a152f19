"""Users and how they sign in; groves, and their members and participants."""

from typing import Any

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.crypto import salted_hmac

from loom.engine.fields import PublicIdentity, tools_left_out
from loom.people.names import skeleton
from loom.people.participant_fields import DEFAULT_CONTEXT
from loom.people.preferences import Preferences, read_preferences
from loom.permissions import Scope


class SkeletonField(models.CharField):  # type: ignore[type-arg]  # no generics at run time
    """What a username looks like (`loom.people.names.skeleton`), computed whenever it is stored.
    Migrations see a CharField; a change of that function needs one that stores it again."""

    is_computed = True  # by `pre_save`, also for `insert_row`

    def deconstruct(self) -> Any:
        """A CharField."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.CharField", args, kwargs

    def pre_save(self, model_instance: models.Model, add: bool) -> str:
        """The skeleton of the row's username."""
        shape = skeleton(str(getattr(model_instance, "username")))  # noqa: B009
        setattr(model_instance, self.attname, shape)
        return shape


class User(AbstractUser):
    """A person who can sign in. Their memberships decide what they may do."""

    display_name = models.CharField(max_length=80, blank=True)
    theme = models.CharField(max_length=10, default="system")
    preferences = models.JSONField(default=dict)  # read them by `likes`
    is_operator = models.BooleanField(default=False)  # by the first start, and manage.py operator
    skeleton = SkeletonField(max_length=450, blank=True, default="", editable=False)
    # When all browsers were signed out, but for the one that asked for it.
    signed_out_at = models.DateTimeField(null=True)

    # Not stored: the scope of the API key of this request, see `ApiKey.scope`.
    scope: Scope = "owner"

    class Meta(AbstractUser.Meta):
        constraints = [
            models.UniqueConstraint(fields=["skeleton"], name="user_skeleton_once"),
            # A capital I looks like an l, so skeletons of the same name in two cases may differ.
            models.UniqueConstraint(Lower("username"), name="user_name_once"),
        ]

    @property
    def likes(self) -> Preferences:
        """This person's preferences for pages."""
        return read_preferences(self.preferences)

    @property
    def reader(self) -> str:
        """The name under which a browser stores what this person reads; it reveals nothing about
        them."""
        return salted_hmac("loom.reader", str(self.pk)).hexdigest()[:16]

    def __str__(self) -> str:
        return self.display_name or self.username


class ApiKey(PublicIdentity):
    """A bearer key of a user. Only its SHA-256 is stored; the key is shown once."""

    user = models.ForeignKey(User, models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=80)
    digest = models.CharField(max_length=64, unique=True)
    hint = models.CharField(max_length=8)  # the last characters, to recognise it by
    created_at = models.DateTimeField(auto_now_add=True)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    # The highest role of the key, whatever the role of its person: see `access.get_actor`.
    scope = models.CharField(max_length=8, default="owner")
    expires_at = models.DateTimeField(null=True)
    # Of a program that a person let in by OAuth; each renewal gives the key another secret.
    is_program = models.BooleanField(default=False)

    class Meta:
        ordering = ["-created_at", "-id"]

    @property
    def is_over(self) -> bool:
        """Whether it has expired."""
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


# Groves, who belongs to them, and who takes part in them.


class Grove(PublicIdentity):
    """The only container. All access is decided by membership in it."""

    name = models.CharField(max_length=200)
    settings = models.JSONField(default=dict)
    # The digest of its list of link types, see `loom.links.vocabulary`; "": the standard list.
    link_types_digest = models.CharField(max_length=32, blank=True, default="")
    checks_on_save = models.BooleanField(default=False)  # whether any of its checks runs on save
    # The most that each member may spend in a day, in billionths of a dollar, whatever its owners
    # allow: set by an operator. 0: no such limit.
    ceiling = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.name


class Participant(PublicIdentity):
    """Somebody or something that writes: a member (human) or an agent (model)."""

    grove = models.ForeignKey(Grove, models.CASCADE, related_name="participants")
    kind = models.CharField(max_length=8, choices=[("human", "human"), ("model", "model")])
    name = models.CharField(max_length=80)
    user = models.ForeignKey(User, models.PROTECT, null=True, related_name="participants")
    model_ref = models.CharField(max_length=200, blank=True)
    base_url = models.CharField(max_length=500, blank=True)
    # An owner allowed this base_url although it is private: see loom/participants/addresses.py.
    allow_private = models.BooleanField(default=False)
    endpoint = models.CharField(max_length=12, default="chat")
    capabilities = models.JSONField(default=list)
    persona = models.TextField(blank=True)
    temperature = models.FloatField(null=True)
    max_tokens = models.IntegerField(null=True)
    stop = models.JSONField(default=list)
    permissions = models.JSONField(default=list)
    archetype = models.CharField(max_length=10, default="writer")
    authority = models.IntegerField(default=0)
    context_limit = models.IntegerField(default=DEFAULT_CONTEXT)
    budget = models.CharField(max_length=20, default="standard")
    tool_filter = models.JSONField(default=tools_left_out)
    # Tools that its provider runs itself, sent to it as they are (participants/provider_tools.py).
    provider_tools = models.JSONField(default=list)
    # Fernet of the provider's key together with the base URL it is bound to.
    sealed_key = models.TextField(blank=True)
    auth = models.CharField(max_length=8, default="bearer")  # how it is sent: bearer, basic, none
    # Participants with the same provider key share a lane; empty: a lane of its own.
    lane = models.CharField(max_length=64, blank=True)
    parallel = models.IntegerField(default=12)  # calls at once over the lane
    probe = models.JSONField(default=dict)  # what the last probe of its endpoint found
    prices = models.JSONField(default=dict)  # USD per million tokens; {}: by the price table
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            # The name of an archived agent may be used again; a person's stays theirs.
            models.UniqueConstraint(
                "grove",
                Lower("name"),
                condition=Q(archived_at__isnull=True) | Q(kind="human"),
                name="participant_name_once",
            ),
            models.UniqueConstraint(
                fields=["grove", "user"], condition=Q(user__isnull=False), name="person_once"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """A user's role in a grove; their participant there outlives it."""

    grove = models.ForeignKey(Grove, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    participant = models.ForeignKey(Participant, models.PROTECT)
    role = models.CharField(max_length=8)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["grove", "user"], name="member_once")]

    def __str__(self) -> str:
        return f"{self.user_id} is {self.role} of {self.grove_id}"


class Invitation(PublicIdentity):
    """A link with which somebody can become a member. Only its SHA-256 is stored."""

    grove = models.ForeignKey(Grove, models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=8)
    digest = models.CharField(max_length=64, unique=True)
    made_by = models.ForeignKey(Participant, models.PROTECT)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    uses_left = models.IntegerField()
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.role} of {self.grove_id}"
