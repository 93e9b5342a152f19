"""`search`: searches the web with the service of the grove. The command only makes a row; a worker
sends the request, and the result becomes the answer of the line's step."""

import re
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import Annotated, Any

from django.db import transaction
from django.utils import timezone

from loom.access import Actor
from loom.engine import jobs, put_aside, views
from loom.engine.actions import RunningAction, action
from loom.engine.arguments import Args, Secret, Written
from loom.engine.context import Context, Reply
from loom.engine.execute import execute
from loom.engine.later import answers_later
from loom.engine.models import Step
from loom.engine.registry import command, describe_verb
from loom.engine.sweeps import sweeps
from loom.engine.usable import cannot_be_used
from loom.errors import CommandError
from loom.language.refs import quote
from loom.language.verbs import Verb
from loom.money import other_spending, spending
from loom.money.days import today
from loom.money.models import Purpose
from loom.money.other_spending import OtherUse
from loom.money.queries.allowances import left_of, who_can_raise
from loom.participants.commands import demand_callable
from loom.participants.prices import NANO, dollars
from loom.participants.provider_keys import allowed_addresses, open_sealed, seal, sendable
from loom.participants.provider_kinds import SEARCH_SERVICES, search_service
from loom.people.models import Grove, Participant
from loom.permissions import WEB_SEARCH
from loom.platform.prepared_queries import lock_rows
from loom.text.counts import counted
from loom.text.frames import escaped
from loom.text.shortening import excerpt
from loom.trees.models import Tree
from loom.web_search.models import SearchService, WebSearch
from loom.workspace.late_answers import answer_step

MOST_HOSTS = 20
MAX_QUERY = 400  # characters: the smallest limit of the services
FORGOTTEN = timedelta(seconds=10)  # a search that is still queued after this long is sent again
LOST = timedelta(seconds=40)  # one that runs for longer has lost its worker
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}\.)*[A-Za-z0-9-]{0,62}")


class Search(Args):
    """What to search for, how thoroughly, how many results, and from which hosts."""

    query: Annotated[str, Written("quoted")]
    depth: Annotated[
        str, Written("option", key="depth", value="choice", choices=("basic", "deep"))
    ] = "basic"
    topic: Annotated[
        str, Written("option", key="topic", value="choice", choices=("general", "news"))
    ] = "general"
    max: Annotated[int, Written("option", key="max", value="int", minimum=1, maximum=10)] = 5
    include: Annotated[tuple[str, ...], Written("option", key="include", value="words")] = ()
    exclude: Annotated[tuple[str, ...], Written("option", key="exclude", value="words")] = ()


def _find_instead(values: Mapping[str, object]) -> str:
    """What searches the tree, which many take `search` for."""
    return f"→ find {quote(str(values.get('query', '')))} searches what is here."


describe_verb(
    Verb(
        "search",
        past="searched the web for",
        taught='search "words" — searches the web',
        answers_later=True,
        instead=_find_instead,
    )
)


@command("search", group="Look", klass="look", permissions={WEB_SEARCH}, stream="workspace")
def search(context: Context, args: Search) -> Reply:
    """Searches the web with the service of the grove; numbered results, best first."""
    service = SearchService.objects.filter(grove=context.tree.grove_id).first()
    if service is None:
        raise CommandError(
            "UNAVAILABLE",
            "This grove has no service for searching the web.",
            hint='an owner adds one in the settings of the grove; find "…" searches this tree',
        )
    _demand_words(args)
    payer, day = context.actor.person, today()
    _reserve(payer, service.price, context.tree)
    if context.writer is None:  # not in a dry run
        web_search = WebSearch.objects.create(
            workspace=context.workspace,
            seq=context.workspace.steps_made + 1,
            payer=payer,
            turn_uid=context.turn,
            asks=args.model_dump(mode="json"),
            day=day,
            spent=service.price,
        )
        _send(web_search.uid)
    return Reply(f"✓ searching the web for {excerpt(args.query)}", running=True)


@cannot_be_used
def unusable(actor: Actor) -> dict[str, str]:
    """`search`, if the actor's grove has no service. One query; none for actors who may not search
    anyway."""
    if WEB_SEARCH not in actor.permissions:
        return {}
    if SearchService.objects.filter(grove=actor.grove).exists():
        return {}
    return {"search": "the grove has no service for it: an owner can add one in its settings"}


def _send(uid: str) -> None:
    jobs.enqueue("agents.tasks.search_web", [uid], queue="continue")


