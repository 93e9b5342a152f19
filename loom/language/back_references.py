"""`{1}` in a reply: the id of what its first line made (docs/model.md §5). In a line it may stand
for any argument. A text is stored as it was written, so there only `[{1}]` and the target of a
portal are ids, and in the prose also a word of a sentence. In code nothing is."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator

from loom.language.fences import Fence, opens
from loom.language.refs import quote, unescape
from loom.text.code_spans import code_spans

Name = Callable[[int], str]  # the id for a number; the number in braces if there is none

_NUMBER = r"\{([1-9][0-9]?)\}"
_NUMBER_NEXT = r"\{[1-9][0-9]?\}"
_ARGUMENT = re.compile(rf'"(?:[^"\\]++|\\.)*"|(?<![\w}}^_\\{{$]){_NUMBER}(?![{{}}\w])')
# `[{1}]` is an inline token, `a[{1}]` is code. `[\{1}]` is the text itself.
_TOKEN = rf"(?:(?<![\w)\]])\[|@\[[^\]\n{{}}]{{1,80}}?(?:->|→)[ ]?)\\?(?={_NUMBER_NEXT}\])"
_IN_TEXT = re.compile(rf"({_TOKEN}){_NUMBER}")
# A word of a sentence; `int a[] = {1};`, `f({1})`, `[a-z]{1}`, `"{1}"` and `\frac{1}{2}` are none.
_BEFORE = r"(?:(?<![^\s(（「，。、；：—–])(?<!\w\()(?<!= )|(?<=\*\*))"
_AFTER = r"(?:\Z|[\s.,;:!?)…）」，。、；：！？—–]|\*\*|['’]s\b)"
_IN_PROSE = re.compile(rf"({_TOKEN}|{_BEFORE}\\?(?={_NUMBER_NEXT}{_AFTER})){_NUMBER}")
_INDENTED = re.compile(r"(?: {4}|\t)(?![ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t])")


def in_arguments(line: str, name: Name) -> str:
    """A line with each `{1}` outside quotes replaced by what `name` returns."""
    return _ARGUMENT.sub(lambda match: name(int(match[1])) if match[1] else match[0], line)


def in_quotes(line: str, name: Name) -> str:
    """A line with each `[{1}]` in its quoted texts replaced."""

    def named(match: re.Match[str]) -> str:
        if match[1] or "{" not in match[0]:
            return match[0]
        text = unescape(match[0][1:-1])
        with_ids = in_text(text, name)
        return match[0] if with_ids == text else quote(with_ids)

    return _ARGUMENT.sub(named, line)


def in_text(text: str, name: Name) -> str:
    """A text of a line with each `[{1}]` replaced that is not in code."""
    return "\n".join(
        line if is_code else _outside_code(line, _IN_TEXT, name) for line, is_code in _lines(text)
    )


def in_prose(text: str, name: Name) -> str:
    """The prose with each `{1}` replaced that is a word of a sentence, or in brackets."""
    return "\n".join(
        line if is_code or _INDENTED.match(line) else _outside_code(line, _IN_PROSE, name)
        for line, is_code in _lines(text)
    )


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """The lines of a text, each with whether it is in a fence."""
    fence: Fence | None = None
    for line in text.split("\n"):
        yield line, fence is not None
        fence = (None if fence.closed_by(line) else fence) if fence else opens(line)


def _outside_code(line: str, pattern: re.Pattern[str], name: Name) -> str:
    """The line with the matches replaced that are not between backticks."""
    if "{" not in line:
        return line
    spans = code_spans(line, 0, len(line))
    ends = [end for _, end in spans]

    def named(match: re.Match[str]) -> str:
        at = bisect_left(ends, match.start())
        if at < len(spans) and spans[at][0] <= match.start() < spans[at][1]:
            return match[0]
        number = int(match[2])
        if not match[1].endswith("\\"):
            return match[1] + name(number)
        is_known = name(number) != f"{{{number}}}"
        return f"{match[1][:-1]}{{{number}}}" if is_known else match[0]

    return pattern.sub(named, line)
