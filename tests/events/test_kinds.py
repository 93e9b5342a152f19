"""The kinds of events: registered by features, checked, and listed in the documentation."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import transaction
from pydantic import ValidationError

from loom.engine import event_kinds, streams
from loom.engine.event_kinds import Payload, adds_to, demand_payload, event, kinds, kinds_of
from loom.people.models import Grove
from loom.trees.models import Tree

MODEL = Path(__file__).parents[2] / "docs" / "model" / "02-nouns.md"


@pytest.fixture(autouse=True)
def _own_kinds(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Kinds that a test registers are gone after it."""
    monkeypatch.setattr(event_kinds, "_kinds", dict(event_kinds._kinds))
    monkeypatch.setattr(event_kinds, "_additions", dict(event_kinds._additions))
    yield
    event_kinds._model_of.cache_clear()


def test_the_documentation_lists_every_kind_and_no_other() -> None:
    text = MODEL.read_text()
    block = text[text.index("\ntree       tree.created") :]
    block = block[: block.index("```")]
    for stream, listed in re.findall(r"^(tree|grove|workspace) (.*(?:\n .*)*)", block, re.M):
        named = set(re.findall(r"[a-z]+\.[a-z]+", listed))
        assert named == kinds_of(stream), stream


def test_every_kind_says_what_has_happened() -> None:
    assert all((kind.payload.__doc__ or "").endswith(".") for kind in kinds().values())


def test_only_the_streams_of_a_kind_take_it(tree: Tree, grove: Grove) -> None:
    with transaction.atomic():
        of_grove = streams.lock(grove)
        with pytest.raises(ValueError, match=r"'tree\.created' is no event of a grove"):
            of_grove.append("tree.created", {"tree": "a", "title": "b", "mode": "buffer"})
        with pytest.raises(ValueError, match="registered with @event"):
            streams.lock(tree).append("tree.watered", {})


def test_a_payload_is_what_its_kind_declares() -> None:
    flagged = {"node": "a1b2", "slot": "a1b2", "flag": "pruned", "value": True}
    demand_payload("node.flagged", flagged)
    for wrong in ({**flagged, "value": 1}, {**flagged, "more": ""}, {"node": "a1b2"}):
        with pytest.raises(ValidationError):
            demand_payload("node.flagged", wrong)


def test_a_feature_adds_to_the_events_of_another() -> None:
    with pytest.raises(ValidationError):
        demand_payload("tree.erased", {"tree": "a", "title": "b", "leaves": 3})

    @adds_to("tree.erased")
    class Leaves(Payload):
        """How many leaves it had."""

        leaves: int = 0

    demand_payload("tree.erased", {"tree": "a", "title": "b", "leaves": 3})


def test_a_kind_is_registered_once() -> None:
    with pytest.raises(ValueError, match=r"two kinds of event 'tree\.erased'"):
        event("tree.erased", stream="grove")(Payload)
