"""One row for each route, socket and command that somebody may send something heavy to: what
bench.strangers sends while it measures everybody else.

The rows of the API and of the commands come from the matrix of the tests, which has one for every
address and verb; pages and sockets are listed here. `missing` says what has no row, and a test
fails where there is something.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.interfaces.matrix import LINES, ROWS

SIZE = 4_000_000  # characters of a text; what is refused as too long has to be cheap to refuse
DEEP = 900_000
WORST: dict[str, Callable[[int], str]] = {
    "newlines": lambda size: "\n" * size,
    "headings": lambda size: "# a\n" * (size // 4),
    "embeds": lambda size: "![[here]]\n" * (size // 10),
    "quotes": lambda size: '"\\' * (size // 2),
}
PAGES = """
GET / | GET /about | GET /guide | GET /offline | GET /offline.js | GET /healthz | GET /settings
GET /openid/start | GET /openid/back | POST /openid/link | POST /openid/unlink
GET /operator | GET /operator/people?q={long} | GET /operator/groves | GET /operator/work
GET /operator/storage
POST /operator/do/name
GET /second-factor | POST /second-factor | GET /second-factor/set-up
POST /second-factor/do/name
GET /saml/start | POST /saml/back | GET /saml/finish?answer={long} | GET /saml/metadata
GET /saml/leave | GET /saml/logout?SAMLRequest={long} | GET /saml/logout?SAMLResponse={long}
POST /saml/link | POST /saml/unlink
POST /passkeys/options | POST /passkeys/signin | GET /passkeys/ask | POST /passkeys/new
POST /passkeys/do/name
GET /signin | POST /signin | GET /signin/{secret} | POST /signin/{secret} | GET /signout
GET /invitations/{secret} | POST /invitations/{secret} | GET /palette?q={long} | GET /mentions
GET /mentions/unseen | POST /settings/name | GET /groves/{grove} | GET /groves/{grove}/rows?q={long}
GET /settings/gateway | POST /settings/gateway | POST /settings/gateway/revoke
GET /settings/gateway/sessions/{secret} | POST /settings/gateway/sessions/{secret}/results
POST /settings/gateway/sessions/{secret}/workspace
POST /settings/gateway/sessions/{secret}/transcript
GET /groves/{grove}/webhooks | POST /groves/{grove}/webhooks
GET /.well-known/oauth-authorization-server | GET /.well-known/oauth-protected-resource
GET /.well-known/oauth-protected-resource/mcp | GET /.well-known/oauth-protected-resource/api
POST /oauth/register | POST /oauth/token
POST /oauth/revoke | GET /oauth/authorize
GET /groves/{grove}/tools | POST /groves/{grove}/tools
POST /groves/{grove}/tools/{secret}
POST /groves/{grove}/webhooks/{secret} | GET /groves/{grove}/settings
POST /groves/{grove}/settings | GET /groves/{grove}/tags
GET /groves/{grove}/link-types | POST /groves/{grove}/link-types
GET /groves/{grove}/checks | POST /groves/{grove}/checks
GET /groves/{grove}/pipes | POST /groves/{grove}/pipes
GET /trees/{tree}/claims?cite={node}&words={long} | POST /trees/{tree}/claims
GET /trees/{tree}/claims/{node} | POST /trees/{tree}/claims/{node}
GET /trees/{tree}/manuscript | POST /trees/{tree}/manuscript | GET /trees/{tree}/manuscript/text
GET /trees/{tree}/surprise?ids={long}
GET /trees/{tree}/lore | POST /trees/{tree}/lore | GET /trees/{tree}/lore/keys
GET /groves/{grove}/ratings | POST /groves/{grove}/ratings
GET /trees/{tree}/models | POST /trees/{tree}/models
GET /trees/{tree}/sandbox | POST /trees/{tree}/sandbox
GET /trees/{tree}/landscape?below={node}&find={long}&region=1 | POST /trees/{tree}/landscape
GET /groves/{grove}/landscape?find={long} | POST /groves/{grove}/landscape
GET /groves/{grove}/choices | POST /groves/{grove}/choices
GET /groves/{grove}/embedder | POST /groves/{grove}/embedder
GET /trees/{tree}/explorations | POST /trees/{tree}/explorations/cost | GET /explorations/{secret}
GET /groves/{grove}/trails | GET /trails/{secret} | POST /trails/{secret}
GET /trails/{secret}/file | POST /trails/{secret}/document | GET /trees/{tree}/candidates/{node}
GET /trees/{tree}/nodes/{node}/tokens?at=1 | POST /trees/{tree}/nodes/{node}/tokens
GET /trees/{tree}/nodes/{node}/multiverse?using={long} | POST /trees/{tree}/nodes/{node}/multiverse
POST /groves/{grove}/searches | POST /groves/{grove}/trees | POST /groves/{grove}/chosen
GET /groves/{grove}/people
POST /groves/{grove}/people/invite | GET /groves/{grove}/money | POST /groves/{grove}/money
GET /groves/{grove}/participants | GET /groves/{grove}/participants/new
POST /groves/{grove}/participants/new | GET /groves/{grove}/participants/models
POST /groves/{grove}/participants/models | POST /groves/{grove}/participants/models/{secret}
GET /groves/{grove}/participants/{participant} | POST /groves/{grove}/participants/{participant}
POST /groves/{grove}/participants/{participant}/probe
POST /groves/{grove}/participants/{secret}/archive
GET /groves/{grove}/documents | POST /groves/{grove}/documents | GET /documents/{document}
GET /trees/{tree}/documents | GET /trees/{tree}/documents?document={document}
POST /trees/{tree}/documents
GET /documents/{document}/drawn | POST /documents/{document}/drawn
GET /documents/{document}/writers?clients=1,2
GET /documents/{document}/portal?type=supports | GET /documents/{document}/ref?to={node}
GET /documents/{document}/embed?ref={node} | GET /documents/{document}/file
GET /documents/{document}/history | POST /documents/{document}/do/title
GET /trees/{tree} | GET /trees/{tree}?node={end} | GET /trees/{tree}/about
POST /trees/{tree}/about/title | GET /trees/{tree}/export?node={end} | GET /trees/{tree}/share
POST /trees/{tree}/share/make | GET /public/{public} | GET /public/{public}/images/{node}/{secret}
GET /trees/{tree}/past?seq=9 | GET /trees/{tree}/past/path?seq=9&node={node}
GET /trees/{tree}/tags | POST /trees/{tree}/seen | POST /trees/{tree}/place
GET /trees/{tree}/path?node={end}
GET /trees/{tree}/cast | GET /trees/{tree}/above?node={end}&before={end}
GET /trees/{tree}/weave?node={node} | POST /trees/{tree}/weave | GET /trees/{tree}/buffer?node={end}
POST /trees/{tree}/buffer | GET /trees/{tree}/windows?of={agents}
GET /trees/{tree}/comments?ids={end}
GET /trees/{tree}/turns?node={end} | POST /trees/{tree}/turns
GET /trees/{tree}/turns/{turn}/calls | POST /trees/{tree}/line
GET /trees/{tree}/search?q={long} | GET /trees/{tree}/targets?q={long}
GET /trees/{tree}/targets | GET /trees/{tree}/excerpts?ids={end}
GET /trees/{tree}/marks | GET /trees/{tree}/bookmarks | GET /trees/{tree}/history
GET /trees/{tree}/nodes/{end} | GET /trees/{tree}/nodes/{worst} | GET /trees/{tree}/links/{end}
GET /trees/{tree}/nodes/{end}/provenance | GET /trees/{tree}/nodes/{end}/call
GET /trees/{tree}/nodes/{end}/timestamp | GET /api/trees/{tree}/nodes/{end}/timestamp
GET /api/trees/{tree}/nodes/{end}/timestamp/answer
GET /trees/{tree}/nodes/{worst}/drawn | GET /trees/{tree}/nodes/{worst}/text
GET /trees/{tree}/portal?type=supports&to={worst} | GET /trees/{tree}/ref?to={worst}
GET /trees/{tree}/turns/{turn}/trail | GET /trees/{tree}/graph?node={worst}
GET /trees/{tree}/nodes/{worst}/portal?type=supports | GET /trees/{tree}/nodes/{worst}/portals
"""
# Tools of the MCP endpoint, with what each of its texts is part of; `…` stands for the text.
TOOLS: dict[str, dict[str, Any]] = {
    "open_session": {"tree": "…"},
    "loom_look": {"session": "{handle}", "line": "find …"},
    "loom_write": {"session": "{handle}", "line": "respond root\n…"},
    "loom_destroy": {"session": "{handle}", "line": "drop …"},
    **{
        group: {"session": "{handle}", "operation": operation, "rest": "…"}
        for group, operation in {
            "windows": "open_search",
            "result": "hide",
            "outline": "show",
            "augment": "load",
            "todo": "add",
            "trail": "save",
            "claim": "open",
        }.items()
    },
}
SOCKETS = {
    "trees": "/ws/trees/{tree}?since=0&drawn=en",
    "groves": "/ws/groves/{grove}?since=0",
    "workspaces": "/ws/workspaces/{workspace}?since=0",
    "documents": "/ws/documents/{document}",
}
FRAME = 524_288 - 1  # the longest frame that the web process reads


@dataclass(frozen=True)
class Attack:
    """One heavy request: `kind` is what it is a row of (api, page, line, mcp or socket), `route`
    its address with `{}` for names. Names are put in by `filled`."""

    kind: str
    method: str
    address: str
    route: str
    worst: str = ""
    body: Any = None
    form: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What the table calls it."""
        return f"{self.kind:<6} {self.method:<6} {self.address} {self.worst}".strip()

    def filled(self, names: Mapping[str, str]) -> tuple[str, bytes | None]:
        """The address and the body with names put in."""
        body = self.content()
        address = _named(self.address, names)
        return address, _named(body, names).encode() if body is not None else None

    def content(self) -> str | None:
        """The body as JSON or as a form's field; None if there is none."""
        if self.worst == "many":
            return '{"line":[' + "[]," * (DEEP // 3) + "[]]}"
        if self.worst == "deep":
            return '{"line":' + "[" * DEEP + "]" * DEEP + "}"
        return None if self.body is None else json.dumps(self.body)


def _named(text: str, names: Mapping[str, str]) -> str:
    for name, value in names.items():
        text = text.replace("{" + name + "}", value)
    return text


def _grown(value: Any, text: str) -> Any:
    """A body in which each text that names nothing is as long as it may be sent."""
    if isinstance(value, dict):
        return {key: _grown(child, text) for key, child in value.items()}
    if isinstance(value, str) and "{" not in value and " " in value + " ":
        return text
    return value


def route_of(address: str) -> str:
    """An address without its query, and without names in its braces."""
    parts = address.partition("?")[0].split("/")
    return "/".join("{}" if part.startswith("{") else part for part in parts)


def attacks(size: int = SIZE) -> Iterator[Attack]:
    """Every row; texts have `size` characters."""
    for row in ROWS:
        address = f"/api/{row.address}"
        route = route_of(address)
        yield Attack("api", row.method, address, route, body=json.loads(row.body or "null"))
        if row.body:
            body = json.loads(row.body)
            yield Attack("api", row.method, address, route, "deep")
            yield Attack("api", row.method, address, route, "many")
            for worst in ("newlines", "headings", "embeds"):
                grown = _grown(body, WORST[worst](size))
                yield Attack("api", row.method, address, route, worst, body=grown)
    for words in PAGES.replace("\n", " | ").split(" | "):
        if not words.strip():
            continue
        method, address = words.split()
        worst = "newlines" if method == "POST" else ""
        form = dict.fromkeys(("text", "name", "title", "line", "q"), WORST["newlines"](size // 8))
        yield Attack("page", method, address, route_of(address), worst, form=form if worst else {})
    commands = "/api/trees/{tree}/commands"
    for verb, lines in LINES.items():
        for line in lines:
            yield Attack("line", "POST", commands, verb, line, body={"line": line})
        for worst in ("newlines", "quotes"):
            text = WORST[worst](size // 4)
            yield Attack("line", "POST", commands, verb, worst, body={"line": f"{verb} {text}"})
    for tool, given in TOOLS.items():
        for worst in ("newlines", "quotes"):
            text = WORST[worst](size // 4)
            arguments = {name: value.replace("…", text) for name, value in given.items()}
            yield Attack("mcp", "POST", "/mcp", tool, worst, body=_called(tool, arguments))
    yield Attack("mcp", "POST", "/mcp", "open_session", "deep")
    yield Attack("mcp", "POST", "/mcp", "open_session", "many")
    for kind, address in SOCKETS.items():
        for worst, text_of in WORST.items():
            yield Attack("socket", "FRAME", address, kind, worst, body=text_of(FRAME))


def _called(tool: str, arguments: Mapping[str, str]) -> dict[str, Any]:
    """A call of a tool, as MCP writes it."""
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def missing() -> list[str]:
    """The routes, sockets, commands and tools that have no row."""
    from django.urls import get_resolver

    from loom.engine.registry import verbs
    from loom.live.consumers import routes
    from loom.live.kinds import kinds as of_features
    from loom.mcp.tools import TOOLS as OF_MCP

    rows = list(attacks(size=80))
    known = {(row.kind, _plain(row.route)) for row in rows}
    of_http = {route for kind, route in known if kind in ("api", "page")}
    lacking = [route for route in _routes(get_resolver()) if _plain(route) not in of_http]
    lacking += [f"the command {verb}" for verb in verbs() if ("line", verb) not in known]
    patterns = " ".join(str(route.pattern) for route in routes.routes)
    served = {*re.findall(r"[a-z]{2,}", patterns.partition("(?P<uid>")[0]), *of_features()}
    served -= {"ws", "kind"}
    lacking += [f"the tool {tool}" for tool in OF_MCP if ("mcp", tool) not in known]
    return lacking + [f"the socket {kind}" for kind in sorted(served ^ set(SOCKETS))]


# Addresses of a form's last word, of which one stands for all.
WORDS = {"name", "invite", "title", "make"}


def _routes(resolver: Any, prefix: str = "") -> Iterator[str]:
    for route in resolver.url_patterns:
        pattern = prefix + str(route.pattern)
        if hasattr(route, "url_patterns"):
            yield from _routes(route, pattern)
        elif not pattern.startswith(("api/^", "^")):
            parts = ["{}" if part.startswith("<") else part for part in pattern.split("/")]
            yield "/".join(parts)


def _plain(route: str) -> str:
    """A route as the URL conf and the rows both write it."""
    parts = route.strip("/").split("/")
    return "/".join("{}" if part in WORDS and place else part for place, part in enumerate(parts))
