"""What readers share: nodes that name their parents, texts with a shared beginning, and times."""

import hashlib
import re
from array import array
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from loom.transfer.files import text_of, without_secrets
from loom.transfer.records import FACTS, NodeRecord, RecordPlan, Report, node_text, unreadable

Put = Callable[[NodeRecord], None]
UNNAMED = "Unknown model"
MAX_NODES = 2_000_000


class NodeCollector:
    """Nodes that name their parents, taken in any order; `plan` puts them in reading order."""

    def __init__(self, put: Put, report: Report) -> None:
        self._put, self._report = put, report
        self._names: dict[str, int] = {}  # node to number; -1 and below: left out, see _passed
        self._passed: list[str] = []
        self._parents: list[str] = []
        self._versions: dict[int, str] = {}
        self._wanted: dict[int, Sequence[str]] = {}
        self.last = ""  # the name of the node that was taken last

    @property
    def count(self) -> int:
        """How many nodes were taken."""
        return len(self._parents)

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def add(
        self,
        name: str,
        parent: str,
        record: NodeRecord,
        *,
        children: Iterable[Any] = (),
        version_of: str = "",
    ) -> None:
        """Takes a node. `parent` "" is none. `children` gives their order; without it they are in
        the order of the file. `version_of` names the node whose slot it shares."""
        if name in self._names:
            raise unreadable(f"The node {name[:60]!r} occurs twice.")
        if self.count >= MAX_NODES:
            raise unreadable(f"The file has more than {MAX_NODES:,} nodes.", "split the file")
        record.number = self.count
        self.last = name
        self._names[name] = self.count
        if version_of:
            self._versions[self.count] = version_of
        listed = [child for child in children if isinstance(child, str)]
        if len(listed) > 1:
            self._wanted[self.count] = listed
        self._parents.append(parent)
        self._put(record)

    def leave_out(self, name: str, parent: str) -> None:
        """Notes a node that is skipped: what is below it is placed below its parent."""
        if name not in self._names:
            self._passed.append(parent)
            self._names[name] = -len(self._passed)

    def plan(self) -> RecordPlan:
        """The order in which nodes are read: parents first, siblings in their order."""
        above = self._resolved()
        below: dict[int, list[int]] = {}
        for number, parent in enumerate(above):
            below.setdefault(parent, []).append(number)
        for number, names in self._wanted.items():
            self._arrange(below.get(number, []), names)
        order = array("q")
        walk(below, below.get(-1, []), order)
        if len(order) < len(above):
            self._open_circles(above, below, order)
        place = array("q", [0]) * len(above)
        for position, number in enumerate(order):
            place[number] = position
        parents = array(
            "q", (place[above[number]] if above[number] >= 0 else -1 for number in order)
        )
        return RecordPlan(order, parents, self._slots(place), roots=parents.count(-1))

    def _arrange(self, children: list[int], names: Sequence[str]) -> None:
        rank = {self._names.get(name, -1): at for at, name in enumerate(names)}
        children.sort(key=lambda child: rank.get(child, len(rank)))

    def _resolved(self) -> list[int]:
        """By node the number of its parent; -1 for none."""
        missing = 0
        above = []
        for number, name in enumerate(self._parents):
            parent = self._parent(name)
            if parent is None:
                missing += 1
            # A version is placed where the first version of its slot is.
            above.append(-1 if parent is None or parent == number else parent)
        for number, name in self._versions.items():
            first = self._names.get(name, -1)
            above[number] = above[first] if 0 <= first < number else above[number]
        if missing:
            self._report.warn(
                f"{missing:,} nodes name a parent that the file does not have, and are at the top."
            )
        return above

    def _parent(self, name: str) -> int | None:
        """The nearest node that was taken; -1 for none, None if it is missing."""
        seen = 0
        while name:
            place = self._names.get(name)
            if place is None:
                return None
            if place >= 0:
                return place
            name = self._passed[-place - 1]
            seen += 1
            if seen > len(self._passed):
                return None
        return -1

    def _open_circles(self, above: list[int], below: dict[int, list[int]], order: Any) -> None:
        """Nodes that are below each other: the first in the file goes to the top."""
        seen = set(order)
        self._report.warn(
            "Nodes of the file are below each other; the first of them is at the top."
        )
        for number in range(len(above)):
            if number not in seen:
                below[above[number]].remove(number)
                above[number] = -1
                circle: array[int] = array("q")
                walk(below, [number], circle)
                seen.update(circle)
                order.extend(circle)

    def _slots(self, place: "array[int]") -> dict[int, int]:
        """By position of a version the position of the first version of its slot."""
        slots: dict[int, int] = {}
        for number, name in sorted(self._versions.items(), key=lambda pair: place[pair[0]]):
            first = self._names.get(name, -1)
            if first >= 0 and place[first] < place[number]:
                at = place[first]
                slots[place[number]] = slots.get(at, at)
        return slots


