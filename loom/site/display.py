"""How pages show participants (a name, initials and a colour), tags, times and shortcuts; and the
template tags for them."""

import gettext as gettext_files
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.template import Library
from django.utils import timezone
from django.utils.dateformat import format as date_format
from django.utils.formats import number_format
from django.utils.html import format_html, format_html_join, json_script
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext, gettext_noop, to_locale

from loom.access import Actor
from loom.participants.provider_kinds import LOCAL, samplers_of
from loom.people import preferences, shortcuts
from loom.people.models import Grove, Participant, User
from loom.people.names import TAG_COLOURS
from loom.permissions import LOOM
from loom.text.tokens import thousands

SHOWN_WORDS = (
    *(gettext_noop("dialogue"), gettext_noop("buffer")),
    *(gettext_noop("reader"), gettext_noop("writer"), gettext_noop("owner")),
    *(gettext_noop("note"), gettext_noop("question"), gettext_noop("suggestion")),
    gettext_noop("diff"),
    *(gettext_noop("warning"), gettext_noop("objection")),
    *(gettext_noop("human"), gettext_noop("model")),
    *(gettext_noop("collaborator"), gettext_noop("analysis"), gettext_noop("subject")),
    *(gettext_noop("editor"), gettext_noop("auditor")),
    *(gettext_noop("ink"), gettext_noop("blue"), gettext_noop("teal"), gettext_noop("rust")),
    *(gettext_noop("green"), gettext_noop("plum"), gettext_noop("amber"), gettext_noop("rose")),
    *(gettext_noop("quick"), gettext_noop("standard"), gettext_noop("thorough")),
)


# Participants have a name, initials and a colour; tags have a colour if an owner chose one.


COLOURS = 20  # colours in static/src/css/tokens.css


@dataclass(frozen=True)
class Who:
    """One participant. `colour` is an index into the colours of the style sheet."""

    uid: str
    name: str
    kind: str
    colour: int
    initials: str
    is_me: bool
    model: str
    is_archived: bool
    is_agent: bool  # may be asked for a turn
    is_toy: bool  # the embedded model, which is only for trying things out
    budget: str
    length: int | None  # tokens of an answer at most, of those who write at all
    endpoint: Mapping[str, bool] = field(compare=False)  # what a test of it found

    @property
    def shown(self) -> str:
        """The name, or "You" for the reader."""
        return gettext("You") if self.is_me else self.name

    @property
    def samplers(self) -> str:
        """The samplers that its endpoint supports, separated by blanks."""
        taken = samplers_of(self.model, self.endpoint) if self.kind == "model" else ()
        return " ".join(sorted(taken))


def _initials(participant: Participant) -> Iterator[str]:
    """Possible initials, best first: one letter for a person, two for a model."""
    words = re.findall(r"[^\W_]+", participant.name) or [participant.name.strip() or "?"]
    first = words[0][0].upper()
    yield first if participant.kind == "human" else words[0][:2].capitalize()
    yield from (first + word[0].lower() for word in words[1:])
    yield from (first + letter.lower() for letter in "".join(words)[1:])
    yield from (f"{first}{number}" for number in range(2, 100))


def cast_of(actor: Actor) -> dict[str, Who]:
    """All participants of the grove by uid, including archived ones, in order of creation. The
    colour follows from this order, so it never changes.
    """
    everybody = Participant.objects.filter(grove=actor.grove).order_by("id")
    return cast_from(everybody, me=actor.participant.pk)


def cast_from(everybody: Iterable[Participant], *, me: int = 0) -> dict[str, Who]:
    """The participants of a grove, given in order of creation; `me` is the row id of the reader, 0
    for nobody. Earlier participants keep initials that later ones would share."""
    taken = set[str]()
    initials: dict[str, str] = {}
    everybody = list(everybody)
    for participant in everybody:
        free = (letters for letters in _initials(participant) if letters not in taken)
        initials[participant.uid] = next(free, None) or next(_initials(participant))
        taken.add(initials[participant.uid])
    return {
        participant.uid: Who(
            uid=participant.uid,
            name=participant.name,
            kind=participant.kind,
            colour=place % COLOURS,
            initials=initials[participant.uid],
            is_me=participant.pk == me,
            model=participant.model_ref,
            is_archived=participant.archived_at is not None,
            is_agent=participant.kind == "model" and LOOM in participant.permissions,
            endpoint=participant.probe.get("found") or {},
            is_toy=participant.kind == "model" and participant.model_ref.partition(":")[0] == LOCAL,
            budget=participant.budget,
            length=participant.max_tokens,
        )
        for place, participant in enumerate(everybody)
    }


