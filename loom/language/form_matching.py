"""The words after a verb matched to the parts of a form, for lines in other words."""

import re
from collections.abc import Sequence

from loom.language.forms import Form, FormPart
from loom.language.refs import PREFIXES, SLICES
from loom.language.synonyms import COUNTED, ITEM_KEYS, NOISE, NUMBERS, TYPES
from loom.language.verbs import PhraseMeaning, Verbs

# Puts the words after a verb where a form has them: the result is a line for the canonical reader,
# or nothing if a word has no place.


_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_TIMES = re.compile(r"x?([0-9]{1,3})x?")
_SPAN = re.compile(r"[0-9]+(?:-[0-9]+)?")
_SLICES = {
    "line": "lines",
    "lines": "lines",
    "paragraph": "para",
    "paragraphs": "para",
    "part": "part",
}


_KEYED = re.compile(r"([A-Za-z_]+)([:=])")
_IDS = {"branch": "branch:", "step": "step:", "turn": "turn:", "window": "#", "task": "t"}
_NOUNS = {"doc": "doc", "document": "doc", "stash": "stash", "tree": "tree", "agent": "agent"}
_TEXTS = ("quoted", "content")
_PATTERN = re.compile(r"[\w./*-]+")
_TO_OPTIONS = frozenset("with at and".split())
_NO_VALUE = re.compile(r"[a-z-]+")
_LOCAL = r"[a-z][0-9][a-z][0-9](?:[a-z0-9]{0,4})"
_REF = re.compile(
    rf"(?:{_LOCAL}'?|\[{_LOCAL}'?\]|{_LOCAL}-{_LOCAL}|#[0-9]+|t[0-9]+|here|root|parent|focus)"
)
_NAME = re.compile(r"(?!(?:not|no|the|an?|any|all|another|my|me)$)[a-z][a-z0-9]+")
_TURN = re.compile(r"(?=[a-z]*[0-9])[a-z0-9]{4,}")  # has a digit, unlike any word
_PLACE = re.compile(rf"(?:{_LOCAL}|here|parent|root)")
_PREFIXED = re.compile(
    r"(?:doc|tree|branch|node|stash|trail|agent|augment|pipe|turn|step):.+", re.DOTALL
)


def fit(form: Form, frame: PhraseMeaning, rest: list[str], verbs: Verbs) -> str | None:
    """The line of this form for the words, if every word has a place or a rule that drops it; else
    None. The canonical reader still has to parse it."""
    for phrase, new in verbs.of(form.verb).swapped_words:
        rest = swap(rest, phrase, new)
    fitting = _Fitting(form, [*frame.before, *rest], verbs)
    while fitting.at < len(fitting.words):
        if not fitting.take():
            return None
    takes_documents = verbs.of(form.verb).takes_documents
    if not takes_documents and any(ref.startswith("doc:") for ref in fitting.refs):
        return None
    if not fitting.has(frame.needs) or fitting.lacks_lead():
        return None
    return fitting.line()


