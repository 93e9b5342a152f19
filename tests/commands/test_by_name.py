"""A command by its name with JSON does what its line does; an action by its name too."""

import json
import re
from collections import Counter, defaultdict
from typing import Any

import pytest

from loom.access import Actor, get_actor
from loom.engine import registry
from loom.engine.actions import actions
from loom.engine.arguments import schema_of, written_of
from loom.engine.by_name import arguments_of, line_for, run
from loom.engine.context import Request
from loom.engine.models import Step
from loom.errors import CommandError
from loom.language.lines import Line, read
from loom.language.refs import DocumentPlace, Ref, print_place, print_ref
from loom.people.models import Participant, User
from loom.trees.models import Node, Tree
from tests.interfaces.matrix import LINES

IDS = defaultdict(lambda: "a7x2", tree="abcdefgh23456789")
SAID = [
    re.sub(r"\{(\w+)\}", lambda name: IDS[name[1]], line)
    for lines in LINES.values()
    for line in lines
]


def as_json(value: object) -> Any:
    """A value of a line as JSON has it."""
    if isinstance(value, tuple):
        return [as_json(part) for part in value]
    if isinstance(value, Ref):
        return print_ref(value)
    return print_place(value) if isinstance(value, DocumentPlace) else value


def call_of(line: Line) -> tuple[registry.Command, dict[str, Any]]:
    """The command of a line, and its arguments in JSON, without those that were left out."""
    command = registry.find(line.verb, line.form)
    literal = {n for n, how in written_of(command.args).items() if how.kind == "word" and how.lead}
    absent = command.form.plan.absent
    values = {
        name: True if name in literal else as_json(value)
        for name, value in line.values.items()
        if value != absent[name]
    }
    return command, json.loads(json.dumps(values))


@pytest.mark.parametrize("text", SAID)
def test_each_line_can_be_called_by_name(text: str) -> None:
    line = read(text, registry.language())
    command, values = call_of(line)
    assert line_for(command.name, values) == line.canonical
    called, _ = arguments_of(command.verb, values)
    if set(called.args.model_fields) != set(command.args.model_fields):
        raise AssertionError(f"{command.verb} means {called.name}, not {command.name}")
    if called is command:  # `cite … for` and `cite … against` take the same: their names tell
        assert line_for(command.verb, values) == line.canonical


def test_every_name_is_of_one_form_and_no_action() -> None:
    names = Counter(command.name for command in registry.every())
    assert max(names.values()) == 1
    assert not set(names) & set(actions())
    verbs = set(registry.verbs())
    assert all(
        command.verb == command.name for command in registry.every() if command.name in verbs
    )


def test_every_command_has_a_schema_of_json() -> None:
    for command in registry.every():
        schema = json.loads(json.dumps(schema_of(command.args)))
        assert (
            set(schema["properties"]) == set(written_of(command.args))
            if written_of(command.args)
            else 1
        )


def test_a_call_by_name_is_a_step_like_that_of_its_line(actor: Actor, tree: Tree) -> None:
    answer = run(actor, tree, "respond", {"content": "One day.\nAnother."})
    node = Node.objects.get(tree=tree, local_id=answer.body["refs"][0])
    assert node.text == "One day.\nAnother."
    run(actor, tree, "tag", {"ref": node.local_id, "names": ["two words", "new"]})
    step = Step.objects.latest("id")
    assert (step.outcome, step.canonical) == ("ok", f'→ tag {node.local_id} #"two words" #new')
    dry = run(actor, tree, "prune", {"ref": node.local_id}, request=Request("", dry_run=True))
    assert dry.body["step"] is None and dry.body["canonical"] == f"→ prune {node.local_id}"


def test_which_form_is_meant_follows_from_the_arguments() -> None:
    def form(verb: str, **values: Any) -> str:
        return arguments_of(verb, values)[0].name

    assert form("bookmark", ref="a7x2") == "bookmark"
    assert form("bookmark", ref='doc:"notes"') == "bookmark_document"
    assert form("find", query="lamp", where="a7x2") == "find"
    assert form("find", query="lamp", leaf=True) == "find_with"
    assert form("write", ref='doc:"n"', replace="§end", content="x") == "write_section"
    assert form("write", ref='doc:"n"', replace="old", new="y") == "write_words"
    assert form("hide", all=True) == "hide_all"
    assert form("hide", windows=["#1", "#2"]) == "hide"


@pytest.mark.parametrize(
    ("name", "values", "code", "message"),
    [
        ("tga", {}, "NOT_FOUND", "'tga'"),
        ("tag", {"names": ["a"]}, "INVALID_SYNTAX", "ref is missing."),
        ("tag", {"ref": "a7x2", "names": ["a"], "x": 1}, "INVALID_SYNTAX", "no argument x."),
        ("tag", {"ref": "no such", "names": ["a"]}, "INVALID_SYNTAX", "no"),
        ("tag", {"ref": 5, "names": ["a"]}, "INVALID_SYNTAX", "ref can't be 5."),
        ("tag", {"ref": "a7x2", "names": ["12"]}, "INVALID_SYNTAX", "12"),
        ("edit", {"ref": "a7x2", "content": "x", "way": "z"}, "INVALID_SYNTAX", "way can't be"),
        ("link", {"source": "a7x2", "target": "b3k9", "type": "a b"}, "INVALID_SYNTAX", "a b"),
        ("continue", {"n": 11}, "LIMIT_EXCEEDED", "at most 10"),
        ("hide_all", {"all": "some"}, "INVALID_SYNTAX", "only be true"),
        ("respond", {"content": "a\0b"}, "INVALID_SYNTAX", ""),
        ("find", {"query": "x", "where": "a b c"}, "INVALID_SYNTAX", ""),
    ],
)
def test_wrong_arguments_are_refused_in_a_sentence(
    name: str, values: dict[str, Any], code: str, message: str
) -> None:
    with pytest.raises(CommandError) as refused:
        line_for(name, values)
    assert refused.value.code == code
    assert message in refused.value.message
    assert refused.value.hint


def test_every_action_takes_what_json_has() -> None:
    for name, action in actions().items():
        schema = json.loads(json.dumps(action.args.model_json_schema()))
        assert set(schema.get("properties", {})) == set(action.args.model_fields), name


def test_an_action_is_called_by_name_like_a_command(owner: User, actor: Actor, tree: Tree) -> None:
    grove = run(owner, None, "make_grove", {"name": "Another"})
    elsewhere = get_actor(owner, grove)
    renamed = run(actor, tree, "change_tree", {"title": "The lake", "archived": True})
    assert renamed.title == "The lake"
    with pytest.raises(CommandError) as refused:  # of the same owner, in another grove
        run(elsewhere, grove, "erase_tree", {"tree": tree.uid, "title": "The lake"})
    assert refused.value.code == "NOT_FOUND"
    with pytest.raises(CommandError) as refused:
        run(actor, actor.grove, "erase_tree", {"tree": tree.uid, "surprise": 1})
    assert refused.value.code == "INVALID_SYNTAX"


def test_a_participant_of_another_grove_is_not_found(
    owner: User, actor: Actor, muse: Participant
) -> None:
    grove = run(owner, None, "make_grove", {"name": "Another"})
    with pytest.raises(CommandError) as refused:
        named = {"participant": muse.uid}
        run(get_actor(owner, grove), grove, "archive_participant", named)
    assert refused.value.code == "NOT_FOUND"
    assert run(actor, actor.grove, "archive_participant", named).archived_at is not None
