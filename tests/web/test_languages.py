"""The pages speak German and Spanish: every text of the sources, with the same values in it."""

import gettext
import re
from collections import Counter
from collections.abc import Sequence

import pytest

from loom.links.link_types import GROUPS
from loom.people.models import User
from tests.house.catalogues import LOCALES, missing_in, stored, taken
from tests.web.conftest import Visitor

DOMAINS = ("django", "djangojs")
LANGUAGES = sorted(path.name for path in LOCALES.glob("*") if path.name != "en")
VALUES = re.compile(r"%\(\w+\)[sd]|%[sd%]|\{\w+\}")
MARKUP = re.compile(r"</?\w+(?: [^>]*)?>")
every = pytest.mark.parametrize(
    ("locale", "domain"), [(locale, domain) for locale in LANGUAGES for domain in DOMAINS]
)


def _forms(texts: str | Sequence[str] | None) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else tuple(texts or ())


def _pairs(locale: str, domain: str) -> list[tuple[str, str]]:
    """Each text of the sources with what the language has for it, all forms."""
    pairs = []
    for message in stored(LOCALES / locale / "LC_MESSAGES", domain, locale):
        ids, translations = _forms(message.id), _forms(message.string)
        if message.id:
            # Languages with more forms say the same in all but the first.
            pairs += list(
                zip((*ids, *[ids[-1]] * (len(translations) - len(ids))), translations, strict=True)
            )
    return pairs


def test_groups_of_link_types_are_texts_of_both_catalogues() -> None:
    for domain in DOMAINS:
        assert set(GROUPS) <= {message.id for message in taken()[domain]}, domain


def test_there_are_two_more_languages() -> None:
    assert {"de", "es"} <= set(LANGUAGES)


@every
def test_no_text_is_missing_or_uncertain(locale: str, domain: str) -> None:
    kept = stored(LOCALES / locale / "LC_MESSAGES", domain, locale)
    assert missing_in(kept, taken()[domain]) == [], "script/messages lists them"
    gone = {message.id for message in kept} - {message.id for message in taken()[domain]}
    assert gone == set(), "run: script/messages update"


@every
def test_values_and_markup_stay(locale: str, domain: str) -> None:
    for text, translation in _pairs(locale, domain):
        for what in (VALUES, MARKUP):
            assert Counter(what.findall(translation)) == Counter(what.findall(text)), (
                text,
                translation,
            )


@every
def test_blanks_at_the_ends_stay(locale: str, domain: str) -> None:
    for text, translation in _pairs(locale, domain):
        ends = [re.match(r"\s*", text), re.search(r"\s*$", text)]
        other = [re.match(r"\s*", translation), re.search(r"\s*$", translation)]
        assert [end and end[0] for end in ends] == [blank and blank[0] for blank in other], text


@every
def test_what_programs_read_was_compiled_from_it(locale: str, domain: str) -> None:
    folder = LOCALES / locale / "LC_MESSAGES"
    with (folder / f"{domain}.mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)
    for message in stored(folder, domain, locale):
        if not message.id:
            continue
        if isinstance(message.id, str):
            assert compiled.gettext(message.id) == message.string, "run: script/messages update"
        else:
            singular, many = message.id
            forms = {compiled.ngettext(singular, many, n) for n in range(200)}
            assert forms <= set(_forms(message.string)), "run: script/messages update"


@pytest.mark.parametrize(
    ("language", "words"), [("de-AT,de;q=0.9", "Anmelden"), ("es-MX", "Iniciar sesión")]
)
def test_a_browser_is_answered_in_its_language(visitor: Visitor, language: str, words: str) -> None:
    page = visitor().get("/signin", headers={"accept-language": language}).content.decode()
    assert words in page
    assert f'lang="{language[:2]}"' in page


def test_an_account_has_a_language_whatever_the_browser_asks_for(
    owner: User, visitor: Visitor
) -> None:
    client = visitor(owner)
    page = client.get("/settings").content.decode()
    assert "Deutsch" in page and "español" in page
    client.post("/settings/profile", {"display_name": "Owner", "language": "de"})
    page = client.get("/", headers={"accept-language": "es"}).content.decode()
    assert 'lang="de"' in page and "Beteiligte" in page
