"""The answers of steps, with the texts of the nodes that they quote."""

from collections.abc import Iterable, Sequence
from typing import Any

from loom.engine.models import Step
from loom.text.quotations import put_back_quotations
from loom.trees.models import Node

Quoted = Sequence[Sequence[Any]] | None


def with_quoted(stored: Iterable[tuple[int, str, Quoted]]) -> dict[int, str]:
    """Stored messages with the texts of the nodes that they quote filled in, by id. One query;
    none if nothing is quoted."""
    every = list(stored)
    keys = {pair[1] for _, _, quoted in every for pair in quoted or ()}
    rows = Node.objects.filter(pk__in=keys).values_list("pk", "text") if keys else ()
    texts = dict(rows)
    return {
        key: put_back_quotations(message, quoted or (), texts) for key, message, quoted in every
    }


def messages_of(steps: Iterable[Step]) -> dict[int, str]:
    """The answers of steps, by id."""
    return with_quoted((step.pk, step.message, step.quoted) for step in steps)


def message_of(step: Step) -> str:
    """The answer of one step."""
    return messages_of([step])[step.pk]
