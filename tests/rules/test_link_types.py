"""The rules of link types: names, groups, and what each archetype sees."""

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loom.errors import CommandError
from loom.links.link_types import (
    GROUPS,
    STANDARD,
    Type,
    Vocabulary,
    changed,
    closed,
    demand_name,
)
from loom.people.participant_fields import ARCHETYPES
from tests.thorough import tries

WIDER = (("reader", "writer"), ("writer", "editor"), ("reader", "auditor"))


@settings(max_examples=tries(200))
@given(st.lists(st.lists(st.sampled_from(ARCHETYPES), max_size=4), max_size=8))
def test_a_wider_archetype_sees_a_superset_whoever_asks_first(tables: list[list[str]]) -> None:
    types = [
        Type(
            f"k{chr(97 + at)}", f"k{chr(97 + at)}", f"r{chr(97 + at)}", archetypes=closed(archetype)
        )
        for at, archetype in enumerate(tables)
    ]
    for order in permutations(ARCHETYPES):
        asked = Vocabulary(types)
        seen = {archetype: asked.keys_seen(archetype) for archetype in order}
        for narrow, wide in WIDER:
            assert seen[narrow] <= seen[wide]


def test_the_standard_list_shows_archetypes_different_types() -> None:
    seen = {archetype: STANDARD.keys_seen(archetype) for archetype in ARCHETYPES}
    assert seen["reader"] < seen["writer"] <= seen["editor"]
    assert seen["reader"] < seen["auditor"] and seen["auditor"] != seen["writer"]
    assert {"evidence", "refutes"} <= seen["auditor"] - seen["reader"]


def test_every_standard_type_has_a_group_and_a_reverse_of_its_own() -> None:
    words = [word for kind in STANDARD.types for word in {kind.name, kind.reverse}]
    assert len(words) == len(set(words))
    assert {kind.group for kind in STANDARD.types} == set(GROUPS)


@pytest.mark.parametrize("word", ["two words", "v2", "", "_", "a" * 41, "list", "annotations"])
def test_a_name_is_one_word_that_means_nothing_else_on_a_line(word: str) -> None:
    with pytest.raises(CommandError) as refused:
        demand_name(word, {"list"})
    assert refused.value.hint


def test_a_renamed_symmetric_type_stays_symmetric() -> None:
    kind = changed(Type("related", "related", "related"), {"name": "near"}, ())
    assert kind.symmetric and kind.key == "related" and kind.reverse == "near"


def test_what_an_archetype_does_not_see_is_no_type_for_it() -> None:
    with pytest.raises(CommandError, match="no link type 'refutes'"):
        STANDARD.demand("refutes", "reader")
    assert STANDARD.demand("refuted_by", "auditor")[0].key == "refutes"
