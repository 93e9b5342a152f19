"""What an operator sees of an installation: numbers, names and states, but no texts. Each list is
paged, and each page makes the same number of queries however much there is."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db.models import Count, Max, Model, Q, QuerySet, Sum
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.translation import gettext

from loom.engine import put_aside
from loom.engine.models import PutAside
from loom.exploring.models import Exploration
from loom.money.days import today
from loom.money.grove_settings import daily_limit
from loom.money.models import DailySpending
from loom.participants.prices import NANO
from loom.people.lost_ways import LostWay, lost_ways
from loom.people.models import ApiKey, Grove, Membership, Participant, User, UserSession
from loom.transfer.models import Import
from loom.trees.models import Tree
from loom.turns.models import OPEN_TURN, Generation, Turn

PAGE = 50
DAYS = 30  # of costs, and of who counts as active
SHOWN = 20  # groves in the list of costs


@dataclass(frozen=True)
class ListPage:
    """Some rows of a list, with the numbers of the pages before and after it, if any."""

    rows: list[Any]
    number: int
    before: int | None
    after: int | None


def page_of(rows: "QuerySet[Any]", number: int) -> ListPage:
    """The page of that number, from 1. One query."""
    number = max(1, number)
    start = (number - 1) * PAGE
    fetched = list(rows[start : start + PAGE + 1])
    return ListPage(
        fetched[:PAGE],
        number,
        number - 1 if number > 1 else None,
        number + 1 if len(fetched) > PAGE else None,
    )


@dataclass(frozen=True)
class PersonRow:
    """One account: in how many groves, browsers and keys, when it was last seen, and what can be
    taken from it if its owner has lost it."""

    user: User
    groves: int
    browsers: int
    keys: int
    seen_at: datetime | None
    can_lose: list["LostButton"]


class LostButton(NamedTuple):
    """A button that takes away what somebody has lost, in the reader's language."""

    what: str
    button: str
    label: str


def _button(way: LostWay, user: User) -> LostButton:
    return LostButton(way.name, gettext(way.button), gettext(way.label) % {"name": user})


def people(words: str, number: int) -> ListPage:
    """The accounts whose names contain the words, by name. Five queries, and one for each way
    of signing in that can be lost."""
    rows = User.objects.order_by(Lower("username"))
    if words:
        rows = rows.filter(Q(username__icontains=words) | Q(display_name__icontains=words))
    page = page_of(rows, number)
    keys = [user.pk for user in page.rows]
    groves = _counted(Membership, keys)
    browsers = _counted(UserSession, keys)
    own_keys = dict(
        ApiKey.objects.filter(user__in=keys, revoked_at__isnull=True)
        .order_by()
        .values_list("user")
        .annotate(Count("pk"))
    )
    held = [(way, way.held_by(keys)) for way in lost_ways()]
    seen = dict(
        UserSession.objects.filter(user__in=keys)
        .order_by()
        .values_list("user")
        .annotate(Max("seen_at"))
    )
    people_rows = [
        PersonRow(
            user,
            groves.get(user.pk, 0),
            browsers.get(user.pk, 0),
            own_keys.get(user.pk, 0),
            seen.get(user.pk) or user.last_login,
            [_button(way, user) for way, users in held if user.pk in users],
        )
        for user in page.rows
    ]
    return ListPage(people_rows, page.number, page.before, page.after)


def _counted(rows: type[Model], users: Sequence[int]) -> dict[int, int]:
    owned = rows._default_manager.filter(user__in=users).order_by()
    return dict(owned.values_list("user").annotate(Count("pk")))


@dataclass(frozen=True)
class GroveRow:
    """One grove: members, models and trees, what it cost in DAYS, and its limits per member and
    day in dollars: its own, and the most that operators allow (0: none)."""

    grove: Grove
    members: int
    models: int
    trees: int
    usd: float
    own_limit: float
    ceiling: float

    @property
    def ceiling_shown(self) -> str:
        """The operators' limit as a form has it, in any language; "" for none."""
        return f"{self.ceiling:.12g}" if self.ceiling else ""


