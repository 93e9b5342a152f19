"""miniloom, minihf and tinyloom: each node is a patch of the whole text above it."""

import json
from dataclasses import dataclass
from typing import Any

from loom.transfer.files import text_of
from loom.transfer.inputs import Input, Put
from loom.transfer.node_collector import (
    NodeCollector,
    list_of,
    mapping_of,
    model_of,
    name_of,
    objects_of,
    rest_of,
    time_of,
)
from loom.transfer.records import Head, NodeRecord, Report, node_text, unreadable

_MOST = 48 * 1024 * 1024
_WORK = 4 * 1024 * 1024 * 1024  # bytes of whole texts that may be made while patches are applied


def is_miniloom(sketch: Any) -> bool:
    """`loomTree.nodeStore`, or nodes with patches."""
    whole = mapping_of(sketch)
    if "nodeStore" in mapping_of(whole.get("loomTree")):
        return True
    nodes = mapping_of(whole.get("nodes"))
    return any("patches" in node for node in nodes.values() if isinstance(node, dict))


def read_miniloom(file: Input, put: Put, report: Report) -> Head:
    """The tree with the patches applied. Patches count in UTF-16 and may cut a character in two,
    so the file is parsed at once."""
    whole = mapping_of(_loaded(file))
    tree = mapping_of(whole.get("loomTree")) or whole
    nodes = tree.get("nodeStore") if "nodeStore" in tree else tree.get("nodes")
    if not isinstance(nodes, dict):
        raise unreadable("The file has no nodes.")
    reader = _Reader(nodes, put, report)
    reader.read()
    rest = _plain(
        {name: value for name, value in whole.items() if name not in ("loomTree", "nodes")}
    )
    focus = mapping_of(rest.pop("focus", None))
    head = Head(plan=reader.collector.plan(), imported=rest_of(rest, (), (), report))
    if current := name_of(focus.get("id")):
        head.current = head.imported["focus"] = current
    return head


def _loaded(file: Input) -> Any:
    size = file.path.stat().st_size
    if size > _MOST:
        raise unreadable(
            f"The file has {size / 2**20:,.0f} MiB, and one of miniloom can have {_MOST >> 20}:"
            " each text is a change of the text above it, so all of them are read at once.",
            "In miniloom, delete some of its branches, save the rest as a file of its own, and"
            " import such files one after the other.",
        )
    raw = file.path.read_bytes()
    try:
        return json.loads(raw.decode("utf-8-sig"), parse_constant=_no_number)
    except RecursionError:
        raise unreadable("The file is nested too deep.") from None
    except ValueError as error:
        raise unreadable(f"The file is not JSON: {str(error)[:200]}.") from None


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number")


@dataclass
class _PlacedNode:
    """A node whose text is known: its whole text in UTF-16, and where its own part begins."""

    name: str
    whole: bytes
    start: int
    above: "_PlacedNode | None"