def walk(below: dict[int, list[int]], first: list[int], order: "array[int]") -> None:
    """Adds to `order` the nodes at `first` and all below them, parents first."""
    waiting = first[::-1]
    while waiting:
        number = waiting.pop()
        order.append(number)
        waiting.extend(reversed(below.get(number, ())))


class Trie:
    """Sequences of texts that share their beginnings: the same text below the same node is one
    node. `take` returns the number of the node, and whether it is new."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, bytes], int] = {}
        self.count = 0

    def take(self, parent: int, *what: str) -> tuple[int, bool]:
        """The node of an author and a text below the node `parent` (-1: none)."""
        digest = hashlib.blake2b("\0".join(what).encode("utf-8", "surrogatepass"), digest_size=16)
        key = (parent, digest.digest())
        place = self._known.get(key)
        if place is not None:
            return place, False
        self._known[key] = self.count
        self.count += 1
        return self.count - 1, True


# Values of files: texts, names, times, and the fields that have no place here.


def as_text(value: Any, what: str) -> str:
    """A text that a node can have: "" for none, an error for one that is too long or no text."""
    return node_text("" if value is None else value, what)


def name_of(value: Any) -> str:
    """An id of a file, which may be a number; "" if it is neither."""
    if isinstance(value, bool):
        return ""
    if isinstance(value, int):
        return str(value)
    return value[:200] if isinstance(value, str) else ""


def model_of(value: Any) -> str:
    """The name of a model, or of the model without a name."""
    return text_of(value, 80).strip() or UNNAMED


def mapping_of(value: Any) -> dict[str, Any]:
    """The value, if it is an object; else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    """The value, if it is a list; else an empty one."""
    return value if isinstance(value, list) else []


def objects_of(value: Any) -> list[dict[str, Any]]:
    """The objects of a list."""
    return [item for item in list_of(value) if isinstance(item, dict)]


def rest_of(
    fields: dict[str, Any], used: Iterable[str], known: Iterable[str], report: Report
) -> dict[str, Any]:
    """The fields that have no column here, unchanged, without keys and without empty ones; those
    that are not `known` are counted as unknown."""
    rest = {}
    for name, value in fields.items():
        if name in used or value is None or value in ("", [], {}):
            continue
        is_left, clean = without_secrets(name, value, report)
        if is_left:
            rest[name] = clean
            counted = f"field.{name}" if name in FACTS else name[:80]
            (report.kept if name in known else report.unknown)[counted] += 1
    return rest


def without_steps(text: str) -> tuple[str, list[str], list[str]]:
    """(the text, its thinking, its steps of tools): Open WebUI writes both into the text."""
    texts: list[str] = []
    thinking: list[str] = []
    steps: list[str] = []
    at = 0
    for match in _STEP.finditer(text):
        end = text.find("</details>", match.end())
        if end < 0:
            break
        if match.start() < at:
            continue
        texts.append(text[at : match.start()])
        inside = _SUMMARY.sub("", text[match.end() : end]).strip()
        (thinking if match[1] == "reasoning" else steps).append(inside or match[0])
        at = end + len("</details>")
    return ("".join(texts) + text[at:]).lstrip("\n") if at else text, thinking, steps


_STEP = re.compile(r'<details type="(reasoning|tool_calls|code_interpreter)"[^<>]{0,20000}>')
_SUMMARY = re.compile(r"<summary>[^<]{0,500}</summary>")


_FORMS = (
    "%Y-%m-%d-%H.%M.%S",
    "%Y-%m-%d @%Hh %Mm %Ss",
    "%Y-%m-%d@%Hh%Mm%Ss",
    "%B %d, %Y %I:%M%p",
    "%Y/%m/%d %H:%M:%S",
)
_MILLIS = re.compile(r"(?<=s)\s*\d{1,4}ms$")


def time_of(value: Any) -> str:
    """A time of any program as RFC 3339 in UTC, "" if it cannot be read: seconds or
    milliseconds since 1970, ISO 8601, or one of the forms of pyloom and SillyTavern. A time
    without a zone is taken as UTC."""
    if isinstance(value, bool):
        return ""
    if isinstance(value, int | float):
        return _of_number(float(value)) if abs(value) < 1e30 else ""
    given = text_of(value, 60).strip()
    if not given:
        return ""
    if given.replace(".", "", 1).isdigit():
        return _of_number(float(given))
    return _of_words(given)


def _of_number(number: float) -> str:
    while number > 1e11:  # milliseconds, microseconds, nanoseconds
        number /= 1000
    try:
        at = datetime.fromtimestamp(number, UTC)
    except (ValueError, OverflowError, OSError):
        return ""
    return at.isoformat() if 1990 <= at.year < 9999 else ""


def _of_words(given: str) -> str:
    at: datetime | None = None
    with suppress(ValueError):
        at = datetime.fromisoformat(given)
    short = _MILLIS.sub("", given)
    for form in _FORMS if at is None else ():
        try:
            at = datetime.strptime(short, form)
            break
        except ValueError:
            continue
    if at is None:
        return ""
    try:
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return ""
    return at.isoformat() if 1000 <= at.year < 9999 else ""
