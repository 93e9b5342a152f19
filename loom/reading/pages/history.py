"""What was done in a tree: the history panel and the time slider."""

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.db.models import F, QuerySet
from django.http import HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop, ngettext
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from loom import access
from loom.access import Actor
from loom.engine import registry, streams
from loom.engine.by_name import run_command
from loom.engine.models import Event, Step
from loom.engine.undo import IS_UNDO, UNDOABLE
from loom.errors import CommandError, not_found
from loom.language.refs import Ref, print_ref
from loom.notes.mentions import count_unseen, mark_mention_seen, mentions_of, newest_mentions
from loom.site import markdown
from loom.site.display import MAX_SHOWN, Who, age_of, call, cast_of
from loom.site.forms import PageForm, Text, Word
from loom.site.page_requests import (
    PersonRequest,
    abilities,
    in_one_line,
    known_node,
    person,
)
from loom.text.hashes import instant
from loom.trees.models import Node, Tree, Workspace
from loom.trees.queries import event_log
from loom.trees.queries.lookup import NodeRow
from loom.turns.models import OPEN_TURN, Generation, Turn
from loom.turns.queries import turns
from loom.workspace.commands import arrivals


@dataclass(frozen=True)
class Sentence:
    """One event in words. `node` is the local id that it links to; empty: none."""

    seq: int
    by: str
    colour: int
    words: str
    node: str
    text: str
    age: str


Words = tuple[str, str, str]  # words, node, text

_FLAGS = {
    ("pruned", True): gettext_noop("pruned"),
    ("pruned", False): gettext_noop("restored"),
    ("version_pruned", True): gettext_noop("pruned the version"),
    ("version_pruned", False): gettext_noop("restored the version"),
    ("excluded", True): gettext_noop("excluded from models"),
    ("excluded", False): gettext_noop("included for models again"),
}


def _added(payload: dict[str, Any]) -> Words:
    node = payload["node"]
    text = node["begins"] if "begins" in node else node.get("text", "")
    if node.get("kind") == "annotation":
        return gettext("annotated:"), node["id"], text
    if node.get("slot", node["id"]) != node["id"]:
        return gettext("wrote version"), node["id"], text
    return gettext("wrote"), node["id"], text


def _flagged(payload: dict[str, Any]) -> Words:
    key = (payload["flag"], bool(payload["value"]))
    words = gettext("changed %(flag)s of") % {"flag": payload["flag"]}
    return gettext(_FLAGS[key]) if key in _FLAGS else words, payload["node"], ""


def _marked(payload: dict[str, Any]) -> Words:
    mark = payload["mark"]
    verb = {"bookmark": gettext("bookmarked"), "tag": gettext("tagged")}.get(
        mark["kind"], mark["kind"]
    )
    return verb, mark["item"], mark["label"]


def _unmarked(payload: dict[str, Any]) -> Words:
    mark = payload["mark"]
    words = gettext("removed a tag") if mark["kind"] == "tag" else gettext("removed the bookmark")
    return words, mark["item"], mark["label"]


def _decided(payload: dict[str, Any]) -> Words:
    if payload["decision"] == "rejected":
        return gettext("rejected the suggestion"), payload["node"], ""
    return gettext("accepted the suggestion"), payload["node"], str(payload["version"])


_WORDS: dict[str, Callable[[dict[str, Any]], Words]] = {
    "tree.created": lambda _: (gettext("created the tree"), "", ""),
    "tree.changed": lambda _: (gettext("changed the tree's title or settings"), "", ""),
    "node.added": _added,
    "node.flagged": _flagged,
    "mark.added": _marked,
    "mark.removed": _unmarked,
    "tag.renamed": lambda p: (gettext("renamed a tag"), "", f"#{p['tags'][0]} → #{p['name']}"),
    "tag.removed": lambda p: (gettext("removed a tag everywhere"), "", f"#{p['tags'][0]}"),
    "suggestion.decided": _decided,
    "settings.pinned": lambda p: (gettext("pinned settings at"), p["node"], ""),
    "annotation.resolved": lambda p: (gettext("resolved the annotation"), p["node"], ""),
    "annotation.reopened": lambda p: (gettext("reopened the annotation"), p["node"], ""),
    "link.added": lambda _: (gettext("linked two items"), "", ""),
    "link.removed": lambda _: (gettext("removed a link"), "", ""),
    "import.finished": lambda _: (gettext("imported the tree"), "", ""),
}

