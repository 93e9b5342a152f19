"""Commands run with arguments: the same as by a line, without writing one."""

import re
from collections import defaultdict
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from loom.access import Actor
from loom.engine import registry, streams
from loom.engine.arguments import checked
from loom.engine.context import Reply, Request
from loom.engine.execute import execute, execute_line, line_of
from loom.engine.models import Event, Step
from loom.errors import CommandError
from loom.language.lines import read
from loom.language.refs import Ref
from loom.notes.commands.marks import Tag, tag
from loom.reading.commands.view import ViewArgs, view
from loom.text.shortening import STORED_WHOLE
from loom.trees.commands.nodes import Respond, Split, respond, split
from loom.trees.models import Node, Tree
from loom.turns.commands.continuing import Continue, continue_
from loom.workspace.commands.move import Switch, switch
from tests.interfaces.matrix import LINES

IDS = defaultdict(lambda: "a7x2", tree="abcdefgh23456789")
SAID = [
    re.sub(r"\{(\w+)\}", lambda name: IDS[name[1]], line)
    for lines in LINES.values()
    for line in lines
]
HARD = [
    "a",
    "two\nlines\n",
    "a line that is only\n←\nin it",
    'quotes " and \\ and \\n',
    "→ respond root\nno command\n←",
    " \n ",
    "x" * 500,
]


@pytest.mark.parametrize("text", SAID)
def test_the_arguments_of_a_line_are_that_line_again(text: str) -> None:
    line = read(text, registry.language())
    command = registry.find(line.verb, line.form)
    again = line_of(command, command.args.model_validate(dict(line.values)))
    assert (again.verb, again.form, again.canonical) == (line.verb, line.form, line.canonical)
    assert dict(again.values) == dict(line.values)


@pytest.mark.parametrize("text", HARD)
def test_a_text_is_written_as_it_is_and_its_step_has_a_line_that_says_it(
    actor: Actor, tree: Tree, text: str
) -> None:
    answer = execute(actor, tree, respond, Respond(content=text))
    node = Node.objects.get(tree=tree, local_id=answer.body["refs"][0])
    assert node.text == text
    canonical = answer.body["canonical"]
    if len(text) > STORED_WHOLE:  # the node holds the text; the line names it
        assert f"({len(text):,} characters, sha256 " in canonical
    else:
        assert read(canonical, registry.language()).values["content"] == text
    step = Step.objects.get(workspace__tree=tree, seq=answer.body["step"])
    assert (step.outcome, step.canonical) == ("ok", canonical)
    assert step.events == answer.body["events"] != []


def test_a_text_that_no_line_could_hold_is_still_stored(actor: Actor, tree: Tree) -> None:
    """A quote is needed around a text with a closing line, and a line ends at 64 KiB."""
    text = "word " * 20_000 + "\n←\nend"
    answer = execute(actor, tree, respond, Respond(content=text))
    assert Node.objects.get(tree=tree, local_id=answer.body["refs"][0]).text == text


def test_dry_runs_and_keys_are_those_of_lines(actor: Actor, tree: Tree) -> None:
    args = Respond(content="once")
    before = Step.objects.count()
    dry = execute(actor, tree, respond, args, request=Request("", dry_run=True))
    assert (dry.body["step"], dry.body["events"]) == (None, [])
    assert Step.objects.count() == before
    first = execute(actor, tree, respond, args, request=Request("", key="k"))
    again = execute(actor, tree, respond, args, request=Request("", key="k"))
    assert again.body == {**first.body, "repeated": True}
    by_line = execute_line(actor, tree, Request(str(first.body["canonical"]), key="k"))
    assert by_line.body == again.body
    with pytest.raises(CommandError) as refused:
        other = Respond(content="another")
        execute(actor, tree, respond, other, request=Request("", key="k"))
    assert refused.value.code == "CONFLICT"


@pytest.mark.parametrize(
    ("run", "args", "code"),
    [
        (continue_, Continue(n=11), "LIMIT_EXCEEDED"),
        (continue_, Continue(n=0), "INVALID_SYNTAX"),
        (continue_, Continue(temperature=float("nan")), "LIMIT_EXCEEDED"),
        (continue_, Continue(using=(Ref("node", id="a7x2"),)), "INVALID_SYNTAX"),
        (split, Split(ref=Ref("node", id="a7x2"), at=0), "INVALID_SYNTAX"),
        (respond, Respond(content="a", role="instruction"), "INVALID_SYNTAX"),
        (respond, Respond(content="a\0b"), "INVALID_SYNTAX"),
        (respond, Respond(content="a\ud800b"), "INVALID_SYNTAX"),
    ],
)
def test_arguments_that_no_line_could_have_are_refused(
    actor: Actor, tree: Tree, run: Any, args: Any, code: str
) -> None:
    with pytest.raises(CommandError) as refused:
        execute(actor, tree, run, args)
    assert refused.value.code == code


def test_a_refusal_has_its_step_and_line(actor: Actor, tree: Tree) -> None:
    missing = ViewArgs(ref=Ref("node", id="z9z9"))
    with pytest.raises(CommandError) as refused:
        execute(actor, tree, view, missing)
    assert refused.value.code == "NOT_FOUND"
    step = Step.objects.get(workspace__tree=tree)
    assert (step.outcome, step.canonical) == ("NOT_FOUND", "→ view z9z9")


@pytest.mark.parametrize("sent", [{"n": "three"}, {"n": "1.5"}, {"nonsense": 1}, {"using": 7}])
def test_what_a_form_sends_is_checked(sent: dict[str, Any]) -> None:
    with pytest.raises(CommandError) as refused:
        checked(Continue, sent)
    assert refused.value.code == "INVALID_SYNTAX"
    assert checked(Continue, {"n": "3"}).n == 3


def test_a_command_writes_the_stream_that_it_declares(
    actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = registry.command_of(tag)

    def renamed(context: Any, args: Tag) -> Any:
        grove = context.tree.grove
        payload = {"grove": grove.uid, "name": args.names[0], "settings": grove.settings}
        context.world.append("grove.changed", payload)
        return Reply("✓ done")

    in_grove = type(command)(**{**vars(command), "stream": "grove", "run": renamed})
    monkeypatch.setattr(registry, "find", lambda verb, form: in_grove)
    answer = execute_line(actor, tree, Request("tag here #x"))
    name = streams.name_of(tree.grove)
    event = Event.objects.get(stream__name=name, kind="grove.changed")
    assert (answer.body["stream"], answer.body["events"]) == (name, [event.seq])
    assert Step.objects.get(workspace__tree=tree).stream == name


def _locks(sent: CaptureQueriesContext, name: str) -> list[str]:
    texts = [query["sql"] for query in sent.captured_queries]
    return [sql for sql in texts if 'FROM "engine_stream"' in sql and name in sql]


def test_a_command_of_the_workspace_locks_no_tree(actor: Actor, tree: Tree) -> None:
    """Moving about waits for nobody who writes, and whoever writes waits for nobody who moves."""
    ref = execute(actor, tree, respond, Respond(content="a")).body["refs"][0]
    name = streams.name_of(tree)
    with CaptureQueriesContext(connection) as moving:
        answer = execute(actor, tree, switch, Switch(ref=Ref("root")), request=Request("", key="k"))
    assert not _locks(moving, name)
    again = execute(actor, tree, switch, Switch(ref=Ref("root")), request=Request("", key="k"))
    assert again.body == {**answer.body, "repeated": True}
    with CaptureQueriesContext(connection) as writing:
        execute(actor, tree, tag, Tag(ref=Ref("node", id=ref), names=("x",)))
    assert _locks(writing, name)
