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
from loom.language.lines import read
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
    keys = {key for form in forms for key in form.plan.options}
    keys |= {part.lead for form in forms for part in form.parts if part.lead}
    keys |= {part.word for form in forms for part in form.parts}
    assert {key for key in _OPTION.findall(form) if key not in _REFS} <= keys


# What a model writes that follows the taught lines.
WRITTEN = """\
view a7x2 full
view doc:"notes" summary
view a7x2 with-annotations
view branch:a7x2
view r2d4-a7x2
view doc:"notes" §ending
compare a7x2 b3k9
list a7x2
list a7x2 continuations
list doc:"notes" mentions
list tags
list bookmarks
list documents
tree
tree from a7x2 depth:3 summary
find "boats"
find "boats" in:grove
find "boats" in:a7x2 open
find tag:"x"
find by:"Ada" kind:note
find since:"2026-01-31" leaf
find bookmarked
switch to a7x2
respond a7x2 "x"
respond "x"
respond a7x2 "x" from:b3k9,c4m2
edit a7x2 "x" as:version
edit a7x2 replace:"old" with:"new" as:fork
prune a7x2
link a7x2 to b3k9 as:supports note:"why"
link a7x2 to doc:"notes"
write doc:"n" new "x"
write doc:"n" append "x"
write doc:"n" at:end "x"
write doc:"n" at:§cast "x"
write doc:"n" replace:§cast "x"
write doc:"n" replace:"old" with:"new" all
write doc:"n" move:§a after:§b
write doc:"n" remove:§a
write #4 "x"
bookmark a7x2 "x"
bookmark doc:"n"
tag a7x2 #x
tag doc:"n" #x
annotate a7x2 "x" as:question
continue from a7x2 n:2 using agent:"Muse"
undo n:2
open a7x2 keep live with:supports label:"x"
open doc:"n" §cast keep
hide #1 #2
hide all
show #1 full
show all
close #1
close all
stash "p" "x"
stash "p" content-of:a7x2
recall "p"
memory trace
memory windows
since
digest
digest of branch:a7x2
todo add "x" "y"
todo done t1
todo toggle t1
todo remove t1
todo note t1 "x"
scratchpad "x" append
think "x"
help
help keep
help view
ask agent:"Muse" "x" at a7x2 wait
ask "Ada" "x"
search "x"
budget extend tokens:50000
view #14 part:2
open #14 keep
show #14
""".splitlines()


def test_what_follows_the_taught_lines_is_read_as_it_is_written() -> None:
    for line in WRITTEN:
        canonical = read(f"→ {line}", registry.language()).canonical.removeprefix("→ ")
        assert sorted(canonical.split(" ")) == sorted(line.split(" ")), line
    assert {verb for verb, line in TAUGHT.items() if line} <= {line.split()[0] for line in WRITTEN}


@pytest.mark.django_db
def test_all_that_an_agent_may_do_is_taught_in_few_tokens(actor: Actor, model: Participant) -> None:
    model.permissions = [permission.value for permission in Permission]
    model.save()
    acting = acting_as(actor, model)
    teaching = teaching_of(acting)
    text = instructions(teaching)
    assert count(text) <= MOST
    names = set(re.findall(r"[a-z]+", text))
    assert {command.verb for command in commands_for(acting)} <= names
    assert not {"allow", "veto"} & names  # for people only
    assert set("▶▼●+-·*✓✗→") <= set(text)  # the signs of what is sent are explained


@pytest.mark.django_db
def test_what_an_agent_may_not_do_is_not_taught(actor: Actor, model: Participant) -> None:
    model.permissions = ["loom_aware"]
    model.save()
    text = instructions(teaching_of(acting_as(actor, model)))
    assert "→ view REF [full" in text and "doc:" not in text
    taken = {"respond", "annotate", "prune", "write", "continue"}
    assert not taken & set(re.findall(r"→ ([a-z]+)", text))
    assert instructions(Teaching(())).startswith("---INSTRUCTIONS\n")


@pytest.mark.django_db(transaction=True)
def test_help_explains_the_verbs_of_a_group(actor: Actor, tree: Tree) -> None:
    reply = execute_line(actor, tree, Request("help move")).reply
    assert "→ switch to REF\n  Moves you" in reply and "→ back [n:1≤20]" in reply
    assert "→ view" not in reply
