"""The catalogues hold what the sources say; and any of their texts can be spoken otherwise."""

import pytest

from tests.house.catalogues import LOCALES, pseudo, stored, taken


@pytest.mark.parametrize("domain", ["django", "djangojs"])
def test_the_english_catalogue_is_that_of_the_sources(domain: str) -> None:
    kept = {message.id for message in stored(LOCALES / "en" / "LC_MESSAGES", domain, "en")}
    now = {message.id for message in taken()[domain]}
    assert now - kept == set(), "run: script/messages"
    assert kept - now == set(), "run: script/messages"


def test_pseudo_words_keep_what_stands_for_values() -> None:
    assert pseudo("%(n)s nodes in <b>{tree}</b>") == "⟦%(n)s ñödéš îñ <b>{tree}</b>⟧"
