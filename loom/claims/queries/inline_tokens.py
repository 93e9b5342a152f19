"""The tokens of an item with their states."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q

from loom.access import Actor
from loom.claims.models import Pipe, TokenState
from loom.claims.queries.followed import followed
from loom.claims.queries.regions import region_of, regions_of
from loom.claims.rules.inline_tokens import (
    MACHINES,
    InlineToken,
    plain_task,
    says_of,
    tokens_in,
)
from loom.claims.rules.regions import PREFIX
from loom.errors import not_found
from loom.language import ids
from loom.language.refs import quote
from loom.trees.grove_texts import grove_texts
from loom.trees.models import GroveText, Node, Tree, Workspace
from loom.workspace.models import Window

SELF = "0"  # the key of the token that an annotation or suggestion is itself


Known = dict[str, tuple[str, tuple[str, ...]]]  # the state and the notes of each token, by its key


def states_of(item: int, tokens: Sequence[InlineToken]) -> Known:
    """The state and the notes of each token, by its key; one query. In a document the text itself
    says which tasks are checked."""
    return states_among({item: tokens})[item]


def states_among(tokens: Mapping[int, Sequence[InlineToken]]) -> dict[int, Known]:
    """The states of the tokens of several items, by item; one query."""
    kept: dict[tuple[int, str], tuple[str, tuple[str, ...]]] = {}
    rows = TokenState.objects.filter(item__in=tokens)
    for item, key, state, data in rows.values_list("item", "key", "state", "data"):
        kept[item, key] = (state, tuple(data.get("notes", ())))
    return {item: _known(item, every, kept) for item, every in tokens.items()}


def _known(
    item: int,
    tokens: Sequence[InlineToken],
    kept: Mapping[tuple[int, str], tuple[str, tuple[str, ...]]],
) -> Known:
    by_key = {}
    for token in tokens:
        state, notes = kept.get((item, token.key), (token.state, ()))
        if item < 0 and state != "archived":
            state = token.state
        by_key[token.key] = (state, notes)
    return by_key


MOST_DECIDED = 50
MOST_LINKED = 200  # documents of a tree whose tasks are looked for
MOST_READ = 20  # documents that are read for them


LONG_WORDS = 20_000  # of a document: no longer one is read for them


@dataclass(frozen=True)
class DecidedTask:
    """A task that somebody has checked or archived: `href` is the address of its text and `ref` its
    name in lines, `title` is that of the document in which it is written, "" in a tree.
    `is_by_hand`: its box was checked in the text, whose last change is `at`."""

    ref: str
    href: str
    title: str
    words: str
    check: str
    state: str
    notes: tuple[str, ...]
    at: datetime
    is_by_hand: bool = False

    @property
    def says(self) -> str:
        """What it is evidence for: `task "Read the log" is checked`."""
        return says_of(self.words, self.state)


def decided_tasks(actor: Actor, tree: Tree) -> list[DecidedTask]:
    """The tasks in texts of a tree, and in the documents linked to it that the actor may read, that
    were checked or archived last, the newest first: by a line or a click, or by hand in the text of
    a document. Reads the texts of at most 2 * MOST_READ documents."""
    every = [*_decided_in_nodes(tree), *_decided_in_documents(actor, tree)]
    return sorted(every, key=lambda task: task.at, reverse=True)[:MOST_DECIDED]


def _decided(where: Q) -> list[TokenState]:
    """The newest states of tasks that were checked or archived."""
    rows = TokenState.objects.filter(where, kind="task", state__in=("checked", "archived"))
    return list(rows.order_by("-at", "-pk")[:MOST_DECIDED])


def _decided_in_documents(actor: Actor, tree: Tree) -> list[DecidedTask]:
    """By lines, in the documents of which that was last; and by hand, in those written last."""
    linked = {text.item_id: text for text in grove_texts().linked(actor, tree)[:MOST_LINKED]}
    kept = _decided(Q(item__in=linked)) if linked else []
    lasting = [item for item, text in linked.items() if text.words <= LONG_WORDS][:MOST_READ]
    read = dict.fromkeys([*list(dict.fromkeys(row.item for row in kept))[:MOST_READ], *lasting])
    by_key = {(row.item, row.key): row for row in kept}
    texts = grove_texts().current_of(read)
    tokens = {item: _tasks_in(text) for item, text in texts.items()}
    states = states_among({item: own_tokens for item, own_tokens in tokens.items() if own_tokens})
    tasks = []
    for item, known in states.items():
        for token in tokens[item]:
            state, notes = known[token.key]
            row = by_key.get((item, token.key))
            if state == "unchecked":
                continue
            of_line = row if row is not None and row.state == state else None
            of_text = linked[item]
            tasks.append(
                DecidedTask(
                    ref=f"doc:{of_text.uid}",
                    href=f"/documents/{of_text.uid}",
                    title=of_text.title,
                    words=plain_task(token.words),
                    check=token.check,
                    state=state,
                    notes=notes,
                    at=of_line.at if of_line is not None else of_text.touched_at,
                    is_by_hand=of_line is None,
                )
            )
    return tasks


def _tasks_in(text: str) -> list[InlineToken]:
    return [token for token in tokens_in(text, stable=True) if token.kind == "task"]


def _decided_in_nodes(tree: Tree) -> list[DecidedTask]:
    kept = _decided(Q(item__range=ids.ids_in(tree.pk)))
    keys = {key for row in kept if (key := ids.node_id(row.item)) is not None}
    shown = Node.objects.filter(pk__in=keys, pruned=False, version_pruned=False).in_bulk()
    tokens = {
        (ids.of_node(node.pk), token.key): token
        for node in shown.values()
        for token in tokens_in(node.text, stable=False)
    }
    return [
        DecidedTask(
            ref=node.local_id,
            href=f"/trees/{tree.uid}?node={node.local_id}",
            title="",
            words=plain_task(token.words),
            check=token.check,
            state=row.state,
            notes=tuple(row.data.get("notes", ())),
            at=row.at,
        )
        for row in kept
        if (token := tokens.get((row.item, row.key))) is not None
        for node in [shown[ids.node_id(row.item) or 0]]
    ]


TokenItem = Node | GroveText | Tree | Pipe


def tokens_of(item: TokenItem, actor: Actor, workspace: Workspace) -> list[dict[str, Any]]:
    """The tokens of a node or document as the API carries them; a sandbox and a pipe are tokens of
    themselves. Those of the windows of the actor's workspace are their drafts, and what they have
    followed there are the states of references and portals."""
    if isinstance(item, Tree):
        return [_of_sandbox(item)] if item.sandbox_of_id is not None else []
    if isinstance(item, Pipe):
        text = " | ".join(item.lines)
        token = InlineToken(SELF, "pipe", 0, len(text), text, "composed", target=item.name)
        return [_body(token, "composed" if item.ran_at is None else "executed", ())]
    if isinstance(item, Node) and item.kind == "annotation":
        return [_own(item)]
    if isinstance(item, Node):
        key, tokens = ids.of_node(item.pk), tokens_in(item.text, stable=False)
    else:
        key = item.item_id
        tokens = tokens_in(grove_texts().current(key) or "", stable=True)
    states = states_of(key, tokens)
    drafts = regions_of(key, workspace)
    own = followed(actor, workspace, key, tokens)
    return [
        *(
            _body(token, own.get(token.key, state), notes)
            for token in tokens
            for state, notes in [states[token.key]]
        ),
        *(_body(draft.token, draft.state, ()) for draft in drafts),
    ]


def _of_sandbox(tree: Tree) -> dict[str, Any]:
    """A sandbox as a token of itself: active until it was promoted, discarded or over."""
    kept = TokenState.objects.filter(item=ids.of_tree(tree.pk), key=SELF).first()
    is_open = tree.archived_at is None
    state = "active" if is_open else kept.state if kept is not None else "discarded"
    return _body(InlineToken(SELF, "sandbox", 0, 0, tree.title, state), state, ())


def token_of(item: TokenItem, key: str, actor: Actor, workspace: Workspace) -> dict[str, Any]:
    """The token with that key. NOT_FOUND if there is none."""
    token = next((body for body in tokens_of(item, actor, workspace) if body["key"] == key), None)
    if token is None:
        raise not_found("This token", "GET …/tokens lists those of the item")
    return token


def region_shown(workspace: Workspace, key: str) -> dict[str, Any]:
    """A region after an input, of the version that its window shows now."""
    window = Window.objects.get(workspace=workspace, number=int(key.removeprefix(PREFIX)))
    region = region_of(window.item_id or 0, workspace, key)
    return _body(region.token, region.state, ())


def _own(node: Node) -> dict[str, Any]:
    """An annotation or suggestion as a token of itself."""
    is_open = node.slot.resolved_at is None
    if node.form == "diff":
        token = InlineToken(
            SELF, "suggestion", 0, node.length, "", "proposed" if is_open else "accepted"
        )
    else:
        token = InlineToken(
            SELF, "annotation", 0, node.length, "", "open" if is_open else "resolved"
        )
    return _body(token, token.state, ())


def _body(token: InlineToken, state: str, notes: tuple[str, ...]) -> dict[str, Any]:
    machine = MACHINES[token.kind]
    return {
        "key": token.key,
        "kind": token.kind,
        "text": token.words,
        "first": token.first,
        "last": token.last,
        "target": token.target,
        "check": token.check,
        "state": state,
        "notes": list(notes),
        "states": list(machine.states),
        "initial": machine.initial,
        "accepting": list(machine.accepting),
        "inputs": machine.inputs(state),
    }


def delta_of(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any] | None:
    """What an input changes of a task, with what its new state is evidence for; None of tokens of
    another kind."""
    if before["kind"] != "task":
        return None
    evidence = {"says": says_of(before["text"], after["state"]), "strength": "strong"}
    names = ("first", "last", "state", "notes")
    return {**{name: after[name] for name in names}, "evidence": evidence}


def after_input(body: dict[str, Any], given: str, text: str) -> dict[str, Any]:
    """A task as it would be after an input, with the note that it has."""
    if body["kind"] != "task":
        return body
    state = MACHINES["task"].transitions[(body["state"], given)]
    notes = [*body["notes"], text] if text.strip() else body["notes"]
    return {**body, "state": state, "notes": notes}


def line_for(ref: str, token: dict[str, Any], given: str, text: str) -> str:
    """The line that an input of a token compiles to; "" if it changes nothing."""
    kind, key, tail = token["kind"], token["key"], f" {quote(text)}" if text else ""
    if kind == "task":
        same = {"check": "checked", "uncheck": "unchecked"}.get(given) == token["state"]
        return "" if same else f"todo {given} {ref} token:{key}{tail}"
    if kind == "sandbox":
        return given
    if kind == "pipe":
        return f"{given} pipe:{quote(token['target'])}" + (f" from {text}" if text else "")
    if kind == "reference":
        return f"view {token['target']}"
    if kind == "portal":
        type_, _, target = token["target"].partition(" ")
        return f"{given} {type_} of {ref}" + (f" to:{quote(target)}" if given == "expand" else "")
    if kind == "annotation":
        return f"annotate {ref}{tail}" if given == "reply" else f"resolve {ref}{tail}"
    if given == "edit":
        return f"accept {ref} edited{tail}"
    return f"{given} {ref}{tail if given == 'reject' else ''}"
