"""Pure: names for the regions of a map, by words that are more frequent there."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from math import log

from loom.landscape.regions import MapRegion

WORDS = 3  # of a name


_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_TOGETHER = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")  # scripts without blanks
STOP = frozenset(
    """
    the and that for with was were had has have his her hers him she they them their this from
    are not but you your all one out who what when where which would could should there here
    then than into about over some only just like been being its our ours will can did does more
    very upon these those any other such own too how why let may might must shall also again
    still even because while after before though through between under down off now never ever
    each every der die das und ist nicht ein eine einen einem einer eines den dem des mit auf
    für von zu im am sich sie er es ich wir ihr ihm ihn ihre seine sein war waren hat hatte
    haben wird werden auch als aber oder noch nur wie was wer wenn dann denn dass aus bei nach
    vor über unter um durch so schon que los las una uno unos del por con para como más pero sus
    este esta estos eso hay fue era son les des une est dans pour que qui par sur pas plus avec
    son ses sont elle ils nous vous mais ont don didn doesn isn wasn couldn wouldn won can't
    don't didn't see say says said saw long new time times way make makes made get gets got
    going goes went gone come comes came know knows knew known think thought want wants wanted
    look looks looked seem seems like let thing things something nothing anything everything
    someone anyone everyone first last two three good use uses used using well much many back
    right left old little big great same different give given gives take takes took taken put
    tell told ask asked asks call called calls find found need needs keep kept set sets try
    tried become became another around without within always often maybe perhaps however
    therefore since until once already almost really just actually simply example return returns
    value values may also e.g see note default true false none mehr immer ganz sehr viel alle
    alles etwas nichts man mal machen macht gemacht sagen sagt sagte gehen geht ging kommen
    kommt kam sehen sieht sah neue neuen zwei erste ersten hier dort da todo todos muy sin sobre
    entre cuando donde hace hacer dice dijo ver dos así puede tout tous très sans sous entre
    quand fait faire dit voir deux ainsi peut
    """.split()
)


def words_of(text: str) -> dict[str, str]:
    """The words of a text that can name something, by their folded form; in a script without
    blanks each two signs beside each other."""
    words: dict[str, str] = {}
    for match in _WORD.finditer(text):
        word = match[0]
        if _TOGETHER.search(word):
            for at in range(len(word) - 1):
                words.setdefault(word[at : at + 2], word[at : at + 2])
            continue
        word = re.split("['’]", word)[0]
        folded = word.casefold()
        if len(folded) > 2 and folded not in STOP and len(folded) < 30:
            words.setdefault(folded, word)
    return words


def name_regions(regions: Sequence[MapRegion], texts: Mapping[int, str]) -> None:
    """Gives each region its words: those that most of its texts have and few others, no word that
    names the region around it or an earlier one beside it."""
    words = {at: words_of(text) for at, text in texts.items()}
    everywhere: Counter[str] = Counter()
    forms: dict[str, Counter[str]] = {}
    for of_text in words.values():
        everywhere.update(of_text.keys())
        for folded, form in of_text.items():
            forms.setdefault(folded, Counter())[form] += 1
    total = max(1, len(words))
    taken: dict[int, set[str]] = {}
    for region in regions:
        here = [words[int(at)] for at in region.members if int(at) in words]
        counts = Counter(word for of_text in here for word in of_text)
        ranked = sorted(
            counts,
            key=lambda word: (-_weight(counts[word], len(here), everywhere[word], total), word),
        )
        used = set(taken.setdefault(region.level, set()))
        if region.within >= 0:
            used.update(word.casefold() for word in regions[region.within].words)
        chosen = [word for word in ranked[:40] if word not in used and _says(counts[word], here)]
        chosen = (chosen or ranked)[:WORDS]
        taken[region.level].update(chosen)
        region.words = tuple(_usual(forms[word]) for word in chosen)


def _says(count: int, here: Sequence[object]) -> bool:
    return count > 1 or len(here) < 6


def _weight(count: int, here: int, everywhere: int, total: int) -> float:
    """How much a word says of a region: its share there, times how rare it is elsewhere."""
    share, of_all = count / max(1, here), everywhere / total
    elsewhere = max(0, everywhere - count) / max(1, total - here)
    return share * (log((share + 0.01) / (elsewhere + 0.01)) - 0.5 * log(of_all + 0.001))


def _usual(forms: Mapping[str, int]) -> str:
    """The form in which a word is mostly written."""
    return max(forms, key=lambda form: (forms[form], form))
