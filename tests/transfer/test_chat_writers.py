"""Chats and training data: JSONL of paths, preference pairs, SillyTavern."""

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Participant
from loom.transfer.writers import chats, preferences
from loom.trees.models import Tree
from tests.thorough import tries
from tests.transfer.planting import Plant, paths, plant, plants, wanted

pytestmark = pytest.mark.django_db
FEW = settings(max_examples=tries(25), suppress_health_check=list(HealthCheck))
TALK: list[Plant] = [
    (-1, False, "Tell me."),
    (0, True, "Once."),
    (0, True, "Never."),
    (1, False, "Go on."),
    (3, True, "It rained."),
    (3, True, "It snowed."),
]


def lines(writer: Any, *given: Any, **more: Any) -> list[Any]:
    raw = b"".join(writer(wanted(*given, **more)))
    assert raw == b"" or raw.endswith(b"\n")
    return [json.loads(line) for line in raw.splitlines()]


def test_a_line_for_every_leaf(actor: Actor, muse: Participant) -> None:
    tree, _ = plant(actor, muse, TALK, mode="dialogue", system_context="Be brief.")
    written = lines(chats.jsonl, actor, tree, authors=False)
    told = [
        [(message["role"], message["content"]) for message in line["messages"]] for line in written
    ]
    head = [("system", "Be brief."), ("user", "Tell me.")]
    assert told == [
        [*head, ("assistant", "Once."), ("user", "Go on."), ("assistant", "It rained.")],
        [*head, ("assistant", "Once."), ("user", "Go on."), ("assistant", "It snowed.")],
        [*head, ("assistant", "Never.")],
    ]
    assert all(set(line) == {"messages"} for line in written)
    assert all(
        set(message) == {"role", "content"} for line in written for message in line["messages"]
    )


def test_names_are_written_only_if_asked_for(actor: Actor, muse: Participant) -> None:
    tree, _ = plant(actor, muse, TALK, mode="dialogue")
    [*_, last] = lines(chats.jsonl, actor, tree, authors=True)
    assert [message["name"] for message in last["messages"]] == ["Owner", "Muse"]


def test_excluded_texts_train_nobody(actor: Actor, muse: Participant) -> None:
    tree, nodes = plant(actor, muse, TALK, mode="dialogue")
    execute_line(actor, tree, Request(f"exclude {nodes[1].local_id}"))
    for writer in (chats.jsonl, preferences.preferences):
        assert "Once." not in json.dumps(lines(writer, actor, tree))
    messages = lines(chats.sillytavern, actor, tree, nodes[4])[1:]
    assert [message["mes"] for message in messages if message["is_system"]] == ["Once."]


@FEW
@given(texts=plants())
def test_a_buffer_is_read_back_as_its_text(
    texts: list[Plant], actor: Actor, muse: Participant
) -> None:
    tree, _ = plant(actor, muse, texts)
    leaves = {path for path in paths(tree) if not is_begun(path, tree)}
    written = lines(chats.jsonl, actor, tree)
    told = sorted("".join(message["content"] for message in line["messages"]) for line in written)
    kept = {"".join(path) for path in leaves}
    assert set(told) == kept
    for line in written:
        roles = [message["role"] for message in line["messages"]]
        assert all(role != other for role, other in pairwise(roles))


def is_begun(path: tuple[str, ...], tree: Tree) -> bool:
    """Whether every node of this path goes on."""
    ends = [
        node
        for node in tree.nodes.exclude(parent_slot=None)
        if not tree.nodes.filter(parent_slot=node).exists()
    ]

    def way(node: Any) -> tuple[str, ...]:
        return (*way(node.parent_slot), node.text) if node.parent_slot else ()

    return path not in {way(node) for node in ends}


# Preferences.


def pairs(actor: Actor, tree: Tree) -> list[tuple[str, str, str]]:
    """(the last message before, chosen, rejected) of each line."""
    nodes = []
    for line in lines(preferences.preferences, actor, tree):
        assert set(line) == {"input", "preferred_output", "non_preferred_output"}
        [good], [bad] = line["preferred_output"], line["non_preferred_output"]
        assert good["role"] == bad["role"] == "assistant"
        nodes.append((line["input"]["messages"][-1]["content"], good["content"], bad["content"]))
    return nodes


