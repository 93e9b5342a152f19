"""What counts as a match, and how good it is."""

from hypothesis import given
from hypothesis import strategies as st

from loom.search.index import fold, match, spellings


@given(st.text())
def test_folding_keeps_every_place(text: str) -> None:
    folded = fold(text)
    assert len(folded) == len(text)
    assert fold(folded) == folded


@given(st.text(max_size=40), st.text(min_size=1, max_size=5), st.text(max_size=40))
def test_a_text_matches_what_it_holds(before: str, query: str, after: str) -> None:
    hit = match(fold(query), before + query + after)
    assert hit is not None
    assert hit.at <= len(before)
    assert 0 < hit.score < 1


_CASED = st.text(alphabet="aAkK\u212asSſßẞσΣςiIİıéÉµΜμ1→ ", max_size=12)


@given(_CASED.filter(lambda text: 0 < len(text) <= 2), _CASED)
def test_a_short_query_matches_where_one_of_its_spellings_occurs(query: str, text: str) -> None:
    stands = any(spelling in text for spelling in spellings(query))
    assert stands == (match(fold(query), text) is not None)


def test_a_capital_sigma_is_the_same_wherever_it_is() -> None:
    assert fold("ΣΑΣ") == "σασ"


def test_a_longer_text_needs_more() -> None:
    short, long = match("a", "a"), match("a", "a" + " b" * 500)
    assert short and long and short.score > long.score