class _Fitting:
    """Words taken from left to right, each added to the pieces that it is printed with."""

    def __init__(self, form: Form, words: list[str], verbs: Verbs) -> None:
        self.form = form
        self.plan = form.plan
        self.words = words
        self.verbs = verbs
        self.at = 0
        self.refs: list[str] = []
        self.texts: list[str] = []
        self.tags: list[str] = []
        self.types: list[str] = []
        self.others: list[str] = []
        self.counted = False
        self._free = sum(part.kind in ("ref", "range") for part in self.plan.order)
        led = [part for part in self.plan.leads.values() if part.kind in ("ref", "range")]
        self._leads = [part.lead for part in led if not part.strict]
        self._strict = [part.lead for part in led if part.strict]
        self._facts = verbs.of(form.verb)
        self._dropped = self._facts.dropped_words

    def has(self, need: str) -> bool:
        """Whether there is an argument of the kind that the phrase requires."""
        if need == "text":  # a block may contain it, which the canonical reader checks
            quoted = bool(self.texts) or any('"' in other for other in self.others)
            return quoted or self.plan.block is not None
        piles = {"type": self.types, "tag": self.tags}
        return self.counted if need == "count" else not need or bool(piles[need])

    def lacks_lead(self) -> bool:
        """Whether a word is missing that a ref is never read without."""
        return any(
            not any(ref.startswith(f"{lead} ") for ref in self.refs) for lead in self._strict
        )

    def line(self) -> str | None:
        """The pieces in the order in which the form takes them."""
        if self._facts.takes_type and self.types and not self.refs:
            self.refs.append("here")
        self._give_texts()
        first = self.plan.order[0].kind if self.plan.order else ""
        middle = (
            [*self.texts, *self.refs]
            if first in ("quoted", "content")
            else [*self.refs, *self.texts]
        )
        return " ".join([self.form.verb, *middle, *self.tags, *self.types, *self.others])

    def _give_texts(self) -> None:
        """Gives the only text to the option that needs one: `show "frame"` means its label,
        `edit a7x2 "old" to "new"` what is replaced."""
        if len(self.texts) != 1 or any(part.kind in _TEXTS for part in self.plan.order):
            return
        given = {other.partition(":")[0] for other in self.others}
        needs = [part.key for part in self.plan.required if part.kind == "option"]
        missing = [key for key in needs if key not in given]
        if missing in (["label"], ["replace"]) and (given & {"with"} or missing == ["label"]):
            self.others.append(f"{missing[0]}:{self.texts.pop()}")

    def take(self) -> bool:
        """One word, or several that belong together; False if it has no place."""
        word = self.words[self.at] = self._named(self._keyed(self.words[self.at]))
        if '"' in word or ":" in word or word[:1] in "#§":
            return self._take_marked(word)
        return (
            self._takes_reason(word)
            or self._takes_joined(word)
            or self._takes_key(word)
            or self._takes_number(word)
            or self._takes_word(word)
            or self._takes_lead(word)
            or self._takes_ref(word)
            or self._takes_key_after(word)
            or self._drops(word)
        )

    def _step(self, pile: list[str], piece: str, used: int = 1) -> bool:
        pile.append(piece)
        self.at += used
        return True

    def _after(self, more: frozenset[str] = frozenset()) -> int:
        """The place of the next meaningful word."""
        at = self.at + 1
        while at < len(self.words) and (self.words[at] in NOISE or self.words[at] in more):
            at += 1
        return at

    def _word(self, at: int) -> str:
        return self.words[at] if at < len(self.words) else ""

    # words with a mark: quotes, options, refs with a prefix, tags, slices

    def _keyed(self, word: str) -> str:
        """`n=2`, `type:question`, `id:a7x2` and `replace:` before a blank as this verb's form
        has them."""
        match = _KEYED.match(word)
        if match is None:
            return word
        key, value = match[1].lower(), word[match.end() :]
        if key in ITEM_KEYS and is_ref(value):
            return value
        if match[2] == "=" and key in PREFIXES:
            return f"{key}:{value}"
        key = self._facts.options.get(key, key)
        if key in self.plan.words and value.lower() in ("true", "yes", "1"):
            return key
        if not value and match[2] == ":" and key in self.plan.words:
            return key
        if key == "label" and value[:1] == '"' and self._takes_label():
            return value
        if not value and match[2] == ":" and key in self.plan.leads:
            return key
        if key not in self.plan.options and key != "because":
            return word
        if not value and self._word(self.at + 1):
            value = self.words.pop(self.at + 1)
        part = self.plan.options.get(key)
        if part is not None and part.value not in ("refs", "words", "quoted"):
            value = value.rstrip(",")
        if part is not None and part.value == "ref" and value[:1] == '"':
            value = f"tree:{value}"  # `in:"another tree"`
        if part is not None and value in self.plan.words and value not in part.choices:
            return value
        return f"{key}:{NUMBERS.get(value.lower(), value)}"

    def _takes_label(self) -> bool:
        """Whether the form has its label as a text, without a key."""
        return any(part.name == "label" and part.kind == "quoted" for part in self.plan.order)

    def _named(self, word: str) -> str:
        """`1` as the window or task that it can only be, and `doc "notes"` as one ref."""
        kinds = {kind for part in self.plan.order if part.kind == "ref" for kind in part.refs}
        if word.rstrip(",").isdigit() and kinds in ({"window"}, {"task"}):
            return ("#" if kinds == {"window"} else "t") + word.rstrip(",")
        next_ = self._word(self.at + 1)
        if word in _NOUNS and next_[:1] == '"' and word != self.form.verb:
            self.words.pop(self.at + 1)
            return f"{_NOUNS[word]}:{next_}"
        return word

    def _take_marked(self, word: str) -> bool:
        if word[0] == '"':
            inner = word.strip('"')
            if self._wants_words() and _PATTERN.fullmatch(inner):
                return self._step(self.types, inner)
            if self._has_text_to_spare() and is_ref(inner):
                self.words[self.at] = inner
                return self._takes_ref(inner) if ":" in inner else self.take()
            return self._step(self.texts, word)
        if word[0] == "§":
            return self._step(self.refs, word)
        if word[0] == "#":
            if word[1:].isdigit():
                return self._takes_ref(word)
            return self._step(self.tags, word)
        key, _, value = word.partition(":")
        key = key.lower()
        if key in self.plan.options or key == "because":
            return self._step(self.others, word)
        if key in SLICES:
            return self._step(self.refs, word)
        if key in PREFIXES:
            return self._takes_ref(word)
        if key in self._leads and value:
            return self._step(self.refs, f"{key} {value}")
        return False

    def _wants_words(self) -> bool:
        """Whether the form takes names such as those of augments, and no text."""
        kinds = {part.kind for part in self.plan.order}
        return "word" in kinds and not kinds & {"quoted", "content"}

    def _has_text_to_spare(self) -> bool:
        """Whether the line has more quoted texts than the form takes: `view "a7x2"`."""
        taken = sum(part.kind in ("quoted", "content") for part in self.plan.order)
        return sum(word[:1] == '"' for word in self.words) > taken

    # numbers, options, words of the form

    def _takes_reason(self, word: str) -> bool:
        """`because "it matters"`: what every line may have, in two words."""
        reason = self._word(self.at + 1)
        if word != "because" or reason[:1] != '"' or word in self._dropped:
            return False
        return self._step(self.others, f"{word}:{reason}", 2)

    def _takes_joined(self, word: str) -> bool:
        """`lines 3-9`, `step 3`: a word and the number that belongs to it."""
        next_ = self._word(self.at + 1)
        if word in _SLICES and _SPAN.fullmatch(next_) and word not in self.plan.options:
            end = self._word(self.at + 3)
            if self._word(self.at + 2) == "to" and end.isdigit() and next_.isdigit():
                return self._step(self.refs, f"{_SLICES[word]}:{next_}-{end}", 4)
            return self._step(self.refs, f"{_SLICES[word]}:{next_}", 2)
        if word in ("first", "last") and next_.isdigit() and self._word(self.at + 2) == "lines":
            return self._step(self.refs, f"{'head' if word == 'first' else 'tail'}:{next_}", 3)
        if word in _IDS and _is_id(word, next_):
            self.words[self.at : self.at + 2] = [_IDS[word] + next_]
            return self._takes_ref(self.words[self.at])
        return False

    def _takes_key(self, word: str) -> bool:
        """`depth 5`, `200 tokens`, `as a question`: an option in two words."""
        key = self._facts.keys.get(word, word)
        part = self.plan.options.get(key)
        if part is not None:
            at = self._after(frozenset(("of", "is", "=")))
            value = self._word(at)
            if _is_value(part, value):
                return self._step(self.others, f"{key}:{value}", at + 1 - self.at)
        number = _number(word)
        unit = self.plan.options.get(self._word(self.at + 1))
        if number and unit is not None and unit.value in ("int", "float", "number"):
            return self._step(self.others, f"{unit.key}:{number}", 2)
        return False

    def _takes_key_after(self, word: str) -> bool:
        """`with 200 tokens`, `at temperature 0.5`: an option after a word that leads to it."""
        if word not in _TO_OPTIONS:
            return False
        self.at += 1
        if self._takes_key(self._word(self.at)):
            return True
        self.at -= 1
        return False

    def _takes_number(self, word: str) -> bool:
        """A bare number is `n:`."""
        number = _number(word)
        if (
            not number
            or "n" not in self.plan.options
            or any(other.startswith("n:") for other in self.others)
        ):
            return False
        return self._step(self.others, f"n:{number}")

    def _takes_word(self, word: str) -> bool:
        if word in self.plan.words:
            return self._step(self.others, word)
        if any(part.kind == "type" for part in self.plan.order) and word in TYPES:
            return self._step(self.types, TYPES[word])
        takes_word = any(part.kind == "word" for part in self.plan.order)
        if takes_word and word not in self._dropped and self.verbs.verb_of(word):
            return self._step(self.types, word)
        return False

    # refs and what comes before them

    def _takes_lead(self, word: str) -> bool:
        at = self._after()
        next_ = self._word(at)
        if word == "in" and next_.lower().startswith("tree:"):
            return self._step(self.refs, f"in {next_}", at + 1 - self.at)
        lead = word if word in self.plan.leads else self._facts.leads.get(word, "")
        part = self.plan.leads.get(lead)
        if part is None or (word == "and" and self._is_typed()):
            return False
        if part.refs == ("agent",) and next_[:1] == '"':
            next_ = f"agent:{next_}"
        elif part.refs == ("agent",) and word == lead and _is_name(next_):
            next_ = f"agent:{next_}"  # `using Marie`
        if part.kind in ("quoted", "content"):
            return self._step(self.others, lead) if next_[:1] == '"' else False
        if next_[:1] == '"' and is_ref(next_.strip('"')):
            next_ = next_.strip('"')
        if not is_ref(next_) or (part.refs == ("agent",)) != next_.startswith("agent:"):
            return False
        if lead in self._leads:
            self._leads.remove(lead)
        return self._step(self.refs, f"{lead} {next_}", at + 1 - self.at)

    def _is_typed(self) -> bool:
        """Whether a link says what kind it is: then it matters which end is named first."""
        return any(word.startswith("as:") or word == "as" for word in self.words)

    def _takes_ref(self, word: str) -> bool:
        if not is_ref(word):
            return False
        if self._free or not self._leads:
            self._free -= 1
            return self._step(self.refs, word)
        return self._step(self.refs, f"{self._leads.pop(0)} {word}")

    def _drops(self, word: str) -> bool:
        """Skips a word that has no meaning in this verb's lines."""
        if word not in NOISE and word not in self._dropped:
            return False
        self.counted = self.counted or word in COUNTED
        self.at += 1
        return True


