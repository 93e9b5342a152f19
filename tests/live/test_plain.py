"""The plain values of the live door: rings, partial texts, places, rate limits, frames."""

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loom.engine.presence import LEASE_S
from loom.errors import CommandError
from loom.live import frames
from loom.live.frames import EventFrame, Pace, Partial, RateLimit, Ring, SentText
from loom.live.positions import Positions


def _entries(*seqs: int) -> list[EventFrame]:
    return [EventFrame(seq, "tree.changed", f"frame {seq}") for seq in seqs]


def test_a_ring_keeps_the_last_entries_and_says_where_they_begin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(frames, "MAX_EVENTS", 3)
    kept = Ring(10)
    kept.extend(_entries(11, 12, 13, 14, 15))
    assert (kept.floor, kept.head) == (12, 15)
    assert [e.seq for e in kept.after(12)] == [13, 14, 15]
    assert [e.seq for e in kept.after(13, limit=1)] == [14]
    assert kept.after(15) == []


def test_a_ring_drops_repeats_and_refuses_gaps() -> None:
    kept = Ring(0)
    kept.extend(_entries(1, 2))
    kept.extend(_entries(1, 2, 3))
    assert [e.seq for e in kept.after(0)] == [1, 2, 3]
    with pytest.raises(ValueError, match="does not follow"):
        kept.extend(_entries(5))


def test_a_ring_is_bounded_by_characters_but_keeps_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(frames, "MAX_CHARACTERS", 10)
    kept = Ring(0)
    kept.extend([EventFrame(seq, "node.added", "x" * 8) for seq in (1, 2)])
    assert [e.seq for e in kept.after(kept.floor)] == [2]
    kept.extend([EventFrame(3, "node.added", "x" * 50)])
    assert [e.seq for e in kept.after(kept.floor)] == [3]


def test_who_may_not_see_an_event_gets_its_place() -> None:
    entry = EventFrame(1, "invitation.added", "secret", "hidden", frozenset({"reader"}))
    assert (entry.frame_for("owner"), entry.frame_for("reader")) == ("secret", "hidden")


@given(
    pieces=st.lists(st.text(min_size=1, max_size=5), min_size=1, max_size=12),
    seed=st.integers(0, 2**32),
)
def test_partial_texts_come_together_in_any_order(pieces: list[str], seed: int) -> None:
    """Deltas doubled, shuffled and lost; the row, written now and then, fills what is lost."""
    dice = random.Random(seed)
    heard = [(n, piece) for n, piece in enumerate(pieces, 1) for _ in range(dice.randrange(3))]
    dice.shuffle(heard)
    partial, reader, told = Partial("g"), SentText(), ""
    for chunk, piece in heard:
        if partial.take(chunk, piece) and dice.random() < 0.5:
            row = dice.randrange(len(pieces) + 1)
            partial.catch_up(row, "".join(pieces[:row]))
        if reader.is_behind(partial) and dice.random() < 0.5:
            text, whole = reader.take(partial)
            told = text if whole else told + text
    partial.catch_up(len(pieces), "".join(pieces))
    if reader.is_behind(partial):
        text, whole = reader.take(partial)
        told = text if whole else told + text
    assert partial.text == told == "".join(pieces)
    assert not partial.waiting


def test_a_text_that_was_begun_again_is_reported_as_a_whole() -> None:
    partial, reader = Partial("g"), SentText()
    partial.take(1, "one ")
    assert reader.take(partial) == ("one ", True)
    partial.take(2, "two")
    assert reader.take(partial) == ("two", False)
    partial.catch_up(3, "another")
    assert reader.is_behind(partial)
    assert reader.take(partial) == ("another", True)


def test_others_places_expire() -> None:
    here = Positions()
    here.take("p", [{"participant": "a", "node": "a2b2"}], now=0.0)
    assert not here.expire(LEASE_S - 1)
    here.renew("p", now=LEASE_S - 1)
    here.renew("unknown", now=LEASE_S - 1)
    assert not here.expire(LEASE_S + 1)
    assert here.places()
    assert here.expire(2 * LEASE_S)
    assert here.places() == []


