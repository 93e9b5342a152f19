"""The catalogues hold what the sources say; and any of their texts can be spoken otherwise."""

import json
import re

import pytest

from tests.house.catalogues import LOCALES, pseudo, script_texts, stored, taken
from tests.house.sources import ROOT, files, text_of


@pytest.mark.parametrize("domain", ["django", "djangojs"])
def test_the_english_catalogue_is_that_of_the_sources(domain: str) -> None:
    kept = {message.id for message in stored(LOCALES / "en" / "LC_MESSAGES", domain, "en")}
    now = {message.id for message in taken()[domain]}
    assert now - kept == set(), "run: script/messages"
    assert kept - now == set(), "run: script/messages"


def test_pseudo_words_keep_what_stands_for_values() -> None:
    assert pseudo("%(n)s nodes in <b>{tree}</b>") == "⟦%(n)s ñödéš îñ <b>{tree}</b>⟧"


def test_texts_inside_of_template_strings_are_taken() -> None:
    source = """
        const words = `${t("{n} here", { n })} · ${then ? t("a } b") : ""} {t("no text")}`;
        say(`${tn("{n} word", "{n} words", n)}, ${t("{keys} to accept", { keys: { a: 1 } })}`);
    """
    texts = {message for _, _, message, *_ in script_texts(source)}
    assert texts == {
        *("{n} here", "a } b", "{keys} to accept"),
        ("{n} word", "{n} words"),
    }


def test_every_text_that_a_script_shows_is_taken() -> None:
    taken_texts = {
        text
        for message in taken()["djangojs"]
        for text in ((message.id,) if isinstance(message.id, str) else message.id)
    }
    called = re.compile(r'\btn?\(\s*"((?:[^"\\]|\\.)*)"')
    for path in files(".js"):
        if path.is_relative_to(ROOT / "static" / "src") and not path.name.endswith(".test.js"):
            texts = {json.loads(f'"{text}"') for text in called.findall(text_of(path))}
            assert texts - taken_texts == set(), path