def _demand_words(args: Search) -> None:
    if not args.query.strip():
        raise CommandError(
            "INVALID_SYNTAX", "There is nothing to search for.", hint='search "words"'
        )
    if len(args.query) > MAX_QUERY:
        reason = f"A query has at most {MAX_QUERY} characters."
        raise CommandError("LIMIT_EXCEEDED", reason, hint="ask with fewer words", is_size=True)
    if len(args.include) + len(args.exclude) > MOST_HOSTS:
        reason = f"A search names at most {MOST_HOSTS} hosts."
        raise CommandError("LIMIT_EXCEEDED", reason, hint="name fewer", is_size=True)
    wrong = next(
        (host for host in (*args.include, *args.exclude) if not _HOST.fullmatch(host)), None
    )
    if wrong is not None:
        raise CommandError(
            "INVALID_SYNTAX",
            f"{excerpt(wrong)} is not the name of a host.",
            hint="such as include:example.org,example.net",
        )


def _reserve(payer: Participant, price: int, tree: Tree) -> None:
    """Reserves the price of a search from the day's money. LIMIT_EXCEEDED if it is used up."""
    if not price:
        return
    spending.lock(payer, today())
    left = left_of(payer, today())
    if left.limit and price > left.rest:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"A search costs {dollars(price)}, but only {dollars(left.rest)} of today's limit "
            "is left.",
            hint=f"the limit is reset at 00:00 UTC; {who_can_raise(payer.grove)}",
        )
    other_spending.add(payer, today(), price, OtherUse(Purpose.SEARCH, tree=tree, answers=1))


# The part that a worker runs.


def begun(uid: str) -> tuple[WebSearch, SearchService] | None:
    """A queued search, now running, with the service to ask; None if another worker has it. A
    search whose service was removed in the meantime ends."""
    waiting = WebSearch.objects.filter(uid=uid, status="queued")
    if not waiting.update(status="running", begun_at=timezone.now()):
        return None
    row = WebSearch.objects.select_related("workspace__tree").get(uid=uid)
    service = SearchService.objects.filter(grove=row.workspace.tree.grove_id).first()
    if service is None:
        reason = "The service for searching the web was removed."
        ended(uid, error=_error("UNAVAILABLE", reason, "an owner adds one in the grove's settings"))
        return None
    return row, service


def connection_to(service: SearchService) -> tuple[str, str, tuple[str, ...]]:
    """(the address, the key, the private addresses that may be called) of a service."""
    url = url_of(service)
    key = open_sealed(service.sealed_key, url) if service.sealed_key else ""
    return url, key, allowed_addresses(url, allow_private=service.allow_private)


def url_of(service: SearchService) -> str:
    """The address that is asked."""
    kind = search_service(service.kind)
    return service.base_url or (kind.url if kind else "")


def numbered(row: WebSearch, hits: Sequence[tuple[str, str, str]], by: str) -> str:
    """The text of the results: `1. title`, the address and an excerpt below. `hits` are (title,
    address, excerpt)."""
    what = excerpt(str(row.asks["query"]))
    if not hits:
        return f"No results of the web for {what} ({by})."
    lines = [f"{counted(len(hits), 'result')} of the web for {what} ({by})"]
    for number, (title, url, text) in enumerate(hits, 1):
        # A page may write what looks like a header of ours.
        lines += [f"{number}. {title}", f"   {url}", *([f"   {escaped(text)}"] if text else [])]
    return "\n".join(lines)


def _error(code: str, message: str, hint: str, *, retryable: bool = False) -> dict[str, Any]:
    return {"code": code, "message": message, "hint": hint, "retryable": retryable}


def ended(uid: str, *, text: str = "", error: dict[str, Any] | None = None) -> None:
    """Stores the answer or error of a search in its step (once), writes the event, and resumes a
    turn that waits for it. A failed search costs nothing."""
    going = WebSearch.objects.filter(uid=uid, ended_at=None)
    with transaction.atomic():
        open_search = going.select_related("workspace").first()
        if open_search is None:
            return
        # Locks in the same order as lines do: the workspace, then money, then the stream.
        workspace = views.locked(open_search.workspace)
        lock_rows(WebSearch, uid=uid)
        row = going.select_related("payer").first()
        if row is None:
            return
        if error is not None:
            if row.spent:
                spending.lock(row.payer, row.day)
                use = OtherUse(Purpose.SEARCH, tree=workspace.tree, answers=-1)
                other_spending.add(row.payer, row.day, -row.spent, use)
            row.spent = 0
        row.status, row.error, row.ended_at = "failed" if error else "done", error, timezone.now()
        row.save(update_fields=["status", "error", "spent", "ended_at"])
        refusal = error or {"code": "", "message": text, "hint": ""}
        answer_step(
            workspace,
            row.seq,
            turn=row.turn_uid,
            text=refusal["message"],
            code=refusal["code"],
            hint=refusal["hint"],
        )