class _Reader:
    def __init__(self, nodes: dict[str, Any], put: Put, report: Report) -> None:
        self.nodes = {
            _sound(key): {
                _sound(name): value if name in _PATCHES else _plain(value)
                for name, value in node.items()
            }
            for key, node in nodes.items()
            if isinstance(node, dict)
        }
        self.report = report
        self.collector = NodeCollector(put, report)
        self.below: dict[str, list[str]] = {}
        self.work = 0

    def read(self) -> None:
        """Takes all nodes, parents first."""
        tops = []
        for key, node in self.nodes.items():
            parent = name_of(node.get("parent"))
            if parent in self.nodes and parent != key:
                self.below.setdefault(parent, []).append(key)
            else:
                tops.append(key)
        for key, node in self.nodes.items():
            order = {name_of(child): at for at, child in enumerate(list_of(node.get("children")))}
            self.below.get(key, []).sort(key=lambda name: order.get(name, len(order)))
        waiting: list[tuple[str, _PlacedNode | None]] = [(top, None) for top in reversed(tops)]
        while waiting:
            key, above = waiting.pop()
            placed = self._take(key, above)
            waiting.extend((child, placed) for child in reversed(self.below.get(key, ())))
        if missing := len(self.nodes) - self.collector.count:
            self.report.dropped["nodes below themselves"] += missing

    def _take(self, key: str, above: _PlacedNode | None) -> _PlacedNode:
        node = self.nodes[key]
        before = above.whole if above else b""
        whole, is_sound = applied(before, node.get("patch", node.get("patches")))
        if not is_sound:
            self.report.warn(f"The patch of node {key[:40]} does not fit the text above it.")
        self.work += len(whole)
        if self.work > _WORK:
            raise unreadable("The texts of the file are too long.", "split the file")
        placed, version_of = self._place(key, whole, above)
        text = _text(whole, placed.start, has_more=bool(self.below.get(key)))
        record = self._record(key, node, node_text(text, key), is_sound=is_sound)
        parent = placed.above.name if placed.above else ""
        self.collector.add(key, parent, record, version_of=version_of)
        return placed

    def _place(self, key: str, whole: bytes, above: _PlacedNode | None) -> tuple[_PlacedNode, str]:
        """Where a node belongs: below its parent if it only adds to it. One that changes the text
        of its parent is a version of it, and one that changes more is beside what it changes."""
        if above is None:
            return _PlacedNode(key, whole, 0, None), ""
        if whole.startswith(above.whole):
            return _PlacedNode(key, whole, len(above.whole), above), ""
        self.report.kept["changed texts"] += 1
        same = _shared(whole, above.whole)
        if same >= above.start:
            return _PlacedNode(key, whole, above.start, above.above), above.name
        beside = above
        while beside.above is not None and beside.start > same:
            beside = beside.above
        return _PlacedNode(key, whole, beside.start, beside.above), ""

    def _record(self, key: str, node: dict[str, Any], text: str, *, is_sound: bool) -> NodeRecord:
        kind = text_of(node.get("type"), 20)
        is_model = kind == "gen" or (kind == "rewrite" and bool(node.get("model")))
        rating = node.get("rating")
        used = ["id", "timestamp", "parent", "children", "summary", "model", "cache"]
        if is_sound:
            used += _PATCHES
        node = {name: value for name, value in node.items() if value is not False}
        return NodeRecord(
            number=0,
            text=text,
            author=model_of(node.get("model")) if is_model else "",
            author_kind="model" if is_model else "human",
            at=time_of(node.get("timestamp")),
            source=key,
            summary=text_of(node.get("summary"), 1000),
            tags=["rated good" if rating else "rated bad"] if isinstance(rating, bool) else [],
            imported=_plain(rest_of(node, used, _KNOWN, self.report)),
        )


_PATCHES = ("patch", "patches")
_KNOWN = frozenset(("type", "rating", "read", "error", "finishReason", *_PATCHES))


def applied(text: bytes, patches: Any) -> tuple[bytes, bool]:
    """The text in UTF-16 with patches of diff-match-patch applied, and whether all of them fit."""
    is_sound = True
    for patch in objects_of(patches):
        pairs = [_diff(diff) for diff in list_of(patch.get("diffs"))]
        old = b"".join(what for kind, what in pairs if kind <= 0)
        new = b"".join(what for kind, what in pairs if kind >= 0)
        start = patch.get("start2", patch.get("start1", 0))
        at = 2 * start if isinstance(start, int) and start >= 0 else 0
        if text[at : at + len(old)] != old:
            at = _position_in(text, old)
        if at < 0:
            # No text is lost: the insertions of the patch are added at the end.
            is_sound = False
            text += b"".join(what for kind, what in pairs if kind > 0)
        else:
            text = text[:at] + new + text[at + len(old) :]
    return text, is_sound


def _position_in(text: bytes, old: bytes) -> int:
    at = text.find(old)
    while at > 0 and at % 2 == 1:
        at = text.find(old, at + 1)
    return at


def _diff(given: Any) -> tuple[int, bytes]:
    if isinstance(given, dict):
        given = [given.get("0"), given.get("1")]
    pair = list_of(given)
    if len(pair) != 2 or pair[0] not in (-1, 0, 1) or not isinstance(pair[1], str):
        raise unreadable("A patch of the file has another form.")
    return int(pair[0]), pair[1].encode("utf-16-le", "surrogatepass")


def _shared(first: bytes, other: bytes) -> int:
    """How many bytes are the same at the beginning of two texts; an even number."""
    low, high = 0, min(len(first), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if first[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low - low % 2


def _text(whole: bytes, start: int, *, has_more: bool) -> str:
    """The part of a node. A character that is cut in two belongs to what comes after the cut."""
    end = _before_half(whole, len(whole)) if has_more else len(whole)
    part = whole[_before_half(whole, start) : end]
    return part.decode("utf-16-le", "replace").replace("\0", "\ufffd")


def _before_half(whole: bytes, at: int) -> int:
    is_half = at >= 2 and 0xD8 <= whole[at - 1] <= 0xDB
    return at - 2 if is_half else at


def _sound(text: str) -> str:
    return (
        text.encode("utf-16-le", "surrogatepass")
        .decode("utf-16-le", "replace")
        .replace("\0", "\ufffd")
    )


def _plain(value: Any) -> Any:
    """A value whose texts and numbers can be stored."""
    if isinstance(value, str):
        return _sound(value)
    if isinstance(value, dict):
        return {_sound(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return str(value)
    return value
