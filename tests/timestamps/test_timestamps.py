"""Texts get time stamps by an authority outside: asked in the background, again after a failure,
or another one; a text is valid without."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from agents.timestamps import authorities, stamping, tasks
from agents.timestamps.models import StampProgress, TimeStamp
from config import env
from loom.access import Actor
from loom.engine import backoff, jobs
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.trees import erasing
from loom.trees.models import Node, Tree
from tests.queries.growing import add, chain, version
from tests.rows_read import work_done
from tests.timestamps.authority import Answer, Authority, AuthorityServer
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db(transaction=True)


def away(query: bytes) -> Answer:
    """An authority that is not there."""
    return 503, b"later"


@pytest.fixture
def authority(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[AuthorityServer]:
    """An authority that is asked, and trusted, also for texts that are a moment old."""
    cache.clear()
    monkeypatch.setattr(stamping, "SETTLED", timedelta(0))
    with AuthorityServer() as server:
        settings.TIMESTAMPS = (server.url,)
        settings.TIMESTAMP_ROOTS = server.authority.write_root(tmp_path / "root.pem")
        yield server


@pytest.fixture
def client(api: Callable[..., APIClient], actor: Actor) -> APIClient:
    """The API as the owner."""
    return api(actor.user)


def body(client: APIClient, node: Node) -> dict[str, object]:
    """What the API says of the time stamp of a text."""
    answer = client.get(f"/api/trees/{node.tree.uid}/nodes/{node.local_id}/timestamp")
    assert answer.status_code == 200, answer.content
    return dict(answer.json())


def test_nothing_is_asked_unless_the_operator_names_an_authority(
    actor: Actor, tree: Tree, client: APIClient, settings: Settings
) -> None:
    assert settings.TIMESTAMPS == () and tasks.want_stamps() == 0
    node = add(tree, actor.participant, "The house stood empty.", None)
    assert stamping.stamp_tree(tree.uid) is None
    assert body(client, node)["status"] == "none"
    assert client.get(f"/api/trees/{tree.uid}/verify").json()["status"] == "valid"


def test_one_stamp_speaks_for_a_conversation(
    actor: Actor, tree: Tree, client: APIClient, authority: AuthorityServer
) -> None:
    first, second, third = chain(tree, actor.participant, "One.", "Two.", "Three.")
    aside = add(tree, actor.participant, "Another.", first)
    assert body(client, third)["status"] == "waiting"
    assert stamping.stamp_tree(tree.uid) == 2
    assert authority.asked == [third.hash, aside.hash]
    for node, through in ((first, third), (second, third), (third, third), (aside, aside)):
        told = body(client, node)
        assert told["status"] == "stamped" and told["hash"] == through.hash
        assert (told["node"], told["through"]) == (node.local_id, through.local_id)
    assert stamping.stamp_tree(tree.uid) == 0 and authority.requests == 2


def test_an_edit_speaks_for_the_version_that_it_was_made_from(
    actor: Actor, tree: Tree, client: APIClient, authority: AuthorityServer
) -> None:
    node = add(tree, actor.participant, "The house stood empty.", None)
    edited = version(actor.participant, node, "The house was empty.")
    assert stamping.stamp_tree(tree.uid) == 1
    assert authority.asked == [edited.hash]
    assert body(client, node)["through"] == edited.local_id


def test_the_answer_can_be_checked_elsewhere(
    actor: Actor, tree: Tree, client: APIClient, authority: AuthorityServer
) -> None:
    node = add(tree, actor.participant, "The house stood empty.", None)
    address = f"/api/trees/{tree.uid}/nodes/{node.local_id}/timestamp/answer"
    assert client.get(address).status_code == 404
    stamping.stamp_tree(tree.uid)
    answer = client.get(address)
    assert answer["content-type"] == "application/timestamp-reply"
    assert answer["content-disposition"] == f'attachment; filename="{node.local_id}.tsr"'
    assert authorities.why_broken(answer.content, bytes.fromhex(node.hash)) == ""
    other = bytes.fromhex(node.parent_hash)
    assert "another hash" in authorities.why_broken(answer.content, other)


def test_the_next_authority_is_asked_if_one_fails(
    actor: Actor, tree: Tree, settings: Settings, authority: AuthorityServer
) -> None:
    node = add(tree, actor.participant, "The house stood empty.", None)
    with AuthorityServer() as first:
        settings.TIMESTAMPS = (first.url, authority.url)
        first.script(away)
        assert stamping.stamp_tree(tree.uid) == 1
        assert first.requests == 1 and authority.asked == [node.hash]
        add(tree, actor.participant, "She had not visited.", node)
        stamping.stamp_tree(tree.uid)
        assert first.requests == 1  # it pauses
    assert set(TimeStamp.objects.values_list("authority", flat=True)) == {authority.url}


def test_a_failure_is_told_and_repeated_after_a_pause(
    actor: Actor, tree: Tree, client: APIClient, authority: AuthorityServer
) -> None:
    node = add(tree, actor.participant, "The house stood empty.", None)
    authority.script(away)
    tasks.stamp_tree(tree.uid)
    assert body(client, node)["status"] == "waiting" and "503" in str(body(client, node)["reason"])
    assert client.get(f"/api/trees/{tree.uid}/verify").json()["status"] == "valid"
    tasks.stamp_tree(tree.uid)
    assert authority.requests == 1  # it pauses
    backoff.worked(f"timestamps:{authority.url}")
    tasks.stamp_tree(tree.uid)
    assert body(client, node)["status"] == "stamped"
    assert StampProgress.objects.get().error == ""


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("refusal", "Too many requests"),
        ("rubbish", "no time stamp"),
        ("other hash", "another hash"),
        ("old answer", "another request"),
        ("stranger", "no certificate that is trusted"),
        ("empty", "no time stamp"),
        ("yesterday", "another time than it is here"),
        ("tomorrow", "another time than it is here"),
    ],
)
def test_what_is_no_stamp_of_the_hash_is_not_kept(
    kind: str, reason: str, actor: Actor, tree: Tree, authority: AuthorityServer
) -> None:
    own, stranger = authority.authority, Authority()
    now = timezone.now().replace(microsecond=0)
    answers: dict[str, Callable[[bytes], bytes]] = {
        "refusal": lambda query: own.refusal(),
        "rubbish": lambda query: b"<html>welcome</html>",
        "other hash": lambda query: own.answer(query, digest=bytes(32)),
        "old answer": lambda query: own.answer(query, nonce=7),
        "stranger": stranger.answer,
        "empty": lambda query: b"",
        "yesterday": lambda query: own.answer(query, at=now - timedelta(days=1)),
        "tomorrow": lambda query: own.answer(query, at=now + timedelta(days=1)),
    }
    add(tree, actor.participant, "The house stood empty.", None)
    authority.script(lambda query: (200, answers[kind](query)))
    with pytest.raises(authorities.NotStamped, match=reason):
        stamping.stamp_tree(tree.uid)
    assert not TimeStamp.objects.exists()


def test_a_stamp_that_was_changed_is_called_broken(
    actor: Actor, tree: Tree, client: APIClient, authority: AuthorityServer
) -> None:
    node = add(tree, actor.participant, "The house stood empty.", None)
    stamping.stamp_tree(tree.uid)
    row = TimeStamp.objects.get()
    cut = bytes(row.answer)
    TimeStamp.objects.update(answer=cut[:-8] + bytes(8))
    assert body(client, node)["status"] == "broken" and body(client, node)["reason"]
    assert client.get(f"/api/trees/{tree.uid}/verify").json()["status"] == "valid"


def test_a_text_waits_for_what_may_be_built_upon_it(
    actor: Actor, tree: Tree, authority: AuthorityServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stamping, "SETTLED", timedelta(minutes=1))
    node = add(tree, actor.participant, "The house stood empty.", None)
    assert stamping.stamp_tree(tree.uid) is None and authority.requests == 0
    below = add(tree, actor.participant, "She had not visited.", node)
    monkeypatch.setattr(stamping, "SETTLED", timedelta(0))
    stamping.stamp_tree(tree.uid)
    assert authority.asked == [below.hash]


def test_what_was_there_before_is_not_stamped_by_itself(
    actor: Actor,
    tree: Tree,
    client: APIClient,
    authority: AuthorityServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old = add(tree, actor.participant, "The house stood empty.", None)
    monkeypatch.setattr(stamping, "BEFORE", timedelta(0))
    assert stamping.stamp_tree(tree.uid) == 0
    below = add(tree, actor.participant, "She had not visited.", old)
    assert stamping.stamp_tree(tree.uid) == 1 and authority.asked == [below.hash]
    assert body(client, old)["status"] == "none"


def test_the_sweeper_finds_trees_with_new_texts_and_takes_each_once(
    actor: Actor, tree: Tree, authority: AuthorityServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    monkeypatch.setattr(jobs, "_send", lambda task, args, queue: sent.append(args[0]))
    add(tree, actor.participant, "The house stood empty.", None)
    assert tasks.want_stamps() == 1 and tasks.want_stamps() == 0 and sent == [tree.uid]
    tasks.stamp_tree(tree.uid)
    assert tasks.want_stamps() == 0
    execute_line(actor, tree, Request('respond "She had not visited."'))
    assert tasks.want_stamps() == 1


def test_a_look_and_a_stamp_cost_the_same_in_a_large_tree(
    actor: Actor, tree: Tree, authority: AuthorityServer
) -> None:
    def one_more() -> None:
        add(tree, actor.participant, "She had not visited.", None)
        stamping.stamp_tree(tree.uid)

    one_more()
    with work_done() as small:
        one_more()
    chain(tree, actor.participant, *(f"Text {number}." for number in range(300)))
    stamping.stamp_tree(tree.uid)
    with work_done() as large:
        one_more()
    large.demand_no_more(small)


def test_members_of_the_grove_alone_see_stamps(
    two_groves: TwoGroves, authority: AuthorityServer
) -> None:
    side = two_groves.right
    stamping.stamp_tree(side.tree.uid)
    address = f"/api/trees/{side.tree.uid}/nodes/{side.text.local_id}/timestamp"
    for user, status in ((two_groves.only_right, 200), (two_groves.both, 200)):
        assert two_groves.client(user).get(address).status_code == status
        assert two_groves.client(user).get(f"{address}/answer").status_code == status
    for user in (two_groves.only_left, two_groves.nobody):
        assert two_groves.client(user).get(address).status_code == 404
        assert two_groves.client(user).get(f"{address}/answer").status_code == 404


def test_stamps_are_erased_with_their_tree(
    actor: Actor, tree: Tree, authority: AuthorityServer
) -> None:
    add(tree, actor.participant, "The house stood empty.", None)
    stamping.stamp_tree(tree.uid)
    assert TimeStamp.objects.count() == 1
    Tree.objects.filter(pk=tree.pk).update(erasing_at=timezone.now())
    erasing.erase_rows(tree.uid)
    assert not TimeStamp.objects.exists() and not StampProgress.objects.exists()


def test_the_page_tells_of_it(actor: Actor, tree: Tree, authority: AuthorityServer) -> None:
    signed_in = Client()
    signed_in.force_login(actor.user)
    node = add(tree, actor.participant, "The house stood empty.", None)
    address = f"/trees/{tree.uid}/nodes/{node.local_id}"
    assert f'hx-get="{address}/timestamp"' in signed_in.get(f"{address}/provenance").text
    assert "None yet" in signed_in.get(f"{address}/timestamp").text
    stamping.stamp_tree(tree.uid)
    part = signed_in.get(f"{address}/timestamp").text
    assert f"{TimeStamp.objects.get().at:%Y-%m-%d %H:%M:%S} UTC" in part
    assert node.hash in part and "signed that this text was there" in part
    assert f"/api{address}/timestamp/answer" in part


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("HEDDLE_TIMESTAMPS", "tsa.example.org", "no address of an authority"),
        ("HEDDLE_TIMESTAMPS", "https://a.example/tsr, ftp://b.example", "ftp://b.example"),
        ("HEDDLE_TIMESTAMP_ROOTS", "/nowhere/roots.pem", "can't be read"),
        ("HEDDLE_TIMESTAMP_ROOTS", __file__, "has no certificates"),
    ],
)
def test_a_wrong_setting_says_what_to_write(
    name: str, value: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(env.WrongSetting, match=why):
        env.read()