# What a list of changes leaves out, but the time slider stops at.
_QUIET_WORDS = {
    "turn.started": gettext_noop("started a turn"),
    "turn.ended": gettext_noop("ended a turn"),
    "generation.started": gettext_noop("started a text of a model"),
    "generation.ended": gettext_noop("ended a text of a model"),
    "call.sealed": gettext_noop("recorded the answer of a model"),
    "claim.changed": gettext_noop("changed a claim"),
    "commitment.added": gettext_noop("added a commitment"),
    "commitment.vetoed": gettext_noop("vetoed a commitment"),
    "token.changed": gettext_noop("changed a task or a sandbox"),
}


def sentence_of(event: Event, cast: dict[str, Who]) -> Sentence | None:
    """The event as a sentence; None for events without interest for readers."""
    words_of = _WORDS.get(event.kind)
    if words_of is None:
        return None
    return _sentence(event, cast, *words_of(event.payload))


def moment_sentence(actor: Actor, event: Event, cast: dict[str, Who]) -> Sentence:
    """The event as a sentence, whatever its kind; without its author where the actor may not see
    it."""
    if event_log.is_hidden(event.kind, actor.role):
        words = gettext("a change that you may not see")
        return Sentence(event.seq, by="", colour=0, words=words, node="", text="", age="")
    words = _QUIET_WORDS.get(event.kind, gettext_noop("made another change"))
    return sentence_of(event, cast) or _sentence(event, cast, gettext(words), "", "")


def _sentence(event: Event, cast: dict[str, Who], words: str, node: str, text: str) -> Sentence:
    who = cast.get(event.actor)
    return Sentence(
        seq=event.seq,
        by=who.shown if who else "Heddle",
        colour=who.colour if who else 0,
        words=words,
        node="" if ":" in node else node,
        text=text[:80],
        age=age_of(event.at),
    )


# What others did in a tree since the reader last looked at it.


@dataclass(frozen=True)
class Activity:
    """What one participant did, in a few words."""

    name: str
    colour: int
    said: str


@dataclass(frozen=True)
class NewsShown:
    """What others did since the reader's last visit: who did it, and the last events as sentences.
    Of very much (`is_more`) only the last `reach` events are counted."""

    age: str
    people: tuple[Activity, ...]
    sentences: tuple[Sentence, ...]
    is_more: bool
    reach: int = event_log.REACH


def news_shown(
    actor: Actor, tree: Tree, workspace: Workspace | None, cast: dict[str, Who]
) -> NewsShown | None:
    """What others did since the reader's last visit; None if there is nothing. What models wrote
    because the reader asked them is no news."""
    asked = Generation.objects.filter(asked_by=actor.participant.pk)
    news = event_log.news_of(actor, tree, workspace, most=NEWEST, asked=asked)
    if news is None:
        return None
    people: dict[str, Counter[str]] = {}
    for who, kind, many in news.by:
        people.setdefault(who, Counter())[kind if kind in _WRITTEN else ""] += many
    shown = event_log.with_beginnings(tree, news.events)
    return NewsShown(
        age=age_of(news.since),
        people=tuple(
            Activity(
                cast[who].name if who in cast else "Heddle",
                _colour(cast, who),
                ", ".join(_counted(kind, counts[kind]) for kind in (*_WRITTEN, "") if counts[kind]),
            )
            for who, counts in people.items()
        ),
        sentences=tuple(sentence for event in shown if (sentence := sentence_of(event, cast))),
        is_more=news.is_more,
    )


def _colour(cast: dict[str, Who], who: str) -> int:
    return cast[who].colour if who in cast else 0


