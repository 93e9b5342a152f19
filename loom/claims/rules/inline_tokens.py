"""Tokens in texts: references, portals and tasks, and the machine of each kind (docs/model.md §9).
Pure, and linear in the length of the text."""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from loom.text.markdown_blocks import blocks_of

MOST = 500  # tokens of one text
LONGEST = 500  # characters of a task
# What no reader gives: time, what is asked for arrives, what is named is there again.
BY_ITSELF = ("expire", "open", "fail", "repair")

# What a reader may do with a token in each state: (state, input) to the state after it.
Transitions = Mapping[tuple[str, str], str]


@dataclass(frozen=True)
class Machine:
    """A kind of token: how it is written, its states with the first and the accepting ones, its
    transitions, the commands it compiles to, and what has to hold first. `alias`: what other
    programs call it."""

    kind: str
    alias: str
    written: str
    states: tuple[str, ...]
    initial: str
    accepting: tuple[str, ...]
    transitions: Transitions
    compiles_to: str
    obligations: str = ""

    def inputs(self, state: str) -> list[str]:
        """What may be done in a state, in order; not what happens by itself."""
        return [given for (of, given) in self.transitions if of == state and given not in BY_ITSELF]


def _machine(facts: Sequence[str]) -> Machine:
    """A machine from its facts, whose table is such as `unchecked check checked, …`; its first
    state is initial."""
    kind, alias, written, table, accepting, compiles, owes = facts
    rows = [tuple(row.split()) for row in table.split(",")]
    transitions = {(state, given): after for state, given, after in rows}
    states = tuple(dict.fromkeys(state for row in rows for state in (row[0], row[2])))
    ends = tuple(accepting.split())
    return Machine(kind, alias, written, states, rows[0][0], ends, transitions, compiles, owes)


MACHINES: Mapping[str, Machine] = {
    facts[0]: _machine(facts)
    for facts in (
        (
            "reference",
            "AGENTESE_PORTAL",
            '[a7x2], doc:"x"',
            "idle visit visited, visited visit visited, broken repair idle",
            "visited",
            "view",
            "",
        ),
        (
            "portal",
            "AGENTESE_PORTAL",
            "@[type -> …]",
            "collapsed expand loading, loading open expanded, loading fail error,"
            "loading collapse collapsed, error expand loading, expanded collapse collapsed",
            "expanded",
            "expand, collapse",
            "weak: explored",
        ),
        (
            "task",
            "TASK_TOGGLE",
            "- [ ] text",
            "unchecked toggle checked, unchecked check checked, unchecked note unchecked,"
            "checked toggle unchecked, checked uncheck unchecked, checked note checked,"
            "checked archive archived, archived note archived",
            "checked archived",
            "todo",
            "its check passes, the tasks below it are checked",
        ),
        (
            "annotation",
            "ANNOTATION",
            "an annotation",
            "open reply open, open resolve resolved, resolved reply open",
            "resolved",
            "annotate, resolve",
            "an objection needs a reason",
        ),
        (
            "region",
            "CODE_REGION",
            "a draft of the lines of a window, #n",
            "unmodified edit modified, modified edit modified, modified compile compiled,"
            "modified drop unmodified, compiled edit modified, compiled test tested,"
            "compiled drop unmodified, tested edit modified, tested test tested,"
            "tested commit committed, tested drop unmodified, committed edit modified",
            "committed",
            "write, edit",
            "the draft applies, its checks pass, none that passed before fails",
        ),
        (
            "suggestion",
            "DIFF_REGION",
            "a suggestion",
            "proposed accept accepted, proposed edit edited, proposed reject rejected",
            "accepted edited rejected",
            "accept, reject",
            "the merge applies",
        ),
        (
            "sandbox",
            "SANDBOX_BOUNDARY",
            "sandbox",
            "active promote promoted, active discard discarded, active expire expired",
            "promoted discarded expired",
            "promote, discard",
            "nothing outside refers in, its checks pass",
        ),
        (
            "pipe",
            "OPERAD_LINK",
            "pipe",
            "proposed validate validated, proposed fail failed, validated compose composed,"
            "composed run executed, executed run executed",
            "executed",
            "its lines, in order",
            "what each line gives fits the next",
        ),
    )
}


@dataclass(frozen=True)
class InlineToken:
    """A token of a text: its place in code points, its words, and its first state. `key` is its
    number in a node, whose text never changes; in a document it is made from its words, so that
    it stays while they stay; what is stored of a task follows it (`carried_tasks`). `target` is
    what a reference or portal names, `check` the name of the check of a task, `mark` the place
    between its brackets, and `until` where it ends with the tasks below it."""

    key: str
    kind: str
    first: int
    last: int
    words: str
    state: str
    target: str = ""
    check: str = ""
    mark: int = 0
    until: int = 0


