"""Other wordings of a command, turned into lines that the canonical reader reads.

Every word of a line must be accounted for by a rule: one that is not is never passed over,
so that `don't`, `all but` or `should I` never run anything. Quoted texts are moved at most.
Nothing is guessed: the caller runs a line only where all readings agree.
"""

import re
from collections.abc import Iterator

from loom.grammar.form_matching import MOST, Verbs, candidates, fit, is_ref, swap
from loom.grammar.synonyms import (
    AFTERWARDS,
    ARTICLES,
    DESTRUCTIVE,
    HARMLESS,
    LONGEST,
    MEANT,
    NUMBERS,
    PHRASES,
    PLACES,
    PLAIN_POLITE,
    POLITE,
    SHORT,
    TYPES,
    Frame,
)
from loom.grammar.tokens import Token, token_of, tokens_of

MAX_TOKENS = 48  # a longer line is no spoken one
_BEFORE_REFS = frozenset("from at on under below to in for".split())
_AFTER_THIS = frozenset("to with as at from".split())
_AFTER_QUOTE = re.compile(r'"[.,;:!?…]+$')


def variants(body: str, verbs: Verbs) -> tuple[list[str], list[str]]:
    """The lines, without arrow, that a body in other words may mean: those in which a verb
    stands for itself, which count first, and those of other phrases. None where no rule
    accounts for all of it. Each has still to be read. Raises Bad on an open quote."""
    tokens = tokens_of(body)
    own: dict[str, None] = {}
    others: dict[str, None] = {}
    if len(tokens) > MAX_TOKENS:
        return [], []
    asks = bool(tokens) and tokens[-1].raw.rstrip(".!").endswith("?")
    words = [word for token in tokens for word in _plain(token)]
    if words and words[0].endswith(":"):  # `think: "…"`, which is no option
        words[0] = words[0].rstrip(":").lower()
    for said, own_word_only in _bared(words):
        for frame, rest in _frames(said, verbs):
            if not _may_be_meant(frame.verb, words, asks, own_word_only):
                continue
            found = own if frame == Frame(said[0]) else others
            for form in verbs.forms[frame.verb]:
                line = fit(form, frame, rest, verbs)
                if line is not None:
                    found[line] = None
    return list(own), [line for line in others if line not in own]


def _may_be_meant(verb: str, words: list[str], asks: bool, own_word_only: bool) -> bool:
    """Whether the way of speaking allows a verb: a question asks for no change, unless it is
    a request; `can I` asks for leave, which is not the thing itself."""
    if verb in HARMLESS:
        return True
    if verb in DESTRUCTIVE:
        return own_word_only and not asks
    first, second = (*words, "", "")[:2]
    if second == "i" and first in ("can", "may", "could"):
        return False
    return not asks or (second == "you" and first in ("can", "could", "would", "will"))


def meant(body: str, verbs: Verbs) -> tuple[str, ...]:
    """Up to three verbs that the words of a body may have meant, the first word before the
    others; each by letters or by synonyms."""
    found: dict[str, None] = {}
    spoken = [token.raw.lower().strip(".,;:!?") for token in body_tokens(body)][:8]
    for place, word in enumerate(spoken):
        for near in (verbs.verb_of(word), *MEANT.get(word, ())):
            if near in verbs.forms:
                found[str(near)] = None
        if place == 0:
            found.update(dict.fromkeys(candidates(word, verbs.forms, verbs.aliases)))
        for frame in PHRASES.get((word,), ()):
            if frame.verb in verbs.forms:
                found[frame.verb] = None
    return tuple(found)[:MOST]


def body_tokens(body: str) -> list[Token]:
    """The words of a body that stand in no quote; none where a quote is not closed."""
    return [token_of(word) for word in body.partition('"')[0].split()]


def _plain(token: Token) -> list[str]:
    """A token as one or more raw words: small letters, no punctuation at its end; what is
    quoted is left as it is."""
    raw = token.raw
    if '"' in raw:
        match = _AFTER_QUOTE.search(raw)
        return [raw[: match.start() + 1] if match else raw]
    keyed = ":" in raw[:-1] and raw[:1] not in "§#"  # a list that ends in a comma is no list
    low = raw.rstrip(".;!?…" if keyed else ".,;!?…").lstrip("(`").rstrip(")`")
    if low[:1] not in "§#" and ":" not in low[:-1] and low.replace("’", "'").isascii():
        low = low.lower().replace("’", "'")
        named = low.endswith(":") and (low == "this:" or is_ref(low[:-1]))
        low = low[:-1] if named else low  # an option takes no blank after its colon
    if low in SHORT:
        return SHORT[low].split()
    return [low] if low else []