@sweeps
def sweep() -> int:
    """Queues forgotten searches again, and ends those whose worker was lost; returns how many."""
    now, count = timezone.now(), 0
    rows = WebSearch.objects.filter(ended_at=None, created_at__lt=now - FORGOTTEN).order_by()
    for uid, status, begun_at in rows.values_list("uid", "status", "begun_at"):
        if status == "queued":
            _send(uid)
        elif begun_at is not None and begun_at < now - LOST:
            error = _error(
                "UNAVAILABLE", "The search was interrupted.", "search again", retryable=True
            )
            if not put_aside.attempt("web_search", uid, partial(ended, uid, error=error)):
                continue  # it stops no other
        else:
            continue
        count += 1
    return count


@answers_later
def open_in(turn_uid: str) -> bool:
    """Whether a turn waits for a search."""
    rows = WebSearch.objects.filter(ended_at=None, status__in=("queued", "running"))
    return rows.filter(turn_uid=turn_uid).exists()


def of_step(step: Step) -> WebSearch | None:
    """The search of a step, or None."""
    return WebSearch.objects.filter(workspace=step.workspace_id, seq=step.seq).first()


# The service of a grove, for owners.


class NewService(Args):
    """The kind of a service, its address (empty: the kind's own), its key (None: the stored one of
    the same address), whether a private address is allowed, and the price of a search."""

    kind: str
    base_url: str = ""
    api_key: Annotated[str | None, Secret()] = None
    allow_private: bool = False
    price_usd: float = 0


class NoService(Args):
    """No arguments: a grove has at most one service."""


def set_service(actor: Actor, args: NewService) -> SearchService:
    """Sets the service with which a grove searches the web. For owners."""
    return execute(actor, actor.grove, _set_service, args)


@action("set_search_service", stream="grove", role="owner")
def _set_service(change: RunningAction, args: NewService) -> SearchService:
    """Sets the service with which a grove searches the web."""
    kind = search_service(args.kind)
    if kind is None:
        known = " or ".join(service.name for service in SEARCH_SERVICES)
        raise CommandError("INVALID_SYNTAX", "This service is not known.", hint=known)
    url = args.base_url.strip() or kind.url
    if not url:
        reason, hint = f"{kind.title} needs an address.", "such as https://search.example.org"
        raise CommandError("INVALID_SYNTAX", reason, hint=hint)
    demand_callable(change.actor, url, allow_private=args.allow_private)
    if not 0 <= args.price_usd <= 10:
        reason, hint = "A search costs from 0 to 10 dollars.", "0: the price is not known"
        raise CommandError("INVALID_SYNTAX", reason, hint=hint)
    before = SearchService.objects.filter(grove=change.grove).first()
    sealed = before.sealed_key if before is not None and url_of(before) == url else ""
    if args.api_key is not None:
        key = sendable(args.api_key)
        sealed = seal(key, url) if key else ""
    if kind.own and not sealed:
        reason, hint = f"{kind.title} needs a key.", "enter the key of your account there"
        raise CommandError("INVALID_SYNTAX", reason, hint=hint)
    fields = {
        "kind": kind.name,
        "base_url": "" if url == kind.url else url,
        "allow_private": args.allow_private,
        "sealed_key": sealed,
        "price": round(args.price_usd * NANO),
    }
    service, _ = SearchService.objects.update_or_create(grove=change.grove, defaults=fields)
    _say(change, service)
    return service


def remove_service(actor: Actor) -> None:
    """Removes the service; searches are then unavailable. For owners."""
    execute(actor, actor.grove, _remove_service, NoService())


@action("remove_search_service", stream="grove", role="owner")
def _remove_service(change: RunningAction, args: NoService) -> None:
    """Removes the service with which a grove searches the web, and its key."""
    SearchService.objects.filter(grove=change.grove).delete()
    _say(change, None)


def _say(change: RunningAction, service: SearchService | None) -> None:
    grove = Grove.objects.get(pk=change.grove.pk)
    body = {"grove": grove.uid, "name": grove.name, "settings": grove.settings}
    values = service_body(service) if service else None
    change.writer.append("grove.changed", {**body, "search": values})


def service_body(service: SearchService) -> dict[str, Any]:
    """A service as the API shows it, without its key."""
    return {
        "kind": service.kind,
        "base_url": url_of(service),
        "has_key": bool(service.sealed_key),
        "allow_private": service.allow_private,
        "price_usd": service.price / NANO,
    }
