"""Every GET of the pages and of the API makes as many queries in a tree of 300 nodes as in one of
10, and writes nothing.
"""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from django.db.backends.utils import CursorWrapper
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import get_resolver
from django.urls.resolvers import URLPattern, URLResolver
from rest_framework.test import APIClient

from loom.access import Actor, get_actor
from loom.documents.actions import write_document
from loom.documents.models import Document
from loom.engine import presence
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.participants.commands import ParticipantChangeArgs, make_participant
from loom.people.commands.accounts import make_key
from loom.people.commands.groves import make_grove, make_invitation
from loom.people.models import Participant, User
from loom.trees import images
from loom.trees.commands import drafts
from loom.trees.commands.public_links import make_public_link
from loom.trees.commands.trees import new_tree
from loom.trees.models import Tree, Workspace
from loom.trees.queries.lookup import find_node
from tests.agents.acting import asked, went
from tests.agents.conftest import agent, model, provider  # noqa: F401 (fixtures)
from tests.conftest import join, make_user
from tests.interfaces.matrix import ROWS
from tests.interfaces.world import run_turn, small, world  # noqa: F401 (world is a fixture)
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says
from tests.queries.plans import OURS
from tests.web.test_query_counts import PAGES as COUNTED_PAGES
from tests.web.test_query_counts import PARTS as COUNTED_PARTS
from tests.web.test_query_counts import grow