def test_what_goes_on_is_preferred_to_what_does_not(actor: Actor, muse: Participant) -> None:
    tree, nodes = plant(actor, muse, TALK, mode="dialogue")
    assert pairs(actor, tree) == [("Tell me.", "Once.", "Never.")]
    execute_line(actor, tree, Request(f"bookmark {nodes[5].local_id}"))
    assert pairs(actor, tree)[1:] == [("Go on.", "It snowed.", "It rained.")]
    execute_line(actor, tree, Request(f"bookmark {nodes[4].local_id}"))
    assert len(pairs(actor, tree)) == 1, "two that were chosen say nothing"


def test_pruning_rejects(actor: Actor, muse: Participant) -> None:
    tree, nodes = plant(actor, muse, TALK, mode="dialogue")
    execute_line(actor, tree, Request(f"prune {nodes[4].local_id}"))
    execute_line(actor, tree, Request(f"bookmark {nodes[5].local_id}"))
    assert pairs(actor, tree)[1:] == [("Go on.", "It snowed.", "It rained.")]
    execute_line(actor, tree, Request(f"prune {nodes[1].local_id}"))
    assert pairs(actor, tree) == [], "what is below a pruned text is not judged"


def test_of_a_path_its_texts_are_preferred(actor: Actor, muse: Participant) -> None:
    tree, nodes = plant(actor, muse, TALK, mode="dialogue")
    written = preferences.preferences(wanted(actor, tree, nodes[4]))
    told = [json.loads(line) for line in written]
    assert [pair["preferred_output"][0]["content"] for pair in told] == ["Once.", "It rained."]
    assert [pair["non_preferred_output"][0]["content"] for pair in told] == ["Never.", "It snowed."]


def test_two_wordings_of_a_person_are_no_preference(actor: Actor, muse: Participant) -> None:
    own: list[Plant] = [(-1, False, "a"), (-1, False, "b"), (0, True, "c")]
    tree, _ = plant(actor, muse, own, mode="dialogue")
    assert pairs(actor, tree) == []


def test_a_buffer_s_pairs_go_on_with_one_text(actor: Actor, muse: Participant) -> None:
    texts: list[Plant] = [(-1, False, "It"), (0, True, " was"), (1, True, " day"), (1, True, " x"),
                          (2, False, ".")]  # fmt: skip
    tree, _ = plant(actor, muse, texts)
    assert pairs(actor, tree) == [("It was", " day", " x")]


# SillyTavern.


def test_a_path_is_a_chat_with_its_swipes(actor: Actor, muse: Participant) -> None:
    tree, nodes = plant(actor, muse, TALK, mode="dialogue")
    head, *messages = lines(chats.sillytavern, actor, tree, nodes[5])
    assert (head["user_name"], head["character_name"]) == ("Owner", "Muse")
    assert head["chat_metadata"]["integrity"] == tree.uid
    assert [message["mes"] for message in messages] == ["Tell me.", "Once.", "Go on.", "It snowed."]
    assert [message["is_user"] for message in messages] == [True, False, True, False]
    assert [message.get("swipes") for message in messages] == [
        None, ["Once.", "Never."], None, ["It rained.", "It snowed."]
    ]  # fmt: skip
    for message in messages:
        if "swipes" in message:
            assert message["swipes"][message["swipe_id"]] == message["mes"]
            assert len(message["swipe_info"]) == len(message["swipes"])
            assert message["extra"]["model"] == "Muse"


def test_a_pruned_text_is_not_a_swipe(actor: Actor, muse: Participant) -> None:
    tree, nodes = plant(actor, muse, TALK, mode="dialogue")
    execute_line(actor, tree, Request(f"prune {nodes[2].local_id}"))
    messages = lines(chats.sillytavern, actor, tree, nodes[1])[1:]
    assert messages[1]["swipes"] == ["Once."]
