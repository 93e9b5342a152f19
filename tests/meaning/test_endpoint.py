"""An endpoint of a provider as a grove's embedder: asked, paid, stopped, refused; never needed."""

import json
from collections.abc import Callable, Iterator

import pytest
from django.core.cache import cache
from django.db import transaction
from django.test import Client
from pytest_django import Settings
from rest_framework.test import APIClient

from loom.access import Actor, get_actor
from loom.embedding.embedders import EmbedderFailed, embedded, embedder_of
from loom.engine import backoff
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.engine.models import Event
from loom.errors import CommandError
from loom.meaning import embedder_settings, indexing, tasks
from loom.meaning.embedder_settings import NewEmbedder, remove_embedder, set_embedder
from loom.meaning.endpoint_embedder import vectors_in
from loom.meaning.index_progress import progress_of
from loom.meaning.models import EmbedderSettings, TextVector, VectorBlock, VectorState
from loom.meaning.skimming import grid_of
from loom.money.days import today
from loom.money.models import DailySpending, OtherSpending
from loom.people.models import Grove, Membership, User
from loom.trees.models import Node, Tree
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import Script
from tests.queries.growing import chain
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db(transaction=True)
KEY = "key-of-the-endpoint-1234"


def vectors(*rows: list[float], tokens: int = 10) -> Script:
    """An answer of an endpoint, its vectors in reverse: the index says which is which."""
    data = [{"index": at, "embedding": row} for at, row in enumerate(rows)][::-1]
    return Script(body=json.dumps({"data": data, "usage": {"total_tokens": tokens}}).encode())


@pytest.fixture(autouse=True)
def forgotten() -> None:
    """No pause and no question of another test."""
    cache.clear()


@pytest.fixture
def provider(settings: Settings) -> Iterator[ScriptedProvider]:
    """An endpoint over real HTTP that answers as scripted; its address is allowed."""
    with ScriptedProvider() as scripted:
        settings.PROVIDER_ALLOW = (scripted.entry,)
        yield scripted


@pytest.fixture
def serve(actor: Actor, provider: ScriptedProvider) -> Callable[..., EmbedderSettings]:
    """Makes the scripted provider the embedder of the grove."""

    def set_it(**more: object) -> EmbedderSettings:
        given = {"model": "small", "base_url": provider.url, "api_key": KEY, **more}
        return set_embedder(actor, NewEmbedder(**given))

    return set_it


Serve = Callable[..., EmbedderSettings]


def spent(actor: Actor) -> int:
    rows = DailySpending.objects.filter(participant=actor.participant, day=today())
    return sum(rows.values_list("spent", flat=True))


def test_texts_are_sent_once_and_found_by_the_vectors_of_the_endpoint(
    actor: Actor, tree: Tree, provider: ScriptedProvider, serve: Serve
) -> None:
    near, far = chain(tree, actor.participant, "The lamp is lit.", "Bread and salt.")
    serve(price_usd=0.02)
    provider.script(vectors([3, 0, 0], [0, 1, 0], tokens=500_000))
    assert indexing.index_tree(tree.uid) == 2
    (seen,) = provider.seen
    assert seen.path == "/v1/embeddings"
    assert seen.json == {"model": "small", "input": ["The lamp is lit.", "Bread and salt."]}
    assert f"Bearer {KEY}".encode() in seen.head
    assert spent(actor) == 10_000_000  # half a million tokens at two cents a million
    row = EmbedderSettings.objects.get()
    assert (row.tokens, row.spent, row.dimensions) == (500_000, 10_000_000, 3)
    counted = OtherSpending.objects.get()
    assert (counted.purpose, counted.tokens_in, counted.spent) == ("vectors", 500_000, 10_000_000)
    provider.script(vectors([0.9, 0.1, 0], tokens=4))
    line = 'find "who lights it" by:meaning max:1'
    assert near.local_id in execute_line(actor, tree, Request(line)).reply
    # The question is kept: nobody pays for it twice.
    assert near.local_id in execute_line(actor, tree, Request(line)).reply
    assert len(provider.seen) == 2 and KEY not in str(Event.objects.values_list("payload"))
    assert far.local_id not in execute_line(actor, tree, Request(line)).reply


def test_a_line_with_a_key_asks_before_its_locks(
    actor: Actor, tree: Tree, provider: ScriptedProvider, serve: Serve
) -> None:
    (near,) = chain(tree, actor.participant, "The lamp is lit.")
    serve()
    provider.script(vectors([1, 0]), vectors([1, 0]))
    indexing.index_tree(tree.uid)
    line = Request('find "who lights it" by:meaning', key="once")
    assert near.local_id in execute_line(actor, tree, line).reply
    assert len(provider.seen) == 2
    with transaction.atomic(), pytest.raises(CommandError) as refused:
        execute_line(actor, tree, Request('find "something else" by:meaning'))
    assert refused.value.code == "UNAVAILABLE" and len(provider.seen) == 2