_WRITTEN = ("node.added", "annotation.added")  # kinds that are counted by themselves


def _counted(kind: str, many: int) -> str:
    words = {"n": many}
    if kind == "node.added":
        return ngettext("wrote %(n)d text", "wrote %(n)d texts", many) % words
    if kind == "annotation.added":
        return ngettext("wrote %(n)d note", "wrote %(n)d notes", many) % words
    return ngettext("made %(n)d other change", "made %(n)d other changes", many) % words


@require_POST
@person
def seen(request: PersonRequest, uid: str) -> HttpResponse:
    """Stores up to which event the reader has looked: `{seq}`."""
    actor, tree = access.get_tree(request.user, uid)
    try:
        seq = json.loads(request.body or b"{}").get("seq")
    except (ValueError, AttributeError):
        seq = None
    if not isinstance(seq, int) or isinstance(seq, bool) or not 0 <= seq < 2**62:
        raise CommandError("INVALID_SYNTAX", "seq is a whole number.", hint='{"seq": 12}')
    arrivals.mark_seen(actor, tree, seq)
    return HttpResponse(status=204)


@require_POST
@person
def place(request: PersonRequest, uid: str) -> HttpResponse:
    """Stores where the reader is, so that every browser opens the tree there: `{node}`."""
    actor, tree = access.get_tree(request.user, uid)
    try:
        node = json.loads(request.body or b"{}").get("node")
    except (ValueError, AttributeError):
        node = None
    if not isinstance(node, str):
        raise CommandError("INVALID_SYNTAX", "node is the id of a text.", hint='{"node": "a7x2"}')
    text = known_node(tree, node)
    if text is None:
        raise not_found(f"[{node[:20]}]")
    arrivals.arrive(actor, tree, text)
    return HttpResponse(status=204)


@require_http_methods(["GET", "HEAD", "POST"])
@person
def mentions(request: PersonRequest) -> HttpResponse:
    """The inbox of the reader: the annotations that mention them, newest first. A POST replies to
    one (`mention`, `text`), or says that it was seen."""
    if request.method == "POST":
        return _replied(request)
    rows = newest_mentions(request.user, most=MAX_MENTIONS)
    unseen = sum(row.seen_at is None for row in rows)
    annotated = access.annotated_trees(request.user, {row.tree_id for row in rows})
    shown = [(row, row.tree_id in annotated) for row in rows]
    return render(request, "pages/mentions.html", {"mentions": shown, "unseen": unseen})


class MentionForm(PageForm):
    """A mention that was seen, and the reply to it, if any."""

    mention = Word()
    text = Text()


def _replied(request: PersonRequest) -> HttpResponse:
    """Adds the reply below the annotation, in the tree where it is."""
    given = MentionForm.read(request)
    key, text = given["mention"], given["text"]
    known = mentions_of(request.user)
    mention = known.filter(pk=int(key)).first() if re.fullmatch(r"[0-9]{1,15}", key) else None
    if mention is None:
        raise not_found("This mention")
    if text.strip():
        actor, tree = access.get_tree(request.user, mention.tree.uid)
        try:
            values = {"ref": mention.node.local_id, "content": text}
            outcome = run_command(actor, tree, "annotate", values)
        except CommandError as refused:
            messages.error(request, in_one_line(refused))
            return HttpResponseRedirect("/mentions")
        message = outcome.reply.partition("\n")[2].strip()
        messages.success(request, message or gettext("Your reply is in the tree."))
    mark_mention_seen(mention)
    return HttpResponseRedirect("/mentions")


@require_GET
@person
def unseen_mentions(request: PersonRequest) -> HttpResponse:
    """The number of mentions of the reader in trees that they have not looked at since."""
    return render(request, "parts/mentions.html", {"unseen": count_unseen(request.user)})


# What was done in a tree, by whom, and what the reader may undo here.


MAX_HISTORY = 40
MAX_TURNS = 20
MAX_WORDS = 90
NEWEST = 12
MAX_MENTIONS = 50
MAX_EXCERPT = 60


