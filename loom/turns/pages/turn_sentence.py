"""What a turn did, in one line of prose: "Searched for “Marie”, read 3 passages, noted 1 thing"."""

import re
from collections.abc import Callable, Sequence

from django.utils.translation import gettext, ngettext

from loom.engine import registry
from loom.engine.models import Step
from loom.errors import CommandError

MOST_PARTS = 5

_VERB = re.compile(r"→ ([a-z_]+)")
_QUERY = re.compile(r'"([^"\n]{1,80})"')

# The words for so many lines of a group of commands; a group without words is not told.
WORDS: dict[str, Callable[[int], str]] = {
    "Look": lambda n: ngettext("read %(n)s passage", "read %(n)s passages", n) % {"n": n},
    "Make": lambda n: ngettext("made %(n)s change", "made %(n)s changes", n) % {"n": n},
    "Keep": lambda n: ngettext("noted %(n)s thing", "noted %(n)s things", n) % {"n": n},
    "Move": lambda n: gettext("looked around"),
}
# Verbs that are told by themselves, in the words of their feature.
WORDS_OF_VERBS: dict[str, Callable[[int], str]] = {}


def in_prose(lines: Sequence[Step]) -> str:
    """The line of prose: each kind of work once, in the order of its first line, and each search;
    then how many lines were refused. "" for a turn without lines."""
    counts: dict[str, int] = {}
    searches: dict[str, None] = {}
    refused = 0
    for line in lines:
        if line.outcome != "ok":
            refused += 1
            continue
        group = _told_as(line.canonical)
        query = _QUERY.search(line.canonical) if group == "Look" else None
        if query is not None:
            searches[query[1]] = None
        elif group in WORDS or group in WORDS_OF_VERBS:
            counts[group] = counts.get(group, 0) + 1
    parts = [gettext("searched for “%(query)s”") % {"query": terms} for terms in searches]
    parts += [{**WORDS, **WORDS_OF_VERBS}[group](n) for group, n in counts.items()]
    if len(parts) > MOST_PARTS:
        parts = [*parts[:MOST_PARTS], gettext("and more")]
    if refused:
        words = ngettext("%(n)s line was refused", "%(n)s lines were refused", refused)
        parts.append(words % {"n": refused})
    return ", ".join(parts)


def _told_as(canonical: str) -> str:
    """The verb of a line that is told by itself, else the group of its command; "" for one that is
    none any more."""
    match = _VERB.match(canonical)
    if match and match[1] in WORDS_OF_VERBS:
        return match[1]
    try:
        return registry.find(match[1]).group if match else ""
    except (CommandError, KeyError):
        return ""
