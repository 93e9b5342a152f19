"""What of a program's message an agent reads as its request, and what as a text of the path."""

from typing import Any

import pytest

from agents.gateway.models import GatewaySession
from loom.people.models import Participant
from loom.trees.models import Node
from tests.gateway.conftest import Program
from tests.gateway.test_hosted import AGENT
from tests.gateway.test_hosted_endings import HI, sent
from tests.gateway.test_hosted_requests import FOUND, TEXT_SOURCE, USE
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import says

pytestmark = pytest.mark.django_db(transaction=True)

CHAT, ANTHROPIC, RESPONSES = "/chat/completions", "/messages", "/responses"
WORDS = {"type": "text", "text": "Go on"}
USED = {"role": "assistant", "content": None, "tool_calls": [USE]}
TOOL = {"role": "tool", "tool_call_id": "c1", "content": "FILEDATA"}
FUNCTION = {"role": "function", "name": "get", "content": "FILEDATA"}
PREFIX = {"role": "assistant", "content": "FILEDATA"}
TOOL_USE = {"type": "tool_use", "id": "c1", "name": "get", "input": {}}
USES = {"role": "assistant", "content": [TOOL_USE]}
RESULT = {"type": "tool_result", "tool_use_id": "c1", "content": "FILEDATA"}
DOCUMENT = {"type": "document", "source": TEXT_SOURCE}
CALLED = {"type": "function_call", "call_id": "c1", "name": "get", "arguments": "{}"}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "FILEDATA"}
CUSTOM = {**OUTPUT, "type": "custom_tool_call_output"}


def by_user(*parts: dict[str, Any]) -> dict[str, Any]:
    """A message of the user with these parts."""
    return {"role": "user", "content": list(parts)}


@pytest.mark.parametrize(
    ("path", "behind", "words"),
    [
        (CHAT, [USED, TOOL], ""),
        (CHAT, [USED, FUNCTION], ""),
        (CHAT, [PREFIX], ""),
        (ANTHROPIC, [USES, by_user(RESULT)], ""),
        (ANTHROPIC, [USES, by_user(RESULT, WORDS)], "Go on"),
        (ANTHROPIC, [by_user(WORDS, DOCUMENT)], "Go on"),
        (ANTHROPIC, [by_user({"type": "search_result", **FOUND}, WORDS)], "Go on"),
        (RESPONSES, [CALLED, OUTPUT], ""),
        (RESPONSES, [CALLED, CUSTOM], ""),
    ],
)
def test_only_the_words_of_a_person_are_the_request_of_an_agent(
    program: Program,
    provider: ScriptedProvider,
    model: Participant,
    worker: None,
    path: str,
    behind: list[dict[str, Any]],
    words: str,
) -> None:
    """The results of tools, files and what a model said may hold anything: they are in the path,
    and the conversation goes on below them."""
    model.permissions, model.context_limit = AGENT, 50_000
    model.save()
    provider.script(says("One."), says("Two."))
    key = "input" if path == RESPONSES else "messages"
    history = [*HI, *behind]
    asked: dict[str, Any] = {key: history}
    assert sent(program, path, **asked).status == 200
    said = str(provider.seen[0].json["messages"])
    _, begins, request = said.rpartition("---REQUEST from")
    request = request.partition("---REQUEST_END")[0]
    assert "FILEDATA" in said and "FILEDATA" not in request
    assert words in request if words else not begins
    tree = GatewaySession.objects.get().tree
    assert Node.objects.get(tree=tree, text="One.").depth == len(history) + 1 + bool(words)
    more = [{"role": "assistant", "content": "One."}, {"role": "user", "content": "And?"}]
    asked[key] = [*history, *more]
    assert sent(program, path, **asked).status == 200
    answer, question = Node.objects.get(tree=tree, text="One."), Node.objects.get(text="And?")
    assert question.parent_slot_id == answer.slot_id