def tag_colour(grove: Grove, tag: str) -> int | None:
    """The colour of a tag, if an owner chose one."""
    chosen = grove.settings.get("tag_colours", {}).get(tag)
    return TAG_COLOURS.index(chosen) if chosen in TAG_COLOURS else None


GROUPS = (
    (
        gettext_noop("Anywhere"),
        (
            *("command", "find", "cite", "keys", "send", "ask", "stop", "undo", "redo"),
            *("focus", "read"),
        ),
    ),
    (
        gettext_noop("Navigation"),
        (
            *(move.id for move in shortcuts.MOVES),
            *("bookmark-before", "bookmark-after", "walk", "hoist", "map"),
        ),
    ),
    (
        gettext_noop("Navigation while typing"),
        tuple(f"{move.id}-typing" for move in shortcuts.MOVES),
    ),
    (
        gettext_noop("On a node"),
        (
            *("continue", "edit", "respond", "annotate", "link", "bookmark", "prune", "split"),
            *("pin", "open", "stash", "compare", "more", "alike", "rate-plus", "rate-minus"),
            *(f"take-{number}" for number in range(1, 10)),
        ),
    ),
)
WORDS = {
    "command": gettext_noop("search and commands"),
    "find": gettext_noop("find and replace in the path"),
    "cite": gettext_noop("use the selected words as evidence"),
    "keys": gettext_noop("show these keys"),
    "send": gettext_noop("send and continue"),
    "ask": gettext_noop("send and ask the agent"),
    "stop": gettext_noop("stop generating, close dialogs"),
    "undo": gettext_noop("undo your last change"),
    "redo": gettext_noop("redo"),
    "focus": gettext_noop("focus mode: only the text and the composer"),
    "read": gettext_noop("reading mode: only the text"),
    "parent": gettext_noop("parent"),
    "child": gettext_noop("the child last visited"),
    "sibling-before": gettext_noop("previous sibling"),
    "sibling-after": gettext_noop("next sibling"),
    "root": gettext_noop("root"),
    "leaf": gettext_noop("go to the leaf"),
    "bookmark-before": gettext_noop("previous bookmark"),
    "bookmark-after": gettext_noop("next bookmark"),
    "walk": gettext_noop("go to a random child"),
    "hoist": gettext_noop("show only this subtree on the map"),
    "map": gettext_noop("the map on the full page, and back"),
    "continue": gettext_noop("continue"),
    "edit": gettext_noop("edit"),
    "respond": gettext_noop("write a continuation"),
    "annotate": gettext_noop("annotate"),
    "link": gettext_noop("link to another node"),
    "bookmark": gettext_noop("bookmark"),
    "prune": gettext_noop("prune"),
    "split": gettext_noop("split"),
    "pin": gettext_noop("pin beside the text"),
    "open": gettext_noop("open in a window"),
    "stash": gettext_noop("stash the selection"),
    "compare": gettext_noop("compare with siblings"),
    "more": gettext_noop("more continuations like these"),
    "alike": gettext_noop("show what is folded as alike, and fold it"),
    "rate-plus": gettext_noop("rate the candidate or text +"),
    "rate-minus": gettext_noop("rate the candidate or text −"),
}


@dataclass(frozen=True)
class KeyShown:
    """One action: its description, its current shortcut and its default."""

    id: str
    words: str
    combo: str
    first: str


@dataclass(frozen=True)
class GroupShown:
    """Some actions under one heading."""

    name: str
    keys: tuple[KeyShown, ...]


def _words(name: str) -> str:
    if name.startswith("take-"):
        return gettext("accept candidate %(number)s") % {"number": name.removeprefix("take-")}
    return gettext(WORDS[name.removesuffix("-typing")])


def key_groups_for(user: User) -> list[GroupShown]:
    """Every action under its heading, with the person's own shortcuts."""
    combos = shortcuts.bound_keys(preferences.keys_of(user.preferences))
    return [
        GroupShown(
            gettext(name),
            tuple(
                KeyShown(
                    action, _words(action), combos[action], shortcuts.ACTIONS_BY_ID[action].combo
                )
                for action in ids
            ),
        )
        for name, ids in GROUPS
    ]


# Keys of the editor itself, the usual ones of other editors.
IN_A_BUFFER = (
    ("Tab", gettext_noop("accept the candidate at the caret")),
    ("Ctrl Space", gettext_noop("continue at the caret")),
)


