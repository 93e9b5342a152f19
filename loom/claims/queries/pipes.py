"""Saved pipes, as their readers and the API see them."""

from typing import Any

from django.db.models import QuerySet

from loom.access import Actor
from loom.claims.models import Pipe
from loom.errors import not_found
from loom.language.refs import Ref, label_named
from loom.text.hashes import instant


def pipes_for(actor: Actor) -> QuerySet[Pipe]:
    """The pipes of the actor's grove, ordered by name."""
    rows = Pipe.objects.filter(grove=actor.grove, archived_at__isnull=True)
    return rows.select_related("grove", "by").order_by("name_key")


def pipe_named(actor: Actor, ref: Ref) -> Pipe:
    """The pipe that a ref names, by its name or id. NOT_FOUND if there is none."""
    rows = pipes_for(actor)
    named = rows.filter(name_key=(ref.name or ref.id).casefold()).first()
    pipe = named or (rows.filter(uid__iexact=ref.id).first() if ref.id else None)
    if pipe is None:
        names = ", ".join(label_named(name) for name in rows.values_list("name", flat=True)[:10])
        raise not_found(
            f"pipe:{label_named((ref.name or ref.id)[:40])}",
            f"there are {names}" if names else '→ pipe "line | line" save:"name" makes one',
        )
    return pipe


def pipe_body(pipe: Pipe) -> dict[str, Any]:
    """A pipe as the API and its event carry it."""
    return {
        "id": pipe.uid,
        "grove": pipe.grove.uid,
        "name": pipe.name,
        "lines": pipe.lines,
        "kinds": pipe.kinds,
        "by": pipe.by.uid,
        "for_models": pipe.by.kind == "human",
        "at": instant(pipe.at),
    }
