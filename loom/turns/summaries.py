"""Summaries of nodes, trees and documents, made in the background when one is first needed.

A summary is a generation whose `round` is SUMMARY. It is taken, paid for, retried after a lost
worker, and its call is kept, like those of a candidate. It ends as the summary of its point
instead of a node below it. At the root it is the summary of the tree, or of the text of the
grove that it is about. See docs/model.md §2.1.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta

from django.conf import settings
from django.db.models import Count, Max, Q
from django.db.models.lookups import Exact
from django.utils import timezone

from loom import access
from loom.access import Actor
from loom.engine import jobs
from loom.engine.actions import RunningAction, action
from loom.engine.arguments import Args
from loom.engine.execute import execute
from loom.engine.fields import new_uid
from loom.errors import CommandError
from loom.language.ids import ORDINAL_BITS
from loom.money import spending
from loom.money.spending import CandidateRequest
from loom.people.commands.groves import NO_MODEL
from loom.people.grove_settings import number_of
from loom.people.models import Grove, Participant
from loom.permissions import GENERATE
from loom.trees.commands.node_writer import after_adding
from loom.trees.grove_texts import grove_texts
from loom.trees.models import GroveText, Node, Tree
from loom.trees.queries import lookup
from loom.trees.queries.lookup import nodes_in, withheld_from_models
from loom.turns.generation_lifecycle import OPEN_STATUSES
from loom.turns.models import SUMMARY, Generation
from loom.turns.queueing import queue

WORDS = 30  # a text of at most this many words is its own summary
CHARACTERS = 300  # the same, for scripts without spaces between words
READING = 1_000  # tokens that one reads, approximately
MOST_AT_ONCE = 16
MOST_TRIES = 3  # failed attempts at one summary
REST = timedelta(minutes=5)  # after a failed attempt
OPEN = Q(ended_at__isnull=True)


def summariser(grove: Grove) -> Participant | None:
    """The model that an owner chose for summaries, else the first one with a key. None if there is
    neither, or if summaries are switched off."""
    chosen = grove.settings.get("summary_model", "")
    rows = Participant.objects.filter(grove=grove, kind="model", archived_at__isnull=True)
    if chosen == NO_MODEL:
        return None
    if chosen:
        return rows.filter(uid=chosen).first()
    own = ~Q(sealed_key="") | Q(uid__in=settings.ENV_KEYS)
    return rows.filter(own).order_by("id").first()


def is_short(text: str, words: int = WORDS) -> bool:
    """Whether a text of at most that many words is its own summary."""
    return len(text) <= CHARACTERS * words // WORDS and len(text.split(None, words)) <= words


def lacking(tree: Tree, nodes: Iterable[int], *, again: bool = False) -> list[Node]:
    """Those of the nodes that need a summary and have none: long texts that models are sent,
    except where a summary is being made, or failed recently or too often. In the order of `nodes`.
    `again`: also those that have one, or whose summary failed."""
    wanted = list(dict.fromkeys(nodes))
    rows = nodes_in(tree.pk).filter(pk__in=wanted, kind="text")
    rows = rows if again else rows.filter(summary="")
    rows = rows.filter(slot__sandbox=False)
    words = number_of(tree.grove.settings, "summary_words")
    by_key = {row.pk: row for row in rows if not is_short(row.text, words)}
    if not by_key:
        return []
    gone = set(withheld_from_models(by_key)) | _waiting(by_key, again=again)
    return [by_key[key] for key in wanted if key in by_key and key not in gone]


def _waiting(points: Iterable[int], *, again: bool = False) -> set[int]:
    """The points whose summary is being made or (unless `again`) may not be tried now."""
    rows = Generation.objects.filter(point__in=list(points), round=SUMMARY, settings={})
    counted = rows.values_list("point").annotate(
        open=Count("pk", filter=OPEN),
        failed=Count("pk", filter=Q(status__in=("failed", "interrupted"))),
        last=Max("ended_at"),
    )
    rested = timezone.now() - REST
    return {
        point
        for point, going, failed, last in counted
        if going
        or (not again and (failed >= MOST_TRIES or (failed and last is not None and last > rested)))
    }


def summarise(
    actor: Actor,
    tree: Tree,
    nodes: Sequence[int] = (),
    *,
    whole: bool = False,
    again: bool = False,
    turn: str = "",
) -> list[Generation]:
    """Queues the summaries that the nodes lack, and with `whole` a new one of the tree; with
    `again` also where there is one or it failed. For writers, who pay; what they use is counted to
    the `turn` (its uid) that needs them. UNAVAILABLE if no model makes summaries."""
    args = SummaryArgs(nodes=tuple(nodes), whole=whole, again=again, turn=turn)
    return execute(actor, tree, _summarise, args)


class SummaryArgs(Args):
    """The summaries to make: of nodes by their row ids, of the tree, or of a text of the grove by
    its item; with `again` also where there is one or it failed."""

    nodes: tuple[int, ...] = ()
    whole: bool = False
    text: int = 0
    again: bool = False
    turn: str = ""


@action("summarise", stream="tree", role="writer")
def _summarise(change: RunningAction, args: SummaryArgs) -> list[Generation]:
    """Asks a model for summaries, which are made in the background."""
    access.demand(change.actor, {GENERATE}, "asking for summaries")
    access.demand_writable(change.tree)
    agent = summariser(change.tree.grove)
    if agent is None:
        raise CommandError(
            "UNAVAILABLE",
            "No model of this grove makes summaries.",
            hint="an owner chooses one under Settings",
        )
    wanted = _wanted(change, args)
    if not wanted:
        return []
    request = CandidateRequest(agent, len(wanted), max(tokens for *_, tokens in wanted))
    day, (share,) = spending.reserve(change.actor.person, [request], READING)
    payer = change.actor.person
    rows = [
        {
            "tree": change.tree,
            "asked_by": payer,
            "round": SUMMARY,
            "for_turn": args.turn,
            "batch": new_uid(),  # each candidate reads a different text
            "point": point,
            "about": about,
            "index": 1,
            "tokens": tokens,
            "settings": settings,
        }
        for point, about, settings, tokens in wanted
    ]
    return queue(agent, payer, (day, share), rows)


def _wanted(
    change: RunningAction, args: SummaryArgs
) -> list[tuple[Node, int | None, dict[str, int], int]]:
    """(point, the text of the grove that is summarised there, its version, tokens) of each summary
    to make."""
    tree, numbers = change.tree, change.tree.grove.settings
    short = number_of(numbers, "summary_tokens")
    long = number_of(numbers, "tree_summary_tokens")
    points = lacking(tree, args.nodes, again=args.again)[:MOST_AT_ONCE]
    points_to: list[tuple[Node, int | None, dict[str, int], int]]
    points_to = [(point, None, {}, short) for point in points]
    root = lookup.root_of(tree)
    if args.whole and root.pk not in _waiting([root.pk], again=args.again):
        points_to.append((root, None, {}, long))
    if args.text:
        text = grove_texts().lacks_summary(change.actor, args.text, again=args.again)
        if text is not None:
            points_to.append((root, text.item_id, {"revision": text.revision}, long))
    return points_to


def summarise_text(
    actor: Actor, home: Tree, text: GroveText, *, again: bool = False, turn: str = ""
) -> list[Generation]:
    """Queues the summary that a text of the grove lacks, or with `again` a new one, in the tree
    that keeps the call. For writers, who pay."""
    return execute(actor, home, _summarise, SummaryArgs(text=text.item_id, again=again, turn=turn))


# Queueing summaries where they are needed, and their state.


def want(
    person: Participant,
    tree: Tree,
    nodes: Sequence[int] = (),
    *,
    whole: bool = False,
    turn: str = "",
) -> int:
    """Queues missing summaries on behalf of somebody who needs them (in a `turn`, its uid), without
    raising a refusal; returns how many. Safe to run twice."""
    if person.user is None or summariser(tree.grove) is None or tree.archived_at is not None:
        return 0
    points = [point.pk for point in lacking(tree, nodes)]
    if not points and not whole:
        return 0
    try:
        actor = access.get_actor_in(person.user, tree.pk)
        return len(summarise(actor, tree, points, whole=whole, turn=turn))
    except CommandError:
        return 0  # no longer permitted, or no money left today: the first words are used


def failures(tree: Tree) -> list[Generation]:
    """The failed summaries of a tree, newest first, of points that still have none."""
    rows = Generation.objects.filter(tree=tree, round=SUMMARY, error__isnull=False, settings={})
    rows = rows.filter(Q(point__summary="") | Q(point__parent_slot__isnull=True))
    return list(rows.select_related("point", "participant").order_by("-id")[:MOST_AT_ONCE])


def last_failure(node: Node) -> str:
    """Why the last summary of a node failed, as a sentence; "" if it did not."""
    rows = Generation.objects.filter(point=node, round=SUMMARY, settings={}).order_by("-id")
    error = rows.values_list("error", flat=True).first()
    return str(error["message"]) if error else ""


def going(tree: Tree) -> int:
    """How many summaries of a tree are being made."""
    here = Exact(lookup.compared("tree"), tree.pk)
    rows = Generation.objects.filter(here, OPEN, status__in=OPEN_STATUSES, round=SUMMARY)
    return rows.count()


@after_adding
def _want_summary(node: Node) -> None:
    """Queues a new summary of the tree after every so many nodes, for whoever wrote the last one or
    asked for it."""
    tree, ordinal = node.tree, node.pk & ((1 << ORDINAL_BITS) - 1)
    if ordinal % number_of(tree.grove.settings, "tree_summary_every"):
        return
    person = node.author_id if node.author.kind == "human" else None
    if person is None and node.generation_uid:
        rows = Generation.objects.filter(uid=node.generation_uid).values_list("payer", flat=True)
        person = rows.first()
    if person is not None:
        named = [tree.uid, person, [], True]
        jobs.enqueue("agents.tasks.summarise", named, queue="continue")