def test_the_same_place_is_sent_once() -> None:
    here, place = Positions(), {"participant": "a", "node": "a2b2"}
    assert here.put(1, place)
    assert not here.put(1, dict(place))
    assert here.put(2, dict(place))
    assert here.places() == [place]
    assert here.leave(1)
    assert not here.leave(1)


@pytest.mark.parametrize(("sockets", "turns"), [(1, 26), (100, 26), (500, 13), (1000, 7)])
def test_texts_are_sent_the_less_often_the_more_sockets_there_are(sockets: int, turns: int) -> None:
    """A piece each millisecond for a second: some turns at once, and then so many a second."""
    pace, sent = Pace(), 0
    for millisecond in range(10_000, 11_000):
        if not pace.wait_s(millisecond / 1000):
            pace.pay(1, millisecond / 1000, sockets=sockets)
            sent += 1
    assert sent == turns


@pytest.mark.parametrize(("texts", "turns"), [(1, 26), (4, 26), (88, 6), (400, 2)])
def test_pieces_of_several_texts_are_sent_in_one_turn(texts: int, turns: int) -> None:
    """All of them have grown each millisecond of a second."""
    pace, sent = Pace(), 0
    for millisecond in range(10_000, 11_000):
        if not pace.wait_s(millisecond / 1000):
            pace.pay(texts, millisecond / 1000, sockets=1)
            sent += 1
    assert sent == turns


def test_a_rate_limit_lets_a_burst_go_and_then_so_many_a_second() -> None:
    rate = RateLimit(10.0, burst=3)
    assert [rate.take(0.0) for _ in range(4)] == [True, True, True, False]
    assert rate.wait_s == pytest.approx(0.1)
    assert rate.take(0.1)
    assert not rate.take(0.1)
    assert sum(rate.take(100.0) for _ in range(9)) == 3


BAD = [
    "",
    "null",
    "[]",
    "1",
    '"presence"',
    "{",
    "[" * 100_000,
    '{"a":' * 50_000,
    "{}",
    '{"type":"presence"}',
    '{"type":"presence","node":null}',
    '{"type":"presence","node":7}',
    '{"type":"presence","node":""}',
    '{"type":"presence","node":"../x"}',
    '{"type":"presence","node":"a2b2","more":1}',
    '{"type":"presence","node":"a2b2","buffer":7}',
    '{"type":"presence","node":"a2b2","buffer":"\\u0000"}',
    '{"type":"presence","node":"a2b2","buffer":"\\ud800"}',
    '{"type":"presence","node":"a2b2","buffer":"\ud800"}',
    '{"type":"command","line":"→ prune"}',
    '{"type":"event","event":{}}',
    None,
]


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_a_bad_frame_is_refused_with_a_sentence(text: str | None) -> None:
    with pytest.raises(CommandError) as refused:
        frames.read(text)
    assert refused.value.code == "INVALID_SYNTAX"
    assert refused.value.hint


def test_a_buffer_that_is_too_long_is_refused() -> None:
    text = json.dumps({"type": "presence", "node": "a2b2", "buffer": "x" * 70_000})
    with pytest.raises(CommandError, match="buffer has more"):
        frames.read(text)


def test_a_good_frame_is_kept_as_given() -> None:
    given = frames.read('{"type":"presence","node":"a2b2","buffer":"  é\\r\\n "}')
    assert (given.node, given.buffer) == ("a2b2", "  é\r\n ")


def test_a_delta_says_when_it_is_the_whole_text() -> None:
    first = json.loads(frames.delta("g", chunk=1, text="a", whole=True))
    assert first == {"type": "delta", "generation": "g", "chunk": 1, "text": "a"}
    later = json.loads(frames.delta("g", chunk=4, text="abcd", whole=True))
    assert later["whole"] is True


def test_a_piece_that_many_sockets_are_sent_is_written_once() -> None:
    frame = frames.delta("g", chunk=2, text="b", whole=False)
    assert frames.delta("g", chunk=2, text="b", whole=False) is frame
    assert frames.delta("g", chunk=2, text="b", whole=True) != frame
