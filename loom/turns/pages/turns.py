"""Turns as pages show them: rounds in order, each line with its answer."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from django.db.models import F, OuterRef, Q, Subquery, Value
from django.db.models.functions import Concat
from django.db.models.lookups import Exact
from django.http import HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from loom import access
from loom.access import Actor, closed_steps
from loom.engine import registry
from loom.engine.answers import messages_of
from loom.engine.models import Step, Stream
from loom.engine.steps import items_of
from loom.engine.undo import is_undo
from loom.language.batches import prose_of, segments_of, with_ids
from loom.language.lines import read
from loom.language.refs import ParseError
from loom.participants.budgets import Budget
from loom.participants.provider_failures import failure_shown
from loom.permissions import GENERATE, WRITE
from loom.site.display import Who, age_of, broken_reason, cast_of
from loom.site.page_requests import PagePlace, PersonRequest, abilities, person, place_at
from loom.text.hashes import instant
from loom.text.shortening import without_name
from loom.trees.models import Node, Tree, Workspace
from loom.trees.queries.lookup import compared
from loom.trees.queries.places import path_ids
from loom.turns import budgets, queries
from loom.turns.budgets import Spent
from loom.turns.commands.continuing import asked_for, outcome_in
from loom.turns.models import OPEN_TURN, Generation, Turn
from loom.turns.pages.turn_sentence import in_prose
from loom.turns.queries import budget_of, lines_of, made_by
from loom.turns.queries import turns as all_turns
from loom.workspace.queries.shown_windows import depths_of
from loom.workspace.queries.workspace_bodies import led_out, said_in, spent_in, texts_of

MAX_TEXT = 20_000


@dataclass(frozen=True)
class LineShown:
    """One line: as it was written, the first line of its answer, and the rest of both."""

    text: str
    block: str
    is_ok: bool
    answer: str
    more: str
    hint: str


class TurnData(NamedTuple):
    """The data that turns are rendered from in addition to their own rows, read for all of them at
    once. By the ids of turns: their rounds, and the steps of their lines. By the ids of steps: the
    items that they touched, the long texts of their lines, and their answers. `closed`: steps that
    are not shown; `asked`: the generations that lines started, by uid; `views`: the workspace of a
    participant and its last event; `depths`: the nesting depth of the windows of a turn."""

    rounds: dict[int, list[Generation]]
    steps: dict[str, list[Step]]
    items: dict[int, list[int]]
    texts: dict[int, str]
    answers: dict[int, str]
    closed: set[int]
    asked: dict[str, Generation]
    views: dict[int, tuple[str, int]]
    depths: dict[int, int]
    wrote: dict[int, str]
    went_on: set[int]


NOTHING = TurnData({}, {}, {}, {}, {}, set(), {}, {}, {}, {}, set())


@dataclass(frozen=True)
class RoundShown:
    """One round. A live one has `generation` and its text so far; the prose of a finished one is
    shown without its lines."""

    number: int
    is_live: bool
    generation: str
    chunk: int
    text: str
    thoughts: tuple[str, ...]
    lines: tuple[LineShown, ...]

    @property
    def thought_lines(self) -> int:
        """The number of lines of the thoughts."""
        return sum(len(thought.splitlines()) or 1 for thought in self.thoughts)


def rounds_of(turn: Turn, data: TurnData) -> tuple[RoundShown, ...]:
    """The rounds in order, including the current one; without the lines whose texts the reader may
    not see."""
    over: dict[str, dict[str, Any]] = {str(done.get("generation")): done for done in turn.rounds}
    steps: dict[int, list[Step]] = {}
    for step in data.steps.get(turn.uid, ()):
        if step.pk not in data.closed:
            steps.setdefault(int(step.turn_place.partition(".")[0] or 0), []).append(step)
    return tuple(
        _round(turn, generation, over.get(generation.uid), steps.get(generation.round, []), data)
        for generation in data.rounds.get(turn.pk, ())
    )


def _round(
    turn: Turn,
    generation: Generation,
    ended: dict[str, Any] | None,
    steps: list[Step],
    data: TurnData,
) -> RoundShown:
    is_live = turn.ended_at is None and generation.status in ("queued", "running")
    ids = made_by((ended or {}).get("replies", ()))
    text = generation.text if is_live else with_ids(_prose(said_in(generation, turn)), ids)
    thoughts = [_thought(step, data.texts) for step in steps]
    return RoundShown(
        number=generation.round,
        is_live=is_live,
        generation=generation.uid,
        chunk=generation.chunk,
        text=text[:MAX_TEXT],
        thoughts=tuple(thought for thought in thoughts if thought),
        lines=tuple(
            _line(step, data) for step, thought in zip(steps, thoughts, strict=True) if not thought
        ),
    )


@lru_cache(maxsize=64)
def _prose(text: str) -> str:
    """The prose of a round whose lines are running."""
    return prose_of(segments_of(text, registry.language(), finished=True))


def _thought(step: Step, texts: dict[int, str]) -> str:
    """The text of a `think` line; "" for any other line."""
    if step.outcome != "ok" or not registry.is_silent(step.canonical):
        return ""
    if step.pk in texts:
        return texts[step.pk]
    try:
        command = read(step.canonical, registry.language())
    except ParseError:
        return ""
    return str(command.values.get("content", ""))


def _line(step: Step, data: TurnData) -> LineShown:
    text, _, block = step.line.strip("\n").partition("\n")
    if step.pk in data.texts:
        text, block = without_name(text), data.texts[step.pk][:MAX_TEXT]
    answer, _, more = _answer(step, data).partition("\n")
    is_ok = step.outcome == "ok"
    return LineShown(
        text=text,
        block=block,
        is_ok=is_ok,
        answer=answer if is_ok else f"✗ {step.outcome}: {answer}",
        more=more,
        hint=step.hint,
    )


def _answer(step: Step, data: TurnData) -> str:
    """The answer; for a line that asked for candidates, how many of them have ended."""
    asked = _asked(step)
    if not asked:
        return data.answers[step.pk]
    rows = [data.asked[uid] for uid in asked if uid in data.asked]
    is_over, reply, _ = outcome_in(rows)
    if is_over:
        return reply.text
    open_ones = sum(row.ended_at is None for row in rows)
    return gettext("%(done)s of %(all)s") % {"done": len(asked) - open_ones, "all": len(asked)}


def _asked(step: Step) -> list[str]:
    """The generations that a line started."""
    if step.outcome != "ok":
        return []
    return [uid for op in step.inverse or [] for uid in op.get("uids", ())]


# Turns at their place in the page.


MAX_ENDED = 8
MAX_PATH = 200
MAX_HERE = 100  # turns shown at one node: running ones, and those that ended in the last day
MAX_ASIDES = 12
MOST_LOOKED_AT = 1_000  # of the newest turns of a tree, for its asides
SHOWN_FOR = timedelta(days=1)
WORDS = {
    "done": gettext_noop("done"),
    "stopped": gettext_noop("stopped"),
    "halted": gettext_noop("halted"),
    "failed": gettext_noop("failed"),
    "interrupted": gettext_noop("interrupted"),
}


CONCLUDED = {
    "time": gettext_noop("It had to conclude: its time was over."),
    "tokens": gettext_noop("It had to conclude: its tokens were used up."),
    "rounds": gettext_noop("It had to conclude: its rounds were used up."),
    "steps": gettext_noop("It had to conclude: its steps were used up."),
    "items": gettext_noop("It had to conclude: its items were used up."),
    "day": gettext_noop("It had to conclude: the agent's steps of the day were used up."),
}


@dataclass(frozen=True)
class TurnShown:
    """One turn. `state` is a word for its status, `budget` the line about what it used; `error` is
    what went wrong and what to do, `reason` why it ended without an error; `wants` and
    `wants_tokens` are the additional steps and tokens that it asks for, `wants_tool` the tool;
    `node` is its answer, `asked` its request; `view` is the workspace that reports its lines, and
    the last event there that is included."""

    id: str
    tree: str
    who: Who
    by: Who
    at: str
    age: str
    has_calls: bool
    is_open: bool
    is_aside: bool
    status: str
    state: str
    step: int
    steps: int
    round: int
    most_rounds: int
    budget: str
    asked: str
    rounds: tuple[RoundShown, ...]
    error: str
    hint: str
    reason: str
    is_reason_at_node: bool
    node: str
    answer: str
    answers_below: str
    wants: int
    wants_tokens: int
    why: str
    wants_tool: dict[str, str] | None
    may_stop: bool
    may_extend: bool
    may_undo: bool
    may_redo: bool
    is_undone: bool
    may_go_on: bool
    did: str
    preset: str
    wrote: str
    view: str
    view_seq: int


@never_cache
@require_GET
@person
def at_node(request: PersonRequest, uid: str) -> HttpResponse:
    """The turns at `?node=`, those that run elsewhere, and the asides of the tree."""
    place = place_at(request, uid)
    actor, tree = place.actor, place.tree
    cast = cast_of(actor)
    here, asides = _at(place.node, _slots_above(place)), _asides(tree)
    # Apart from finding them: most pages show no turn, and Django takes 6 ms to write this query
    # (measured), which `in_bulk` leaves out where there is nothing to ask for.
    rows = all_turns().in_bulk([*here, *asides])
    in_tree = Exact(compared("tree"), tree.pk)
    open_turns = Turn.objects.filter(in_tree, ended_at__isnull=True, status__in=OPEN_TURN)
    elsewhere = open_turns.filter(form="continuation")
    names = elsewhere.exclude(pk__in=here).order_by("id")
    context = {
        "turns": shown(actor, [rows[key] for key in here if key in rows], cast),
        "elsewhere": [
            (turn, cast[participant], node)
            for turn, participant, node in names.values_list(
                "uid", "participant__uid", "answers_below__local_id"
            )
        ],
        "asides": shown(actor, [rows[key] for key in asides if key in rows], cast),
        "can": abilities(actor, tree),
    }
    return render(request, "parts/turns.html", context)


def _slots_above(place: PagePlace) -> list[int]:
    """The slots of the last nodes of the path, whose texts turns may have written. One query."""
    ids = path_ids(place.actor, place.tree, place.workspace, place.node, most=MAX_PATH)
    return [slot for slot, _ in ids]


def _at(node: Node, path: Sequence[int]) -> list[int]:
    """The ids of the running turns here, and of the latest that ended here or wrote a text of the
    path, oldest first. Two queries: the versions of the texts, which PostgreSQL looks turns up by
    only as numbers, and all turns at once, or one that ends in between would be in both."""
    of_slots = Node.objects.filter(slot__in=[node.slot_id, *path]).order_by()
    versions = dict(of_slots.values_list("pk", "slot_id"))
    here = [key for key, slot in versions.items() if slot == node.slot_id]
    is_here = Q(answers_below__in=here) | Q(node__in=here)
    lately = Q(status__in=OPEN_TURN) | Q(ended_at__gt=timezone.now() - SHOWN_FOR)
    # Looked up by their texts. With the tree SQLite goes through all of its turns.
    rows = Turn.objects.filter(Q(answers_below__in=versions) | Q(node__in=versions))
    rows = rows.filter(is_here & lately | ~Q(status__in=OPEN_TURN), form="continuation")
    newest = list(rows.order_by("-id").values_list("pk", "status")[:MAX_HERE])
    ended = [key for key, status in newest if status not in OPEN_TURN][:MAX_ENDED]
    working = [key for key, status in newest if status in OPEN_TURN]
    return [*reversed(ended), *reversed(working)]


def _asides(tree: Tree) -> list[int]:
    newest = Turn.objects.filter(tree=tree).order_by("-id").values("pk")[:MOST_LOOKED_AT]
    rows = Turn.objects.filter(pk__in=newest, form="aside").order_by("-id")
    return list(rows.values_list("pk", flat=True)[:MAX_ASIDES])


def shown(actor: Actor, turns: Sequence[Turn], cast: dict[str, Who]) -> list[TurnShown]:
    """The turns for a page of the actor. At most thirteen queries, however many there are."""
    data = _read(turns, actor)
    return [_shown(actor, turn, cast, data) for turn in turns]


def _read(turns: Sequence[Turn], actor: Actor | None = None) -> TurnData:
    """The data of turns of one tree: for the actor, or for every member of its grove. At most
    thirteen queries, eight if no line wrote, gave or quoted a long text, or asked for candidates or
    for more."""
    if not turns:
        return NOTHING
    views = _views_of(turns)  # read first, so that no event is missed
    lines = list(lines_of(*turns))
    items = items_of(lines)
    if actor is not None:
        closed = closed_steps(actor, lines, items)
    else:
        closed = led_out(lines, turns[0].tree, items)
    seen = [step for step in lines if step.pk not in closed]
    steps: dict[str, list[Step]] = {}
    for step in lines:
        steps.setdefault(step.turn_uid, []).append(step)
    rounds: dict[int, list[Generation]] = {}
    rows = Generation.objects.filter(turn__in=[turn.pk for turn in turns], round__gt=0)
    for row in rows.order_by("round", "id"):
        rounds.setdefault(row.turn_id or 0, []).append(row)
    asked = asked_for([uid for step in seen for uid in _asked(step)])
    return TurnData(
        rounds,
        steps,
        items,
        texts_of(seen),
        messages_of(seen),
        closed,
        {ask.uid: ask for ask in asked},
        views,
        depths_of(turns),
        _written(seen),
        _went_on(turns),
    )


def _written(steps: Sequence[Step]) -> dict[int, str]:
    """The texts that lines wrote, as local ids by row id; one query if there are any."""
    keys = [key for step in steps for key in _texts_of(step)]
    rows = Node.objects.filter(pk__in=keys, kind="text", slot=F("pk"), pruned=False)
    return dict(rows.values_list("pk", "local_id")) if keys else {}


def _texts_of(step: Step) -> list[int]:
    """The row ids of the nodes that a line wrote as texts."""
    if step.outcome != "ok" or step.is_undone:
        return []
    return [op["node"] for op in step.inverse or [] if op["op"] == "made" and op["pruned"]]


def _went_on(turns: Sequence[Turn]) -> set[int]:
    """Those of the turns that asked for more and after which the agent went on; one query if any
    has asked."""
    asked = {turn.node.slot_id: turn for turn in turns if turn.extension and turn.node is not None}
    if not asked:
        return set()
    later = Turn.objects.filter(answers_below__slot__in=asked, tree=turns[0].tree)
    later_turns = later.values_list("answers_below__slot", "participant", "id")
    return {
        asked[slot].pk
        for slot, agent, key in later_turns
        if asked[slot].participant_id == agent and key > asked[slot].pk
    }


def _views_of(turns: Sequence[Turn]) -> dict[int, tuple[str, int]]:
    """(id, last event) of the agents' workspaces in the tree, by participant; one query."""
    tree, agents = turns[0].tree, {turn.participant_id: turn.participant for turn in turns}
    heads = Stream.objects.filter(name=Concat(Value("workspace:"), OuterRef("uid")))
    rows = Workspace.objects.filter(tree=tree, participant__in=agents)
    rows = rows.annotate(head=Subquery(heads.values("head")[:1]))
    named = rows.values_list("participant", "uid", "head")
    known = {of: (uid, head or 0) for of, uid, head in named}
    unknown = {key: access.new_workspace(agent, tree).uid for key, agent in agents.items()}
    return {key: known.get(key, (uid, 0)) for key, uid in unknown.items()}