pytestmark = pytest.mark.django_db
LONG = 66  # texts on a path: more than a page draws at once
MOST = 17  # queries for an address; two or three of them say who asks
DEAR = {  # what collects all that hangs at a tree or at a workspace
    "/trees/{tree}/targets?q=Text": 26,  # searches the tree, documents, tags and other trees
    "/api/workspaces/{workspace}": 43,
    "/api/workspaces?tree={tree}": 42,
    "/api/workspaces/{agents}/context": 39,
    "/api/workspaces/{workspace}/status": 34,
    "/api/workspaces/{agents}": 28,
    "/api/workspaces/{agents}/status": 20,
    "/api/trees/{tree}/verify?what=view": 27,
    "/api/workspaces/{agents}/verify": 18,
    "/api/workspaces/{workspace}/verify": 26,
    "/api/trees/{tree}/export": 34,
    "/api/trees/{tree}/export/preview": 21,
    "/api/trees/{tree}/nodes/{node}/provenance": 21,
    "/api/trees/{tree}/nodes/{node}/graph": 19,
    "/trees/{tree}/nodes/{end}/provenance": 22,
    "/trees/{tree}/export?node={end}": 24,
    "/trees/{tree}/past/path?seq=9&node={node}": 19,
    "/documents/{document}": 25,
    "/trees/{tree}/documents?document={document}": 18,
    # Of a page, three say whether something in the inbox is new, and how much that still stands.
    "/": 20,
    "/groves/{grove}": 19,
    "/groves/{grove}/money": 19,  # sums of generations and of other spending, each in three ways
    "/trees/{tree}/candidates/{node}": 19,
    "/trees/{tree}/models": 19,
    "/trees/{tree}/manuscript": 19,
    "/trees/{tree}/manuscript/text": 18,
    "/trees/{tree}/graph?node={linked}": 18,
    "/public/{secret}": 20,  # six of them find the main line
    "/public/{secret}?node={end}": 22,
}
API = [f"/api/{row.address}" for row in ROWS if row.method == "GET"]
PAGES = """
/ /about /guide /settings /settings/gateway /mentions /mentions/unseen
/settings/gateway/sessions/{gateway_session}
/groves/{grove} /groves/{grove}/rows /groves/{grove}/settings
/groves/{grove}/link-types /groves/{grove}/webhooks /groves/{grove}/tools
/groves/{grove}/checks /groves/{grove}/choices /groves/{grove}/embedder
/trees/{tree}/candidates/{node} /trees/{tree}/nodes/{node}/tokens
/trees/{tree}/nodes/{node}/timestamp
/trees/{tree}/nodes/{node}/multiverse
/trees/{tree}/surprise?ids={node},{end}
/trees/{tree}/models /trees/{tree}/explorations?node={end} /explorations/{exploration}
/trees/{tree}/sandbox?node={end}
/trees/{tree}/landscape?below={node}&find=Text /groves/{grove}/landscape
/groves/{grove}/pipes
/trees/{tree}/claims /trees/{tree}/claims/{claim}
/groves/{grove}/people /groves/{grove}/money /groves/{grove}/participants
/groves/{grove}/ratings /groves/{grove}/trails /trails/{trail} /trails/{trail}/file
/trees/{tree}/lore /trees/{tree}/lore/keys
/groves/{grove}/participants/{participant} /groves/{grove}/documents
/groves/{grove}/documents?tree={tree} /trees/{tree}/documents
/trees/{tree}/documents?document={document} /documents/{document} /documents/{document}/drawn
/documents/{document}/embed?ref={node} /documents/{document}/portal?type=supports
/documents/{document}/writers?clients=1,2
/documents/{document}/portal?type=embed&to={node} /documents/{document}/ref?to=doc:{document}
/trees/{tree}/portal?type=supports&to={node},doc:{document} /trees/{tree}/ref?to={node}
/trees/{tree}/graph?node={linked}
/documents/{document}/file /documents/{document}/history
/trees/{tree} /trees/{tree}?node={end} /trees/{tree}/about /trees/{tree}/share
/trees/{tree}/past?seq=9 /trees/{tree}/past/path?seq=9&node={node} /trees/{tree}/path
/trees/{tree}/path?node={end} /trees/{tree}/path?node={end}&after={near}
/trees/{tree}/above?node={end}&before={near} /trees/{tree}/weave?node={node}
/trees/{tree}/buffer?node={end} /trees/{tree}/turns?node={end}
/trees/{tree}/comments?ids={end},{near}
/trees/{tree}/windows?of={agents}
/trees/{tree}/search?q=Text /trees/{tree}/targets?q=Text /trees/{tree}/targets
/trees/{tree}/excerpts?ids={end},{near} /trees/{tree}/marks
/trees/{tree}/cast /trees/{tree}/tags /trees/{tree}/export?node={end}
/trees/{tree}/manuscript /trees/{tree}/manuscript/text /groves/{grove}/tags /palette
/trees/{tree}/bookmarks /trees/{tree}/links/{noted} /trees/{tree}/history /trees/{tree}/nodes/{end}
/trees/{tree}/nodes/{end}/provenance /trees/{tree}/nodes/{end}/text
/trees/{tree}/nodes/{end}/drawn /trees/{tree}/nodes/{noted}/portal?type=supports
/trees/{tree}/nodes/{noted}/portals /trees/{tree}/links/{linked} /trees/{tree}/nodes/{linked}
/trees/{tree}/nodes/{linked}/portal?type=supported_by /public/{secret} /public/{secret}?node={end}
""".split()
WITHOUT_TREES = """
/saml/start /saml/finish /saml/metadata /saml/leave /saml/logout
/signin /signin/{} /invitations/{} /openid/start /openid/back /offline /offline.js /healthz
/settings/{}
/operator /operator/people /operator/groves /operator/work /operator/storage
/second-factor /second-factor/set-up /passkeys/ask
/oauth/authorize /.well-known/oauth-authorization-server /.well-known/oauth-protected-resource
/.well-known/oauth-protected-resource/mcp /.well-known/oauth-protected-resource/api
/public/{}/images/{}/{}
/trees/{}/nodes/{}/call /trees/{}/turns/{}/calls /trees/{}/turns/{}/trail
/groves/{}/participants/new /groves/{}/participants/models/{} /groves/{}/participants/{}/probe
""".split()
ENDS = [*API, *PAGES, "/api/trees/{tree}/path?node={end}", "/api/trees/{tree}/nodes/{end}"]
ENDS.append("/api/trees/{tree}/nodes/{linked}")


