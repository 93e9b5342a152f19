"""Searching the web: the request and the answer of each kind of service, in one common form; and
the search of a line."""

import asyncio
import html
import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx

from agents.providers.attempt import PIECE, SHORTEST_KEY, error_of, masked, refusal, value_of
from agents.providers.transport import (
    CheckedTransport,
    Clock,
    Exchange,
    Limits,
    broken_by,
    in_thread,
    the_loop,
)
from agents.providers.values import RETRYABLE, BrokenConnection, Failure, Kind
from loom.errors import CommandError
from loom.participants.provider_kinds import search_service
from loom.web_search import commands as web_search
from loom.web_search.models import SearchService, WebSearch

log = logging.getLogger("heddle.search")
LIMITS = Limits(connect_s=8, first_s=15, idle_s=15, total_s=18, body_bytes=2 * 1024 * 1024)
MOST_ASKED = 20  # results of one request; those of other hosts are left out afterwards
TITLE, ADDRESS = 200, 500  # characters
EXCERPT = {"basic": 300, "deep": 1_200}  # characters of a result
_SPACES = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_TAGS = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")


@dataclass(frozen=True)
class Question:
    """The query; `include` and `exclude` are hosts such as `example.org`, including their
    subdomains."""

    query: str
    depth: str = "basic"
    topic: str = "general"
    most: int = 5
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()

    @property
    def with_hosts(self) -> str:
        """The query with its hosts in the syntax of search engines."""
        wanted = " OR ".join(f"site:{host}" for host in self.include)
        inside = f"({wanted})" if len(self.include) > 1 else wanted
        others = [f"-site:{host}" for host in self.exclude]
        return " ".join(part for part in (self.query, inside, *others) if part)


@dataclass(frozen=True)
class WebResult:
    """One result: one line each."""

    title: str
    url: str
    excerpt: str


@dataclass(frozen=True)
class ServiceAddress:
    """A search service: the name of its kind, its address and its key."""

    kind: str
    url: str
    key: str = ""


async def found_by(
    address: ServiceAddress, question: Question, transport: httpx.AsyncBaseTransport
) -> list[WebResult]:
    """The results of a service, best first, at most `question.most`. Raises Broken; no message
    contains a key."""
    service = _SERVICES[address.kind]
    rows: list[Any] = []
    try:
        for page in range(1, service.pages(question) + 1):
            answer = await _answer(service.request(address, question, page), transport)
            rows += service.rows(answer, question)
    except BrokenConnection as broken:
        if not rows:
            masked_text = without_key(broken.failure.said, address.key)
            raise BrokenConnection(replace(broken.failure, said=masked_text)) from None
    shown = [_masked(hit, address.key) for row in rows if (hit := _hit(service, row, question))]
    hits = {hit.url: hit for hit in reversed(shown) if hit is not None}
    return [hit for hit in reversed(hits.values()) if _is_wanted(hit, question)][: question.most]


def _masked(hit: WebResult, key: str) -> WebResult | None:
    """A result without the key, which a service may write into it; None if it is in the address."""
    if without_key(hit.url, key) != hit.url:
        return None
    return WebResult(without_key(hit.title, key), hit.url, without_key(hit.excerpt, key))


_SHORTEST_PIECE = 6  # characters of a key that stand together