def _shown(actor: Actor | None, turn: Turn, cast: dict[str, Who], data: TurnData) -> TurnShown:
    """The turn for the actor, or (None) for everybody: then with the buttons that not every reader
    has."""
    view, view_seq = data.views[turn.participant_id]
    budget = budget_of(turn)
    lines, depth = data.steps.get(turn.uid, ()), data.depths[turn.pk]
    spent = spent_in(turn, timezone.now(), lines, data.items, depth)
    is_open = turn.status in OPEN_TURN
    error = turn.error or {}
    message, hint = failure_shown(error)
    may_stop = is_open and not turn.stop_asked
    is_undone = not is_open and _is_undone(turn, lines)
    may_go_on = not is_open and not is_undone
    rounds = rounds_of(turn, data)
    is_answered = turn.pk in data.went_on or is_undone
    wants = {} if is_answered else turn.extension or {}
    texts = [data.wrote[key] for line in lines for key in _texts_of(line) if key in data.wrote]
    wrote = "" if is_open or not texts else texts[-1]
    may_undo, may_extend = not is_open, is_open
    if actor is not None:
        is_mine = turn.invoked_by_id == actor.participant.pk
        may_stop = may_stop and GENERATE in actor.permissions
        may_undo = may_undo and WRITE in actor.permissions and (is_mine or actor.is_owner)
        may_extend = may_extend and (is_mine or actor.is_owner)
        may_go_on = may_go_on and GENERATE in actor.permissions
    reason = "" if error or is_open else _reason(turn, budget, spent)
    did = in_prose([line for line in lines if line.pk not in data.closed])
    if not did:
        is_done = turn.status == "done"
        did = gettext("answered at once") if is_done else gettext("ran no command")
    state = gettext("working") if is_open else gettext(WORDS.get(turn.status, turn.status))
    return TurnShown(
        id=turn.uid,
        tree=turn.tree.uid,
        who=cast[turn.participant.uid],
        by=cast[turn.invoked_by.uid],
        at=instant(turn.created_at),
        age=age_of(turn.created_at),
        has_calls=bool(data.rounds.get(turn.pk)),
        is_open=is_open,
        is_aside=turn.form == "aside",
        status=turn.status,
        state=gettext("undone") if is_undone else state,
        step=spent.steps,
        steps=budget.steps,
        round=min(spent.rounds + 1, budget.rounds),
        most_rounds=budget.rounds,
        budget=budgets.shown(budget, spent),
        asked=turn.input_node.text if turn.input_node and turn.form == "aside" else "",
        rounds=rounds,
        error=message,
        hint=hint,
        reason=reason,
        # Its text says so itself, where both are shown.
        is_reason_at_node=turn.node is not None and broken_reason(turn.node.finish) == reason,
        node=turn.node.local_id if turn.node else "",
        answer=turn.node.text if turn.node and turn.form == "aside" else "",
        answers_below=turn.answers_below.local_id,
        wants=int(wants.get("steps", 0)),
        wants_tokens=int(wants.get("tokens", 0)),
        why=str(wants.get("why", "")),
        wants_tool=wants.get("tool"),
        wrote=wrote,
        may_extend=may_extend,
        may_stop=may_stop,
        may_undo=may_undo and not is_undone,
        may_redo=may_undo and is_undone,
        is_undone=is_undone,
        may_go_on=may_go_on,
        did=did,
        preset=turn.preset,
        view=view,
        view_seq=view_seq,
    )


