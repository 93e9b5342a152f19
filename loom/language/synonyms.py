"""Synonyms of commands and their parts, as data, and the verbs that a misspelt word is close to.
wording and form_matching apply them."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

DESTRUCTIVE: Final = frozenset(
    "prune discard unlink reject withdraw veto commit undo erase delete".split()
)

# Verbs that neither change the tree nor spend anything: a question may mean them.
HARMLESS: Final = frozenset(
    "view list tree compare find graph switch expand collapse back memory help budget show since"
    " digest".split()
)


# Verbs whose answer is a result window: they also run inside marks (docs/model.md §5).
LOOKS: Final = frozenset(
    "view list tree compare find search graph help budget memory check todo augment since"
    " digest".split()
)
# Literal words of these verbs with which a line changes something.
CHANGING: Final = ("reset", "clear", "extend", "add", "note", "store", "open")
# Verbs of one item that name several as several lines: `view a7x2 and b3k9`.
ONE_BY_ONE: Final = frozenset(
    "view list tree tag untag bookmark unbookmark restore include exclude".split()
)


class Frame(NamedTuple):
    """What a phrase stands for: a verb, words to add before the rest, and a kind of argument
    (`type`, `text`, `count`, `tag`) that the phrase requires."""

    verb: str
    before: tuple[str, ...] = ()
    needs: str = ""


# verb, words before, needed kind, phrases; `*` is one reference inside the phrase.
_TABLE: tuple[tuple[str, str, str, str], ...] = (
    (
        "view",
        "",
        "",
        "view|show|see|look|look at|read|display|inspect|examine|have a look at|take a look at"
        "|what is|what is in|what is at|what does * say|what is written in|tell me about"
        "|give me|let me see|let me read|describe|what does * contain|print out|bring up|text of",
    ),
    ("view", "full", "", "read all of|what exactly does * say|full text of|whole text of"),
    ("view", "summary", "", "summarise|summarize|sum up|summary of"),
    ("view", "as:diff", "", "show diff of|view diff of|diff of"),
    (
        "list",
        "",
        "type",
        "list|show|see|view|display|what|which|what are|give me|let me see|look at|get|enumerate"
        "|are there|are there any|any|find|how many",
    ),
    (
        "list",
        "continuations",
        "",
        "what is under|what is below|what is beneath|what follows|what comes after|what is after"
        "|what comes next after|what hangs below|what hangs under|what lies below|what lies under"
        "|where does * lead|where can i go from|how does * continue|how does * go on"
        "|show what is under|show what is below"
        "|see what is under|see what is below|list what is under|list what is below"
        "|show what follows|list everything under|list everything below"
        "|what is there below|what is there under|what is there after",
    ),
    ("list", "siblings", "", "what is beside|what is next to|what stands beside"),
    ("list", "links", "", "what is * linked to|what is linked to|what does * link to"),
    ("list", "links", "", "which nodes link to|what links to"),
    ("list", "annotations", "", "what was noted on|what do people say about"),
    ("list", "annotations", "", "what has been said about|what was said about"),
    ("list", "versions", "", "history of|show history of|view history of"),
    (
        "tree",
        "",
        "",
        "outline|show tree|show outline|view tree|view outline|see tree|see outline|draw tree"
        "|draw outline|display tree|display outline|print tree|give me tree|give me outline"
        "|map|show map|let me see tree|print outline"
        "|let me see outline|show whole tree|list tree"
        "|structure|show structure|view structure",
    ),
    (
        "find",
        "",
        "text",
        "find|look for|where is|where does it say|which nodes mention|which nodes contain|grep"
        "|locate|search tree for|search this tree for|show nodes that mention"
        "|find nodes that mention|find nodes that contain|find nodes with|find all nodes with"
        "|what mentions|who mentions|search for|where does|find nodes",
    ),
    (
        "find",
        "in:grove",
        "text",
        "search grove for|search whole grove for|search everywhere for",
    ),
    ("find", "", "text", "search|search tree|search nodes for|find mentions of"),
    ("find", "", "text", "find all mentions of|find passages that say|find passages with"),
    ("find", "", "text", "which contains|which mentions|which passages mention"),
    ("view", "", "", "open|print|pull up"),
    ("view", "here", "", "look|look around|look here"),
    (
        "view",
        "branch",
        "",
        "path|path to|path of|show path|show path to|show path of|view path|view path to"
        "|view path of|ancestors of|ancestors|list ancestors of|show ancestors of|list * ancestors"
        "|list * parents|list * parent|list * path"
        "|view * ancestors|what leads to|what is above",
    ),
    ("view", "branch here", "", "path|path here|show path|view path"),
    (
        "compare",
        "",
        "",
        "compare|diff|difference between|what is difference between|show difference between"
        "|diff between|compare between|what changed between|how do|show diff between",
    ),
    (
        "respond",
        "",
        "text",
        "branch *|branch from|branch off *|branch off from|branch at|continue with",
    ),
    ("edit", "as:fork", "text", "fork"),
    ("find", "clear", "", "clear find|clear search|clear hits|clear marks"),
    (
        "switch",
        "",
        "",
        "go|jump|move|navigate|switch|travel|hop|take me|bring me|visit|return|go back|head|walk"
        "|move me|get me|come back|go over",
    ),
    ("switch", "", "", "goto|back to|switch position|change position|set position|change to"),
    ("switch", "", "", "stand on|stand at"),
    ("switch", "parent", "", "go up|move up|go one up|step up|go up one|up"),
    ("switch", "parent", "", "go up one level|go one level up|go up a level|one level up"),
    ("switch", "parent", "", "move up one|move up one level"),
    (
        "continue",
        "",
        "",
        "continue|generate|go on|carry on|keep going|proceed|extend|sample|keep writing",
    ),
    ("continue", "using", "", "let * continue|have * continue|ask * to continue|get * to continue"),
    ("continue", "using", "count", "let * write|have * write|ask * for|ask * to write"),
    (
        "continue",
        "",
        "count",
        "give me|give us|make|create|write|write me|produce|i want|get|get me|draft",
    ),
    (
        "respond",
        "",
        "text",
        "respond|reply|answer|say|write|add reply|post|post reply|write reply|add response"
        "|write response|add|write answer|tell",
    ),
    (
        "edit",
        "",
        "text",
        "edit|change|change text of|edit text of|rewrite|revise|modify|update|reword|replace",
    ),
    ("edit", "replace", "text", "replace|change|substitute|edit"),
    ("edit", "as:version", "text", "make new version of|write new version of|new version of"),
    ("annotate", "as:warning", "text", "warn about|warn of"),
    ("annotate", "as:objection", "text", "object to"),
    ("split", "", "", "split|divide|break|cut"),
    ("resolve", "", "", "resolve|mark * resolved|mark * as resolved|settle|close * as resolved"),
    ("link", "", "", "link|connect|relate|tie|make link from|add link from|make link between"),
    ("link", "", "", "add link between|draw link from|create link from|create link between"),
    (
        "bookmark",
        "",
        "",
        "bookmark|star|add bookmark|set bookmark|put bookmark|make bookmark|place bookmark",
    ),
    ("unbookmark", "", "", "remove bookmark|unstar|take bookmark|drop bookmark|clear bookmark"),
    ("tag", "", "tag", "tag|label|add tag|add tags|put tag|put tags|set tag|mark|give"),
    ("untag", "", "tag", "remove tag|remove tags|take tag|take tags|drop tag|clear tag"),
    ("restore", "", "", "restore|unprune|bring back|recover|get back|bring * back"),
    ("exclude", "", "", "leave out|exclude|leave * out"),
    ("include", "", "", "include"),
    ("help", "", "", "how do i use|how does|explain command|what does|manual|man|what is command"),
    ("help", "", "", "what can i do|what commands are there|which commands are there|commands"),
    (
        "help",
        "",
        "",
        "which commands can i use|what commands can i use|list of commands|i need help",
    ),
    (
        "help",
        "",
        "",
        "list commands|show commands|show available commands|show help|give me help|usage",
    ),
    ("back", "", "", "go back|step back|move back|go backwards"),
    ("memory", "", "", "status|where am i|show status|show memory|what is open"),
    ("open", "keep", "", "pin|keep open|keep"),
    ("close", "", "", "drop"),
    ("drop", "", "", "close window on|close windows on|close window of"),
    ("memory", "windows", "", "show hidden windows|list hidden windows|list windows|show windows"),
    ("memory", "windows", "", "what windows are there|which windows are open|windows"),
    ("todo", "done", "", "tick|tick off|check off|[x]|mark * done|mark * as done|complete"),
    ("todo", "toggle", "", "untick|uncheck|[]|mark * undone|mark * as undone"),
    ("write", "append", "text", "append|append to|add to end of"),
    (
        "since",
        "",
        "",
        "what changed|what has changed|what is new|what has happened|what did others do|changes"
        "|show changes|list changes|changes since|what changed since|what has changed since",
    ),
    ("scratchpad", "clear", "", "clear scratchpad|clear my scratchpad|empty scratchpad"),
    (
        "scratchpad",
        "append",
        "text",
        "add to scratchpad|add to my scratchpad|append to scratchpad|write on scratchpad"
        "|scratchpad add",
    ),
    ("digest", "", "", "overview|show overview|give me overview|what matters|what matters here"),
    ("refresh", "", "", "reload|update window|update windows|reread"),
    (
        "budget",
        "",
        "",
        "how much is left|what is left|show budget|what is my budget|show my budget",
    ),
    (
        "budget",
        "",
        "",
        "how much budget is left|how many steps are left|how many steps do i have left",
    ),
    ("todo", "add", "text", "add todo|add task|remember to"),
    ("recall", "", "text", "what did i stash as|bring up"),
)
NOTES: Final = "note comment annotation question warning objection remark"
_AS: Final = {"question": "as:question", "warning": "as:warning", "objection": "as:objection"}


def _phrases() -> dict[tuple[str, ...], list[Frame]]:
    found: dict[tuple[str, ...], list[Frame]] = {}
    for verb, before, needs, phrases in _TABLE:
        for phrase in phrases.split("|"):
            frame = Frame(verb, tuple(before.split()), needs)
            words = (word for word in phrase.split() if word not in ("a", "an", "the"))
            found.setdefault(tuple(words), []).append(frame)
    for noun in NOTES.split():
        frame = Frame("annotate", (_AS[noun],) if noun in _AS else (), "text")
        for verb in ("make", "add", "leave", "put", "write", "attach", "ask", "post", "raise"):
            found.setdefault((verb, noun), []).append(frame)
        if noun in ("note", "comment"):
            found.setdefault((noun,), []).append(frame)
    return found


PHRASES: Final = _phrases()
LONGEST: Final = max(len(phrase) for phrase in PHRASES)


# Single words in the lines of a command, and their replacements: data only.


# Words without meaning anywhere; `node` before an id is one.
NOISE: Final = frozenset("me us the a an node please its".split())
ARTICLES: Final = frozenset("the a an please".split())

# Words without meaning in lines of one verb; prepositions before arguments that need none.
DROPPED: Final = {
    verb: frozenset(words.split())
    for verb, words in {
        "view": "of at on text content contents again in about id section 's",
        "list": "of under below on for from to at all are there does have has any after around"
        " about every other 's",
        "tree": "of under below at out whole starting beginning",
        "find": "for word words phrase text nodes containing mentioning with all every"
        " of occurrence occurrences hits occur occurs mentioned",
        "switch": "on at into over back up to position my id",
        "continue": "more continuations continuation alternatives alternative candidates candidate"
        " completions completion times new further another of at below under after on different"
        " starting options option variants variant by",
        "respond": "to at on under below with saying after",
        "annotate": "on to at about with saying for that says",
        "edit": "in of to with say so reads",
        "split": "of characters character chars points position",
        "link": "",
        "compare": "with and to between against vs versus from differ",
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
        **dict.fromkeys(("hide", "show", "close"), "and windows window results result"),
        **dict.fromkeys(("refresh", "resize"), "and to windows window"),
        "todo": "and tasks task todo",
        "write": "to",
        "since": "my your last turn",
        "digest": "of this tree whole",
    }.items()
}
COUNTED: Final = frozenset(
    "more continuations continuation alternatives alternative candidates candidate completions"
    " completion options option variants variant".split()
)

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
    ("the node above this one", "parent"),
    ("node above this one", "parent"),
    ("the node above", "parent"),
    ("this one", "here"),
)
# Prepositions that stand for another before a reference, or for an option's key.
LEADS: Final = {
    "continue": {"with": "using", "by": "using"},
    "link": {"with": "to", "and": "to", "→": "to", "->": "to"},
    "unlink": {"from": "to", "and": "to"},
}
KEYS: Final = {
    "edit": {"to": "with", "by": "with", "into": "with"},
    "split": {"after": "at"},
    "find": {"under": "in", "below": "in", "within": "in", "inside": "in"},
}
# Keys of options that other programs use for those of one verb.
KEYED: Final = {
    "bookmark": {"as": "label", "name": "label"},
    "annotate": {"form": "as", "type": "as", "kind": "as"},
    "link": {"type": "as", "kind": "as", "relation": "as"},
    "edit": {"mode": "as", "old": "replace", "new": "with"},
    "view": {"format": "as"},
    "compare": {"mode": "as"},
    "find": {"limit": "max", "top": "max"},
    "tree": {"levels": "depth", "max_depth": "depth"},
    "split": {"position": "at", "offset": "at"},
    "continue": {"count": "n", "number": "n", "max_tokens": "tokens", "temp": "temperature"},
}
ITEM_KEYS: Final = frozenset("id ref node_id nodeid target item".split())
# Words for ending a turn, which needs no command.
ENDS: Final = frozenset("done finish finished end stop exit quit wait nothing noop pass".split())
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
OTHER_TYPES: Final = frozenset("ancestors parents parent path".split())  # which view shows
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
# What may come before the command or after it; the first few also before destructive ones.
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
# Verbs that are never run for such a word, only suggested.
MEANT: Final = {
    **dict.fromkeys(("delete", "remove", "erase", "kill", "trash"), ("prune", "unlink")),
    **dict.fromkeys(("revert", "rollback", "cancel"), ("undo",)),
    **dict.fromkeys(("disconnect", "detach"), ("unlink",)),
    **dict.fromkeys(("discard", "throw"), ("prune", "discard")),
    **dict.fromkeys(("hide",), ("exclude", "hide")),
    **dict.fromkeys(("refuse", "decline"), ("reject",)),
}


# Verbs that differ from a word in few letters.

MOST = 3
_LONGEST = 24


def candidates(word: str, verbs: Iterable[str], aliases: Mapping[str, str]) -> tuple[str, ...]:
    """Up to three verbs, nearest first, that differ in few letters or begin alike; those that
    write or spend only if they differ in one."""
    word = word.lower()
    if not word or len(word) > _LONGEST:
        return ()
    far: dict[str, int] = {}
    for known, verb in [*((one, one) for one in verbs), *aliases.items()]:
        distance = _distance(word, known)
        if distance is not None and (distance <= 1 or verb in HARMLESS):
            far[verb] = min(distance, far.get(verb, distance))
    return tuple(sorted(far, key=lambda verb: (far[verb], verb))[:MOST])


def _near_enough(known: str) -> int:
    """1 edit in short words, 2 from five letters on, 3 from eight. Guess: feels right."""
    return 1 + (len(known) >= 5) + (len(known) >= 8)


@lru_cache(maxsize=10_000)  # the same few words are compared with the same verbs
def _distance(word: str, known: str) -> int | None:
    """The edit distance between a word and a known one; None if it is too large."""
    if len(word) > 1 and known.startswith(word):
        return 1
    most = _near_enough(known)
    if abs(len(word) - len(known)) > most:
        return None  # so many edits are needed for the length alone
    distance = edits(word, known)
    return distance if distance <= most else None


def edits(one: str, other: str) -> int:
    """The edit distance: letters to add, drop, change or swap with the next one."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, above = row, before
        row = [i]
        for j, wanted in enumerate(other, 1):
            best = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == wanted:
                best = min(best, above[j - 2] + 1)
            row.append(best)
    return row[-1]
