"""The line to write instead of one in words of other programs: `forget stash "plan"`, `append to
doc:"notes" …`, `create document "ideas"`. Each rule names the form that was meant, with what the
line says; nothing of it is run, and a line is shown only if it can be read."""

import re
from collections.abc import Callable, Iterator

from loom.language.refs import quote

_DOC = r'(?:the )?(?:document|doc)\b(?: called| named)?:?\s*("[^"]*"|[\w-]+)'
_SECTION = r'(?:the )?(?:section |§ ?)("[^"]*"|[\w-]+)'
_FORGET = r"(?:forget|delete|remove|clear|discard|drop|erase|unstash)"
_REMOVE = r"(?:delete|remove|erase|cut|drop|clear)"
_CREATE = r"(?:create|make|add|start|new)(?: me)?(?: a| the)?(?: new)?"
_WHERE = rf"(?:,|\s|of|in|from|to|at)*?(?:{_DOC})?"


ELSE = "else "  # before a line that is shown if none above it can be read
BELOW = ", the text in the lines below it, and ← alone on the last"  # after a line without its text


def _text(words: str) -> str:
    """A text as a quote on one line, whether it was quoted or not."""
    bare = words.strip().lstrip(":,").strip()
    if len(bare) > 1 and bare[0] == bare[-1] == '"':
        bare = bare[1:-1]
    return quote(bare.replace('\\"', '"'))


def _doc(name: str | None) -> str:
    return f"doc:{_text(name)}" if name else 'doc:"name"'


def _part(name: str) -> str:
    bare = name.strip('"')
    return f"§{bare}" if re.fullmatch(r"[\w-]+", bare) else f"§{quote(bare)}"


def _unpin(found: re.Match[str]) -> Iterator[str]:
    what = found[1]
    if what.startswith("#"):
        yield f"hide {what}"
        yield f"close {what}"
    else:
        yield f"drop {what}"


def _except(found: re.Match[str]) -> Iterator[str]:
    yield " and → ".join([f"{found[1].lower()} all", f"show {found[2]}"])


def _remember(found: re.Match[str]) -> Iterator[str]:
    yield f"todo add {_text(found[1])}"
    yield f"scratchpad append {_text(found[1])}"


def _append(found: re.Match[str]) -> Iterator[str]:
    yield f"write {_doc(found[1])} append {_text(found[2])}"


def _forget(found: re.Match[str]) -> Iterator[str]:
    yield f"drop stash:{_text(found[1])}"


def _unsection(found: re.Match[str]) -> Iterator[str]:
    name, document = _part(found[1]), _doc(found[2])
    yield f"write {document} remove:{name}"
    yield f"{ELSE}view {document} {name} full"


def _move(found: re.Match[str]) -> Iterator[str]:
    first, second, document = _part(found[1]), _part(found[3]), _doc(found[4])
    side = "after" if found[2] in ("after", "below", "behind") else "before"
    yield f"write {document} move:{first} {side}:{second}"
    yield f"{ELSE}view {document} {first} full"


def _create(found: re.Match[str]) -> Iterator[str]:
    if found[2] and found[2].strip(" :,"):
        text = re.sub(r"^\W*(?:with|containing|saying|text)\b", "", found[2].strip())
        yield f"write {_doc(found[1])} new {_text(text)}"
    else:
        yield f"write {_doc(found[1])} new{BELOW}"


def _write_part(found: re.Match[str]) -> Iterator[str]:
    document, name, text = _doc(found[1]), _part(found[2]), _text(found[3])
    yield f"write {document} at:{name} {text}"
    yield f"write {document} replace:{name} {text}"


def _tasks(found: re.Match[str]) -> Iterator[str]:
    lines = [
        re.sub(r"^\s*(?:[-*+•]|\d+[.)])?\s*(?:\[.?\])?\s*", "", one) for one in found[1].split("\n")
    ]
    texts = [quote(one.strip().strip('"')) for one in lines if one.strip(" \t\r←")]
    if texts:
        yield " ".join(["todo add", *texts])


def _section_words(found: re.Match[str]) -> Iterator[str]:
    yield f"{found[1]}§{quote(found[2].strip())}{found[3]}"


def _link_type(found: re.Match[str]) -> Iterator[str]:
    first, second, kind, rest = found.groups()
    options = re.sub(r"\b(confidence|note)\s*[:= ]\s*", r"\1:", rest.strip(" ,."))
    yield f"link {first} to {second} as:{kind} {options}".strip()


_ID = r"\[?([a-z][0-9][a-z][0-9]\w{0,4})\]?"
_SAY = re.IGNORECASE | re.DOTALL
_RULES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Iterator[str]]], ...] = tuple(
    (re.compile(pattern, _SAY), rule)
    for pattern, rule in (
        (r"unpin (?:the )?(?:window |node )?(#\d+|\[?[a-z]\d[a-z]\d\w*\]?)[.,]?", _unpin),
        (r"(hide) (?:everything|all|all windows)(?:,? (?:except|but)(?: for)?) (.+?)[.]?", _except),
        (r"(?:remember|memorise|memorize|note to self)(?: that)?\b[:,]?\s*(.+)", _remember),
        (rf"(?:append|add)(?: this| text)? to (?:the end of )?{_DOC}[:,]?\s+(.+)", _append),
        (rf'{_FORGET} (?:the |my )?stash(?:ed)?:?\s*("[^"]*"|[\w-]+)', _forget),
        (rf"{_REMOVE} {_SECTION}{_WHERE}[.]?", _unsection),
        (
            rf"move {_SECTION}(?: to)? (after|before|above|below|behind) {_SECTION}{_WHERE}[.]?",
            _move,
        ),
        (rf"{_CREATE} {_DOC}(.*)", _create),
        (rf"write (?:to |in |into )?{_DOC},?\s+(?:at |in )?{_SECTION}[:,]?\s+(.+)", _write_part),
        (r"todo add:?\s*\n(.+)", _tasks),
        (r"todo add:?", lambda _: iter(['todo add "…"'])),
        (r"todo add:?\s+([^\n\"]+)", _tasks),
        (r"(.*\s)§([^\W\d][\w-]*(?: [^\W\d][\w-]*){1,5})((?: full| summary)?)", _section_words),
        (
            rf"link {_ID} (?:to|and|with) {_ID},?\s+\(?(?:as )?([a-z]\w+)\)?(.*)",
            _link_type,
        ),
    )
)
MOST = 2  # lines that a hint names


def lines_meant(body: str, below: str | None) -> Iterator[str]:
    """The lines, without arrow, that a body in words of other programs stands for; they still have
    to be read. `below` are the lines below it, which a rule may take as its text."""
    text = body.strip().rstrip("←").strip()
    whole = text if not below or not below.strip() else f"{text}\n{below}"
    for pattern, rule in _RULES:
        found = pattern.fullmatch(whole) or pattern.fullmatch(text)
        if found is not None:
            yield from rule(found)
            return