def _reason(turn: Turn, budget: Budget, spent: Spent) -> str:
    """Why an ended turn ended, unless it was done by itself: what broke it off, or which part of
    its budget was used up, so that it had to conclude."""
    limit = queries.limit_of(turn, budget, spent)
    return broken_reason(turn.finish) or (gettext(CONCLUDED[limit]) if limit else "")


def _is_undone(turn: Turn, lines: Sequence[Step]) -> bool:
    """Whether everything that a turn did is taken back: its node is pruned, its changes undone."""
    changes = [step for step in lines if step.inverse is not None and not is_undo(step)]
    if turn.node is None and not changes:
        return False
    is_hidden = turn.node is None or turn.node.slot.pruned
    return is_hidden and all(step.is_undone for step in changes)


@dataclass(frozen=True)
class Drawable:
    """Changed turns of one tree, read once to be rendered for everybody who has it open."""

    turns: Sequence[Turn]
    found: TurnData

    def elements(self, cast: dict[str, Who]) -> dict[str, str]:
        """Their elements by id, in the current language; "" for one with a line that not every
        member may see: each page fetches that one itself."""
        return {turn.uid: self._element(turn, cast) for turn in self.turns}

    def _element(self, turn: Turn, cast: dict[str, Who]) -> str:
        if any(step.pk in self.found.closed for step in self.found.steps.get(turn.uid, ())):
            return ""
        return render_to_string("parts/turn.html", {"turn": _shown(None, turn, cast, self.found)})


def drawable(uids: Iterable[str], tree_uid: str) -> Drawable:
    """The turns with these ids in a tree. At most thirteen queries, as above, and one for the
    turns."""
    named = sorted(uids)
    if not named:
        return Drawable((), NOTHING)
    turns = list(all_turns().filter(tree__uid=tree_uid, uid__in=named).order_by("id"))
    return Drawable(turns, _read(turns))
