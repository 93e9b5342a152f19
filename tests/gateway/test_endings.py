"""How the answer to a request ends: once, whoever ends it, and whatever has changed meanwhile."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone

from agents.gateway import recording
from agents.gateway.keys import make_key
from agents.gateway.models import GatewayRequest, GatewaySession
from agents.gateway.server import handle
from loom.access import Actor
from loom.engine import put_aside, streams
from loom.engine.models import Event, PutAside
from loom.money.models import DailySpending
from loom.people.models import Membership, Participant
from loom.trees.commands import trees
from loom.trees.models import Node
from loom.turns.generation_lifecycle import Received
from loom.turns.models import Generation
from tests.gateway.conftest import Program, run, shape_of
from tests.patience import PATIENCE_S
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says
from tests.two_groves import TwoGroves

pytestmark = pytest.mark.django_db(transaction=True)

CAME = b'data: {"choices":[{"index":0,"delta":{"content":"Kept "}}]}\n\n'
STREAM = Received(body=CAME, headers={"content-type": "text/event-stream"})


@pytest.fixture
def unfinished(
    program: Program, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> GatewayRequest:
    """A request of whose answer a part has come when its process stopped, a while ago."""
    return _left(program, provider, monkeypatch)


def _left(
    program: Program, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch, text: str = "Go"
) -> GatewayRequest:
    provider.script(says("Kept ", "words"))
    with monkeypatch.context() as patch:
        patch.setattr(recording, "end", lambda *_, **__: [])
        run(program.chat(("user", text), stream=True))
    request = GatewayRequest.objects.latest("pk")
    recording.keep_alive(request, CAME, "Kept ", 1)
    GatewayRequest.objects.update(alive_at=timezone.now() - 2 * recording.ALIVE)
    return request


def _answers() -> list[tuple[str, str]]:
    nodes = Node.objects.filter(call_uid__gt="").order_by("pk")
    return list(nodes.values_list("text", "finish"))


def test_an_answer_is_kept_though_its_person_may_no_longer_write(
    unfinished: GatewayRequest, actor: Actor
) -> None:
    Membership.objects.filter(user=actor.user).update(role="reader")
    assert recording.sweep() == 1
    assert _answers() == [("Kept ", "interrupted:the server stopped")]
    assert not Generation.objects.filter(ended_at__isnull=True).exists()


def test_an_answer_is_kept_though_its_person_has_left_and_is_paid_by_them(
    provider: ScriptedProvider, two_groves: TwoGroves, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = two_groves
    agent = Participant.objects.get(pk=two.agent(two.left, name="Owl").pk)
    agent.base_url, agent.model_ref = provider.url, "openai:echo-1"
    agent.prices = {"input": 1000.0, "output": 2000.0}
    agent.save()
    program = Program(make_key(two.both, agent.uid, name="program")[1])
    _left(program, provider, monkeypatch)
    two.left.grove.memberships.filter(user=two.both).delete()
    assert recording.sweep() == 1
    assert _answers() == [("Kept ", "interrupted:the server stopped")]
    [spent] = DailySpending.objects.filter(spent__gt=0)
    assert spent.participant.user == two.both and spent.participant.grove == two.left.grove


def test_one_that_cannot_be_ended_stops_no_other_and_is_put_aside(
    program: Program, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = _left(program, provider, monkeypatch, "One")
    _left(program, provider, monkeypatch, "Two")
    record = recording._record_answer

    def broken(request: GatewayRequest, answer: recording.AnswerToRecord) -> list[Node]:
        if request.pk == first.pk:
            raise ValueError("no")
        return record(request, answer)

    monkeypatch.setattr(recording, "_record_answer", broken)
    assert [recording.sweep() for _ in range(put_aside.MOST_TRIES + 2)][:2] == [1, 0]
    [aside] = put_aside.everywhere()
    assert (aside.uid, aside.reason, aside.tries) == (first.uid, "ValueError: no", 3)
    assert aside.grove == first.session.tree.grove
    monkeypatch.undo()
    assert put_aside.again(PutAside.objects.all(), aside.kind, aside.uid)
    assert recording.sweep() == 1
    assert len(_answers()) == 2


def test_what_an_operator_drops_has_ended_without_an_answer(unfinished: GatewayRequest) -> None:
    for _ in range(put_aside.MOST_TRIES):
        put_aside.failed(recording.ASIDE, unfinished.uid, ValueError("no"))
    assert recording.sweep() == 0
    assert put_aside.drop(PutAside.objects.all(), recording.ASIDE, unfinished.uid)
    unfinished.refresh_from_db()
    assert unfinished.ended_at is not None and not _answers()
    assert not Generation.objects.filter(ended_at__isnull=True).exists()
    assert Event.objects.filter(kind="generation.ended").count() == 1


def test_two_that_end_one_request_at_once_record_and_count_it_once(
    unfinished: GatewayRequest, model: Participant, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.prices = {"input": 1000.0, "output": 2000.0}
    model.save()
    both_read, read = threading.Barrier(2), recording._answer_to

    def slow(*given: Any) -> recording.AnswerToRecord:
        answer = read(*given)
        both_read.wait(PATIENCE_S)
        return answer

    def end() -> None:
        recording.end(unfinished.pk, STREAM, cut="the server stopped")
        connections.close_all()

    monkeypatch.setattr(recording, "_answer_to", slow)
    threads = [threading.Thread(target=end) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    monkeypatch.undo()
    assert len(_answers()) == 1
    once = DailySpending.objects.get(spent__gt=0).spent
    recording.end(unfinished.pk, STREAM)
    assert DailySpending.objects.get(spent__gt=0).spent == once
    assert Event.objects.filter(kind="call.sealed").count() == 1


def test_a_tree_that_is_archived_keeps_what_has_come_and_nothing_after_it(
    unfinished: GatewayRequest, actor: Actor
) -> None:
    tree = unfinished.session.tree
    trees.change_tree(actor, tree, {"archived": True})
    assert _answers() == [("Kept ", "interrupted:the tree was archived")]
    head = streams.head(streams.name_of(tree))
    assert recording.end(unfinished.pk, STREAM) == []
    assert len(_answers()) == 1 and streams.head(streams.name_of(tree)) == head
    assert Event.objects.get(kind="tree.changed", stream__name=streams.name_of(tree)).seq == head


@pytest.mark.parametrize("name", ["", "named"])
def test_an_answer_that_another_process_still_records_is_not_recorded_again(
    program: Program, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """As with two web processes, of which each gets every other message of a quick program."""
    provider.script(says("Good ", "day."), says("Fine."))
    headers = {"x_loom_session": name} if name else {}
    later: list[Callable[[], object]] = []
    end = recording.end

    def deferred(*given: Any, **named: Any) -> list[Node]:
        later.append(partial(end, *given, **named))
        return []

    with monkeypatch.context() as patch:
        patch.setattr(recording, "end", deferred)
        run(program.chat(("user", "Hello"), stream=True, headers=headers))

    def other_process() -> None:
        later.pop()()
        connections.close_all()

    other = threading.Timer(0.3, other_process)
    other.start()
    talk = ("user", "Hello"), ("assistant", "Good day."), ("user", "And you?")
    run(program.chat(*talk, stream=True, headers=headers))
    other.join()
    session = GatewaySession.objects.get()
    assert shape_of(session) == {"Hello": {"Good day.": {"And you?": {"Fine.": {}}}}}
    assert Node.objects.get(text="Good day.").call_uid


@pytest.mark.parametrize("path", ["/chat/completions", "/messages", "/responses", "/embeddings"])
@pytest.mark.parametrize("raw", [b"", b" \r\n"])
def test_an_empty_body_is_refused(
    program: Program, provider: ScriptedProvider, path: str, raw: bytes
) -> None:
    answer = run(program.send("POST", path, raw))
    assert answer.status == 400 and "is empty" in str(answer.json)
    assert provider.seen == []


def test_half_a_request_is_sent_to_nobody(program: Program, provider: ScriptedProvider) -> None:
    pieces: list[dict[str, Any]] = [
        {"type": "http.request", "body": b'{"model":"echo-1",', "more_body": True},
        {"type": "http.disconnect"},
    ]
    answers: list[Any] = []

    async def receive() -> dict[str, Any]:
        return pieces.pop(0)

    async def send(message: Any) -> None:
        answers.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/gateway/v1/chat/completions",
        "query_string": b"",
        "headers": [(b"authorization", f"Bearer {program.secret}".encode())],
    }
    run(handle(scope, receive, send))
    assert (provider.seen, answers) == ([], [])
