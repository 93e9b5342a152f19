"""What counts as a match, and how good it is."""

from hypothesis import given
from hypothesis import strategies as st

from loom.queries.ranking import fold, match, spellings


@given(st.text())
def test_folding_keeps_every_place(text: str) -> None:
    folded = fold(text)
    assert len(folded) == len(text)
    assert fold(folded) == folded


@given(st.text(max_size=40), st.text(min_size=1, max_size=5), st.text(max_size=40))
def test_a_text_matches_what_it_holds(before: str, query: str, after: str) -> None:
    found = match(fold(query), before + query + after)
    assert found is not None
    assert found.at <= len(before)
    assert 0 < found.score < 1


@given(st.text(min_size=1, max_size=2), st.text(max_size=20))
def test_one_of_the_spellings_stands_where_a_short_query_matches(query: str, text: str) -> None:
    for spelling in spellings(query):
        assert match(fold(query), text + spelling) is not None


def test_a_capital_sigma_is_the_same_wherever_it_stands() -> None:
    assert fold("ΣΑΣ") == "σασ"


def test_a_longer_text_needs_more() -> None:
    short, long = match("a", "a"), match("a", "a" + " b" * 500)
    assert short and long and short.score > long.score