def groves(number: int) -> ListPage:
    """The groves, by name. Five queries."""
    page = page_of(Grove.objects.order_by(Lower("name"), "id"), number)
    keys = [grove.pk for grove in page.rows]

    def counted(rows: "QuerySet[Any]") -> dict[int, int]:
        return dict(
            rows.filter(grove__in=keys).order_by().values_list("grove").annotate(Count("pk"))
        )

    members = counted(Membership.objects.all())
    models = counted(Participant.objects.filter(kind="model", archived_at__isnull=True))
    trees = counted(Tree.objects.filter(erasing_at__isnull=True))
    spent = _spent(Q(participant__grove__in=keys))
    grove_rows = [
        GroveRow(
            grove,
            members.get(grove.pk, 0),
            models.get(grove.pk, 0),
            trees.get(grove.pk, 0),
            spent.get(grove.pk, 0) / NANO,
            daily_limit(grove.settings) / NANO,
            grove.ceiling / NANO,
        )
        for grove in page.rows
    ]
    return ListPage(grove_rows, page.number, page.before, page.after)


def _spent(which: Q) -> dict[int, int]:
    """What was spent in the last DAYS, by grove, in billionths of a dollar."""
    rows = DailySpending.objects.filter(which, day__gt=today() - timedelta(days=DAYS))
    return dict(rows.order_by().values_list("participant__grove").annotate(Sum("spent")))


def costs() -> tuple[float, list[tuple[Grove, float]]]:
    """What the installation spent in the last DAYS in dollars, and the groves that spent the most.
    Two queries."""
    spent = {key: nano for key, nano in _spent(Q()).items() if nano}
    most = sorted(spent, key=lambda key: -spent[key])[:SHOWN]
    named = Grove.objects.in_bulk(most)
    return sum(spent.values()) / NANO, [(named[key], spent[key] / NANO) for key in most]


def totals() -> dict[str, int]:
    """How many there are of what the first page counts. Five queries."""
    since = timezone.now() - timedelta(days=DAYS)
    return {
        "people": User.objects.filter(is_active=True).count(),
        "active": UserSession.objects.filter(seen_at__gt=since)
        .aggregate(many=Count("user", distinct=True))
        .get("many", 0),
        "groves": Grove.objects.count(),
        "trees": Tree.objects.filter(erasing_at__isnull=True).count(),
        "put_aside": put_aside.count(),
    }


@dataclass(frozen=True)
class Job:
    """Something that runs or waits: of which kind, where, by whom, and since when."""

    kind: str
    uid: str
    grove: Grove
    who: str
    status: str
    since: datetime


def generations(number: int) -> ListPage:
    """The generations that run or wait, the oldest first. One query."""
    rows = Generation.objects.filter(ended_at__isnull=True).order_by("id")
    return _jobs("generation", rows.select_related("participant", "tree__grove"), number)


def turns(number: int) -> ListPage:
    """The turns that run or wait, the oldest first. One query."""
    rows = Turn.objects.filter(ended_at__isnull=True, status__in=OPEN_TURN).order_by("id")
    return _jobs("turn", rows.select_related("participant", "tree__grove"), number)


def _jobs(kind: str, rows: "QuerySet[Any]", number: int) -> ListPage:
    page = page_of(rows, number)
    jobs = [
        Job(kind, row.uid, row.tree.grove, row.participant.name, row.status, row.created_at)
        for row in page.rows
    ]
    return ListPage(jobs, page.number, page.before, page.after)


def other_jobs() -> list[Job]:
    """The first imports and explorations that run. Two queries."""
    reading = Import.objects.filter(status__in=("queued", "running")).order_by("id")
    growing = Exploration.objects.filter(ended_at__isnull=True).order_by("id")
    return [
        *(
            Job("import", row.uid, row.grove, row.participant.name, row.status, row.created_at)
            for row in reading.select_related("grove", "participant")[:PAGE]
        ),
        *(
            Job("exploration", row.uid, row.tree.grove, row.agent.name, row.status, row.created_at)
            for row in growing.select_related("tree__grove", "agent")[:PAGE]
        ),
    ]


def set_aside(number: int) -> ListPage:
    """The work that was put aside in all groves, the last first. One query."""
    rows: QuerySet[PutAside] = put_aside.everywhere().select_related("grove")
    return page_of(rows, number)
