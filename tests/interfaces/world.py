"""A grove with one of everything, for tests that go through all addresses and lines."""

import gzip
import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client
from django.utils import timezone
from PIL import Image

from agents.gateway import keys as gateway_keys
from agents.gateway import recording
from agents.gateway.messages import history_of
from agents.gateway.sessions import SessionNames
from agents.outside_tools import commands as outside_tools
from agents.timestamps.models import TimeStamp
from agents.webhooks import commands as webhooks
from loom.access import Actor, get_actor
from loom.claims.commands.checks import declare_check
from loom.claims.commands.pipes import PipeGiven, save_pipe
from loom.claims.rules.inline_tokens import tokens_in
from loom.documents import actions as documents
from loom.documents.queries import newest
from loom.engine import streams
from loom.engine.context import Request
from loom.engine.execute import execute, execute_line
from loom.engine.items import make_items
from loom.exploring import progress
from loom.exploring.models import Exploration
from loom.links.models import Trail
from loom.people.commands import accounts as people
from loom.people.commands import groves
from loom.people.models import Grove, Participant, User, UserSession
from loom.transfer import models as transfer_models
from loom.trees import images
from loom.trees.commands import node_writer, public_links, trees
from loom.trees.models import Node, Tree
from loom.turns.generation_lifecycle import Received
from loom.turns.models import Call, Generation, Turn
from loom.workspace import models as workspace_models
from tests.conftest import join, make_user
from tests.interfaces.matrix import EVERYBODY
from tests.kept import kept


@pytest.fixture
def world(
    grove: Grove,
    owner: User,
    writer: User,
    reader: User,
    outsider: User,
    stranger: User,
    muse: Participant,
    tree: Tree,
) -> dict[str, str]:
    """Names of things in the owner's grove and account, as used by the matrix."""
    return furnish(get_actor(owner, grove), tree, muse)


@pytest.fixture(name="world", scope="module")
def kept_world(django_db_setup: None, django_db_blocker: Any) -> Iterator[dict[str, str]]:
    """The world, made once for a module. Its tests ask `person()` for the people in it."""
    with kept(_made, blocker=django_db_blocker) as names:
        yield names


def _made() -> dict[str, str]:
    """The world with its people, whom the fixtures of the same names make for a single test."""
    grove, elsewhere = (Grove.objects.create(name=name) for name in ("The grove", "Elsewhere"))
    for home in (grove, elsewhere):
        streams.open_stream(home)
    people = {name: make_user(name) for name in EVERYBODY if name != "nobody"}
    for name, user in people.items():
        if name in ("owner", "writer", "reader"):
            join(grove, user, name)
    join(grove, people["both"], "writer")
    join(elsewhere, people["both"], "writer")
    join(elsewhere, people["outsider"], "owner")
    muse = Participant.objects.create(
        grove=grove, kind="model", name="Muse", model_ref="local:smollm2", max_tokens=60
    )
    actor = get_actor(people["owner"], grove)
    return furnish(actor, trees.new_tree(actor, title="Marie"), muse)