@pytest.fixture(name="ends")
def _ends(
    world: dict[str, str],  # noqa: F811
    actor: Actor,
    tree: Tree,
    monkeypatch: pytest.MonkeyPatch,
) -> dict[str, str]:
    """The names in the addresses. Who is here stays, however long all of them are asked."""
    monkeypatch.setattr(presence, "LEASE_S", 3600)
    monkeypatch.setattr(presence, "KEPT_S", 3600)
    _, secret = make_public_link(actor, tree, days=1)
    return {**world, "me": "owner", "secret": secret}


def lengthen(ends: dict[str, str], actor: Actor, tree: Tree, by: int) -> dict[str, str]:
    """The names again, after the path has grown by so many texts and half as many notes."""
    ids = grow(actor, tree, by)
    return {**ends, "end": ids[-1], "near": ids[-4], "noted": ids[1], "linked": ids[0]}


@contextmanager
def sent() -> Iterator[list[str]]:
    """The queries of the block, without those of transactions."""
    queries: list[str] = []
    with CaptureQueriesContext(connection) as captured:
        yield queries
    queries += [query["sql"] for query in captured if "SAVEPOINT" not in query["sql"]]


def count(client: Client, address: str) -> int:
    """How many queries the address makes."""
    with sent() as queries:
        answer = client.get(address)
        if answer.streaming:
            b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    assert answer.status_code in (200, 302), (address, answer.status_code)
    return len(queries)


def counts(
    client: Client, ends: dict[str, str], before: dict[str, int] | None = None
) -> dict[str, int]:
    """How many queries each address makes once it was asked before. Where the first time makes
    as many as there were `before`, that is enough: it fills what is kept, so it is no cheaper."""
    by_end = {}
    for end in ENDS:
        address = end.format(**ends)
        by_end[end] = count(client, address)
        if before is None or by_end[end] != before[end]:
            by_end[end] = count(client, address)
    return by_end


def fatten(actor: Actor, tree: Tree, ends: dict[str, str], numbers: range) -> None:
    """Once for each number: one more of everything that a page or an answer may list."""

    def say(line: str) -> str:
        refs = execute_line(actor, tree, Request(line)).body["refs"]
        return str(refs[0]) if refs else ""

    notes = Document.objects.get(uid=ends["document"])
    for number in numbers:
        text = say(f'respond {ends["node"]} "more {number}"')
        note = say(f'annotate {ends["noted"]} "note {number}"')
        document = say(f'write doc:"D{number}" new "a text ![[{text}]]"')
        elsewhere = new_tree(actor, title=f"Tree {number}")
        for line in (
            f'annotate {note} "a reply"',
            f'suggest {ends["node"]} "an opening {number}"',
            f'respond {ends["end"]} "made" from:{ends["node"]},{text}',
            f"link {ends['end']} to {text} as:supports",
            f"link tree:{tree.uid} to {text} as:supports",
            f"link {ends['node']} to tree:{elsewhere.uid}",
            f'link doc:"Notes" to {text}',
            f'link doc:"Notes" to {document}',
            f"bookmark {text}",
            f"tag {text} #t{number}",
            f"tag {document} #t{number}",
            f"open {text} keep",
            f"open {document} keep",
            f'stash "s{number}" "a text"',
            f'todo add "task {number}"',
            f'augment store group/a{number} "a text"',
            f"augment load group/a{number}",
        ):
            say(line)
        write_document(actor, notes, append=f"Line {number} ![[{text}]].")
        make_key(actor.user, f"key {number}")
        make_invitation(actor, role="reader", days=1, uses=1)
        make_public_link(actor, tree, days=1)
        images.keep(actor, tree, small(number))
        fields = {"name": f"Model {number}", "model_ref": "local:m"}
        make_participant(actor, ParticipantChangeArgs(fields=fields))
        make_grove(actor.user, f"Grove {number}")
        watch(tree, ends, f"member{number}")
        muse = Participant.objects.get(uid=ends["participant"])
        run_turn(tree, muse, actor.participant, ends["node"], "")


