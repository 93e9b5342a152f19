"""The states of references and portals: what a reader has followed, each for themselves."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from rest_framework.test import APIClient

from loom.claims.models import TokenState
from loom.engine.models import Event, Step
from loom.people.models import User
from loom.trees.models import Tree, Workspace
from tests.commands.conftest import Say

pytestmark = pytest.mark.django_db
Write = Callable[..., str]
Api = Callable[..., APIClient]


class TokensOf:
    """The tokens of an item over the API, for one person."""

    def __init__(self, client: APIClient, item: str, tree: Tree) -> None:
        self.client, self.address, self.of = client, f"/api/items/{item}/tokens", tree.uid

    def states(self) -> list[str]:
        results = self.client.get(f"{self.address}?tree={self.of}").json()["results"]
        return [token["state"] for token in results]

    def give(self, key: int, given: str) -> dict[str, Any]:
        address = f"{self.address}/{key}?tree={self.of}"
        return dict(self.client.post(address, {"input": given}, format="json").json())


def _text(say: Say, words: str) -> str:
    return str(say(f"respond root\n{words}\n←").body["refs"][0])


def test_a_portal_is_expanded_while_its_window_is_visible(
    say: Say, write: Write, api: Api, owner: User, reader: User, tree: Tree
) -> None:
    a, b = write("One."), write("Two.")
    text = _text(say, f"@[supports -> {a}] @[supports -> {{{a}, {b}}}]")
    own, hers = (TokensOf(api(user), text, tree) for user in (owner, reader))
    assert own.states() == ["collapsed", "collapsed"]
    ran = own.give(1, "expand")
    assert ran["token"]["state"] == "expanded" and ran["token"]["inputs"] == ["collapse"]
    assert own.states() == ["expanded", "collapsed"]
    assert hers.states() == ["collapsed", "collapsed"]
    assert own.give(1, "expand")["message"] == "It is expanded."
    assert own.give(1, "collapse")["token"]["state"] == "collapsed"
    assert own.give(1, "collapse")["message"] == "It is collapsed."
    say(f'expand supports of {text} to:"{a},{b}"')
    assert own.states() == ["collapsed", "expanded"]
    say("back")
    assert own.states() == ["collapsed", "collapsed"]
    assert not TokenState.objects.exists()


def test_a_portal_to_what_is_open_already_can_be_collapsed(
    say: Say, write: Write, api: Api, owner: User, tree: Tree
) -> None:
    a = write("One.")
    say('write doc:"the log" new\nIt is old.\n←')
    text = _text(say, f'@[supports -> {a}] @[uses -> doc:"the log"]')
    own = TokensOf(api(owner), text, tree)
    say(f"open {a}")
    assert own.states() == ["collapsed", "collapsed", "idle"]
    for key in (1, 2):
        assert own.give(key, "expand")["token"]["state"] == "expanded"
    assert own.states() == ["expanded", "expanded", "idle"]
    for key in (1, 2):
        assert own.give(key, "collapse")["token"]["state"] == "collapsed"


def test_a_reference_is_visited_by_whom_has_looked_and_broken_where_there_is_nothing(
    say: Say, write: Write, api: Api, owner: User, reader: User, tree: Tree
) -> None:
    a, b = write("One."), write("Two.")
    say('write doc:"The log" new\nIt is old.\n←')
    text = _text(say, f'[{a}] [{b}] [zz99] doc:"the log" doc:"no log"')
    own, hers = (TokensOf(api(user), text, tree) for user in (owner, reader))
    assert own.states() == ["idle", "idle", "broken", "idle", "broken"]
    assert own.give(1, "visit")["token"]["state"] == "visited"
    assert own.give(4, "visit")["token"]["state"] == "visited"
    say(f"switch to {b}")
    assert own.states() == ["visited", "visited", "broken", "visited", "broken"]
    assert hers.states() == ["idle", "idle", "broken", "idle", "broken"]
    refused = own.give(3, "visit")
    assert refused["code"] == "REJECTED"
    assert refused["message"] == "It is broken: nothing that you may see has this name."
    say('write doc:"no log" new\nNow there is one.\n←')
    assert own.states()[-1] == "idle"


def test_reading_the_states_writes_nothing_in_a_bounded_number_of_queries(
    say: Say, write: Write, api: Api, reader: User, tree: Tree
) -> None:
    a = write("One.")
    few = _text(say, f'[{a}] doc:"a" @[supports -> {a}]')
    names = " ".join(f'[a1b{n}] doc:"t{n}" @[supports -> a1b{n}] @[uses -> {a}]' for n in range(9))
    many = _text(say, f"[{a}] {names}")
    before = (Event.objects.count(), Step.objects.count(), Workspace.objects.count())
    counts = []
    for text in (few, few, many):
        tokens = TokensOf(api(reader), text, tree)
        with CaptureQueriesContext(connection) as queries:
            tokens.states()
        counts.append(len(queries))
    assert counts[1] == counts[2]
    assert before == (Event.objects.count(), Step.objects.count(), Workspace.objects.count())
