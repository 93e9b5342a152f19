"""Code inside of a paragraph: what stands between backticks, as Markdown has it. Pure, and linear
in the length of the text."""

import re

_TICKS = re.compile("`+")


def code_spans(text: str, first: int, last: int) -> list[tuple[int, int]]:
    """The code inside of a paragraph: between two runs of equally many backticks, of which the
    first is not escaped."""
    runs = [match.span() for match in _TICKS.finditer(text, first, last)]
    by_length: dict[int, list[int]] = {}
    for place in range(len(runs) - 1, -1, -1):
        by_length.setdefault(runs[place][1] - runs[place][0], []).append(place)
    spans, place = [], 0
    while place < len(runs):
        begin, end = runs[place]
        begin += _is_escaped(text, begin)  # the rest of the run may open code
        closing = by_length.get(end - begin, [])
        while closing and closing[-1] <= place:
            closing.pop()
        if closing:
            place = closing[-1]
            spans.append((begin, runs[place][1]))
        place += 1
    return spans


def _is_escaped(text: str, place: int) -> bool:
    """Whether an odd number of backslashes stands before a character."""
    before = place
    while before and text[before - 1] == "\\":
        before -= 1
    return (place - before) % 2 == 1