def watch(tree: Tree, ends: dict[str, str], name: str) -> None:
    """One more member, who looks at the tree, types in it, names the owner and has been named."""
    user = make_user(name)
    join(tree.grove, user, "writer")
    theirs = get_actor(user, tree.grove)
    for line in (f"switch to {ends['node']}", f'annotate {ends["end"]} "@Owner, look"'):
        execute_line(theirs, tree, Request(line))
    view = Workspace.objects.get(participant=theirs.participant, tree=tree)
    slot = find_node(tree, ends["end"])
    assert slot is not None
    drafts.save(theirs, view, slot, drafts.SentDraft(kind="buffer", text="She typed"))
    if int(name[-1]) % 2:  # of the others only the lines tell where they are
        stream = f"tree:{tree.uid}"
        here = {**presence.places(stream)[0], theirs.participant.uid: slot.local_id}
        presence.renew("web")
        presence.report(stream, {uid: (node, "web") for uid, node in here.items()})


def test_no_address_makes_more_queries_in_a_larger_tree_with_more_of_everything(
    ends: dict[str, str], actor: Actor, owner: User, tree: Tree
) -> None:
    client = APIClient()
    client.force_login(owner)
    fatten(actor, tree, lengthen(ends, actor, tree, 6), range(1))  # what the path leads through
    names = lengthen(ends, actor, tree, 6)
    fatten(actor, tree, names, range(1, 3))
    few = counts(client, names)
    names = lengthen(ends, actor, tree, LONG)
    fatten(actor, tree, names, range(3, 10))
    many = counts(client, names, few)
    assert {end: (few[end], many[end]) for end in ENDS if many[end] != few[end]} == {}
    dear = {end: few[end] for end in ENDS if few[end] > DEAR.get(end, MOST)}
    assert dear == {}


def test_reading_writes_nothing_not_even_on_the_first_visit(
    ends: dict[str, str], actor: Actor, writer: User, tree: Tree
) -> None:
    names = lengthen(ends, actor, tree, 6)
    client = APIClient()
    client.force_login(writer)
    client.get("/api/me")
    assert not Workspace.objects.filter(participant__user=writer).exists()
    with sent() as queries:
        for address in ENDS:
            answer = client.get(address.format(**names))
            assert answer.status_code in (200, 302, 403, 404), address
    reads = ("SELECT", "WITH", "DECLARE")  # a cursor of PostgreSQL is declared
    assert [query for query in queries if not query.lstrip().startswith(reads)] == []


def test_the_workspace_that_was_read_is_stored_under_its_id_by_the_first_draft(
    ends: dict[str, str], writer: User, tree: Tree
) -> None:
    client = APIClient()
    client.force_login(writer)
    uid = client.get(f"/api/workspaces?tree={tree.uid}").json()["id"]
    assert client.get(f"/api/workspaces/{uid}").json()["id"] == uid
    assert f'"workspace": "{uid}"' in client.get(f"/trees/{tree.uid}").content.decode()
    body = {"kind": "buffer", "text": "not yet"}
    put = client.put(f"/api/workspaces/{uid}/drafts/{ends['node']}", body, format="json")
    assert put.status_code == 200
    assert Workspace.objects.get(participant__user=writer).uid == uid
    drafts = client.get(f"/api/workspaces/{uid}/drafts").json()["results"]
    assert [draft["text"] for draft in drafts] == ["not yet"]