def furnish(actor: Actor, tree: Tree, muse: Participant, word: str = "") -> dict[str, str]:
    """Puts one of everything into the actor's grove. Each text and title ends with `word`."""
    grove, owner, tail = actor.grove, actor.user, word and f" {word}"

    def say(line: str) -> str:
        refs = execute_line(actor, tree, Request(line)).body["refs"]
        return str(refs[0]) if refs else ""

    node = say(f'respond root "opening{tail}"')
    note = say(f'annotate {node} "a note{tail}"')
    suggestion = say(f'suggest {node} "an opening{tail}"')
    say(f"link {node} to {note}")
    marked = say(f'respond {node} "marked{tail}"')
    say(f'bookmark {marked} "kept{tail}"')
    say(f"tag {marked} #kept {word and '#'}{word}")
    gone = say(f'respond {node} "gone{tail}"')
    say(f"exclude {gone}")
    say(f"prune {gone}")
    open_windows(actor, tree, marked, tail)
    muse.permissions = ["loom_aware"]
    muse.save()
    archived = trees.new_tree(actor, title=f"Old{tail}")
    trees.change_tree(actor, archived, {"archived": True})
    notes = documents.make_document(actor, title="Notes", text="# A lamp\n- [ ] light it")
    documents.write_document(actor, notes, append="It burns.")
    documents.make_document(actor, title="good/plain", kind="augment", text="Read a lamp.")
    for line in ('tag doc:"Notes" #kept', 'bookmark doc:"Notes"'):
        execute_line(actor, tree, Request(line))
    for line in (f'link doc:"Notes" to {marked}', f'link {gone} to doc:"Notes"'):
        execute_line(actor, tree, Request(line))
    say(f"view {node}")
    say(f'trail save "way{tail}"')
    say(f'trail share "way{tail}"')
    check = declare_check(actor, name=f"parsed{tail}", kind="json")
    pipe = execute(actor, grove, save_pipe, PipeGiven(name=f"Look{tail}", lines="view"))
    tasks = say(f"respond {node}\n- [ ] a task{tail}\n←")
    claim = say(f'claim "The lamp is lit{tail}" cite:{node}')
    say(f'cite {note} against {claim} "no"')
    _stamp(Node.objects.get(tree=tree, local_id=node))
    return {
        "check": check.uid,
        "pipe": pipe.uid,
        "table": "choices",
        "claim": claim,
        "tasks": tasks,
        "token": "1",
        "exploration": _exploration(say, node, muse.name, word),
        "listed": tokens_in(newest(notes).text, stable=True)[0].key,
        "trail": Trail.objects.get(grove=grove, name=f"way{tail}").uid,
        "document": notes.uid,
        "revision": "2",
        "grove": grove.uid,
        "tree": tree.uid,
        "archived": archived.uid,
        "tile": "0",
        "participant": muse.uid,
        "muse": muse.uid,
        "webhook": webhooks.make_webhook(owner, grove.uid, url="https://hooks.example/b")[0].uid,
        **_tool_server(actor),
        "node": node,
        "note": note,
        "suggestion": suggestion,
        "marked": marked,
        "gone": gone,
        "workspace": node_writer.workspace_of(actor.participant, tree).uid,
        "agents": node_writer.workspace_of(muse, tree).uid,
        "key": people.make_key(owner, "desk")[0].uid,
        "session": _session(owner, f"elsewhere{word}"),
        "invitation": groves.make_invitation(actor, role="reader", days=1, uses=1)[0].uid,
        "public": public_links.make_public_link(actor, tree, days=1)[0].uid,
        "import": transfer_models.Import.objects.create(
            grove=grove, participant=actor.participant, name=f"a{tail}.json", file="nowhere"
        ).uid,
        "image": images.keep(actor, tree, small(len(word))).sha256,
        **run_turn(tree, muse, actor.participant, node, tail),
        **gateway_session(actor, muse, tail),
    }


def _stamp(node: Node) -> None:
    """A time stamp of a text, with what is none in it."""
    TimeStamp.objects.create(
        node=node,
        authority="https://tsa.example/tsr",
        at=timezone.now(),
        answer=b"none",
        first=node.pk,
        last=node.pk,
    )


def _tool_server(actor: Actor) -> dict[str, str]:
    """An outside server that was asked for its tools."""
    given = outside_tools.NewToolServer(name="weather", url="https://mcp.example/a")
    server = outside_tools.add_server(actor, given)
    outside_tools.store_tools(server, [("forecast", "The forecast.", {"type": "object"})])
    return {"tool_server": server.uid, "tool": server.tools.get().uid}


def _exploration(say: Callable[[str], str], node: str, agent: str, word: str) -> str:
    """An exploration that is stopped before it has asked for a text."""
    say(f'explore from {node} using agent:"{agent}" n:1 depth:1 by:variety "{word or "light"}"')
    row = Exploration.objects.latest("id")
    Exploration.objects.filter(pk=row.pk).update(stop_asked=True)
    progress.advance(row.uid)
    return row.uid


def gateway_session(actor: Actor, muse: Participant, tail: str) -> dict[str, str]:
    """A session of a program of the owner, with one request and its answer."""
    key, _ = gateway_keys.make_key(actor.user, muse.uid, name="program")
    body = {"messages": [{"role": "user", "content": f"asked{tail}"}]}
    incoming = recording.Incoming(
        actor=actor,
        key=key,
        model=muse,
        shape="chat",
        named=SessionNames(session="s"),
        history=history_of("chat", body),
        sent=body,
        url="http://model/v1/chat/completions",
        headers={},
    )
    session = recording.session_of(incoming)
    request = recording.begin(incoming, session)
    answer = {"choices": [{"index": 0, "message": {"content": f"answered{tail}"}}]}
    headers = {"content-type": "application/json"}
    received = Received(body=json.dumps(answer).encode(), status=200, headers=headers)
    recording.end(request.pk, received)
    return {"gateway_key": key.uid, "gateway_session": session.uid}


def open_windows(actor: Actor, tree: Tree, local_id: str, tail: str = "") -> None:
    """A window on a node, a stash and a task, with the same numbers for everybody."""
    of = Node.objects.get(tree=tree, local_id=local_id).pk
    make_items([of])
    own: dict[str, Any] = {"workspace": node_writer.workspace_of(actor.participant, tree)}
    own["opened_at"] = timezone.now()
    workspace_models.Window.objects.create(
        number=900, kind="node", item_id=of, first=1, last=1, label="kept", **own
    )
    workspace_models.Window.objects.create(
        number=901, kind="stash", text=f"a lamp{tail}", label="idea", is_visible=False, **own
    )
    own["made_at"] = own.pop("opened_at")
    workspace_models.Task.objects.create(number=900, text=f"a lamp{tail}", **own)