_PORTAL = re.compile(r"@\[([a-z_]{1,40}) -> ([^\]\n]{1,200})\]")
_REFERENCE = re.compile(r'(?<![@!\[])\[([a-z0-9]{4,8})\](?!\()|doc:"((?:[^"\\\n]|\\.){1,200})"')
_CHECK = re.compile(r"\(check: ?([^()\n]{1,40})\)\s*$")


def tokens_in(text: str, *, stable: bool = False) -> list[InlineToken]:
    """The tokens of a text, in order; at most MOST. `stable`: with keys made from their words."""
    tokens = sorted(_found(text), key=lambda token: token.first)[:MOST]
    times: dict[str, int] = {}
    numbered = []
    for number, token in enumerate(tokens, start=1):
        key = str(number)
        if stable:
            plain = f"{token.kind}:{' '.join(token.words.split())}"
            times[plain] = times.get(plain, 0) + 1
            key = hashlib.sha256(f"{plain}:{times[plain]}".encode()).hexdigest()[:8]
        numbered.append(replace(token, key=key))
    return numbered


_BOX = re.compile(r"\[[ xX]\] ")


def has_box(text: str) -> bool:
    """Whether there may be tasks in a text: it has a box somewhere."""
    return _BOX.search(text) is not None


_MAYBE = re.compile(r"\[[ xX]\] |@\[|\[[a-z0-9]{4}|doc:\"")  # what every token has


def _found(text: str) -> Iterator[InlineToken]:
    """The tasks that are drawn as such, and what is named outside of code."""
    if _MAYBE.search(text) is None:
        return
    blocks = blocks_of(text)
    for task in blocks.tasks:
        words = text[task.mark + 3 : task.last][:LONGEST]
        check = _CHECK.search(words)
        yield InlineToken(
            "",
            "task",
            task.first,
            task.last,
            words,
            "unchecked" if text[task.mark] == " " else "checked",
            check=check[1] if check is not None else "",
            mark=task.mark,
            until=task.until,
        )
    for match in _PORTAL.finditer(text):
        if blocks.is_code(match.start()):
            continue
        yield InlineToken(
            "",
            "portal",
            match.start(),
            match.end(),
            match[0],
            "collapsed",
            target=f"{match[1]} {match[2].strip()}",
        )
    for match in _REFERENCE.finditer(text):
        if blocks.is_code(match.start()):
            continue
        target = match[1] or f'doc:"{match[2]}"'
        yield InlineToken(
            "", "reference", match.start(), match.end(), match[0], "idle", target=target
        )


class NoSuchInputError(ValueError):
    """An input that a machine does not take in a state (`state`, `given`)."""

    def __init__(self, state: str, given: str) -> None:
        super().__init__(f"{given} in {state}")
        self.state, self.given = state, given


Given = tuple[str, str]  # an input with the state before it


def optimised(
    kind: str, state: str, inputs: Sequence[str], *, first_stays: bool = False
) -> tuple[list[Given], list[Given]]:
    """(the inputs that are left, those that are dropped) of several, given one after the other to a
    token in a state: two that lead back to where it was change nothing. Notes are never dropped,
    nor the first input if it has a text. Raises NoSuchInputError."""
    left: list[Given] = []
    dropped: list[Given] = []
    for given in inputs:
        after = MACHINES[kind].transitions.get((state, given))
        if after is None:
            raise NoSuchInputError(state, given)
        may_drop = len(left) > first_stays and left[-1][1] != "note"
        if may_drop and left[-1][0] == after != state:
            dropped += [left.pop(), (state, given)]
        else:
            left.append((state, given))
        state = after
    return left, dropped


_STATES = ("checked", "unchecked", "archived")


def says_of(task: str, state: str) -> str:
    """What the state of a task is evidence for: `task "Read the log" is checked`."""
    return f'task "{plain_task(task)}" is {state}'


def plain_task(words: str) -> str:
    """The words of a task, without the check that they name."""
    return _CHECK.sub("", words).strip()


def stated_task(statement: str) -> tuple[str, str] | None:
    """(the words of a task, its state) of a statement such as `says_of` writes, without case and
    with or without the quotes; None for any other statement."""
    head, is_there, state = statement.casefold().rstrip(" .!").rpartition(" is ")
    words = head.strip().removeprefix("the ").lstrip()
    if not is_there or state not in _STATES or not words.startswith("task "):
        return None
    return words.removeprefix("task ").strip().strip('"“”'), state


def below(tokens: list[InlineToken], task: InlineToken) -> list[InlineToken]:
    """The tasks that are written as parts of a task: inside its list item."""
    return [
        token for token in tokens if token.kind == "task" and task.first < token.first < task.until
    ]
