"""Generations that wait for a worker: stored with what is reserved for them, and handed over."""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Any

from loom.money.spending import Share
from loom.people.models import Participant
from loom.platform.inserts import insert_row
from loom.turns.lanes import hand_over, lane_of, ranks
from loom.turns.models import Generation


def queue(
    agent: Participant,
    payer: Participant,
    reserved: tuple[date, Share],
    rows: Iterable[Mapping[str, Any]],
    *,
    is_dry: bool = False,
) -> list[Generation]:
    """Stores generations of one agent that a member pays for, and hands its lane to a worker after
    commit. `reserved` is the day and what is reserved for each of them; `rows` are their other
    columns. With `is_dry` nothing is stored. Needs the transaction in which money was reserved."""
    day, share = reserved
    lane = lane_of(agent)
    numbers = ranks(lane, payer)
    generations = [
        Generation(
            participant=agent,
            payer=payer,
            lane=lane,
            rank=next(numbers),
            day=day,
            prices=share.prices,
            reading=share.reading,
            reserved=share.reserved,
            **row,
        )
        for row in rows
    ]
    if not is_dry:
        for generation in generations:
            insert_row(generation)
        hand_over(lane)
    return generations