def keys_for_scripts(user: User, mode: str) -> list[dict[str, Any]]:
    """The shortcuts as scripts read them: `[{name, keys: [{id, words, combo, where}]}]`."""
    own = [
        {"id": "editor", "words": gettext(words), "combo": combo, "where": "typing"}
        for combo, words in IN_A_BUFFER
    ]
    fixed = [{"name": gettext("In a buffer"), "keys": own}] if mode == "buffer" else []
    return fixed + [
        {
            "name": group.name,
            "keys": [
                {
                    "id": key.id,
                    "words": key.words,
                    "combo": key.combo,
                    "where": shortcuts.ACTIONS_BY_ID[key.id].where,
                }
                for key in group.keys
            ],
        }
        for group in key_groups_for(user)
    ]


# Template tags.


register = Library()


register.filter("thousands", thousands)


@register.filter
def grouped(number: int) -> str:
    """A whole number with the separators of the reader's language: `42,128`."""
    return number_format(number, force_grouping=True)


@register.filter
def moment(at: datetime) -> SafeString:
    """A time, which the page's scripts format in the reader's language and time zone."""
    return format_html('<time datetime="{}" data-full>{} UTC</time>', *_both(at, "Y-m-d H:i"))


@register.filter
def day(at: datetime) -> SafeString:
    """A day, which the page's scripts format in the reader's language and time zone."""
    return format_html('<time datetime="{}" data-day>{}</time>', *_both(at, "Y-m-d"))


def _both(at: datetime, words: str) -> tuple[str, str]:
    instant = at.astimezone(UTC)
    return instant.isoformat(), date_format(instant, words)


# Browsers and systems by a word of what a browser calls itself; the first that is found counts,
# since each also names those that it resembles.
BROWSERS = (
    *(("Edg", "Edge"), ("OPR/", "Opera"), ("SamsungBrowser/", "Samsung Internet")),
    *(("Firefox/", "Firefox"), ("FxiOS/", "Firefox"), ("CriOS/", "Chrome"), ("Chrome/", "Chrome")),
    *(("Safari/", "Safari"), ("curl/", "curl")),
)
SYSTEMS = (
    *(("iPhone", "iPhone"), ("iPad", "iPad"), ("Android", "Android"), ("Windows", "Windows")),
    *(("Mac OS X", "macOS"), ("CrOS", "ChromeOS"), ("Linux", "Linux")),
)


@register.filter
def browser(agent: str) -> str:
    """A browser and its system in words, from what the browser calls itself."""
    name = next((name for word, name in BROWSERS if word in agent), gettext("Browser"))
    system = next((name for word, name in SYSTEMS if word in agent), "")
    if not system:
        return name
    return gettext("%(browser)s on %(system)s") % {"browser": name, "system": system}


_DRAWN = {
    **{"ArrowLeft": "←", "ArrowRight": "→", "ArrowUp": "↑", "ArrowDown": "↓"},
    **{"Escape": "Esc", "Mod": "Ctrl"},
}


def caps_of(combo: str) -> list[str]:
    """The shortcut as key caps; a script replaces Ctrl with ⌘ on a Mac."""
    *held, key = combo.split("+") if combo != "+" else ["+"]
    shown = key.upper() if held and len(key) == 1 else key
    return [_DRAWN.get(cap, cap) for cap in (*held, shown)] if combo else []


@register.simple_tag
def call(command: str, **args: Any) -> str:
    """What the `data-call` of a button says: a command by its name, with its arguments in JSON. It
    runs when the button is pressed (static/src/js/live/calls.js)."""
    return json.dumps({"command": command, "args": args}, ensure_ascii=False)


@register.simple_tag(takes_context=True)
def key(context: dict[str, Any], action: str) -> SafeString:
    """The reader's shortcut for an action, as `<kbd>`; empty if it has none."""
    user = context["request"].user
    own = preferences.keys_of(user.preferences) if isinstance(user, User) else {}
    return combo(shortcuts.bound_key(own, action))


@register.simple_tag(takes_context=True)
def tint(context: dict[str, Any], tag: str) -> SafeString:
    """The colour of a tag in this grove, as an attribute; empty if it has none."""
    grove = context["grove"] if "grove" in context else context["tree"].grove
    colour = tag_colour(grove, tag)
    return SafeString("") if colour is None else format_html(' data-who="{}"', colour)


@register.simple_tag
def script_words() -> SafeString:
    """The catalogue for scripts; empty for English."""
    words = script_catalogue()
    return json_script(words, "words") if words else SafeString("")


