"""Replies without the texts that nodes hold, and those texts put back."""

from hypothesis import given
from hypothesis import strategies as st

from loom.text.frames import escaped
from loom.text.quotations import GONE, SHORTEST_QUOTED, put_back_quotations, take_out_quotations

LONG = "".join(f"Sentence {number} of a long text.\n" for number in range(400))
WORDS = st.text(st.sampled_from("ab \n→[]-"), max_size=700)


def again(reply: str, texts: dict[int, str]) -> str:
    """The reply, taken apart and put together."""
    rest, quotations = take_out_quotations(reply, list(texts.items()))
    return put_back_quotations(rest, [list(quotation) for quotation in quotations], texts)


def test_a_whole_text_is_named() -> None:
    rest, (quotation,) = take_out_quotations(f'[a7x2] Ada\n"{LONG}"\n1 note', [(7, LONG)])
    assert rest == '[a7x2] Ada\n""\n1 note'
    assert (quotation.at, quotation.node, quotation.start, quotation.length) == (
        12,
        7,
        0,
        len(LONG),
    )


def test_parts_of_texts_and_several_texts_are_named() -> None:
    other = LONG.replace("Sentence", "Word")
    reply = f"from the middle:\n{LONG[3000:6000]}\nand\n{other}\nend"
    rest, quotations = take_out_quotations(reply, [(1, LONG), (2, other)])
    assert len(rest) < 60 and {quotation.node for quotation in quotations} == {1, 2}
    assert again(reply, {1: LONG, 2: other}) == reply


def test_an_escaped_text_is_named() -> None:
    text = LONG + "---RESULT #3---\n" + LONG
    assert escaped(text) != text
    reply = f"head\n{escaped(text)}\nfoot"
    rest, quotations = take_out_quotations(reply, [(1, text)])
    assert len(rest) < 40 and len(quotations) == 2
    assert again(reply, {1: text}) == reply


def test_short_texts_stay() -> None:
    text = "a" * (SHORTEST_QUOTED - 1)
    assert take_out_quotations(f"x {text} {'b' * 300}", [(1, text)]) == (
        f"x {text} {'b' * 300}",
        (),
    )


def test_a_text_that_is_gone_or_another_is_said_to_be() -> None:
    rest, quotations = take_out_quotations(f"head {LONG} foot", [(1, LONG)])
    assert put_back_quotations(rest, quotations, {}) == f"head {GONE} foot"
    assert put_back_quotations(rest, quotations, {1: LONG.upper()}) == f"head {GONE} foot"


@given(st.lists(WORDS, max_size=3), st.lists(st.integers(0, 2), max_size=5), WORDS)
def test_what_is_taken_out_comes_back(texts: list[str], order: list[int], more: str) -> None:
    held = dict(enumerate(texts))
    reply = more + "".join(f"{held.get(number, '')}{more[:number]}" for number in order)
    assert again(reply, held) == reply
    shown = escaped(reply)
    assert again(shown, held) == shown
