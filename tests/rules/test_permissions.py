"""The hint about a right that is lacking."""

from loom.permissions import WRITE, remedy


def test_people_are_sent_to_an_owner() -> None:
    assert remedy(frozenset({WRITE}), "reader") == "Ask an owner of the grove to make you a writer."


def test_an_agent_is_told_where_its_asker_may_not_either() -> None:
    hint = remedy(frozenset({WRITE}), "reader", asked_by="Ada")
    assert hint == "Ada, who started this turn, may not do this either; conclude without it."


def test_an_agent_is_told_that_the_right_can_be_given() -> None:
    assert remedy(frozenset({WRITE}), "writer", asked_by="Ada").startswith(
        "An owner of the grove can"
    )
