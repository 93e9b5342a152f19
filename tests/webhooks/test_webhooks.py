"""Events reach a webhook once each and in order, signed; failures are repeated."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings
from rest_framework.test import APIClient

from agents.webhooks import commands, delivery, signing
from agents.webhooks.models import Webhook
from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.people.models import User
from loom.trees.models import Tree
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import Script, fails, redirects

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def receiver(settings: Settings) -> Iterator[ScriptedProvider]:
    """An address that accepts what it is sent, unless a script says otherwise."""
    with ScriptedProvider(default=Script(body=b"ok")) as scripted:
        settings.PROVIDER_ALLOW = (scripted.entry,)
        yield scripted


@pytest.fixture
def hook(receiver: ScriptedProvider, actor: Actor, tree: Tree) -> tuple[Webhook, str]:
    """A webhook for the events of the tree, and its secret."""
    return commands.make_webhook(
        actor.user, actor.grove.uid, url=f"{receiver.url}/hook", tree=tree.uid
    )


def say(actor: Actor, tree: Tree, line: str) -> None:
    """Runs a line."""
    execute_line(actor, tree, Request(line))


def got(receiver: ScriptedProvider) -> list[dict[str, Any]]:
    """The events that arrived."""
    return [request.json["data"] for request in receiver.seen]


def sweep() -> int:
    """Sends what waits, as the worker does in two threads; returns how many were accepted."""
    return delivery.sweep(failing=False) + delivery.sweep(failing=True)


def due(hook: Webhook) -> None:
    """The next try is due now."""
    Webhook.objects.filter(pk=hook.pk).update(due_at=None)


def test_events_arrive_once_and_in_order_with_their_signature(
    receiver: ScriptedProvider, hook: tuple[Webhook, str], actor: Actor, tree: Tree
) -> None:
    for text in ("one", "two", "three"):
        say(actor, tree, f'respond root "{text}"')
    assert sweep() == 3 and sweep() == 0
    assert [event["payload"]["node"]["text"] for event in got(receiver)] == ["one", "two", "three"]
    for seen in receiver.seen:
        headers = dict(seen.headers)
        content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + seen.body
        key = base64.b64decode(hook[1].removeprefix("whsec_"))
        signed = base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
        assert headers["webhook-signature"] == f"v1,{signed}"
    assert len({dict(request.headers)["webhook-id"] for request in receiver.seen}) == 3


def test_a_failed_event_is_repeated_before_any_later_one(
    receiver: ScriptedProvider, hook: tuple[Webhook, str], actor: Actor, tree: Tree
) -> None:
    say(actor, tree, 'respond root "one"')
    say(actor, tree, 'respond root "two"')
    receiver.script(fails(500), fails(503))
    assert sweep() == 0
    row = Webhook.objects.get()
    assert row.tries == 1 and row.due_at is not None and "500" in row.error
    assert sweep() == 0 and len(receiver.seen) == 1  # it is not due yet
    due(row)
    assert sweep() == 0
    due(row)
    assert sweep() == 2
    texts = [event["payload"]["node"]["text"] for event in got(receiver)]
    assert texts == ["one", "one", "one", "two"]
    assert len({dict(request.headers)["webhook-id"] for request in receiver.seen[:3]}) == 1
    row.refresh_from_db()
    assert row.tries == 0 and row.error == "" and row.delivered_at is not None


def test_only_the_chosen_kinds_are_sent(
    receiver: ScriptedProvider, hook: tuple[Webhook, str], actor: Actor, tree: Tree
) -> None:
    commands.change_webhook(actor.user, hook[0].uid, kinds=["node.flagged"])
    say(actor, tree, 'respond root "one"')
    say(actor, tree, "prune here")
    sweep()
    assert [event["kind"] for event in got(receiver)] == ["node.flagged"]


def test_a_new_secret_signs_beside_the_former_one_for_a_day(
    receiver: ScriptedProvider, hook: tuple[Webhook, str], actor: Actor, tree: Tree
) -> None:
    commands.rotate_secret(actor.user, hook[0].uid)
    say(actor, tree, 'respond root "one"')
    sweep()
    assert dict(receiver.seen[0].headers)["webhook-signature"].count("v1,") == 2
    Webhook.objects.update(former_until=timezone.now() - timedelta(seconds=1))
    say(actor, tree, 'respond root "two"')
    sweep()
    assert dict(receiver.seen[1].headers)["webhook-signature"].count("v1,") == 1


def test_redirects_are_not_followed(
    receiver: ScriptedProvider, hook: tuple[Webhook, str], actor: Actor, tree: Tree
) -> None:
    receiver.script(redirects("http://127.0.0.1:1/"))
    say(actor, tree, 'respond root "one"')
    assert sweep() == 0 and "302" in Webhook.objects.get().error
    assert len(receiver.seen) == 1


@pytest.mark.parametrize("allow", [(), ("10.1.2.3:8000",)])
@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9/",
        "https://127.0.0.1:9/",
        "http://example.com/",
        "https://user:pw@example.com/",
        "ftp://a/",
        "https://",
        "x",
    ],
)
def test_addresses_are_checked(
    actor: Actor, url: str, allow: tuple[str, ...], settings: Settings
) -> None:
    settings.PROVIDER_ALLOW = allow
    with pytest.raises(CommandError):
        commands.make_webhook(actor.user, actor.grove.uid, url=url)
    assert commands.demand_url("https://example.com/hook?key=1")


def test_an_address_ends_before_what_is_for_browsers(
    receiver: ScriptedProvider, actor: Actor
) -> None:
    with pytest.raises(CommandError) as refused:
        commands.make_webhook(actor.user, actor.grove.uid, url=f"{receiver.url}/hook?#top")
    assert refused.value.code == "INVALID_SYNTAX"


def test_kinds_are_those_of_the_events_that_are_sent(actor: Actor, tree: Tree) -> None:
    url, grove = "https://example.com/hook", actor.grove.uid
    for kind, of, hint in (
        ("node.bogus", tree.uid, "node.added"),
        ("Node.added", tree.uid, "link.added"),
        ("nonsense", "", "member.added"),
        ("node.added", "", "member.added"),
    ):
        with pytest.raises(CommandError) as refused:
            commands.make_webhook(actor.user, grove, url=url, tree=of, kinds=[kind])
        assert refused.value.code == "INVALID_SYNTAX"
        assert kind in refused.value.message and hint in refused.value.hint
    webhook, _ = commands.make_webhook(actor.user, grove, url=url, kinds=["member.added"])
    with pytest.raises(CommandError):
        commands.change_webhook(actor.user, webhook.uid, kinds=["member.bogus"])


def test_a_private_address_behind_https_is_not_called(
    hook: tuple[Webhook, str],
    receiver: ScriptedProvider,
    actor: Actor,
    tree: Tree,
    settings: Settings,
) -> None:
    settings.PROVIDER_ALLOW = (receiver.entry, "127.0.0.1:9")
    webhook, _ = commands.make_webhook(
        actor.user, actor.grove.uid, url="https://127.0.0.1:9/", tree=tree.uid
    )
    settings.PROVIDER_ALLOW = (receiver.entry,)
    say(actor, tree, 'respond root "one"')
    sweep()
    webhook.refresh_from_db()
    assert webhook.tries == 1 and webhook.error


def test_410_stops_it_and_days_of_failing_do_too(
    receiver: ScriptedProvider, hook: tuple[Webhook, str], actor: Actor, tree: Tree
) -> None:
    receiver.script(fails(410), fails(500))
    say(actor, tree, 'respond root "one"')
    sweep()
    assert Webhook.objects.get().stopped_at is not None
    commands.change_webhook(actor.user, hook[0].uid, is_stopped=False)
    Webhook.objects.update(failing_since=timezone.now() - timedelta(days=6), tries=20)
    sweep()
    assert Webhook.objects.get().stopped_at is not None


def test_days_without_a_try_do_not_stop_it(
    receiver: ScriptedProvider, hook: tuple[Webhook, str], actor: Actor, tree: Tree
) -> None:
    receiver.script(fails(500), fails(500))
    say(actor, tree, 'respond root "one"')
    sweep()
    days_ago = timezone.now() - timedelta(days=6)
    Webhook.objects.update(failing_since=days_ago, due_at=days_ago)
    sweep()
    webhook = Webhook.objects.get()
    assert webhook.stopped_at is None and webhook.tries == 2
    Webhook.objects.update(due_at=days_ago)
    sweep()
    assert Webhook.objects.get().tries == 0


def test_a_clock_that_was_ahead_holds_nothing_up(
    receiver: ScriptedProvider, hook: tuple[Webhook, str], actor: Actor, tree: Tree
) -> None:
    say(actor, tree, 'respond root "one"')
    ahead = timezone.now() + timedelta(days=3)
    Webhook.objects.update(tries=1, due_at=ahead, lease_until=ahead, failing_since=ahead)
    sweep()
    assert len(receiver.seen) == 1 and Webhook.objects.get().tries == 0


def test_it_stops_when_its_maker_no_longer_owns_the_grove(
    receiver: ScriptedProvider, hook: tuple[Webhook, str], actor: Actor, tree: Tree
) -> None:
    say(actor, tree, 'respond root "one"')
    actor.grove.memberships.filter(user=actor.user).update(role="writer")
    sweep()
    assert receiver.seen == [] and Webhook.objects.get().stopped_at is not None


def test_two_workers_do_not_send_to_one_webhook_at_once(
    receiver: ScriptedProvider, hook: tuple[Webhook, str], actor: Actor, tree: Tree
) -> None:
    say(actor, tree, 'respond root "one"')
    Webhook.objects.update(lease_until=timezone.now() + timedelta(seconds=30))
    assert sweep() == 0
    Webhook.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert sweep() == 1


def test_receivers_that_fail_do_not_hold_up_the_others(
    receiver: ScriptedProvider, hook: tuple[Webhook, str], actor: Actor, tree: Tree
) -> None:
    make = {"url": f"{receiver.url}/dead", "tree": tree.uid}
    dead, _ = commands.make_webhook(actor.user, actor.grove.uid, **make)
    Webhook.objects.filter(pk=dead.pk).update(tries=3)
    say(actor, tree, 'respond root "one"')
    assert delivery._behind(failing=False) == [hook[0].pk]
    assert delivery._behind(failing=True) == [dead.pk]
    # Nor does somebody who lets one go on at once.
    commands.change_webhook(actor.user, dead.uid, is_stopped=False)
    assert delivery._behind(failing=True) == [dead.pk]
    assert delivery.sweep(failing=True) and delivery._behind(failing=True) == []
    assert Webhook.objects.get(pk=dead.pk).tries == 0


def test_one_that_cannot_be_served_does_not_hold_up_those_behind_it(
    receiver: ScriptedProvider,
    hook: tuple[Webhook, str],
    actor: Actor,
    tree: Tree,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make = {"url": f"{receiver.url}/second", "tree": tree.uid}
    commands.make_webhook(actor.user, actor.grove.uid, **make)
    say(actor, tree, 'respond root "one"')
    serve = delivery._serve

    def refusing(key: int) -> int:
        if key == hook[0].pk:
            raise RuntimeError("it cannot be read")
        return serve(key)

    monkeypatch.setattr(delivery, "_serve", refusing)
    assert delivery.sweep(failing=False) == 1
    assert [request.path for request in receiver.seen] == ["/v1/second"]


def test_idle_webhooks_leave_room_for_those_that_have_something_to_send(
    receiver: ScriptedProvider,
    hook: tuple[Webhook, str],
    actor: Actor,
    tree: Tree,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    commands.make_webhook(actor.user, actor.grove.uid, url=f"{receiver.url}/grove")
    for number in (1, 2):
        make = {"url": f"{receiver.url}/tree{number}", "tree": tree.uid}
        commands.make_webhook(actor.user, actor.grove.uid, **make)
    sweep()
    receiver.seen.clear()
    monkeypatch.setattr(delivery, "AT_ONCE", 1)
    say(actor, tree, 'respond root "one"')
    for _ in range(3):
        sweep()
    asked = [request.path.removeprefix("/v1") for request in receiver.seen]
    assert sorted(asked) == ["/hook", "/tree1", "/tree2"]


def test_what_another_worker_sent_meanwhile_is_not_sent_again(
    receiver: ScriptedProvider,
    hook: tuple[Webhook, str],
    actor: Actor,
    tree: Tree,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    say(actor, tree, 'respond root "one"')
    behind = delivery._behind(failing=False)
    assert sweep() == 1
    monkeypatch.setattr(delivery, "_behind", lambda failing: [] if failing else behind)
    assert sweep() == 0
    assert len(receiver.seen) == 1


def test_one_that_is_stopped_in_the_middle_gets_nothing_more(
    receiver: ScriptedProvider,
    hook: tuple[Webhook, str],
    actor: Actor,
    tree: Tree,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    say(actor, tree, 'respond root "one"')
    say(actor, tree, 'respond root "two"')
    send = delivery._send

    def stopped_then_sent(webhook: Webhook, event: dict[str, Any]) -> Any:
        Webhook.objects.update(stopped_at=timezone.now())
        return send(webhook, event)

    monkeypatch.setattr(delivery, "_send", stopped_then_sent)
    assert sweep() == 1
    assert len(receiver.seen) == 1


def test_the_secret_is_shown_once(receiver: ScriptedProvider, actor: Actor, owner: User) -> None:
    client = APIClient()
    client.force_login(owner)
    address = f"/api/groves/{actor.grove.uid}/webhooks"
    body = client.post(address, {"url": f"{receiver.url}/a"}, format="json").json()
    assert body["secret"].startswith(signing.PREFIX)
    assert body["secret"] not in client.get(address).content.decode()
    assert body["secret"] not in json.dumps(list(Webhook.objects.values("sealed_secret")))


def test_pauses_grow_to_an_hour() -> None:
    pauses = [signing.pause_after(tries).total_seconds() for tries in (1, 2, 3, 11, 1000)]
    assert pauses == [5, 10, 20, 3600, 3600]