@register.simple_tag
@lru_cache(maxsize=256)  # a page shows some hundred, of which few differ
def combo(combo: str) -> SafeString:
    """A shortcut as `<kbd>`s."""
    caps = [(" data-mod" if cap in ("Ctrl", "Alt") else "", cap) for cap in caps_of(combo)]
    drawn = format_html_join(" ", "<kbd{}>{}</kbd>", caps)
    return format_html("{}", drawn)


# The translations for scripts.

# Plural formulas repeat after 200 in all known languages.
COUNTED = 200


def script_catalogue() -> dict[str, Any]:
    """The translations by text; plural texts as lists, and under "" which form each of 0 to 199
    uses. Empty for English, whose texts are in the scripts.
    """
    language = get_language() or "en"
    return {} if language == "en" else _catalogue(to_locale(language), tuple(settings.LOCALE_PATHS))


@lru_cache(maxsize=64)
def _catalogue(locale: str, folders: tuple[Path, ...]) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for folder in folders:
        try:
            words = gettext_files.translation("djangojs", localedir=folder, languages=[locale])
        except OSError:
            continue
        entries = {**_entries(words), **entries}
    return entries


def _entries(words: gettext_files.NullTranslations) -> dict[str, Any]:
    catalogue: dict[str, Any] = {}
    entries: dict[Any, str] = getattr(words, "_catalog", {})
    for key, text in sorted(entries.items(), key=lambda entry: str(entry[0])):
        if isinstance(key, tuple):
            catalogue.setdefault(key[0], []).append(text)
        elif key:
            catalogue[key] = text
    plural = getattr(words, "plural", lambda n: int(n != 1))
    catalogue[""] = "".join(str(plural(n)) for n in range(COUNTED))
    return catalogue


# The length of a text that a page shows at first; the rest is loaded on request.
MAX_SHOWN = 20_000
REASONS = {
    "money": gettext_noop("stopped: daily limit reached; the text so far is kept"),
    "stopped": gettext_noop("stopped; the text so far is kept"),
    "length": gettext_noop("stopped: max tokens reached"),
    "time": gettext_noop("stopped: the time of the turn is over; the text so far is kept"),
    "tokens": gettext_noop("stopped: the tokens of the turn are used up; the text so far is kept"),
    "rounds": gettext_noop("stopped: the rounds of the turn are used up; the text so far is kept"),
    "steps": gettext_noop("stopped: the steps of the turn are used up; the text so far is kept"),
    "items": gettext_noop("stopped: the items of the turn are used up; the text so far is kept"),
    "day": gettext_noop(
        "stopped: the agent has used its steps of the day; the text so far is kept"
    ),
    "loop": gettext_noop("halted: it repeated itself; the text so far is kept"),
    "no progress": gettext_noop("interrupted: no progress for two minutes; the text is kept"),
    "worker lost": gettext_noop("interrupted: the worker stopped; the text so far is kept"),
    "worker stopped": gettext_noop("interrupted: Heddle was stopped; the text so far is kept"),
    "worker error": gettext_noop("interrupted: internal error; the text so far is kept"),
    "too long": gettext_noop("stopped: maximum length of a node reached"),
    "network": gettext_noop("interrupted: the connection was lost; the text so far is kept"),
    "timeout": gettext_noop("interrupted: the provider timed out; the text so far is kept"),
    "server": gettext_noop("interrupted: the provider failed; the text so far is kept"),
    "rate": gettext_noop("interrupted: rate limited; the text so far is kept"),
    "credit": gettext_noop("interrupted: no credit left at the provider; the text so far is kept"),
    "paused": gettext_noop("paused by the provider; the text so far is kept"),
    "filtered": gettext_noop("stopped by the provider's content filter; the text so far is kept"),
}


def age_of(at: datetime, now: datetime | None = None) -> str:
    """How long ago, in short: now, 3m ago, 2h ago, 5d ago, else the date."""
    seconds = ((now or timezone.now()) - at).total_seconds()
    if seconds < 60:
        return gettext("now")
    if seconds < 3600:
        return gettext("%(n)sm ago") % {"n": int(seconds // 60)}
    if seconds < 86400:
        return gettext("%(n)sh ago") % {"n": int(seconds // 3600)}
    if seconds < 86400 * 30:
        return gettext("%(n)sd ago") % {"n": int(seconds // 86400)}
    return f"{at:%-d %b %Y}"


def broken_reason(finish: str) -> str:
    """Why a text ends where it does, in words; "" if it is complete."""
    if not finish.startswith("interrupted"):
        return ""
    reason = finish.partition(":")[2]
    if reason in REASONS:
        return gettext(REASONS[reason])
    return f"{gettext('interrupted')}: {reason}" if reason else gettext("interrupted")
