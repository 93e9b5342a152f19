"""Single words in the lines of a command, and what rules make of them: data only."""

from typing import Final

# Words that say nothing, wherever they stand; `node` before an id is one.
NOISE: Final = frozenset("me us the a an node please its".split())
ARTICLES: Final = frozenset("the a an please".split())

# Words that say nothing in lines of one verb; prepositions before what they take anyway.
DROPPED: Final = {
    verb: frozenset(words.split())
    for verb, words in {
        "view": "of at on text content contents again in about id",
        "list": "of under below on for from to at all are there does have has any after around",
        "tree": "of under below at out whole starting beginning",
        "find": "for word words phrase text nodes containing mentioning with all every"
        " of occurrence occurrences hits occur occurs mentioned",
        "switch": "on at into over back up to position my id",
        "continue": "more continuations continuation alternatives alternative candidates candidate"
        " completions completion times new further another of at below under after on different"
        " starting options option variants variant",
        "respond": "to at on under below with saying after",
        "annotate": "on to at about with saying for that says",
        "edit": "in of to with say so reads",
        "split": "of characters character chars points position",
        "link": "",
        "bookmark": "at on for as called named to",
        "unbookmark": "from on of at off",
        "tag": "with as tag tags to on",
        "untag": "from tag tags of on off",
        "undo": "last step steps change changes times my",
        "redo": "last step steps change changes times my",
        "think": "about",
        "budget": "my",
        "help": "with on about using use do i command commands work does for",
        "include": "again",
        "back": "steps step times",
        "resolve": "because",
    }.items()
}
COUNTED: Final = frozenset(
    "more continuations continuation alternatives alternative candidates candidate completions"
    " completion options option variants variant".split()
)

# One wording for another in lines of one verb, tried in order.
SWAPPED: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "view": (
        ("with all its annotations", "with-annotations"),
        ("with its annotations", "with-annotations"),
        ("with the annotations", "with-annotations"),
        ("with annotations", "with-annotations"),
        ("and its annotations", "with-annotations"),
        ("including annotations", "with-annotations"),
        ("including its annotations", "with-annotations"),
        ("once more", "again"),
        ("in full", "full"),
        ("full text", "full"),
        ("whole text", "full"),
        ("whole", "full"),
        ("entire", "full"),
        ("complete", "full"),
        ("completely", "full"),
        ("in brief", "summary"),
        ("in short", "summary"),
        ("briefly", "summary"),
        ("short version", "summary"),
    ),
    "tree": (
        ("to depth", "depth"),
        ("levels deep", "depth"),
        ("levels", "depth"),
        ("level", "depth"),
        ("deep", "depth"),
    ),
    "find": (
        ("in this tree", "in:tree"),
        ("in the tree", "in:tree"),
        ("in the grove", "in:grove"),
        ("in the whole grove", "in:grove"),
        ("in all trees", "in:grove"),
        ("everywhere", "in:grove"),
        ("at most", "max"),
        ("up to", "max"),
        ("and open them", "open"),
    ),
    "switch": (
        ("the start", "root"),
        ("the beginning", "root"),
        ("the top", "root"),
        ("home", "root"),
    ),
    "continue": (("max tokens", "tokens"),),
    "annotate": (
        ("with a question", "as:question"),
        ("with the question", "as:question"),
        ("with a warning", "as:warning"),
        ("with the warning", "as:warning"),
        ("with an objection", "as:objection"),
        ("with a note", "as:note"),
    ),
    "split": (
        ("at character", "at"),
        ("at position", "at"),
        ("after character", "at"),
    ),
    "link": (("with type", "as"), ("of type", "as")),
    "bookmark": (("with the label", "called"), ("with label", "called")),
    "exclude": (("from the context", ""), ("from context", "")),
    "edit": (("as a new version", "as:version"), ("in a fork", "as:fork")),
}
PLACES: Final = (
    ("the node where i am", "here"),
    ("where i am", "here"),
    ("this node", "here"),
    ("the current node", "here"),
    ("current node", "here"),
    ("the current position", "here"),
    ("my position", "here"),
    ("this place", "here"),
    ("this point", "here"),
    ("the node above", "parent"),
)
# Prepositions that stand for another before a reference, or for an option's key.
LEADS: Final = {
    "continue": {"with": "using", "by": "using"},
    "link": {"with": "to", "and": "to"},
    "unlink": {"from": "to", "and": "to"},
}
KEYS: Final = {
    "edit": {"to": "with", "by": "with", "into": "with"},
    "split": {"after": "at"},
    "find": {"under": "in", "below": "in", "within": "in", "inside": "in"},
}
TYPES: Final = {
    word: kind
    for kind, words in {
        "continuations": "continuation continuations children child replies branches",
        "annotations": "annotation annotations notes comments remarks",
        "links": "links connections",
        "versions": "versions revisions",
        "siblings": "siblings sibling neighbours neighbors alternatives",
        "claims": "claims",
    }.items()
    for word in words.split()
}
NUMBERS: Final = {
    **{
        word: number
        for number, word in enumerate(
            "one two three four five six seven eight nine ten eleven twelve".split(), 1
        )
    },
    "once": 1,
    "twice": 2,
    "thrice": 3,
}
# What may stand before the command or after it; the first few also before destructive ones.
PLAIN_POLITE: Final = "please|kindly|ok|okay|now|then|just|could you please|can you please"
POLITE: Final = (
    "could you|can you|would you|will you|would you please|can i|may i|could i|i want to"
    "|i would like to|i need to|let us|let me|go ahead and|hey|hi|well|so|also|next|and|and then"
    "|i want you to|i would like you to|i want|i would like"
)
AFTERWARDS: Final = "please|thanks|thank you|for me|now|right now|if you please|next"
SHORT: Final = {
    "what's": "what is",
    "where's": "where is",
    "let's": "let us",
    "i'd": "i would",
    "i'm": "i am",
}
# What is never run for such a word, but named as what may have been meant.
MEANT: Final = {
    **dict.fromkeys(("delete", "remove", "erase", "kill", "trash"), ("prune", "unlink")),
    **dict.fromkeys(("revert", "rollback", "cancel"), ("undo",)),
    **dict.fromkeys(("disconnect", "detach"), ("unlink",)),
    **dict.fromkeys(("discard", "throw"), ("prune", "discard")),
    **dict.fromkeys(("hide",), ("exclude", "hide")),
    **dict.fromkeys(("refuse", "decline"), ("reject",)),
}