def without_key(text: str, key: str) -> str:
    """The text with "…" in place of the key and of longer parts of it, also with blanks, dashes
    or other signs in between: letters and digits alone are compared, in any case."""
    if len(key) < SHORTEST_KEY:
        return text
    text = masked(text, key)
    places = [at for at, letter in enumerate(text) if letter.isalnum()]
    bare = "".join(text[at].lower()[:1] for at in places)
    secret = "".join(letter.lower()[:1] for letter in key if letter.isalnum())
    piece = max(_SHORTEST_PIECE, min(PIECE, len(secret) // 2))
    parts = {secret[at : at + piece] for at in range(len(secret) - piece + 1)}
    marks: set[int] = set()
    for part in parts:
        at = bare.find(part)
        while at >= 0:
            marks.update(range(places[at], places[at + len(part) - 1] + 1))
            at = bare.find(part, at + 1)
    return _RUNS.sub(
        "…", "".join(_HIDDEN if at in marks else letter for at, letter in enumerate(text))
    )


_HIDDEN = "\x00"  # is in no text of a result or an error that is shown
_RUNS = re.compile(f"[{_HIDDEN}…]*{_HIDDEN}[{_HIDDEN}…]*")


async def _answer(request: httpx.Request, transport: httpx.AsyncBaseTransport) -> Any:
    with broken_by():
        response = await transport.handle_async_request(request)
    try:
        came = Exchange(response, LIMITS, Clock(LIMITS))
        if 300 <= response.status_code < 400:
            raise BrokenConnection(_redirected(request, response))
        if response.status_code != 200:
            raise BrokenConnection(
                _refused(await refusal(came), response.status_code, bytes(came.body))
            )
        body = bytearray()
        async for chunk in came.chunks():
            body += chunk
    finally:
        await response.aclose()
    value = value_of(body.decode("utf-8", "replace"))
    if not isinstance(value, dict):
        raise BrokenConnection(
            Failure("server", "the answer is not JSON; the address may be another's")
        )
    return value


def _redirected(request: httpx.Request, response: httpx.Response) -> Failure:
    """The failure of a service that is elsewhere. Members are not told where: it may be an address
    of a private network. Whoever runs the server finds its host in the log."""
    target = response.headers.get("location", "")[:ADDRESS]
    host = _host(target) or request.url.host
    log.warning("The search service at %s redirects to %s.", request.url.host, host)
    return Failure("not_found", "it redirects to another one, and redirects are not followed")


# Statuses with a special meaning: the two limits of Tavily's plans.
_OF_STATUS: dict[int, Kind] = {432: "credit", 433: "credit"}


def _refused(failure: Failure, status: int, body: bytes) -> Failure:
    value = value_of(body.decode("utf-8", "replace"))
    detail = value.get("detail") if isinstance(value, dict) else None
    message, code = error_of(value)
    if isinstance(detail, dict | str):
        message, _ = error_of(detail)
    words = f"{code} {message}".lower()
    kind = _OF_STATUS.get(status, failure.kind)
    if "token_invalid" in words or "api key" in words:
        kind = "auth"
    elif status == 429 and "quota" in words:
        kind = "credit"
    return replace(failure, kind=kind, said=message[:300] or failure.said)


# -- the services


@dataclass(frozen=True)
class _Service:
    """The request and the parsing of one kind of service. `rows` returns its results, and `words`
    are the fields of a title, an address and an excerpt."""

    request: Callable[[ServiceAddress, Question, int], httpx.Request]
    rows: Callable[[Mapping[str, Any], Question], list[Any]]
    words: tuple[str, str, str]
    pages: Callable[[Question], int] = lambda _: 1


def _get(url: str, query: Mapping[str, object], headers: Mapping[str, str]) -> httpx.Request:
    whole = f"{url}?{urlencode(query)}"
    return httpx.Request("GET", whole, headers=_headers(headers), extensions=_WAITS)


_WAITS = {"timeout": {"connect": LIMITS.connect_s, "read": 15, "write": 10, "pool": 10}}


def _headers(more: Mapping[str, str]) -> dict[str, str]:
    return {"accept": "application/json", "accept-encoding": "gzip", "user-agent": "Heddle", **more}


def _searxng(address: ServiceAddress, question: Question, page: int) -> httpx.Request:
    topic = "news" if question.topic == "news" else "general"
    query = {"q": question.with_hosts, "format": "json", "categories": topic, "pageno": page}
    key = {"authorization": f"Bearer {address.key}"} if address.key else {}
    return _get(f"{address.url.rstrip('/')}/search", query, key)


def _brave(address: ServiceAddress, question: Question, page: int) -> httpx.Request:
    part = "news" if question.topic == "news" else "web"
    query: dict[str, object] = {"q": question.with_hosts, "count": MOST_ASKED}
    query |= {"text_decorations": "false"} if part == "web" else {}
    query |= {"extra_snippets": "true"} if question.depth == "deep" else {}
    url = f"{address.url.rstrip('/')}/{part}/search"
    return _get(url, query, {"x-subscription-token": address.key})


def _tavily(address: ServiceAddress, question: Question, page: int) -> httpx.Request:
    body = {
        "query": question.query,
        "search_depth": "advanced" if question.depth == "deep" else "basic",
        "topic": question.topic,
        "max_results": question.most,
        "include_domains": list(question.include),
        "exclude_domains": list(question.exclude),
    }
    headers = {"authorization": f"Bearer {address.key}", "content-type": "application/json"}
    return httpx.Request(
        "POST",
        f"{address.url.rstrip('/')}/search",
        headers=_headers(headers),
        content=json.dumps(body).encode(),
        extensions=_WAITS,
    )


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _of_brave(answer: Mapping[str, Any], question: Question) -> list[Any]:
    """News results are at the top level, all others under `web`."""
    web = answer.get("web")
    return _list(answer.get("results") or (web.get("results") if isinstance(web, dict) else None))


def _results(answer: Mapping[str, Any], question: Question) -> list[Any]:
    return _list(answer.get("results"))


_SERVICES: dict[str, _Service] = {
    "searxng": _Service(
        _searxng,
        _results,
        ("title", "url", "content"),
        lambda question: 2 if question.depth == "deep" else 1,
    ),
    "brave": _Service(_brave, _of_brave, ("title", "url", "description")),
    "tavily": _Service(_tavily, _results, ("title", "url", "content")),
}


def _hit(service: _Service, row: object, question: Question) -> WebResult | None:
    """A result as it is shown; None for one without a web address."""
    if not isinstance(row, dict):
        return None
    title, url, excerpt = (row.get(name) for name in service.words)
    if not isinstance(url, str) or not _host(url) or len(url) > ADDRESS or _SPACES.search(url):
        return None
    parts = [excerpt, *_list(row.get("extra_snippets"))]
    excerpts = " … ".join(_plain(part) for part in parts if isinstance(part, str) and part.strip())
    named = _plain(title) if isinstance(title, str) else ""
    return WebResult(_cut(named or url, TITLE), url, _cut(excerpts, EXCERPT[question.depth]))


def _plain(text: str) -> str:
    """The text in one line, without HTML tags and entities."""
    return _SPACES.sub(" ", html.unescape(_TAGS.sub("", text[:20_000]))).strip()


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1].rstrip()}…"