def _is_id(prefix: str, word: str) -> bool:
    """Whether a word after `branch`, `turn`, `step` and the like is the id of one."""
    if prefix == "branch":
        return is_place(word)
    return word.isdigit() or (prefix == "turn" and _TURN.fullmatch(word) is not None)


def _is_value(part: FormPart, value: str) -> bool:
    if part.value in ("int", "float", "number"):
        return _NUMBER.fullmatch(value) is not None
    if part.value == "quoted":
        return value[:1] == '"'
    if part.value in ("ref", "refs"):
        return is_ref(value) or value in part.choices
    if part.value == "choice":
        return value in part.choices
    return part.value == "word" and _NO_VALUE.fullmatch(value) is not None


def _number(word: str) -> str:
    if word in NUMBERS:
        return str(NUMBERS[word])
    match = _TIMES.fullmatch(word)
    if match:
        return match[1]
    return word if _NUMBER.fullmatch(word) else ""


def swap(words: list[str], old: Sequence[str], new: Sequence[str]) -> list[str]:
    """The words with every run of `old` replaced by `new`."""
    if old[0] not in words:  # the usual case
        return words
    old, at = list(old), 0
    while at + len(old) <= len(words):
        if words[at : at + len(old)] == old:
            words = [*words[:at], *new, *words[at + len(old) :]]
            at += len(new)
        else:
            at += 1
    return words


def _is_name(word: str) -> bool:
    """Whether a bare word after `using` may be the name of an agent."""
    return _NAME.fullmatch(word) is not None and not is_ref(word) and word not in NUMBERS


def is_place(word: str) -> bool:
    """Whether a word is a local id, or a word for one: what `branch:` takes."""
    return _PLACE.fullmatch(word.lower()) is not None


def is_ref(word: str) -> bool:
    """Whether a word is a reference by its form alone. Stricter than where a ref is required, so
    that no common word is taken for an id."""
    return _REF.fullmatch(word.lower()) is not None or _PREFIXED.fullmatch(word) is not None
