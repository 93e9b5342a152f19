"""Pure: what a judge has answered about a text."""

import re

_RATING = re.compile(r"\W{0,20}(\d{1,2}(?:[.,]\d)?)(?:\s{0,3}/\s{0,3}10)?(?![\d/])[\s\W]{0,20}")


def read_rating(text: str) -> tuple[float | None, str]:
    """(the rating from 0 to 10, the reason) of a judge's answer; None if it begins with none."""
    line = " ".join(text[:2_000].split())
    rating = _RATING.match(line)
    if rating is None:
        return None, line[:300]
    number = float(rating[1].replace(",", "."))
    if number > 10:
        return None, line[:300]
    return number, line[rating.end() :][:300]