def test_a_word_alone_is_asked_for_before_the_locks_too(
    actor: Actor, tree: Tree, provider: ScriptedProvider, serve: Serve
) -> None:
    (near,) = chain(tree, actor.participant, "The lamp is lit.")
    serve()
    provider.script(vectors([1, 0]), vectors([1, 0]))
    indexing.index_tree(tree.uid)
    line = Request('find "lamp" by:words', key="a")
    assert near.local_id in execute_line(actor, tree, line).reply
    assert len(provider.seen) == 1  # it is asked only for what is looked for by its meaning
    line = Request('find "light" by:meaning', key="b")
    assert near.local_id in execute_line(actor, tree, line).reply
    assert len(provider.seen) == 2


@pytest.mark.usefixtures("broker_away")
def test_an_endpoint_is_asked_and_changed_while_the_broker_is_away(
    actor: Actor, tree: Tree, provider: ScriptedProvider, serve: Serve, client: Client
) -> None:
    (near,) = chain(tree, actor.participant, "The lamp is lit.")
    serve()
    provider.script(vectors([1, 0]), vectors([1, 0]))
    assert indexing.index_tree(tree.uid) == 1
    assert near.local_id in execute_line(actor, tree, Request('find "light" by:meaning')).reply
    embedder_settings.stop_indexing(actor)
    embedder_settings.resume_indexing(actor)
    client.force_login(actor.user)
    assert client.get(f"/groves/{tree.grove.uid}/embedder").status_code == 200
    provider.script(Script(status=401, body=b"{}"))
    with pytest.raises(CommandError) as refused:
        execute_line(actor, tree, Request('find "dark" by:meaning'))
    assert refused.value.code == "UNAVAILABLE" and "key" in refused.value.message


def test_words_are_found_while_the_endpoint_is_away(
    actor: Actor, tree: Tree, provider: ScriptedProvider, serve: Serve
) -> None:
    (node,) = chain(tree, actor.participant, "The lamp is lit.")
    serve(price_usd=1)
    body = json.dumps({"error": {"message": f"wrong key {KEY}"}}).encode()
    provider.script(Script(status=401, body=body))
    with pytest.raises(indexing.NotIndexed):
        indexing.index_tree(tree.uid)
    state = VectorState.objects.get()
    assert "refused the key" in state.error and KEY not in state.error
    assert spent(actor) == 0 and backoff.pause(embedder_of(tree.grove).name)[0] > 0  # type: ignore[union-attr]
    reply = execute_line(actor, tree, Request('find "lamp is"')).reply
    assert node.local_id in reply and len(provider.seen) == 1  # it pauses
    known = progress_of(actor)
    assert (known.indexed, known.trees) == (0, 1) and "refused the key" in known.pause
    grid_of(actor, node, None)  # nothing else depends on it


def test_it_stops_at_the_limit_of_the_day(
    actor: Actor, grove: Grove, tree: Tree, provider: ScriptedProvider, serve: Serve
) -> None:
    grove.settings = {**grove.settings, "daily_budget_usd": 0.001}
    grove.save()
    chain(tree, actor.participant, "word " * 400)
    serve(price_usd=1000)
    with pytest.raises(indexing.NotIndexed, match="limit"):
        indexing.index_tree(tree.uid)
    assert provider.seen == [] and spent(actor) == 0


def test_an_owner_stops_and_goes_on_from_there(
    actor: Actor, tree: Tree, provider: ScriptedProvider, serve: Serve
) -> None:
    chain(tree, actor.participant, "One thing.", "Another thing.")
    serve()
    embedder_settings.stop_indexing(actor)
    assert indexing.index_tree(tree.uid) is None and provider.seen == []
    assert tasks.want_indexes() == 0
    embedder_settings.resume_indexing(actor)
    provider.script(vectors([1, 0], [0, 1]))
    assert indexing.index_tree(tree.uid) == 2
    assert progress_of(actor).indexed == 1 and progress_of(actor).texts == 2


def test_texts_that_models_are_not_sent_are_not_sent_to_it_either(
    actor: Actor, tree: Tree, provider: ScriptedProvider, serve: Serve
) -> None:
    _, secret = chain(tree, actor.participant, "One thing.", "A secret.")
    execute_line(actor, tree, Request(f"exclude {secret.local_id}"))
    serve()
    provider.script(vectors([1, 0]))
    assert indexing.index_tree(tree.uid) == 1
    assert provider.seen[0].json["input"] == ["One thing."]
    assert indexing.index_tree(tree.uid) == 0


def test_back_to_the_embedded_one_and_to_the_endpoint_again(
    actor: Actor, tree: Tree, provider: ScriptedProvider, serve: Serve
) -> None:
    chain(tree, actor.participant, "One thing.", "Another thing.")
    serve()
    provider.script(vectors([1, 0], [0, 1]))
    indexing.index_tree(tree.uid)
    row = remove_embedder(actor)
    assert (row.model, row.sealed_key) == ("", "") and embedder_of(tree.grove) is embedded()
    assert tree.uid in indexing.waiting()
    assert indexing.index_tree(tree.uid) == 2
    assert set(TextVector.objects.values_list("embedder", flat=True)) == {"wordllama-256"}
    serve()
    provider.script(vectors([1, 0, 0], [0, 1, 0]))
    assert indexing.index_tree(tree.uid) == 2
    assert VectorBlock.objects.count() == 1 and VectorBlock.objects.get().count == 2


