"""Events and clean text out of bytes cut anywhere."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.providers.attempt import MOST_IN_EVENT, Cleaner, EndlessLine, data_of

anything = st.text(alphabet=st.characters(exclude_categories=()))


def cut(data: bytes, at: list[int]) -> list[bytes]:
    places = sorted({min(place, len(data)) for place in at})
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]


def read(chunks: Iterable[bytes], limit: int = MOST_IN_EVENT) -> list[str]:
    async def coming() -> AsyncIterator[bytes]:
        for chunk in chunks:
            yield chunk

    async def collect() -> list[str]:
        return [data async for data in data_of(coming(), limit)]

    return asyncio.run(collect())


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
    pieces = read(cut(body, places))
    assert pieces == read([body])
    "".join(pieces).encode()


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


def test_what_a_stream_may_hold_besides_is_left_out() -> None:
    body = b"\xef\xbb\xbfdata: a\r\ndata:b\n\n: here\n\nid: 7\nevent: x\n\n\ndata: \xff"
    for cuts in ([], [*range(len(body))]):
        assert read(cut(body, cuts)) == ["a\nb", "\ufffd"]


@pytest.mark.parametrize("piece", [b"x", b"data:\n", b"data: xx\r", b"data: x\n: comment\n"])
def test_what_never_ends_is_too_long(piece: bytes) -> None:
    with pytest.raises(EndlessLine):
        read((piece for _ in range(2000)), limit=1000)


def test_comments_and_short_events_go_on_for_ever() -> None:
    assert read((b": still here\ndata: x\n\n" for _ in range(200)), limit=100) == ["x"] * 200
