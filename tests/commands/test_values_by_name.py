"""Arguments by name that no line can have are refused, as the line would be."""

import pytest

from loom.access import Actor
from loom.engine.by_name import run
from loom.errors import CommandError
from loom.notes.models import Mark
from loom.trees.models import Tree
from tests.commands.conftest import Say

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("todo_add", {"texts": []}),
        ("todo_add", {"texts": ["\u200b"]}),
        ("tag", {"ref": "root", "names": []}),
        ("bookmark", {"ref": "root", "label": "   "}),
        ("bookmark", {"ref": "root", "label": "\u200b"}),
        ("stash", {"label": "\u200b", "content": "c"}),
        ("claim", {"statement": "\u200b", "cite": "root"}),
    ],
)
def test_what_has_nothing_to_be_seen_is_refused(
    actor: Actor, tree: Tree, name: str, values: dict[str, object]
) -> None:
    with pytest.raises(CommandError) as refused:
        run(actor, tree, name, values)
    assert refused.value.code == "INVALID_SYNTAX"


def test_a_list_is_called_a_list(actor: Actor, tree: Tree) -> None:
    with pytest.raises(CommandError) as refused:
        run(actor, tree, "tag", {"ref": "root", "names": "x"})
    assert refused.value.hint == "send a list"


def test_a_tag_is_kept_as_it_was_typed(actor: Actor, tree: Tree, say: Say) -> None:
    run(actor, tree, "tag", {"ref": "root", "names": ['a"b']})
    assert Mark.objects.get().label == 'a"b'
    assert '#"a\\"b"' in say("list tags").reply
    assert say('untag root #"a\\"b"').reply.startswith("✓")


def test_a_task_of_a_document_is_refused_by_the_name_of_it(say: Say) -> None:
    say('write doc:"List" new "- [ ] milk"')
    with pytest.raises(CommandError) as refused:
        say('todo check doc:"List" token:1')
    assert refused.value.message.startswith('A task 1 of doc:"List"')