@dataclass(frozen=True)
class HistoryEntry:
    """A step, or a whole turn, and the call that undoes it; empty: it is already undone. `line` is
    the exact line, if `words` are plainer than it."""

    who: Who
    words: str
    age: str
    undo: str
    text: str = ""
    line: str = ""


# The text of a canonical line: the first quoted one, or the block below it.
_TEXT = re.compile(r'"(?P<quoted>(?:[^"\\]|\\.)*)"|\n(?P<block>.*)', re.DOTALL)


def _plain(step: Step, branches: set[int]) -> tuple[str, str]:
    """What a step did in plain words, and the beginning of its text; the line itself if there are
    no plainer words. `branches`: the nodes, of those that the steps made, that are a place of their
    own and not the wording of another."""
    verb = registry.verb_of_step(step.canonical)
    done = registry.language().of(verb).done
    if not done:
        return step.canonical[:MAX_WORDS], ""
    words = gettext(done)
    if verb == "edit" and branches.intersection(_made_by(step)):
        words = gettext("Saved a new branch")
    match = _TEXT.search(step.canonical)
    text = (match["quoted"] or match["block"] or "") if match else ""
    return words, " ".join(re.sub(r'\\(["\\])', r"\1", text).split())[:MAX_EXCERPT]


def _made_by(step: Step) -> list[int]:
    return [op["node"] for op in step.inverse or () if op["op"] == "made"]


@require_GET
@person
def history(request: PersonRequest, uid: str) -> HttpResponse:
    """What the reader did here, what others and turns did that the reader may undo, and
    everybody's changes."""
    actor, tree = access.get_tree(request.user, uid)
    cast = cast_of(actor)
    rows = Event.objects.filter(stream=streams.stream_id(f"tree:{tree.uid}")).order_by("-seq")
    events = event_log.with_beginnings(tree, rows[:MAX_HISTORY])
    me = actor.participant.uid
    context = {
        "steps": _actions(_steps(tree).filter(workspace__participant__uid=me), cast),
        "others": _others(actor, tree, cast),
        "turns": _turns(actor, tree, cast),
        "events": [
            sentence for event in events if (sentence := sentence_of(event, cast)) is not None
        ],
        "head": events[0].seq if events else 1,
        "tree": tree,
        "can": abilities(actor, tree),
    }
    return render(request, "parts/history.html", context)


def _steps(tree: Tree) -> QuerySet[Step]:
    """The steps that changed this tree, without those of turns, newest first."""
    rows = Step.objects.filter(stream=f"tree:{tree.uid}", outcome="ok", inverse__isnull=False)
    rows = rows.filter(~IS_UNDO, turn_uid="")
    return rows.select_related("actor").order_by("-id")


def _actions(rows: QuerySet[Step], cast: dict[str, Who]) -> list[HistoryEntry]:
    """The steps in words. Two queries."""
    steps = list(rows[:MAX_HISTORY])
    nodes = Node.objects.filter(pk__in=[key for step in steps for key in _made_by(step)])
    branches = set(nodes.filter(slot__gte=F("id")).values_list("id", flat=True))
    plain = ((step, *_plain(step, branches)) for step in steps)
    return [
        HistoryEntry(
            who=cast[step.actor.uid],
            words=words,
            text=text,
            line=step.canonical,
            age=age_of(step.at),
            undo="" if step.is_undone else _undo(step, cast[step.actor.uid]),
        )
        for step, words, text in plain
    ]


def _undo(step: Step, who: Who) -> str:
    by = {} if who.is_me else {"by": who.name}
    return call("undo", ref=print_ref(Ref("step", id=str(step.seq))), **by)


def _others(actor: Actor, tree: Tree, cast: dict[str, Who]) -> list[HistoryEntry]:
    """What others did; owners may undo it."""
    if not actor.is_owner:
        return []
    return _actions(_steps(tree).exclude(workspace__participant=actor.participant), cast)


