"""Summaries of nodes and trees: made in the background, where one is first needed.

A summary is a generation whose `round` is SUMMARY: it is taken, paid for, tried again after a lost
worker, and its call is kept, like those of every candidate; it ends as the summary of its point
instead of a node below it. That of the root is the tree's. See docs/model.md §2.1.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta

from django.conf import settings
from django.db.models import Count, Max, Q
from django.utils import timezone

from loom import access
from loom.access import Actor
from loom.commands import generation_lifecycle, money
from loom.commands.execute import execute
from loom.commands.groves import NO_MODEL
from loom.commands.money import Wish
from loom.commands.registry import Args, Change, action
from loom.events.streams import hand_over
from loom.models import SUMMARY, Generation, Grove, Node, Participant, Tree
from loom.models.base import new_uid
from loom.queries import lookup
from loom.queries.lookup import withheld_from_models
from loom.rules.errors import CommandError
from loom.rules.grove_settings import number_of
from loom.rules.permissions import GENERATE

WORDS = 30  # a text of so few is its own summary
CHARACTERS = 300  # where words have no end
READING = 1_000  # tokens that one reads, about
MOST_AT_ONCE = 16
MOST_TRIES = 3  # that failed, of one summary
REST = timedelta(minutes=5)  # after one that failed
OPEN = Q(ended_at__isnull=True)


def summariser(grove: Grove) -> Participant | None:
    """The model that an owner chose for summaries, else the first one with a key. None without
    either, and where summaries are switched off."""
    chosen = grove.settings.get("summary_model", "")
    rows = Participant.objects.filter(grove=grove, kind="model", archived_at__isnull=True)
    if chosen == NO_MODEL:
        return None
    if chosen:
        return rows.filter(uid=chosen).first()
    own = ~Q(sealed_key="") | Q(uid__in=settings.ENV_KEYS)
    return rows.filter(own).order_by("id").first()


def is_short(text: str, words: int = WORDS) -> bool:
    """Whether a text of at most so many words is its own summary."""
    return len(text) <= CHARACTERS * words // WORDS and len(text.split(None, words)) <= words


def lacking(tree: Tree, nodes: Iterable[int]) -> list[Node]:
    """Those of the nodes that have no summary and need one: long texts that models are sent, for
    which none is being made, or failed lately or often. In the order of `nodes`."""
    wanted = list(dict.fromkeys(nodes))
    rows = Node.objects.filter(pk__in=wanted, tree=tree, kind="text", summary="")
    rows = rows.filter(slot__sandbox=False)
    words = number_of(tree.grove.settings, "summary_words")
    found = {one.pk: one for one in rows if not is_short(one.text, words)}
    if not found:
        return []
    gone = set(withheld_from_models(found)) | _waiting(found)
    return [found[one] for one in wanted if one in found and one not in gone]


def _waiting(points: Iterable[int]) -> set[int]:
    """The points whose summary is being made, or is not tried now."""
    rows = Generation.objects.filter(point__in=list(points), round=SUMMARY)
    counted = rows.values_list("point").annotate(
        open=Count("pk", filter=OPEN),
        failed=Count("pk", filter=Q(status__in=("failed", "interrupted"))),
        last=Max("ended_at"),
    )
    rested = timezone.now() - REST
    return {
        point
        for point, going, failed, last in counted
        if going or failed >= MOST_TRIES or (failed and last is not None and last > rested)
    }


def summarise(
    actor: Actor, tree: Tree, nodes: Sequence[int] = (), *, whole: bool = False
) -> list[Generation]:
    """Asks for the summaries that the nodes lack, and with `whole` for a new one of the tree. For
    writers, who pay. UNAVAILABLE where no model makes summaries."""
    return execute(actor, tree, _summarise, Wanted(nodes=tuple(nodes), whole=whole))


class Wanted(Args):
    """Of what summaries are wanted: nodes by their row ids, and the tree."""

    nodes: tuple[int, ...] = ()
    whole: bool = False


@action("summarise", stream="tree", role="writer")
def _summarise(change: Change, args: Wanted) -> list[Generation]:
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
    points = lacking(change.tree, args.nodes)[:MOST_AT_ONCE]
    root = lookup.root_of(change.tree)
    if args.whole and root.pk not in _waiting([root.pk]):
        points.append(root)
    if not points:
        return []
    numbers = change.tree.grove.settings
    short = number_of(numbers, "summary_tokens")
    long = number_of(numbers, "tree_summary_tokens")
    wish = Wish(agent, len(points), max(long, short) if args.whole else short)
    day, (share,) = money.reserve(change.actor.person, [wish], READING)
    lane, payer = generation_lifecycle.lane_of(agent), change.actor.person
    ranks = generation_lifecycle.ranks(lane, payer)
    made = [
        Generation(
            tree=change.tree,
            participant=agent,
            asked_by=payer,
            payer=payer,
            round=SUMMARY,
            batch=new_uid(),  # each reads something else
            point=point,
            index=1,
            tokens=long if point.pk == root.pk else short,
            lane=lane,
            rank=next(ranks),
            day=day,
            prices=share.prices,
            reading=share.reading,
            reserved=share.reserved,
        )
        for point in points
    ]
    Generation.objects.bulk_create(made)
    hand_over(lane)
    return made


def want(person: Participant, tree: Tree, nodes: Sequence[int] = (), *, whole: bool = False) -> int:
    """Asks for what is lacking as somebody who needs it, later and without a refusal; how many
    were asked for. Safe to run twice."""
    if person.user is None or summariser(tree.grove) is None or tree.archived_at is not None:
        return 0
    points = [one.pk for one in lacking(tree, nodes)]
    if not points and not whole:
        return 0
    try:
        actor = access.get_actor(person.user, tree.grove)
        return len(summarise(actor, tree, points, whole=whole))
    except CommandError:
        return 0  # no right to ask any more, or no money left today: the first words do


def failures(tree: Tree) -> list[Generation]:
    """The last summaries of a tree that failed, newest first, of what still has none."""
    rows = Generation.objects.filter(tree=tree, round=SUMMARY, error__isnull=False)
    rows = rows.filter(Q(point__summary="") | Q(point__parent_slot__isnull=True))
    return list(rows.select_related("point", "participant").order_by("-id")[:MOST_AT_ONCE])


def going(tree: Tree) -> int:
    """How many summaries of a tree are being made."""
    return Generation.objects.filter(OPEN, tree=tree, round=SUMMARY).count()
