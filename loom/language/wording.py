"""Other wordings of a command, turned into lines for the canonical reader.

A rule must account for every word of a line; unknown words are never skipped, so that `don't`,
`all but` or `should I` never run anything. Quoted texts may be moved, but not changed. Nothing is
guessed: the caller runs a line only if all readings agree.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from loom.language.form_matching import fit, is_ref, swap
from loom.language.refs import (
    AmbiguousError,
    ParseError,
    Token,
    first_word,
    quote,
    token_of,
    tokens_of,
)
from loom.language.synonyms import (
    AFTERWARDS,
    ARTICLES,
    MOST,
    NUMBERS,
    PLACES,
    PLAIN_POLITE,
    POLITE,
    SHORT,
    TYPES,
)
from loom.language.verbs import PhraseMeaning, Verbs

MAX_TOKENS = 48  # a longer line is not natural language
_BEFORE_REFS = frozenset("from at on under below to in for".split())
_AFTER_THIS = frozenset("to with as at from".split())
_TURNS = frozenset("except but not without unless never don't".split())
_BETWEEN = (
    re.compile(r"[;|]"),
    re.compile(r"[ \t](?:→|->)[ \t]*|[,;]?[ \t]then[ \t](?:→[ \t]*)?"),
    re.compile(r",?[ \t]and(?:[ \t]then)?[ \t](?:→[ \t]*)?|,[ \t]"),
)
_PLACED = [(phrase.split(), [ref]) for phrase, ref in PLACES]
_JOINS = frozenset("to on with as node at about of in for".split())
_BEFORE_TAGS = frozenset("to on with as the node tag tags tagged and of label".split())
_OPTION = re.compile(r"[a-z]+:[^\s]")
_ONE_WORD = re.compile(r"[^\W_][\w’'-]*")
_DOTS = re.compile(
    r"^(\[?[a-z][0-9][a-z0-9]+\]?)(?:\.{2,3}|…|–|—)(\[?[a-z][0-9][a-z0-9]+\]?)$", re.I
)
_CALL = re.compile(r"([A-Za-z]+)\((.*)\)[.;]?", re.DOTALL)
_CURLY = re.compile(r"[“„]([^“”„]*)[”“]|«([^«»]*)»|(?<![\w])[‘‚]([^‘’‚]*)[’‘](?!\w)|‹([^‹›]*)›")
_SINGLE = re.compile(r"(?<![^ \t:=(,])'([^']*)'(?=[ \t.,;:)]|$)")
_OWN = re.compile(r"(\[?[a-z][0-9][a-z][0-9][a-z0-9]{0,4}\]?)'s")  # `a7x2's children`
_WINDOWS = re.compile(r"#[0-9]+(?:,#?[0-9]+)+[.,;]?")
_AFTER_QUOTE = re.compile(r'"[.,;:!?…]+$')


def several_readings(lines: tuple[str, ...], verbs: tuple[str, ...]) -> ParseError:
    """The error of a line that could mean several commands, with the lines to write instead."""
    shown = " or ".join(line.partition("\n")[0] for line in lines[:MOST])
    return AmbiguousError(
        "INVALID_SYNTAX",
        "This line is ambiguous.",
        f"write {shown}",
        tuple(dict.fromkeys(verbs))[:MOST],
    )


def no_reading(bad: ParseError, body: str, verbs: Verbs) -> ParseError:
    """The refusal of a line with an unknown verb, with suggestions."""
    if verbs.verb_of(first_word(body)) is not None:
        return bad
    near = meant(body, verbs)
    return ParseError(
        bad.code, bad.message, f"did you mean: {', '.join(near)}" if near else bad.hint, near
    )


def variants(body: str, verbs: Verbs) -> tuple[list[str], list[str]]:
    """The lines, without arrow, that a body in other words may mean: those in which a verb stands
    for itself, which have precedence, and those from other phrases. None if no rule accounts for
    all of it. Each still has to be parsed. Raises ParseError for an open quote."""
    text = free_text(body, verbs)
    if text is not None:
        return [text], []
    tokens = tokens_of(plain_quotes(body, verbs))
    own: dict[str, None] = {}
    others: dict[str, None] = {}
    if len(tokens) > MAX_TOKENS:
        return [], []
    asks = bool(tokens) and tokens[-1].raw.rstrip(".!").endswith("?")
    words = [word for token in tokens for word in _plain(token)]
    if words:  # `think: "…"`, which is no option, and `/view`
        words[0] = words[0].lstrip("/!").rstrip(":").lower() or words[0]
    for spoken, own_word_only in _bared(words):
        for frame, rest in _frames(spoken, verbs):
            if not _may_be_meant(frame.verb, words, verbs, asks=asks, own_word_only=own_word_only):
                continue
            lines = own if frame == PhraseMeaning(spoken[0]) else others
            for form in verbs.forms[frame.verb]:
                line = fit(form, frame, rest, verbs)
                if line is not None:
                    lines[line] = None
    return list(own), [line for line in others if line not in own]


def plain_quotes(body: str, verbs: Verbs) -> str:
    """A body with “these”, ‘these’ or 'these' quotes replaced by plain ones, if it has no plain
    ones, and a call such as `view(a7x2)` as words."""
    call = _CALL.fullmatch(body)
    if call is not None and call[1].lower() not in verbs.destructive:
        body = f"{call[1]} {call[2]}"
    if '"' in body:
        return body
    body = _CURLY.sub(lambda match: quote("".join(group or "" for group in match.groups())), body)
    if '"' in body or body.count("'") != 2 * len(_SINGLE.findall(body)):
        return body
    return _SINGLE.sub(lambda match: quote(match[1]), body)


def _may_be_meant(
    verb: str, words: list[str], verbs: Verbs, *, asks: bool, own_word_only: bool
) -> bool:
    """Whether the phrasing allows a verb: a question asks for no change, unless it is a request;
    `can I` asks for permission only."""
    if verb in verbs.harmless:
        return True
    if verb in verbs.destructive:
        return own_word_only and not asks
    first, second = (*words, "", "")[:2]
    if second == "i" and first in ("can", "may", "could"):
        return False
    return not asks or (second == "you" and first in ("can", "could", "would", "will"))


def free_text(body: str, verbs: Verbs) -> str | None:
    """The line for a text without quotes if the verb takes only a text, such as everything after
    `think`; None for any other line."""
    word, _, rest = body.partition(" ")
    rest = rest.strip()
    if '"' in body or not rest or "because:" in rest:
        return None
    verb = word.lower().rstrip(":")
    return f"{verb} {quote(rest)}" if verb in verbs.forms and verbs.of(verb).takes_text else None


# Suggestions for a line that cannot be parsed.


def suggestions(body: str, verbs: Verbs) -> Iterator[tuple[str, ...]]:
    """Lines that may have been meant by one that cannot be parsed, most likely first; each a tuple
    of one or several. They still have to be parsed, and are only shown, never run."""
    verb = verbs.verb_of(first_word(body).rstrip(":"))
    for mark in _BETWEEN:
        parts = [part.strip(" \t.,") for part in mark.split(body) if part and part.strip(" \t.,")]
        if 1 < len(parts) <= MOST and all(verbs.verb_of(first_word(part)) for part in parts):
            yield tuple(parts)
    yield from _without_articles(body)
    if verb is None:
        near = meant(body, verbs)
        own = verbs.near(first_word(body))
        if (
            len(near) == 1
            and near[0] not in verbs.destructive
            and near[0] in (*verbs.harmless, *own)
        ):
            line = f"{near[0]}{body[len(first_word(body)) :]}"
            yield (line,)
            yield from suggestions(line, verbs)
        return
    first, last = body.find('"'), body.rfind('"')
    if body.count('"') > 2 and not _has_whole_quotes(body):  # quotes inside a quote
        inner = body[first + 1 : last].replace('\\"', '"')
        yield (f"{body[:first]}{quote(inner)}{body[last + 1 :]}",)
    words = body.split()
    if '"' not in body or verb in ("tag", "untag"):
        yield from _quoted(verb, body, verbs)
    if verb == "link" and len(words) > 3:
        refs = [word for word in words[1:] if is_ref(word)]
        types = [word for word in words[1:] if word.isalpha() and word not in _BETWEEN_ENDS]
        if len(refs) == 2 and len(types) == 1:
            yield (f"link {refs[0]} to {refs[1]} as:{types[0]}",)
    if verb not in verbs.harmless or _TURNS & {word.lower() for word in words}:
        return  # what is left out may matter
    for count in range(len(words) - 1, 1, -1):
        if is_ref(words[count]):
            return  # the line would be about something else
        yield (" ".join(words[:count]).rstrip(".,;:!?—–-#/"),)


def _without_articles(body: str) -> Iterator[tuple[str, ...]]:
    """The line without `please`, articles, nouns before a ref and the brackets of a form, if it has
    any: `expand the supports of the node a7x2`, `expand supports [of a7x2]`."""
    if '"' in body:
        return
    words = body.replace("[", "").replace("]", "").split()
    plain = [
        word
        for word, after in pairwise([*words, ""])
        if word.lower() not in ARTICLES and not (word.lower() in _NODES and is_ref(after))
    ]
    if len(plain) > 1 and plain != body.split():
        yield (" ".join(plain),)


_NODES = frozenset("node text branch".split())
_BETWEEN_ENDS = frozenset("to as from with and of by at in on into onto for".split())


def _has_whole_quotes(body: str) -> bool:
    """Whether every quote of a body is a word of its own, or the value of an option."""
    try:
        return not any(token.mixed for token in tokens_of(body))
    except ParseError:
        return False


def _names_two(words: list[str]) -> bool:
    """Whether `and` after a reference leads to something else, which may be an id."""
    return any(is_ref(word) and other in ("and", "&") for word, other in pairwise(words))


def _tagged(verb: str, body: str) -> Iterator[tuple[str, ...]]:
    """The line with its words and quoted texts as tags: `tag a7x2 best`, `tag a7x2 "best"`."""
    words = [token.raw for token in tokens_of(body)][1:]
    if _names_two(words):  # the second may be an id that is not there
        return
    refs = [word for word in words if is_ref(word)]
    others = [word.lstrip("#") for word in words if not is_ref(word)]
    names = [word for word in others if word.lower() not in _BEFORE_TAGS]
    names = [word.strip('"') if _ONE_WORD.fullmatch(word.strip('"')) else word for word in names]
    if refs and names and all(word[:1] == '"' or _ONE_WORD.fullmatch(word) for word in names):
        yield (" ".join([verb, refs[0], *(f"#{name}" for name in names)]),)


def _quoted(verb: str, body: str, verbs: Verbs) -> Iterator[tuple[str, ...]]:
    """The line with its last words as the missing text or tags."""
    if verb in ("tag", "untag"):
        yield from _tagged(verb, body)
        return
    words = body.split()
    parts = [part for form in verbs.forms[verb] for part in form.parts]
    if not any(part.kind in ("content", "quoted") for part in parts):
        return
    at = 1
    while at < len(words) and (
        is_ref(words[at].rstrip(":,")) or words[at].lower() in _JOINS or _OPTION.match(words[at])
    ):
        at += 1
    head = [word.rstrip(":,") if is_ref(word.rstrip(":,")) else word for word in words[1:at]]
    head = [word for word in head if word.lower() not in _JOINS]
    if at < len(words):
        yield (" ".join([verb, *head, quote(" ".join(words[at:]))]),)


def meant(body: str, verbs: Verbs) -> tuple[str, ...]:
    """Up to three verbs that the words of a body may mean, the first word before the others; by
    spelling or by synonyms. One that writes or spends must be spelt almost so."""
    verbs_meant: dict[str, None] = {}
    spoken = [token.raw.lower().strip(".,;:!?") for token in body_tokens(body)][:8]
    for place, word in enumerate(spoken):
        own = verbs.verb_of(word)
        for near in (
            own if place == 0 or own in verbs.harmless else None,
            *verbs.meant_by.get(word, ()),
        ):
            if near in verbs.forms:
                verbs_meant[str(near)] = None
        if place == 0:
            verbs_meant.update(dict.fromkeys(verbs.near(word)))
        for frame in verbs.phrases.get((word,), ()):
            if frame.verb in verbs.forms and frame.verb in verbs.harmless:
                verbs_meant[frame.verb] = None
    return tuple(verbs_meant)[:MOST]


# The words of a body, and the phrases they may begin with.


def body_tokens(body: str) -> list[Token]:
    """The words of a body outside quotes; none if a quote is not closed."""
    return [token_of(word) for word in body.partition('"')[0].split()]


def _plain(token: Token) -> list[str]:
    """A token as one or more raw words: small letters, no punctuation at its end; what is
    quoted is left as it is."""
    raw = token.raw
    if '"' in raw:
        match = _AFTER_QUOTE.search(raw)
        return [raw[: match.start() + 1] if match else raw]
    if _WINDOWS.fullmatch(raw):  # `#1,#2`
        return [f"#{number}" for number in raw.replace("#", "").rstrip(".,;").split(",")]
    keyed = ":" in raw[:-1] and raw[:1] not in "§#"  # a list that ends in a comma is no list
    is_item = keyed and raw.partition(":")[0].lower().lstrip("(`") in ("node", "branch")
    ends = ".,;!?…" if is_item or not keyed else ".;!?…"
    low = raw.rstrip(ends).lstrip("(`").rstrip(")`").rstrip(ends)
    low = low.strip("*") if "**" in low and low.strip("*") else low
    low = low[2:] if low[:2] == "--" else low
    low = low.lower() if is_item else low
    low = _DOTS.sub(r"\1-\2", low)
    if low[:1] not in "§#" and ":" not in low[:-1] and low.replace("’", "'").isascii():
        low = low.lower().replace("’", "'")
        named = low.endswith(":") and (low == "this:" or is_ref(low[:-1]))
        low = low[:-1] if named else low  # an option takes no blank after its colon
    if low in SHORT:
        return SHORT[low].split()
    own = _OWN.fullmatch(low)
    if own is not None:  # only verbs that may drop the `'s` go on with it
        return [own[1], "'s"]
    return [low] if low else []


def _bared(words: list[str]) -> Iterator[tuple[list[str], bool]]:
    """The words without polite phrases around them; and whether those were of the plain kind,
    which alone may precede a destructive verb."""
    words = _without_end(words)
    plain = _without_start(words, _PLAIN_POLITE)
    yield plain, True
    bare = _without_start(plain, _ALL_POLITE)
    if bare != plain:
        yield bare, False
    front = next(_moved(bare), None)
    if front is not None:
        yield _without_start(front, _PLAIN_POLITE), False


def _longest_first(phrases: str) -> list[list[str]]:
    return sorted((phrase.split() for phrase in phrases.split("|")), key=len, reverse=True)


_PLAIN_POLITE = _longest_first(PLAIN_POLITE)
_ALL_POLITE = _longest_first(f"{PLAIN_POLITE}|{POLITE}")
_AFTERWARDS = _longest_first(AFTERWARDS)


def _without_start(words: list[str], known: list[list[str]]) -> list[str]:
    while words:
        start = next((phrase for phrase in known if words[: len(phrase)] == phrase), None)
        if start is None or len(start) >= len(words):
            return words
        words = words[len(start) :]
    return words


def _without_end(words: list[str]) -> list[str]:
    while words:
        ending = next((phrase for phrase in _AFTERWARDS if words[-len(phrase) :] == phrase), None)
        if ending is None or len(ending) >= len(words):
            return words
        words = words[: -len(ending)]
    return words


def _moved(words: list[str]) -> Iterator[list[str]]:
    """`from a7x2 generate three` with the place moved to the end."""
    if not words or words[0] not in _BEFORE_REFS:
        return
    at = 1
    while at < len(words) and (words[at] in ARTICLES or words[at] == "node"):
        at += 1
    if at + 1 < len(words) and is_ref(words[at]):
        yield [*words[at + 1 :], words[0], words[at]]


def _frames(words: list[str], verbs: Verbs) -> Iterator[tuple[PhraseMeaning, list[str]]]:
    """Every phrase that the words begin with, and the words after it."""
    if not words:
        return
    placed = _placed(words)
    verb = verbs.verb_of(words[0])
    if verb is not None and (verb not in verbs.destructive or words[0] == verb):
        yield PhraseMeaning(verb), words[1:]
        if verb not in verbs.destructive and placed != words:
            yield PhraseMeaning(verb), placed[1:]
    if words[0] in NUMBERS or words[0].isdigit() or words[0] == "another":
        rest = words[words[0] == "another" :]
        yield from _known(verbs, PhraseMeaning(verbs.counted, needs="count"), rest)
    if words[0] in TYPES or (words[0] in ARTICLES and words[1:2] and words[1] in TYPES):
        yield from _known(verbs, PhraseMeaning(verbs.typed, needs="type"), words)
    for phrase, taken, rest in _prefixes(placed, verbs.longest_phrase):
        for frame in verbs.phrases.get(phrase, ()):
            yield from _known(verbs, frame, [*taken, *rest])


def _known(
    verbs: Verbs, frame: PhraseMeaning, rest: list[str]
) -> Iterator[tuple[PhraseMeaning, list[str]]]:
    if frame.verb in verbs.forms and frame.verb not in verbs.destructive:
        yield frame, rest


def _placed(words: list[str]) -> list[str]:
    """The words with `this node` and the like replaced by the ref that they stand for."""
    for phrase, ref in _PLACED:
        words = swap(words, phrase, ref)
    after = [*words[1:], ""]
    return ["here" if _is_this(*pair) else pair[0] for pair in zip(words, after, strict=True)]


def _is_this(word: str, after: str) -> bool:
    """Whether `this` stands for a node: nothing else is named with it."""
    return word == "this" and (after[:1] in ("", '"', "#") or after in _AFTER_THIS)


def _prefixes(
    words: list[str], longest: int
) -> Iterator[tuple[tuple[str, ...], list[str], list[str]]]:
    """Beginnings of the words, without articles and with one ref as `*`: the phrase with and
    without `me`, the ref in it, and the words after it."""
    whole: list[str] = []
    bare: list[str] = []
    taken: list[str] = []
    for at, word in enumerate(words):
        if word in ARTICLES or (word == "node" and whole):
            continue
        shown = word
        if is_ref(word) and whole and not taken:
            taken, shown = [word], "*"
        whole.append(shown)
        bare += [] if shown in ("me", "us") else [shown]
        if len(bare) > longest:
            return
        for phrase in {tuple(whole), tuple(bare)}:
            yield phrase, taken, words[at + 1 :]
