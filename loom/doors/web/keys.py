"""The keys of a page in words: the one table behind the key sheet, the settings, the scripts."""

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext, gettext_noop

from loom.models import User
from loom.rules import keys

GROUPS = (
    (gettext_noop("Anywhere"), ("command", "keys", "send", "stop", "undo", "redo")),
    (
        gettext_noop("Moving"),
        (
            *(move.id for move in keys.MOVES),
            *("bookmark-before", "bookmark-after", "walk", "hoist"),
        ),
    ),
    (gettext_noop("Moving while you type"), tuple(f"{move.id}-typing" for move in keys.MOVES)),
    (
        gettext_noop("On a node"),
        (
            *("continue", "edit", "respond", "annotate", "link", "bookmark", "prune", "split"),
            *("compare", "more"),
            *(f"take-{number}" for number in range(1, 10)),
        ),
    ),
)
WORDS = {
    "command": gettext_noop("search and commands"),
    "keys": gettext_noop("these keys"),
    "send": gettext_noop("send and continue"),
    "stop": gettext_noop("stop what is coming, close what is open"),
    "undo": gettext_noop("undo your last change of the tree"),
    "redo": gettext_noop("redo it"),
    "parent": gettext_noop("parent"),
    "child": gettext_noop("the child last visited"),
    "sibling-before": gettext_noop("sibling before"),
    "sibling-after": gettext_noop("next sibling"),
    "root": gettext_noop("root"),
    "leaf": gettext_noop("follow to the leaf"),
    "bookmark-before": gettext_noop("bookmark before"),
    "bookmark-after": gettext_noop("next bookmark"),
    "walk": gettext_noop("random walk: one step down"),
    "hoist": gettext_noop("hoist: this subtree alone on the map"),
    "continue": gettext_noop("continue"),
    "edit": gettext_noop("edit"),
    "respond": gettext_noop("write below"),
    "annotate": gettext_noop("annotate"),
    "link": gettext_noop("link to another node"),
    "bookmark": gettext_noop("bookmark"),
    "prune": gettext_noop("prune"),
    "split": gettext_noop("split"),
    "compare": gettext_noop("compare with what stands beside it"),
    "more": gettext_noop("more continuations like these"),
}


@dataclass(frozen=True)
class KeyShown:
    """One action: its words, its combo now and at first."""

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
        return gettext("take candidate %(number)s") % {"number": name.removeprefix("take-")}
    return gettext(WORDS[name.removesuffix("-typing")])


def groups_for(user: User) -> list[GroupShown]:
    """Every action under its heading, with the person's own keys."""
    combos = keys.bound(user.likes.keys)
    return [
        GroupShown(
            gettext(name),
            tuple(KeyShown(one, _words(one), combos[one], keys.BY_ID[one].combo) for one in ids),
        )
        for name, ids in GROUPS
    ]


# Keys of the editor itself, which are where other editors have them.
IN_A_BUFFER = (
    ("Tab", gettext_noop("take the text at the caret")),
    ("Ctrl Space", gettext_noop("continue at the caret")),
)


def for_scripts(user: User, mode: str) -> list[dict[str, Any]]:
    """The same for the page's scripts: `[{name, keys: [{id, words, combo, where}]}]`."""
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
                    "id": one.id,
                    "words": one.words,
                    "combo": one.combo,
                    "where": keys.BY_ID[one.id].where,
                }
                for one in group.keys
            ],
        }
        for group in groups_for(user)
    ]