def _host(url: str) -> str:
    """The host of a web address; "" for any other."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return ""
    return host.lower() if parts.scheme in ("http", "https") else ""


def _is_wanted(hit: WebResult, question: Question) -> bool:
    host = _host(hit.url)

    def is_of(names: Sequence[str]) -> bool:
        return any(host == name.lower() or host.endswith(f".{name.lower()}") for name in names)

    return not is_of(question.exclude) and (not question.include or is_of(question.include))


# The search of a line, whose answer is stored in the line's step.


_SAID = {
    "auth": ("The search service refused the key", "an owner has to enter a valid key"),
    "rate": ("The search service is rate limiting requests", "search again in a moment"),
    "credit": (
        "The search service's quota is used up",
        "an owner can raise it there; find searches this tree",
    ),
    "timeout": ("The search service timed out", "search again"),
    "invalid": ("The search service refused the query", "search in other words"),
    "not_found": (
        "There is no search service at its address",
        "an owner has to correct the address in the settings of the grove",
    ),
}
_UNAVAILABLE = ("The search service could not be reached", "search again")
_CODES = {"rate": "LIMIT_EXCEEDED", "credit": "LIMIT_EXCEEDED", "invalid": "INVALID_SYNTAX"}


def start_search(uid: str) -> None:
    """Searches on the loop, without waiting for the result."""
    asyncio.run_coroutine_threadsafe(_searched(uid), the_loop().loop)


def run_search(uid: str) -> None:
    """Searches on the loop, and waits for the result."""
    the_loop().run(_searched(uid))


async def _searched(uid: str) -> None:
    begun = await in_thread(web_search.begun, uid)
    if begun is None:
        return
    text, error = "", None
    try:
        text = await _search(*begun)
    except BrokenConnection as broken:
        error = _error(broken.failure)
    except CommandError as refused:  # its key cannot be read
        error = {**refused.body}
    except Exception:
        await in_thread(web_search.ended, uid, error=_error(Failure("server")))
        raise
    await in_thread(web_search.ended, uid, text=text, error=error)


async def _search(row: WebSearch, service: SearchService) -> str:
    url, key, allow = await in_thread(web_search.connection_to, service)
    asks = row.asks
    question = Question(
        asks["query"],
        asks["depth"],
        asks["topic"],
        asks["max"],
        tuple(asks["include"]),
        tuple(asks["exclude"]),
    )
    transport = CheckedTransport(allow)
    try:
        hits = await found_by(ServiceAddress(service.kind, url, key), question, transport)
    finally:
        await transport.aclose()
    kind = search_service(service.kind)
    shown = [(hit.title, hit.url, hit.excerpt) for hit in hits]
    return web_search.numbered(row, shown, kind.title if kind else service.kind)


def _error(failure: Failure) -> dict[str, Any]:
    """The refusal of a line whose search failed."""
    if failure.kind == "refused":
        return failure.error
    message, hint = _SAID.get(failure.kind, _UNAVAILABLE)
    return {
        "code": _CODES.get(failure.kind, "UNAVAILABLE"),
        "message": f"{message}: {failure.said}" if failure.said else f"{message}.",
        "hint": hint,
        "retryable": failure.kind in RETRYABLE,
    }
