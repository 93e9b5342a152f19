"""Trees of other looms whose nodes name their parents: loomsidian, Exoloom, wool, Helm, basemode,
bonsai, flat files of pyloom; and logitloom, whose nodes contain each other."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from loom.transfer.files import MAX_PART, TooMuch, skip, text_of, value_of
from loom.transfer.inputs import Input, Put, TreeInFile, entries
from loom.transfer.node_collector import (
    NodeCollector,
    as_text,
    list_of,
    mapping_of,
    model_of,
    name_of,
    objects_of,
    rest_of,
    time_of,
)
from loom.transfer.records import Head, NodeRecord, Report, unreadable

Take = Callable[[str, dict[str, Any], NodeCollector, Report], None]
Finish = Callable[[Head, dict[str, Any]], None]
_ESCAPED = re.compile(r"\\([<\[])")


def one_tree(read: Callable[[Input, Put, Report], Head]) -> Callable[[Input], Iterator[TreeInFile]]:
    """The `each` of a format whose files hold one tree."""

    def read_trees(file: Input) -> Iterator[TreeInFile]:
        yield TreeInFile("", "", 0, partial(read, file))

    return read_trees


def flat(
    at: tuple[str, ...], take: Take, finish: Finish | None = None, *, may_be_empty: bool = False
) -> Callable[[Input], Iterator[TreeInFile]]:
    """The `each` of a format whose nodes are the entries of the container at the path `at`, and
    are read as a stream. `finish` completes the head with the rest of the file. A file without
    nodes is an empty tree if the format has no root and so `may_be_empty`."""

    def read(file: Input, put: Put, report: Report) -> Head:
        rest: dict[str, Any] = {}
        collector = NodeCollector(put, report)
        for key, value in entries(file.events(), at, rest, report):
            take(key, _node(value, collector), collector, report)
        if may_be_empty and not collector.count:
            collector.add("root", "", NodeRecord(number=0))
        return _head(rest, collector, report, finish)

    return one_tree(read)


def _node(value: Any, collector: NodeCollector) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise unreadable(f"Node {collector.count:,} of the file is no object.")
    return value


def _head(
    rest: dict[str, Any], collector: NodeCollector, report: Report, finish: Finish | None
) -> Head:
    head = Head(imported=rest_of(rest, (), _KNOWN, report), plan=collector.plan())
    head.current = next(filter(None, (name_of(rest.get(name)) for name in _CURRENT)), "")
    if finish is not None:
        finish(head, rest)
    return head


_CURRENT = ("current", "currentNodeId", "focused_node_id", "selectedNodeId")
_KNOWN = frozenset(
    """current hoisted searchTerm generating focused_node_id focused selectedNodeId id name title
    currentNodeId bookmarkedNodeIds rootId version loomType schemaVersion tree lens metadata
    created_at createdAt description settings""".split()
)


# loomsidian: a map of nodes, one to a note; in older versions a list.


_VIEW = ("collapsed", "unread", "searchResultState", "lastVisited", "bookmarked", "author", "color")


def is_loomsidian(sketch: Any) -> bool:
    """The export of a note: `nodes` by id, with `parentId`; or the older list. One without nodes is
    known by `hoisted`, which only loomsidian has."""
    nodes = mapping_of(sketch).get("nodes")
    if nodes in ({}, []):
        return "hoisted" in mapping_of(sketch)
    return any(
        "parentId" in node and ("text" in node or "value" in node) and "childIds" not in node
        for node in _values(nodes)
    )


def is_loomsidian_data(sketch: Any) -> bool:
    """The `data.json` of the plugin: `state` holds the trees by the path of their note."""
    return any("nodes" in node for node in _values(mapping_of(mapping_of(sketch).get("state"))))


def _values(given: Any) -> list[dict[str, Any]]:
    values = list(given.values()) if isinstance(given, dict) else given
    return objects_of(values)


def take_loomsidian(
    key: str, node: dict[str, Any], collector: NodeCollector, report: Report
) -> None:
    """A node of loomsidian. A model's text has `\\<` and `\\[` for `<` and `[`."""
    name = key or name_of(node.get("id"))
    text = as_text(node.get("text", node.get("value")), name)
    author = text_of(node.get("author"), 80)
    is_model = author not in ("", "genesis", "N/A")
    plain = {field: what for field, what in node.items() if not (field in _VIEW and what is False)}
    record = NodeRecord(
        number=0,
        text=_ESCAPED.sub(r"\1", text) if is_model else text,
        author=author if is_model else "",
        author_kind="model" if is_model else "human",
        source=name,
        bookmark="" if node.get("bookmarked") is True else None,
        imported=rest_of(plain, ("id", "text", "value", "parentId", "bookmarked"), _VIEW, report),
    )
    collector.add(
        name, name_of(node.get("parentId")), record, children=list_of(node.get("children"))
    )


