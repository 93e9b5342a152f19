"""The quote gate: what is found, elsewhere, joined or not there, in linear time."""

import pytest

from loom.claims.rules.quotes import MOST, around, exact, judged, nearly, normal

TEXT = (
    "Marie is twelve when the lamp goes out.\n\n"
    "She walks down to the river and waits.  Nobody comes before night.\n"
    "The keeper, an old man, sleeps in the north tower."
)
TRUE = (
    "Marie is twelve when the lamp goes out",
    "the river and waits. Nobody comes",  # other blanks
    "THE KEEPER, AN OLD MAN",
    "sleeps in the north tower.",
    "She walks down to the river",
    "The keeper, an old man, sleeps in the north towel",  # one letter at the end
)
INVENTED = (
    "Marie was born in the year of the flood",
    "the river had frozen by the morning",
    "Marie is thirty when the lamp is lit again",
    "a young man guards the southern gate",
    "She ran up the hill and laughed loudly",
    "nobody has ever seen the keeper awake",
)


@pytest.mark.parametrize("words", TRUE)
def test_six_true_quotes_are_found(words: str) -> None:
    verdict = judged(words, TEXT)
    assert verdict.answer == "found" and verdict.place is not None


@pytest.mark.parametrize("words", INVENTED)
def test_six_invented_quotes_are_caught(words: str) -> None:
    assert judged(words, TEXT).answer == "not there"


def test_a_quote_joined_from_several_places_is_named_so() -> None:
    words = "Marie is twelve when the lamp sleeps in the north tower"
    assert judged(words, TEXT).answer == "joined"


def test_a_quote_of_another_text_is_elsewhere() -> None:
    words = "the dog barked at the moon"
    verdict = judged(words, TEXT, ["nothing", f"At night {words}."])
    assert (verdict.answer, verdict.other) == ("elsewhere", 1)
    assert verdict.place is not None and verdict.place.first == 9


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("the ﬁrst letter of the ﬁle", "the first letter of the file"),
        ("cafe\u0301 au lait, s'il vous pla\u00eet", "CAFÉ AU LAIT"),
        ("Straße nach Norden und Süden", "STRASSE NACH NORDEN"),
        ("a\u00a0b c d e\tf g  h i j", "a b c d e f g h i j"),
    ],
)
def test_a_place_is_that_of_the_text_as_it_is_written(text: str, words: str) -> None:
    place = exact(text, words)
    assert place is not None
    assert normal(text[place.first : place.last]).text == normal(words).text


def test_the_surroundings_of_a_quote_are_kept() -> None:
    place = exact(TEXT, "the lamp goes out")
    assert place is not None
    before, words, after = around(TEXT, place)
    assert before.endswith("twelve when ")
    assert (words, after[0]) == ("the lamp goes out", ".")


@pytest.mark.parametrize("text", ["a" * 300_000, "ab" * 150_000, "a " * 150_000])
def test_no_quote_makes_a_text_slow(text: str) -> None:
    """A quote that matches almost everywhere is tried at a limited number of places."""
    assert judged("a" * (MOST - 1) + "b", text).answer in ("found", "joined", "not there")
    nearly(text, "ba" * 200)
