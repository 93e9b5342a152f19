"""Who somebody is elsewhere."""

from django.db import models

from loom.people.models import Grove, User


class Identity(models.Model):
    """The account of a user at an organisation: by the issuer (of OpenID Connect, or the entity of
    SAML) and the id that it gives, which never changes. Names and addresses of e-mail may, and are
    not looked at."""

    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    issuer = models.CharField(max_length=255)
    subject = models.CharField(max_length=255)
    shown_as = models.CharField(max_length=255, blank=True)  # what it was called when last used
    # The groves in which the user is a member because of a group there.
    groves = models.ManyToManyField(Grove, related_name="+")
    linked_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["issuer", "subject"], name="identity_once"),
            models.UniqueConstraint(fields=["issuer", "user"], name="identity_of_user"),
        ]

    def __str__(self) -> str:
        return self.shown_as or self.subject