def loomsidian_notes(file: Input) -> Iterator[TreeInFile]:
    """The trees of `data.json`, one for each note. `settings`, which has keys, is not read."""
    events = file.events()
    has_tree = False
    if next(events)[0] == "start_map":
        for event, name in events:
            if event != "map_key":
                continue
            first = next(events)
            if name == "state" and first[0] == "start_map":
                has_tree = True
                yield from _notes(events)
            else:
                skip(first, events)
    if not has_tree:
        raise unreadable("The file has no trees.")


def _notes(events: Iterator[Any]) -> Iterator[TreeInFile]:
    for event, path in events:
        if event == "end_map":
            return
        try:
            state = value_of(next(events), events, most=MAX_PART, weight=16)
        except TooMuch:
            raise unreadable(f"The tree of {path[:60]!r} is too large.") from None
        title = path.rpartition("/")[2].removesuffix(".md")
        nodes = mapping_of(state).get("nodes")
        count = len(nodes) if isinstance(nodes, dict | list) else 0
        yield TreeInFile(title, "", count, partial(_read_note, title, mapping_of(state)))


def _read_note(title: str, state: dict[str, Any], put: Put, report: Report) -> Head:
    collector = NodeCollector(put, report)
    nodes = state.get("nodes")
    pairs = nodes.items() if isinstance(nodes, dict) else (("", item) for item in list_of(nodes))
    for key, value in pairs:
        take_loomsidian(key, _node(value, collector), collector, report)
    rest = {name: value for name, value in state.items() if name != "nodes"}
    head = _head(rest, collector, report, None)
    head.title = title[:300]
    return head


# Exoloom: nodes by number, bookmarks and pruned nodes in a list of their own.


def is_exoloom(sketch: Any) -> bool:
    """`loomType` Exoloom, or a tree with a `rootNodeId`."""
    whole = mapping_of(sketch)
    return whole.get("loomType") == "Exoloom" or "rootNodeId" in mapping_of(whole.get("tree"))


def take_exoloom(key: str, node: dict[str, Any], collector: NodeCollector, report: Report) -> None:
    """A node of Exoloom."""
    is_model = node.get("authorType") == "LLM"
    named = text_of(node.get("authorName"), 80)
    used = ("content", "authorType", "authorName", "parentId", "childrenIds", "createdAt")
    record = NodeRecord(
        number=0,
        text=as_text(node.get("content"), key),
        author=model_of(named) if is_model else named,
        author_kind="model" if is_model else "human",
        at=time_of(node.get("createdAt")),
        source=key,
        imported=rest_of(node, used, (), report),
    )
    children = [name_of(child) for child in list_of(node.get("childrenIds"))]
    collector.add(key, name_of(node.get("parentId")), record, children=children)


