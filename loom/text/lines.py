"""Lines of a text by their numbers."""


def line_span(text: str, first: int, last: int) -> tuple[int, int]:
    """Where the lines `first` to `last` (from 1) begin and end, in code points, without the end of
    the last line."""
    lines = text.split("\n")
    start = sum(len(line) + 1 for line in lines[: first - 1])
    return start, start + len("\n".join(lines[first - 1 : last]))