def _turns(actor: Actor, tree: Tree, cast: dict[str, Who]) -> list[HistoryEntry]:
    """The ended turns that the reader may undo, as their inviter or an owner."""
    rows = turns().filter(tree=tree).exclude(status__in=OPEN_TURN).order_by("-id")
    if not actor.is_owner:
        rows = rows.filter(invoked_by=actor.participant)
    ended = list(rows[:MAX_TURNS])
    left = _left(ended)
    return [
        HistoryEntry(
            who=cast[turn.participant.uid],
            words=(turn.input_node.text if turn.input_node else turn.invoked_at.text)[:MAX_WORDS],
            age=age_of(turn.created_at),
            undo=call("undo", ref=f"turn:{turn.uid}") if turn.uid in left else "",
        )
        for turn in ended
    ]


def _left(ended: Sequence[Turn]) -> set[str]:
    """The turns with something left to undo."""
    steps = Step.objects.filter(turn_uid__in=[turn.uid for turn in ended], outcome="ok")
    steps = steps.filter(UNDOABLE)
    nodes = {turn.uid for turn in ended if turn.node is not None and not turn.node.slot.pruned}
    return nodes | set(steps.values_list("turn_uid", flat=True))


# The time slider: the event at a seq, and the path at that time.


@dataclass(frozen=True)
class PastText:
    """A text as it was; without tools, because the past cannot be changed."""

    id: str
    who: Who
    at: str
    body: SafeString
    is_cut: bool
    is_pruned: bool


@require_GET
@person
def moment(request: PersonRequest, uid: str) -> HttpResponse:
    """`{seq, head, floor, at, by, words, node, last, flags: [[node, flag, value]]}` at `?seq=`, of
    which the first that is kept is `floor` + 1. `last` is the newest node at that time; `flags` are
    those that were different from now. With `?ticks=1` also `ticks`, the parts of all the history
    that is kept: [participant, how many of eight were texts].
    """
    actor, tree = access.get_tree(request.user, uid)
    at = event_log.moment(actor, tree, _seq(request))
    sentence = moment_sentence(actor, at.event, cast_of(actor))
    return JsonResponse(
        {
            "seq": at.seq,
            "head": at.head,
            "floor": at.floor,
            "at": instant(at.event.at),
            "by": sentence.by,
            "words": sentence.words,
            "node": sentence.node,
            "last": at.last_id,
            "flags": [[node, flag, value] for (node, flag), value in at.flags.items()],
            **({"ticks": event_log.ticks_of(actor, tree)} if request.GET.get("ticks") else {}),
        }
    )


@require_GET
@person
def path(request: PersonRequest, uid: str) -> HttpResponse:
    """The path to `?node=` as it was at `?seq=`, read-only."""
    actor, tree = access.get_tree(request.user, uid)
    node = known_node(tree, request.GET.get("node", ""))
    if node is None:
        raise not_found(_("This node"))
    at = event_log.moment(actor, tree, _seq(request))
    workspace = access.workspace_of(actor.participant, tree)
    seen = event_log.past_path(actor, tree, workspace, at=at, node=node)
    cast = cast_of(actor)
    context = {
        "tree": tree,
        "nodes": [_text(tree, row, cast, seen.pruned) for row in seen.rows],
        "above": seen.rows[0].local_id if seen.has_above else "",
        "below": [_text(tree, row, cast, set()) for row in seen.below],
    }
    return render(request, "parts/past.html", context)


def _text(tree: Tree, row: NodeRow, cast: dict[str, Who], pruned: set[str]) -> PastText:
    draw = markdown.plain if tree.mode == "buffer" else markdown.rendered
    return PastText(
        id=row.local_id,
        who=cast[row.author_uid],
        at=row.at,
        body=markdown.with_boxes(draw(row.text[:MAX_SHOWN])),
        is_cut=row.length > MAX_SHOWN,
        is_pruned=row.local_id in pruned,
    )


def _seq(request: PersonRequest) -> int:
    given = request.GET.get("seq", "")
    if not (given.isascii() and given.isdecimal()) or len(given) > 15:
        raise CommandError("INVALID_SYNTAX", _("seq is a whole number."), hint="?seq=1")
    return int(given)
