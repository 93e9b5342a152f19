"""Who wrote what a file brings: the importer by their own name, and nobody else of the grove."""

from collections.abc import Iterable
from itertools import count

from django.db import transaction
from django.utils import timezone

from loom.commands.participants import MAX_NAME, participant_body
from loom.log import streams
from loom.models import Grove, Participant
from loom.rules.names import IMPORTED, cleaned
from loom.transfer.answers import UNNAMED

NOBODY = "Unknown person"
ROOM = 20  # characters for what is put behind a name


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
        """The importer for their own name; for any other name "Name (imported)", somebody who
        writes nothing here: a file may say what it likes about who wrote what."""
        if kind == "human" and name.casefold() == self.person.name.casefold():
            return self.person
        rows = self.grove.participants.select_related("grove", "user")
        for number in count(1):
            mark = f"{IMPORTED} {number}" if number > 1 else IMPORTED
            wanted = f"{name[: MAX_NAME - ROOM].strip()} ({mark})"
            taken = rows.filter(name__iexact=wanted).first()
            if taken is None:
                break
            if taken.kind == kind and taken.user is None and taken.archived_at is not None:
                return taken
        return Participant(
            grove=self.grove,
            kind=kind,
            name=wanted,
            model_ref=name if kind == "model" else "",
            archived_at=timezone.now(),
        )


def _sound(name: str, kind: str) -> str:
    """The name, if somebody may be called so; else what somebody without a name is called."""
    return cleaned(name, most=MAX_NAME) or (UNNAMED if kind == "model" else NOBODY)