def finish_exoloom(head: Head, rest: dict[str, Any]) -> None:
    """The title, and the marks of the nodes."""
    tree, lens = mapping_of(rest.get("tree")), mapping_of(rest.get("lens"))
    head.title = text_of(tree.get("title"), 300)
    head.description = text_of(tree.get("description"), 10_000)
    marked, pruned = (
        {name_of(mark.get("nodeId")) for mark in objects_of(lens.get(name))}
        for name in ("bookmarks", "prunedNodes")
    )

    def settle(record: NodeRecord) -> None:
        if record.source in marked:
            record.bookmark = ""
        if record.source in pruned:
            record.flags = ["pruned"]

    head.settle = settle


# wool, Helm, basemode, bonsai, and flat files of pyloom: a few fields each.


def is_wool(sketch: Any) -> bool:
    """`nodes` by id, with `parent_id` and `type`."""
    nodes = mapping_of(mapping_of(sketch).get("nodes"))
    return any("parent_id" in node and "type" in node for node in _values(nodes))


def take_wool(key: str, node: dict[str, Any], collector: NodeCollector, report: Report) -> None:
    """A node of wool; `type` says who wrote it."""
    is_model = text_of(node.get("type"), 40).lower() in ("model", "ai", "assistant", "generated")
    known = ("type", "position", "loading", "error")
    record = NodeRecord(
        number=0,
        text=as_text(node.get("text"), key),
        author=model_of(node.get("model")) if is_model else "",
        author_kind="model" if is_model else "human",
        source=key,
        imported=rest_of(node, ("id", "parent_id", "text"), known, report),
    )
    collector.add(key, name_of(node.get("parent_id")), record)


def is_helm(sketch: Any) -> bool:
    """A list of nodes with `childIds`."""
    return any("childIds" in node for node in objects_of(mapping_of(sketch).get("nodes")))


def take_helm(_: str, node: dict[str, Any], collector: NodeCollector, report: Report) -> None:
    """A node of Helm."""
    name = name_of(node.get("id"))
    known = ("locked", "lockReason", "everExpanded")
    record = NodeRecord(
        number=0,
        text=as_text(node.get("text"), name),
        source=name,
        imported=rest_of(node, ("id", "text", "parentId", "childIds"), known, report),
    )
    collector.add(
        name, name_of(node.get("parentId")), record, children=list_of(node.get("childIds"))
    )


def finish_helm(head: Head, rest: dict[str, Any]) -> None:
    """The title, and the bookmarks."""
    head.title = text_of(rest.get("name"), 300)
    marked = set(filter(None, map(name_of, list_of(rest.get("bookmarkedNodeIds")))))

    def settle(record: NodeRecord) -> None:
        if record.source in marked:
            record.bookmark = ""

    head.settle = settle


def is_basemode(sketch: Any) -> bool:
    """A list of nodes with `parent_id` and `root_id`."""
    nodes = objects_of(mapping_of(sketch).get("nodes"))
    return any("parent_id" in node and "text" in node for node in nodes)


def take_basemode(_: str, node: dict[str, Any], collector: NodeCollector, report: Report) -> None:
    """A node of basemode."""
    name, meta = name_of(node.get("id")), mapping_of(node.get("metadata"))
    is_model = bool(text_of(node.get("model"), 80))
    rating = meta.get("rating")
    used = ("id", "parent_id", "text", "model", "created_at")
    known = ("root_id", "strategy", "max_tokens", "temperature", "branch_index", "metadata")
    record = NodeRecord(
        number=0,
        text=as_text(node.get("text"), name),
        author=model_of(node.get("model")) if is_model else "",
        author_kind="model" if is_model else "human",
        at=time_of(node.get("created_at")),
        source=name,
        bookmark="" if meta.get("bookmarked") is True else None,
        tags=[f"rated {rating}"[:200]] if isinstance(rating, int | float | str) else [],
        flags=["pruned"] if meta.get("hidden") is True else [],
        imported=rest_of(node, used, known, report),
    )
    collector.add(name, name_of(node.get("parent_id")), record)


