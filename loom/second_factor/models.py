"""Who signs in with a second factor, and their recovery codes."""

from django.db import models

from loom.people.models import User


class SecondFactor(models.Model):
    """The secret that a person shares with their authenticator app, sealed. It is asked for from
    `confirmed_at` on. `used` is the last time step whose code was accepted: each works once."""

    user = models.OneToOneField(User, models.CASCADE, related_name="second_factor")
    sealed = models.TextField()
    used = models.BigIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    confirmed_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"second factor of {self.user_id}"


class RecoveryCode(models.Model):
    """A code that replaces the app once. Only its SHA-256 is stored."""

    user = models.ForeignKey(User, models.CASCADE, related_name="recovery_codes")
    digest = models.CharField(max_length=64)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["user", "digest"], name="recovery_code_once")
        ]

    def __str__(self) -> str:
        return f"recovery code of {self.user_id}"
