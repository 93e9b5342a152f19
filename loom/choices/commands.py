"""What a person's choices are logged by, and what they decide about them. Nobody else sees any of
it, so none of it has a step."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.core.cache import cache
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from loom.access import Actor
from loom.choices.models import KEEP_DAYS, ChoiceSettings, Exposure
from loom.choices.queries import MOST_KEPT, MOST_SHOWN, settings_of
from loom.engine.sweeps import sweeps
from loom.errors import CommandError, not_found
from loom.language.ids import ids_in
from loom.trees.models import Node, Tree
from loom.trees.queries import lookup

WHERE = ("tree", "grid")
ORDERS = ("siblings", "nearness", "taste")
TRIMMED_AFTER = 100  # exposures of an installation; then whoever made the last is trimmed
LOOK_S = 3600  # seconds between two looks for old exposures
AT_ONCE = 5_000  # exposures that a look deletes of each kind


def log_shown(
    actor: Actor, tree: Tree, point: str, shown: Sequence[str], *, where: str, order: str
) -> Exposure | None:
    """Logs that the actor saw these candidates (local ids, in the order in which they stood) below
    a node; None if they have switched that off, or if fewer than two are candidates there."""
    node = lookup.find_node(tree, point)
    if node is None:
        raise not_found(f"[{point}]")
    if not settings_of(actor.participant).logs:
        return None
    keys = _candidates(tree, node, shown)
    if len(keys) < 2:
        return None
    last = _last_below(actor, node)
    if last is not None and last.shown == keys and last.order == order:
        return last
    row = Exposure.objects.create(
        participant=actor.participant,
        tree=tree,
        point=node,
        where=where,
        order=order,
        shown=keys,
        at=timezone.now(),
    )
    if row.pk % TRIMMED_AFTER == 0:
        _trim(actor)
    return row


def log_opened(actor: Actor, tree: Tree, point: str, opened: str) -> Exposure | None:
    """Logs that the actor opened one of the candidates that they saw last below a node; None if
    they did not see it there."""
    node, candidate = lookup.find_node(tree, point), lookup.find_node(tree, opened)
    if node is None or candidate is None:
        raise not_found(f"[{point if node is None else opened}]")
    with transaction.atomic():
        last = _last_below(actor, node)
        if last is None or candidate.pk not in last.shown or candidate.pk in last.opened:
            return last
        last = Exposure.objects.select_for_update().get(pk=last.pk)
        last.opened = [*last.opened, candidate.pk]
        last.save(update_fields=["opened"])
    return last


def _last_below(actor: Actor, node: Node) -> Exposure | None:
    rows = Exposure.objects.filter(participant=actor.participant, point=node)
    return rows.order_by("-id").first()


def _trim(actor: Actor) -> None:
    """Deletes the actor's exposures beyond the newest MOST_KEPT."""
    rows = Exposure.objects.filter(participant=actor.participant).order_by("-id")
    last = rows.values_list("pk", flat=True)[MOST_KEPT - 1 : MOST_KEPT].first()
    if last is not None:
        Exposure.objects.filter(participant=actor.participant, pk__lt=last).delete()


@sweeps
def delete_old() -> int:
    """Deletes exposures that are older than the person keeps them, at most AT_ONCE of each kind in
    a look, and returns how many. Looks once an hour."""
    if not cache.add("choices:old", 1, LOOK_S):
        return 0
    now, deleted = timezone.now(), 0
    for days in KEEP_DAYS:
        rows = Exposure.objects.filter(at__lt=now - timedelta(days=days))
        if days != KEEP_DAYS[-1]:
            rows = rows.filter(participant__in=_keeping(days))
        keys = list(rows.order_by("at").values_list("pk", flat=True)[:AT_ONCE])
        deleted += Exposure.objects.filter(pk__in=keys).delete()[0]
    return deleted


def _keeping(days: int) -> "QuerySet[ChoiceSettings, Any]":
    """The members who keep what was shown for so many days."""
    return ChoiceSettings.objects.filter(keep_days=days).values("participant")


def _candidates(tree: Tree, point: Node, shown: Sequence[str]) -> list[int]:
    """The versions with these local ids that hang below the point, in their order."""
    if len(shown) > MOST_SHOWN:
        raise CommandError(
            "LIMIT_EXCEEDED", f"At most {MOST_SHOWN} candidates.", hint="send the first of them"
        )
    rows = Node.objects.filter(
        tree=tree, pk__range=ids_in(tree.pk), local_id__in=shown, parent_slot=point.slot_id
    )
    keys = dict(rows.filter(kind="text").values_list("local_id", "pk"))
    return [keys[uid] for uid in dict.fromkeys(shown) if uid in keys]


def change_settings(actor: Actor, **fields: bool | int) -> ChoiceSettings:
    """Changes what the actor has decided: `logs`, `keep_days`, `orders`, `consents`. What is older
    than they keep from now on is deleted at once."""
    row, _ = ChoiceSettings.objects.get_or_create(participant=actor.participant)
    changed: dict[str, Any] = dict(fields)
    if "consents" in changed:
        changed["consented_at"] = timezone.now() if changed["consents"] else None
    for name, value in changed.items():
        setattr(row, name, value)
    row.save()
    if "keep_days" in changed:
        until = timezone.now() - timedelta(days=row.keep_days)
        Exposure.objects.filter(participant=actor.participant, at__lt=until).delete()
    return row


def forget(actor: Actor) -> int:
    """Deletes all that was logged for the actor; returns how many exposures."""
    return Exposure.objects.filter(participant=actor.participant).delete()[0]
