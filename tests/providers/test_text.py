"""Events and clean text out of bytes cut anywhere."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.providers import attempt
from agents.providers.attempt import Cleaner, Events, TooLong

anything = st.text(alphabet=st.characters(exclude_categories=()))


def cut(data: bytes, at: list[int]) -> list[bytes]:
    places = sorted({min(place, len(data)) for place in at})
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]


def read(chunks: list[bytes]) -> list[str]:
    events = Events()
    found = [event for chunk in chunks for event in events.feed(chunk)]
    return found + events.rest()


@given(
    st.lists(st.text(max_size=20).filter(lambda text: text and not set(text) & set("\r\n"))),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.lists(st.integers(0, 400)),
)
def test_events_come_out_as_they_went_in_however_they_are_cut(
    texts: list[str], end: str, places: list[int]
) -> None:
    body = "".join(f"data: {text}{end}{end}" for text in texts).encode("utf-8", "replace")
    expected = [text.encode("utf-8", "replace").decode() for text in texts]
    assert read(cut(body, places)) == expected


@given(st.binary(max_size=300), st.lists(st.integers(0, 300)))
def test_any_bytes_are_read_and_cuts_change_nothing(body: bytes, places: list[int]) -> None:
    found = read(cut(body, places))
    assert found == read([body])
    "".join(found).encode()


@given(anything, st.lists(st.integers(0, 60)))
def test_text_is_clean_however_it_is_cut(text: str, places: list[int]) -> None:
    cleaner = Cleaner()
    marks = sorted({min(place, len(text)) for place in places})
    pieces = [text[a:b] for a, b in zip([0, *marks], [*marks, len(text)], strict=True)]
    clean = "".join(map(cleaner.clean, pieces)) + cleaner.rest()
    assert "\0" not in clean
    clean.encode()
    whole = json.loads(json.dumps(text))  # joins pairs as one piece would
    once = Cleaner()
    assert clean == once.clean(whole) + once.rest()


class Watched:
    """Splits lines as `pattern` does, and counts the characters it looked at."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self._pattern, self.looked_at = pattern, 0

    def split(self, given: str) -> list[str]:
        self.looked_at += len(given)
        return self._pattern.split(given)


def test_a_line_that_comes_byte_by_byte_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(attempt._LINES)
    monkeypatch.setattr(attempt, "_LINES", watched)
    events, line = Events(), b"data: " + b"x" * 20_000
    for at in range(len(line)):
        assert events.feed(line[at : at + 1]) == []
    assert events.feed(b"\n\n") == ["x" * 20_000]
    assert watched.looked_at == len(line) + 2


@pytest.mark.parametrize("piece", [b"x", b"data:\n", b"data: xx\r", b"data: x\n: comment\n"])
def test_what_never_ends_is_too_long(piece: bytes) -> None:
    events = Events(limit=1000)
    with pytest.raises(TooLong):
        for _ in range(2000):
            events.feed(piece)


def test_comments_and_short_events_go_on_for_ever() -> None:
    events = Events(limit=100)
    found = [events.feed(b": still here\ndata: x\n\n") for _ in range(200)]
    assert found == [["x"]] * 200