def test_vectors_of_another_length_are_refused(
    actor: Actor, tree: Tree, provider: ScriptedProvider, serve: Serve
) -> None:
    chain(tree, actor.participant, "One thing.")
    serve()
    provider.script(vectors([1, 0]))
    indexing.index_tree(tree.uid)
    chain(tree, actor.participant, "A later thing.")
    provider.script(vectors([1, 0, 0]))
    with pytest.raises(indexing.NotIndexed, match="another length"):
        indexing.index_tree(tree.uid)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {"data": "x"},
        {"data": [{"embedding": [1, 2]}]},
        {"data": [{"embedding": [1, 2]}, {"embedding": [1]}]},
        {"data": [{"embedding": [1, "2"]}, {"embedding": [1, 2]}]},
        {"data": [{"embedding": [1, float("nan")]}, {"embedding": [1, 2]}]},
        {"data": [{"embedding": [1, 10**400]}, {"embedding": [1, 2]}]},
        {"data": [{"embedding": []}, {"embedding": []}]},
    ],
)
def test_answers_that_are_no_vectors_are_refused(answer: object) -> None:
    with pytest.raises(EmbedderFailed):
        vectors_in(answer, 2)


def test_drafts_that_are_skimmed_are_not_sent_to_it(
    actor: Actor, tree: Tree, provider: ScriptedProvider, serve: Serve
) -> None:
    (point,) = chain(tree, actor.participant, "And then?")
    for text in ("One way to go on.", "One way to go on!", "Quite another way."):
        execute_line(actor, tree, Request(f'respond {point.local_id} "{text}"'))
    serve()
    grid = grid_of(actor, Node.objects.get(pk=point.pk), None)
    assert len(grid.cells) == 2 and provider.seen == []


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"model": " "}, "INVALID_SYNTAX"),
        ({"base_url": ""}, "INVALID_SYNTAX"),
        ({"base_url": "http://10.0.0.8/v1"}, "REJECTED"),
        ({"base_url": "http://169.254.169.254/v1", "allow_private": True}, "REJECTED"),
        ({"price_usd": -1}, "INVALID_SYNTAX"),
    ],
)
def test_what_cannot_be_an_endpoint_is_refused(
    serve: Serve, change: dict[str, object], code: str
) -> None:
    with pytest.raises(CommandError) as refused:
        serve(**change)
    assert refused.value.code == code and refused.value.hint
    assert not EmbedderSettings.objects.exists()


def test_the_page_shows_progress_and_owners_change_it(
    owner: User, writer: User, actor: Actor, grove: Grove, tree: Tree, provider: ScriptedProvider
) -> None:
    chain(tree, actor.participant, "One thing.")
    client = Client()
    client.force_login(owner)
    at = f"/groves/{grove.uid}/embedder"
    assert f'href="{at}"' in client.get(f"/groves/{grove.uid}/settings").content.decode()
    page = client.get(at).content.decode()
    assert "0 of 1 trees are ready" in page and tree.title in page
    form = {"model": "small", "base_url": provider.url, "api_key": KEY, "price": "0.02"}
    assert client.post(at, form).status_code == 302
    row = EmbedderSettings.objects.get()
    assert (row.model, row.price) == ("small", 20_000_000) and KEY not in row.sealed_key
    page = client.get(at).content.decode()
    assert "a key is stored" in page and KEY not in page
    refused = client.post(at, {**form, "base_url": "http://10.0.0.8/v1"})
    assert refused.status_code == 409 and "10.0.0.8" in refused.content.decode()
    client.post(at, {"stop": "1"})
    assert "Stopped." in client.get(at, headers={"hx-request": "true"}).content.decode()
    client.post(at, {"again": "1"})
    client.post(at, {"remove": "1"})
    row.refresh_from_db()
    assert (row.model, row.is_stopped) == ("", False)
    client.force_login(writer)
    assert 'name="model"' not in client.get(at).content.decode()
    assert client.post(at, {"stop": "1"}).status_code == 403
    assert not get_actor(writer, grove).is_owner


def test_its_settings_stay_in_their_grove(
    two_groves: TwoGroves, provider: ScriptedProvider
) -> None:
    there = two_groves.right
    owner = Membership.objects.get(participant__grove=there.grove, role="owner").user
    set_embedder(
        get_actor(owner, there.grove),
        NewEmbedder(model="small", base_url=provider.url, api_key=KEY),
    )
    assert embedder_of(two_groves.left.grove) is embedded()
    at = f"/api/groves/{there.grove.uid}/embedder"
    for user, status in ((two_groves.only_left, 404), (two_groves.nobody, 404)):
        client: APIClient = two_groves.client(user)
        assert client.get(at).status_code == client.delete(at).status_code == status
    client = two_groves.client(owner)
    body = client.get(at).json()
    assert (body["model"], body["has_key"]) == ("small", True) and KEY not in str(body)
    assert client.patch(at, {"is_stopped": True}, format="json").json()["is_stopped"] is True
