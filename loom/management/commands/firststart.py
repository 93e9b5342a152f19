"""`manage.py firststart`: the contents of a new installation; running it again changes nothing."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import transaction

from loom.access import get_actor
from loom.engine.by_name import run_command
from loom.management.shell import address, keep_address, signin_link
from loom.participants import commands as participants
from loom.participants.commands import ParticipantChangeArgs
from loom.people.commands import accounts as people
from loom.people.commands import groves
from loom.people.models import Grove, User
from loom.trees.commands import trees

LOCAL = {"model_ref": "local:smollm2", "max_tokens": 60, "temperature": 0.8, "context_limit": 2048}
# The Analyst uses the first of these whose key is in the environment. The key is encrypted for this
# address and is not sent to any other.
PROVIDERS = (
    ("OPENAI_API_KEY", "openai:gpt-4o-mini", "https://api.openai.com/v1"),
    ("ANTHROPIC_API_KEY", "anthropic:claude-haiku-4-5", "https://api.anthropic.com/v1"),
)
ANALYST = (
    "You read along and help the writers see what their tree holds. You are exact, brief and kind."
)
OPENING = "The house stood empty at the end of the lane."


class Command(BaseCommand):
    """Creates the owner, a first grove with two participants, and an example tree."""

    help = "Creates the initial contents of a new installation, and prints a one-time sign-in link."

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints a link while the owner has no password, else where to sign in."""
        keep_address()
        with transaction.atomic():
            owner = _owner()
            if not Grove.objects.filter(memberships__user=owner).exists():
                _plant(owner)
        if not owner.has_usable_password():
            self.stdout.write("Sign in once with this link, within 24 hours:")
            self.stdout.write(signin_link(owner))
        else:
            self.stdout.write(f"Sign in at {address()}/signin")


def _owner() -> User:
    operator = User.objects.filter(is_operator=True).order_by("pk").first()
    if operator is not None:
        return operator
    owner = people.find_user("owner") or people.make_user("owner")
    owner.is_operator = True
    owner.save(update_fields=["is_operator"])
    return owner


def _plant(owner: User) -> None:
    grove = groves.make_grove(owner, "First grove")
    actor = get_actor(owner, grove)
    participants.make_participant(actor, ParticipantChangeArgs(fields={"name": "Muse", **LOCAL}))
    fields, key = _provider()
    participants.make_participant(
        actor,
        ParticipantChangeArgs(
            fields={"name": "Analyst", "persona": ANALYST, **fields},
            api_key=key,
            permissions=["loom_aware", "loom_write", "doc_read"],
        ),
    )
    _example(owner, grove)


def _provider() -> tuple[dict[str, Any], str | None]:
    """The settings and key of the first provider whose key is in the environment, else those of the
    embedded model."""
    for name, model_ref, base_url in PROVIDERS:
        key = "" if "none" in settings.ENV_KEYS else settings.PROVIDER_KEY(name)
        if key:
            limits = {"max_tokens": 400, "context_limit": 100_000}
            return {"model_ref": model_ref, "base_url": base_url, **limits}, key
    return {**LOCAL, "temperature": 0.2}, None  # it should follow instructions rather than invent


def _example(owner: User, grove: Grove) -> None:
    """A small tree that shows siblings, a version, an annotation and a bookmark."""
    actor = get_actor(owner, grove)
    planned = trees.NewTree(title="The house at the end of the lane", mode="buffer")
    tree = trees.make_tree(actor, planned)

    def run(command: str, **args: str) -> str:
        refs = run_command(actor, tree, command, args).body["refs"]
        return str(refs[0]) if refs else ""

    opening = run("respond", ref="root", content=OPENING)
    visit = run("respond", ref=opening, content=" She had not visited since her mother's death,")
    run("respond", ref=visit, content=" and the windows seemed to watch her approach.")
    new = " yet the gate was new. Someone had painted it green."
    gate = run("respond", ref=visit, content=new)
    unknown = " Nobody in the village could say who had lived there last."
    run("respond", ref=opening, content=unknown)
    green = " yet the gate was new, and painted the green of the old one."
    run("edit", ref=gate, content=green, way="version")
    run("annotate", ref=gate, content="Who painted it?", form="question")
    run("bookmark", ref=visit, label="where the story turns")
    run("switch", ref=gate)