def _bared(words: list[str]) -> Iterator[tuple[list[str], bool]]:
    """The words without what politeness puts around them; and whether that was of the plain
    sort, which alone may stand before a destructive verb."""
    words = _without_end(words)
    plain = _without_start(words, PLAIN_POLITE)
    yield plain, True
    bare = _without_start(plain, f"{PLAIN_POLITE}|{POLITE}")
    if bare != plain:
        yield bare, False
    front = next(_moved(bare), None)
    if front is not None:
        yield _without_start(front, PLAIN_POLITE), False


def _without_start(words: list[str], phrases: str) -> list[str]:
    known = sorted((one.split() for one in phrases.split("|")), key=len, reverse=True)
    while words:
        found = next((one for one in known if words[: len(one)] == one), None)
        if found is None or len(found) >= len(words):
            return words
        words = words[len(found) :]
    return words


def _without_end(words: list[str]) -> list[str]:
    known = sorted((one.split() for one in AFTERWARDS.split("|")), key=len, reverse=True)
    while words:
        found = next((one for one in known if words[-len(one) :] == one), None)
        if found is None or len(found) >= len(words):
            return words
        words = words[: -len(found)]
    return words


def _moved(words: list[str]) -> Iterator[list[str]]:
    """`from a7x2 generate three` with the place put last."""
    if not words or words[0] not in _BEFORE_REFS:
        return
    at = 1
    while at < len(words) and (words[at] in ARTICLES or words[at] == "node"):
        at += 1
    if at + 1 < len(words) and is_ref(words[at]):
        yield [*words[at + 1 :], words[0], words[at]]


def _frames(words: list[str], verbs: Verbs) -> Iterator[tuple[Frame, list[str]]]:
    """Every phrase that the words begin with, and what stands after it."""
    if not words:
        return
    verb = verbs.verb_of(words[0])
    if verb is not None and (verb not in DESTRUCTIVE or words[0] == verb):
        yield Frame(verb), words[1:]
        if verb not in DESTRUCTIVE and _placed(words) != words:
            yield Frame(verb), _placed(words)[1:]
    if words[0] in NUMBERS or words[0].isdigit() or words[0] == "another":
        rest = words[words[0] == "another" :]
        yield from _known(verbs, Frame("continue", needs="count"), rest)
    if words[0] in TYPES or (words[0] in ARTICLES and words[1:2] and words[1] in TYPES):
        yield from _known(verbs, Frame("list", needs="type"), words)
    said = _placed(words)
    for phrase, taken, rest in _prefixes(said):
        for frame in PHRASES.get(phrase, ()):
            yield from _known(verbs, frame, [*taken, *rest])


def _known(verbs: Verbs, frame: Frame, rest: list[str]) -> Iterator[tuple[Frame, list[str]]]:
    if frame.verb in verbs.forms and frame.verb not in DESTRUCTIVE:
        yield frame, rest


def _placed(words: list[str]) -> list[str]:
    """The words with `this node` and the like as the ref that they are."""
    for phrase, ref in PLACES:
        words = swap(words, phrase.split(), [ref])
    after = [*words[1:], ""]
    return ["here" if _is_this(*pair) else pair[0] for pair in zip(words, after, strict=True)]


def _is_this(word: str, after: str) -> bool:
    """Whether `this` stands for a node: nothing else is named by it."""
    return word == "this" and (after[:1] in ("", '"', "#") or after in _AFTER_THIS)


def _prefixes(words: list[str]) -> Iterator[tuple[tuple[str, ...], list[str], list[str]]]:
    """Beginnings of the words, articles passed over and one ref as `*`: the phrase with and
    without `me`, the ref in it, and the words after it."""
    whole: list[str] = []
    bare: list[str] = []
    taken: list[str] = []
    for at, word in enumerate(words):
        if word in ARTICLES or (word == "node" and whole):
            continue
        said = word
        if is_ref(word) and whole and not taken:
            taken, said = [word], "*"
        whole.append(said)
        bare += [] if said in ("me", "us") else [said]
        if len(bare) > LONGEST:
            return
        for phrase in {tuple(whole), tuple(bare)}:
            yield phrase, taken, words[at + 1 :]