def test_nobody_opens_the_workspace_of_another_before_it_is_stored(
    world: dict[str, str],  # noqa: F811
    reader: User,
    writer: User,
    outsider: User,
    tree: Tree,
) -> None:
    client = APIClient()
    client.force_login(writer)
    uid = client.get(f"/api/workspaces?tree={tree.uid}").json()["id"]
    for other in (reader, outsider):
        client.force_login(other)
        assert client.get(f"/api/workspaces/{uid}").status_code == 404
    assert client.get("/api/workspaces/aaaa").status_code == 404


def test_every_page_is_looked_at() -> None:
    """A new page is added to PAGES; a new address of the API is in the matrix already."""
    known = {_shape(page) for page in PAGES}
    skipped = set(WITHOUT_TREES)
    listed = {
        route
        for route, view in _routes(get_resolver().url_patterns)
        if not route.startswith(("/api", "/^api", "/static", "/ws")) and _reads(view)
    }
    assert listed - known - skipped == set()


def test_the_queries_of_every_page_and_part_are_counted() -> None:
    """Those whose numbers may not grow beyond what tests/web/test_query_counts.py says."""
    parts = {_shape(f"/trees/{{tree}}{address}") for address, _ in COUNTED_PARTS.values()}
    pages = {_shape(address) for address, _ in COUNTED_PAGES.values()}
    left = {_shape(page) for page in PAGES} - parts - pages
    assert left == {"/public/{}"}  # which has a test of its own there


def _shape(address: str) -> str:
    parts = address.partition("?")[0].split("/")
    return "/".join("{}" if part.startswith("{") else part for part in parts)


def _routes(
    patterns: list[URLPattern | URLResolver], before: str = "/"
) -> Iterator[tuple[str, object]]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _routes(pattern.url_patterns, route)
        else:
            shape = ["{}" if part.startswith("<") else part for part in route.split("/")]
            yield "/".join(shape), pattern.callback


def _reads(view: object) -> bool:
    """Whether the view answers GET: none of the decorators around it names other methods only."""
    while view is not None:
        for cell in getattr(view, "__closure__", None) or ():
            if isinstance(cell.cell_contents, list) and "GET" not in cell.cell_contents:
                return False
        view = getattr(view, "__wrapped__", None)
    return True


_LISTED = re.compile(r"\((?:\d+|%s)(?:, ?(?:\d+|%s))*\)")  # how many are named does not matter


@contextmanager
def sent_by_all() -> Iterator[list[str]]:
    """The queries of the block on every thread, without those of transactions and of a worker's
    beat, of which there are as many as an answer takes quarters of a second."""
    queries: list[str] = []
    execute = CursorWrapper.execute

    def noted(self: Any, sql: str, params: Any = None) -> Any:
        if re.search(OURS, sql) and 'SET "text"' not in sql and '"stop_asked" AND' not in sql:
            queries.append(_LISTED.sub("(…)", sql))
        return execute(self, sql, params)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CursorWrapper, "execute", noted)
        yield queries


@pytest.mark.django_db(transaction=True)
def test_a_turn_makes_no_more_queries_in_a_larger_tree_with_a_longer_log(
    actor: Actor,
    tree: Tree,
    agent: Participant,  # noqa: F811
    provider: ScriptedProvider,  # noqa: F811
) -> None:
    def turn(grown: int) -> list[str]:
        ids = grow(actor, tree, grown)
        provider.script(
            says(f"Let me look.\n→ view {ids[-1]} full\n→ list {ids[1]}\n"),
            says(f'→ annotate {ids[-1]} "Why?"\n→ find "Text"\n'),
            says("Done."),
        )
        with sent_by_all() as queries:
            assert went(asked(actor, tree, agent, node=ids[-1])).status == "done"
        return queries

    for _ in range(3):  # until the windows of earlier turns are closed again
        turn(6)
    # An id that is drawn and already taken is drawn again, by chance now and then in a large tree:
    # the least of two turns there.
    few = Counter(turn(6))
    many = Counter(turn(LONG)) & Counter(turn(6))
    assert {query: (few[query], many[query]) for query in many if many[query] > few[query]} == {}
