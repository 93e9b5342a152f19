"""INSTRUCTIONS: short, made from the registry, and the same in all trees."""

import re

import pytest

from agents.agent_prompt import commands_for, taught
from agents.context.sections import Teaching, instructions
from agents.next_request import teaching_of
from loom.access import Actor, acting_as
from loom.engine import registry
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Participant
from loom.permissions import Permission
from loom.text.tokens import count
from loom.trees.models import Tree

MOST = 1_200  # tokens
TAUGHT = {name: registry.find(name).facts.taught for name in registry.verbs()}
_OPTION = re.compile(r"(?<![\w\"])([a-z-]+):(?=[\w\"§])")
_REFS = {"doc", "branch", "agent"}


@pytest.mark.parametrize("verb", [name for name, line in TAUGHT.items() if line])
def test_a_taught_line_names_only_what_the_verb_takes(verb: str) -> None:
    line = taught(TAUGHT[verb], with_documents=True)
    assert line.split(" ")[0] == verb and "{" not in line and len(line) < 260
    form = line.partition(" — ")[0]
    forms = registry.language().forms[verb]
    keys = {key for one in forms for key in one.plan.options}
    keys |= {part.lead for one in forms for part in one.parts if part.lead}
    keys |= {part.word for one in forms for part in one.parts}
    assert {key for key in _OPTION.findall(form) if key not in _REFS} <= keys


@pytest.mark.django_db
def test_all_that_an_agent_may_do_is_taught_in_few_tokens(actor: Actor, model: Participant) -> None:
    model.permissions = [one.value for one in Permission]
    model.save()
    acting = acting_as(actor, model)
    teaching = teaching_of(acting)
    text = instructions(teaching)
    assert count(text) <= MOST
    names = set(re.findall(r"[a-z]+", text))
    assert {one.verb for one in commands_for(acting)} <= names


@pytest.mark.django_db
def test_what_an_agent_may_not_do_is_not_taught(actor: Actor, model: Participant) -> None:
    model.permissions = ["loom_aware"]
    model.save()
    text = instructions(teaching_of(acting_as(actor, model)))
    assert "→ view REF [full" in text and "doc:" not in text
    assert not {"respond", "prune", "write", "continue"} & set(re.findall(r"→ ([a-z]+)", text))
    assert instructions(Teaching(())).startswith("---INSTRUCTIONS\n")


@pytest.mark.django_db(transaction=True)
def test_help_explains_the_verbs_of_a_group(actor: Actor, tree: Tree) -> None:
    reply = execute_line(actor, tree, Request("help move")).reply
    assert "→ switch to REF\n  Moves you" in reply and "→ back [n:1≤20]" in reply
    assert "→ view" not in reply