def is_bonsai(sketch: Any) -> bool:
    """A list of nodes with `parentIds`."""
    return any("parentIds" in node for node in _values(mapping_of(sketch).get("nodes")))


def take_bonsai(key: str, node: dict[str, Any], collector: NodeCollector, report: Report) -> None:
    """A node of bonsai, below the first of its parents; the others are kept beside it."""
    name = name_of(node.get("id")) or key
    parents = [name_of(parent) for parent in list_of(node.get("parentIds"))]
    written = text_of(node.get("model"), 80) or text_of(node.get("type"), 80)
    is_model = written not in ("", "user", "human", "root")
    used = ("id", "text", "model", "createdAt", *(("parentIds",) if len(parents) < 2 else ()))
    if len(parents) > 1:
        report.kept["other parents of a node"] += 1
    record = NodeRecord(
        number=0,
        text=as_text(node.get("text"), name),
        author=written if is_model else "",
        author_kind="model" if is_model else "human",
        at=time_of(node.get("createdAt")),
        source=name,
        imported=rest_of(node, used, ("type", "parentIds"), report),
    )
    collector.add(name, parents[0] if parents else "", record)


def is_flat_pyloom(sketch: Any) -> bool:
    """A list of nodes, or a node on each line, that name their parents."""
    first = sketch[0] if isinstance(sketch, list) and sketch else sketch
    whole = mapping_of(first)
    return "text" in whole and "id" in whole and bool({"parent_id", "parentId"} & whole.keys())


def _take_pyloom(node: dict[str, Any], collector: NodeCollector, report: Report) -> None:
    name = name_of(node.get("id"))
    parent = name_of(node.get("parent_id")) or name_of(node.get("parentId"))
    used = ("id", "text", "parent_id", "parentId", "children")
    record = NodeRecord(
        number=0,
        text=as_text(node.get("text"), name),
        source=name,
        imported=rest_of(node, used, (), report),
    )
    collector.add(name, parent, record)


def read_pyloom_flat(file: Input, put: Put, report: Report) -> Head:
    """Nodes that name their parents, in a list or one on each line."""
    collector = NodeCollector(put, report)
    for node in file.values():
        _take_pyloom(_node(node, collector), collector, report)
    return Head(plan=collector.plan())


# logitloom: what a model might say next, with probabilities.


def is_logitloom(sketch: Any) -> bool:
    """A file that names its version of the format."""
    return "isLogitLoomTreeVersion" in mapping_of(sketch)


def read_logitloom(file: Input, put: Put, report: Report) -> Head:
    """The tree of tokens below what the model was sent."""
    rest: dict[str, Any] = {}
    collector = NodeCollector(put, report)
    roots = [root for _, root in entries(file.events(), ("roots",), rest, report, depth=4096)]
    model, how = model_of(rest.get("modelName")), mapping_of(rest.get("modelSettings"))
    begun = [as_text(how.get(field), f"of the {field}") for field in ("prompt", "prefill")]
    collector.add("prompt", "", NodeRecord(number=0, text=begun[0] or begun[1]))
    above = "prompt"
    if all(begun):
        above = "prefill"
        collector.add(above, "prompt", NodeRecord(number=0, text=begun[1]))
    waiting = [(above, root) for root in reversed(roots)]
    while waiting:
        above, node = waiting.pop()
        node = _node(node, collector)
        name = f"{collector.count}"
        known = ("id", "logprob", "prob", "branchFinished", "token")
        record = NodeRecord(
            number=0,
            text=as_text(node.get("text"), name),
            author=model,
            author_kind="model",
            imported=rest_of(node, ("text", "children"), known, report),
        )
        collector.add(name, above, record)
        waiting.extend((name, child) for child in reversed(list_of(node.get("children"))))
    head = Head(imported=rest_of(rest, (), ("modelName", "modelSettings"), report))
    head.plan, head.system_context = collector.plan(), text_of(how.get("systemPrompt"), 100_000)
    return head