def small(red: int = 0) -> bytes:
    """A picture of one pixel."""
    out = io.BytesIO()
    Image.new("RGB", (1, 1), (red, 0, 0)).save(out, "PNG")
    return out.getvalue()


def _session(owner: User, uid: str) -> str:
    browser = Client()
    browser.force_login(owner)
    row = UserSession.objects.create(
        user=owner, session_key=browser.session.session_key or "", uid=uid
    )
    return row.uid


def run_turn(
    tree: Tree, muse: Participant, by: Participant, local_id: str, tail: str
) -> dict[str, str]:
    call = Call.objects.create(
        tree=tree,
        participant=muse,
        provider="local",
        configuration="0" * 64,
        request={"url": "http://model/v1", "body": {"prompt": f"opening{tail}"}},
        response=gzip.compress(json.dumps({"text": f"said{tail}"}).encode()),
        sealed_at=timezone.now(),
    )
    generation = Generation.objects.create(
        tree=tree,
        participant=muse,
        asked_by=by,
        batch="batch",
        call=call,
        point=Node.objects.get(tree=tree, local_id=local_id),
        index=1,
        status="done",
        text=f"said{tail}",
    )
    turn = Turn.objects.create(
        tree=tree,
        participant=muse,
        invoked_by=by,
        invoked_at=generation.point,
        answers_below=generation.point,
        preset="quick",
        status="done",
        ended_at=timezone.now(),
    )
    return {"call": call.uid, "generation": generation.uid, "turn": turn.uid}


def person(name: str) -> User | None:
    """One of the fixed people by name; "nobody" is None."""
    return None if name == "nobody" else User.objects.get(username=name)


def counted() -> dict[str, Any]:
    """The number of rows of each kind, to show that nothing was written."""
    # One query, because it runs before and after each of many requests.
    names = (
        "Tree Turn Node Link Mark Participant Membership Invitation ApiKey Generation PublicLink"
    )
    tables = {
        model.__name__: model._meta.db_table
        for model in apps.get_models()
        if model.__name__ in names.split()
    }
    counts = [f"SELECT '{name}', COUNT(*) FROM {table}" for name, table in tables.items()]
    counts.append(
        "SELECT 'Event', COUNT(*) FROM engine_event JOIN engine_stream "
        "ON engine_stream.id = engine_event.stream_id "
        "WHERE engine_stream.name NOT LIKE 'workspace:%'"
    )
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(counts))
        return dict(cursor.fetchall())


def fill_tree(
    actor: Actor, tree: Tree, muse: Participant, word: str, *, opening: str, at: str, to: str
) -> dict[str, str]:
    """Puts one of everything that a tree has into one whose texts, titles and labels all hold
    `word`: the first text is `opening`, below `at` ("": where the actor stands), and a note
    mentions `to`. Returns the names of what it made, as the matrix calls them."""
    tail = f" {word}"

    def say(line: str) -> str:
        refs = execute_line(actor, tree, Request(line)).body["refs"]
        return str(refs[0]) if refs else ""

    node = say(f'respond {at} "{opening}"')
    note = say(f'annotate {node} "{to} a note{tail}"')
    suggestion = say(f'suggest {node} "another opening{tail}"')
    marked = say(f'respond {node} "marked{tail}"')
    say(f'bookmark {marked} "kept{tail}"')
    say(f"tag {marked} #kept #{word}")
    gone = say(f'respond {node} "gone{tail}"')
    say(f"prune {gone}")
    say(f"link {node} to {note}")
    say(f"main {marked}")
    say(f"rate {marked} plus")
    tasks = say(f"respond {node}\n- [ ] a task{tail}\n←")
    say(f"todo check {tasks} token:1")
    claim = say(f'claim "The lamp is lit{tail}" cite:{node}')
    say(f'cite {note} against {claim} "because{tail}"')
    open_windows(actor, tree, marked, tail)
    person = actor.participant
    return {
        **run_turn(tree, muse, person, node, tail),
        "tree": tree.uid,
        "node": node,
        "note": note,
        "suggestion": suggestion,
        "marked": marked,
        "gone": gone,
        "tasks": tasks,
        "claim": claim,
        "exploration": _exploration(say, node, muse.name, word),
        "workspace": node_writer.workspace_of(person, tree).uid,
        "agents": node_writer.workspace_of(muse, tree).uid,
        "image": images.keep(actor, tree, small(9)).sha256,
        **ends_of(node, marked),
    }


def ends_of(node: str, marked: str) -> dict[str, str]:
    """The names of the matrix for two texts, the second below the first."""
    return {"end": marked, "near": node, "noted": node, "linked": node}
