"""Who signs in with which passkeys."""

from django.db import models

from loom.engine.fields import PublicIdentity
from loom.people.models import User


class Passkey(PublicIdentity):
    """A public key whose private half a device of the user keeps, for one site.

    `credential` is its id and public key as WebAuthn's attested credential data, and `digest` the
    SHA-256 of the id. `handle` is what devices know the user by: random bytes, which are equal in
    all their passkeys. `count` is how often the device says that it has signed; 0 if it does not
    count.
    """

    user = models.ForeignKey(User, models.CASCADE, related_name="passkeys")
    name = models.CharField(max_length=80)
    site = models.CharField(max_length=255)
    handle = models.CharField(max_length=64)
    digest = models.CharField(max_length=64, unique=True)
    credential = models.BinaryField()
    count = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return self.name


class AskedForPasskey(models.Model):
    """A user who is asked for a passkey after their password or a one-time link."""

    user = models.OneToOneField(User, models.CASCADE, related_name="+")
    since = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"passkey asked of {self.user_id}"
