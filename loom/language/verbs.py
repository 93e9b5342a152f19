"""What lines need to know of the verbs: their forms, and what a verb's registration says of it.
This package is given the verbs; it lists none."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

from loom.language.forms import Form
from loom.language.refs import (
    BLANK,
    MAX_BLANKS,
    ParseError,
    first_word,
    short,
    unread,
    without_arrow,
)
from loom.language.synonyms import candidates

Swap = tuple[str, str]
Hint = tuple[str, Callable[[re.Match[str]], Iterator[str]]]


class PhraseMeaning(NamedTuple):
    """What a phrase stands for: a verb, words to add before the rest, and a kind of argument
    (`type`, `text`, `count`, `tag`) that the phrase requires."""

    verb: str
    before: tuple[str, ...] = ()
    needs: str = ""


@dataclass(frozen=True)
class Phrases:
    """Wordings that stand for a verb: `phrases` separated by `|`, `*` being one reference inside a
    phrase; `before` and `needs` as in Frame."""

    phrases: str
    before: str = ""
    needs: str = ""


@dataclass(frozen=True)
class Verb:
    """What the registration of a verb says beside its forms. All of it is optional.

    * `past`: the verb in the past tense, as "Recent actions" has it; else the name. `done`: what it
      did, in words for people, as the history has it.
    * `phase`: what a line of it is for in the thinking of an agent, such as `testing`; else its
      group says.
    * `example`: a purpose and an example line; models with a small context are taught only these.
    * `taught`: its line in the INSTRUCTIONS of agents, if it is used every day: its forms joined in
      one, and what they do; in `{…}` what is only for those who may read documents.
    * `is_harmless`: it neither changes the tree nor spends: a question may mean it.
    * `is_destructive`: it is only run where a line has the verb itself.
    * `asks_first`: other programs ask a person before they run it.
    * `outlives_budget`: it still runs when the budget of a turn is used up.
    * `answers_later`: what it was asked for arrives after its line has run. `runs_alone`: the next
      line runs only once that has arrived.
    * `leads_elsewhere`: what is written after it is meant for the place that it made, where a turn
      does not go: nothing more is written in the tree in that turn.
    * `in_pipes`: it may be a line of a pipe; not for verbs that run other lines or take them back.
    * `instead`: the hint for somebody who may not use it, given the values of the line.
    * `takes_each`: a line that names several items is several lines.
    * `takes_text`: everything after the verb is its text, also without quotes.
    * `takes_count`, `takes_type`: a line that begins with a number (`three more`) or with a type
      (`children of a7x2`) means it.
    * `takes_documents`: a document may be where its form has any reference.
    * `shown`: a window in its lines means the `item` that it shows, as in all lines that change the
      tree or the grove, or a `part` of it.

    How its lines may be worded:

    * `phrases`: what stands for the verb. `swaps`: wordings inside its lines and their
      replacements, in order. `dropped`: words without meaning in its lines.
    * `leads`: prepositions that stand for another before a reference; `keys`: words that stand for
      the key of an option; `options`: names that other programs give to its options.
    * `meant_by`: words that suggest the verb, but never run it.
    * `notes`: what the reply adds where a line began with this other word.
    * `hints`: patterns of whole lines of other programs, and the lines to write instead.
    """

    name: str
    past: str = ""
    done: str = ""
    phase: str = ""
    example: str = ""
    taught: str = ""
    is_harmless: bool = False
    is_destructive: bool = False
    asks_first: bool = False
    outlives_budget: bool = False
    answers_later: bool = False
    runs_alone: bool = False
    leads_elsewhere: bool = False
    in_pipes: bool = True
    instead: Callable[[Mapping[str, object]], str] | None = None
    takes_each: bool = False
    takes_text: bool = False
    takes_count: bool = False
    takes_type: bool = False
    takes_documents: bool = True
    shown: Literal["", "item", "part"] = ""
    phrases: tuple[Phrases, ...] = ()
    swaps: tuple[Swap, ...] = ()
    dropped: str = ""
    leads: Mapping[str, str] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)
    meant_by: str = ""
    notes: Mapping[str, str] = field(default_factory=dict)
    hints: tuple[Hint, ...] = ()

    @cached_property
    def dropped_words(self) -> frozenset[str]:
        """The words of `dropped`."""
        return frozenset(self.dropped.split())

    @cached_property
    def swapped_words(self) -> list[tuple[list[str], list[str]]]:
        """The wordings of `swaps` and their replacements, as words."""
        return [(phrase.split(), new.split()) for phrase, new in self.swaps]


@dataclass(frozen=True, eq=False)
class Verbs:
    """The known verbs, each with its forms; their aliases; and what is registered of each."""

    forms: Mapping[str, Sequence[Form]]
    aliases: Mapping[str, str]
    facts: Mapping[str, Verb] = field(default_factory=dict)

    def of(self, verb: str) -> Verb:
        """What is registered of a verb; the defaults for one that says nothing."""
        return self.facts.get(verb) or Verb(verb)

    @cached_property
    def harmless(self) -> frozenset[str]:
        """The verbs that neither change a tree nor spend anything."""
        return frozenset(fact.name for fact in self.facts.values() if fact.is_harmless)

    @cached_property
    def destructive(self) -> frozenset[str]:
        """The verbs that are never run in other words."""
        return frozenset(fact.name for fact in self.facts.values() if fact.is_destructive)

    @cached_property
    def phrases(self) -> Mapping[tuple[str, ...], Sequence[PhraseMeaning]]:
        """What each phrase may stand for, by its words without articles."""
        by_words: dict[tuple[str, ...], list[PhraseMeaning]] = {}
        for verb in self.facts.values():
            for several in verb.phrases:
                frame = PhraseMeaning(verb.name, tuple(several.before.split()), several.needs)
                for phrase in several.phrases.split("|"):
                    words = (word for word in phrase.split() if word not in ("a", "an", "the"))
                    by_words.setdefault(tuple(words), []).append(frame)
        return by_words

    @cached_property
    def longest_phrase(self) -> int:
        """The number of words of the longest phrase."""
        return max((len(phrase) for phrase in self.phrases), default=0)

    @cached_property
    def meant_by(self) -> Mapping[str, Sequence[str]]:
        """The verbs that a word suggests, but never runs."""
        by_word: dict[str, list[str]] = {}
        for verb in self.facts.values():
            for word in verb.meant_by.split():
                by_word.setdefault(word, []).append(verb.name)
        return by_word

    @cached_property
    def counted(self) -> str:
        """The verb that a line which begins with a number means; "" if there is none."""
        return next((fact.name for fact in self.facts.values() if fact.takes_count), "")

    @cached_property
    def typed(self) -> str:
        """The verb that a line which begins with a type means; "" if there is none."""
        return next((fact.name for fact in self.facts.values() if fact.takes_type), "")

    @cached_property
    def hints(self) -> Sequence[tuple[re.Pattern[str], Callable[[re.Match[str]], Iterator[str]]]]:
        """The patterns of lines of other programs, with the rule that makes the lines to write."""
        return [
            (re.compile(pattern, re.IGNORECASE | re.DOTALL), rule)
            for verb in self.facts.values()
            for pattern, rule in verb.hints
        ]

    def verb_of(self, word: str) -> str | None:
        """The verb for a word, which may be an alias; else None."""
        low = word.lower()
        verb = low if low in self.forms else self.aliases.get(low)
        return verb if verb in self.forms else None

    def near(self, word: str) -> tuple[str, ...]:
        """Up to three verbs that differ from the word in few letters, nearest first."""
        return candidates(word, self.forms, self.aliases, self.harmless)

    def body(self, line: str) -> str:
        """A line without the blanks and the arrow before it. Raises ParseError."""
        body = line.rstrip(" \t\r")
        blanks = len(body) - len(body.lstrip(BLANK))
        body = without_arrow(body[blanks:])
        if not body:
            raise unread("The command is missing.", "write one, such as → view here")
        if blanks > MAX_BLANKS:
            raise unread(
                "At most two spaces may come before a command.", "write it at the start of the line"
            )
        return body

    def split(self, body: str) -> tuple[str, str]:
        """The verb, and what follows it on its line. Raises ParseError."""
        word = first_word(body)
        verb = self.verb_of(word)
        if verb is None:
            raise self._unknown(word)
        return verb, body[len(word) :]

    def _unknown(self, word: str) -> ParseError:
        near = self.near(word)
        hint = f"did you mean: {', '.join(near)}" if near else "→ help lists the commands"
        return ParseError("INVALID_SYNTAX", f"There is no command {short(word)}.", hint, near)
