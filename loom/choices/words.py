"""What was learned of a person's choices, in words, with its honest figures."""

from collections.abc import Mapping

from django.utils.translation import gettext, gettext_noop

from loom.choices.queries import Learned
from loom.people.models import Participant

BY = "author:"
MOST_SAID = 2  # leanings that a sentence names
LEAST_SAID = 0.15  # weight from which on one is named
WORDS = {
    ("length", True): gettext_noop("longer"),
    ("length", False): gettext_noop("shorter"),
    ("dialogue", True): gettext_noop("more dialogue"),
    ("dialogue", False): gettext_noop("less dialogue"),
    ("markdown", True): gettext_noop("more Markdown"),
    ("markdown", False): gettext_noop("less Markdown"),
    ("sentences", True): gettext_noop("longer sentences"),
    ("sentences", False): gettext_noop("shorter sentences"),
    ("meaning", True): gettext_noop("what it is about"),
}
RIVALS = {
    "chance": gettext_noop("chance"),
    "longest": gettext_noop("length"),
    "first": gettext_noop("what is shown first"),
}


def leanings(known: Learned) -> str:
    """What counts most: `shorter, more dialogue`."""
    traits = known.taste.leanings() if known.taste is not None else []
    named = [(name, weight) for name, weight in traits if abs(weight) >= LEAST_SAID][:MOST_SAID]
    uids = [name.removeprefix(BY) for name, _ in named if name.startswith(BY)]
    names = dict(Participant.objects.filter(uid__in=uids).values_list("uid", "name"))
    words = [_said(name, weight > 0, names) for name, weight in named]
    return ", ".join(words) or gettext("nothing stands out")


def _said(name: str, is_more: bool, names: Mapping[str, str]) -> str:
    if not name.startswith(BY):
        return gettext(WORDS[name, is_more])
    who = {"who": names.get(name.removeprefix(BY), "?")}
    return (gettext("more by %(who)s") if is_more else gettext("less by %(who)s")) % who


def honest(known: Learned) -> str:
    """How good it is on later choices: `Right about 58 % of 70 later choices …`, or that it is not
    yet better than chance, length, or what is shown first."""
    figures = known.figures
    if figures is None:
        return gettext("There are too few choices to measure it (n = %(n)s).") % {"n": known.n}
    if not figures.is_better:
        lacking = [gettext(RIVALS[rival]) for rival in RIVALS if rival not in figures.better]
        return gettext("It is not yet better than %(rivals)s (n = %(n)s).") % {
            "rivals": ", ".join(lacking),
            "n": figures.n,
        }
    low, high = figures.taste.interval
    return gettext(
        "It put what you took first in %(share)s %% of %(n)s later choices (95 %%: %(low)s to "
        "%(high)s); chance %(chance)s %%, the longest %(long)s %%, the first shown %(first)s %%."
    ) % {
        "share": round(100 * figures.taste.share),
        "n": figures.n,
        "low": round(100 * low),
        "high": round(100 * high),
        "chance": round(100 * figures.chance),
        "long": round(100 * figures.longest.share),
        "first": round(100 * figures.first.share),
    }
