"""Who wrote what a file brings: by name, somebody of the grove or somebody new to it."""

from collections.abc import Iterable

from django.db import transaction
from django.utils import timezone

from loom.commands.groves import demand_name
from loom.commands.participants import MAX_NAME, participant_body
from loom.log import streams
from loom.models import Grove, Participant
from loom.rules.refusals import Refused
from loom.transfer.answers import UNNAMED

NOBODY = "Unknown person"


class Authors:
    """Participants by name and kind. New ones are archived at once: nobody asks them to write."""

    def __init__(self, grove: Grove, person: Participant) -> None:
        self.grove, self.person = grove, person
        self._known: dict[tuple[str, str], Participant] = {("", "human"): person}

    def of(self, name: str, kind: str) -> Participant:
        """The author; must have been met."""
        return self._known[name, kind]

    def meet(self, wanted: Iterable[tuple[str, str]]) -> None:
        """Finds or makes the authors of these names and kinds, in a transaction of its own."""
        fresh = sorted(set(wanted) - self._known.keys())
        if not fresh:
            return
        with transaction.atomic():
            writer = streams.lock(self.grove, actor=self.person.uid)
            for name, kind in fresh:
                found = self._found(_sound(name, kind), kind)
                if found._state.adding:
                    found.save()
                    body = participant_body(found)
                    writer.append("participant.added", {"participant": body})
                self._known[name, kind] = found
            writer.flush()

    def _found(self, name: str, kind: str) -> Participant:
        """The participant of that name, or an unsaved one. A model is never taken for a
        person of its name, nor the other way round."""
        rows = self.grove.participants.select_related("grove", "user")
        count = 0
        wanted = name
        while (taken := rows.filter(name__iexact=wanted).first()) is not None:
            if taken.kind == kind:
                return taken
            count += 1
            wanted = f"{name[: MAX_NAME - 16]} (imported{f' {count}' if count > 1 else ''})"
        model_ref = name if kind == "model" else ""
        return Participant(
            grove=self.grove,
            kind=kind,
            name=wanted,
            model_ref=model_ref,
            archived_at=timezone.now(),
        )


def _sound(name: str, kind: str) -> str:
    """The name, if somebody may be called so; else what somebody without a name is called."""
    shown = "".join(one if one.isprintable() else " " for one in name).strip()[:MAX_NAME].strip()
    try:
        return demand_name(shown, most=MAX_NAME)
    except Refused:
        return UNNAMED if kind == "model" else NOBODY
