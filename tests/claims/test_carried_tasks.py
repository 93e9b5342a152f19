"""The states of tasks of documents, which stay with their tasks while the text changes."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from loom.claims.models import TokenState
from loom.claims.rules.carried_tasks import carried_tasks, tasks_of
from loom.documents import log
from loom.documents.models import Document
from loom.documents.queries import newest
from loom.people.models import User
from loom.text.edits import Edit
from loom.trees.models import Tree
from tests.claims.conftest import refused
from tests.commands.conftest import Say


def carried(before: str, after: str) -> list[int | None]:
    """The number in the new text of each task of the old one."""
    keys = carried_tasks(before, after)
    numbers = {task.key: number for number, task in enumerate(tasks_of(after))}
    return [numbers.get(keys.get(task.key, "")) for task in tasks_of(before)]


@pytest.mark.parametrize(
    ("before", "after", "numbers"),
    [
        ("- [x] one", "- [ ] one\n- [x] one", [1]),  # the same words above
        ("- [x] one", "- [x] one\n- [ ] one", [0]),
        ("- [x] buy milk", "- [x] buy much milk", [0]),  # reworded
        ("- [x] buy milk", "- [x] go out", [0]),
        ("- [x] buy milk", "- [ ] go out", [None]),  # another one at its place
        ("- [x] buy milk", "- [ ] go out\n- [x] buy milk now", [1]),
        ("- [x] a\n- [ ] b\n- [ ] c", "- [ ] c\n- [x] a\n- [ ] b", [1, 2, 0]),  # moved
        ("- [x] a\n- [ ] b", "- [ ] b", [None, 0]),  # gone
        ("- [ ] a\n- [ ] a\n- [ ] a", "- [ ] a\n- [x] a\n- [ ] a", [0, 1, 2]),  # checked
        ("# A\n- [x] cat\n# B\n- [x] cat", "# B\n- [x] cat", [None, 0]),
        ("- [x] a\n- [x] b", "- [x] a1 x\n- [x] b2 x", [0, 1]),
        ("- [x] one", "one", [None]),
        ("one", "- [x] one", []),
    ],
)
def test_each_task_is_found_again(before: str, after: str, numbers: list[int | None]) -> None:
    assert carried(before, after) == numbers


@pytest.fixture
def archived(say: Say) -> str:
    """The key of an archived task with a note, in a document that has two tasks."""
    say('write doc:"Plan" new\n- [ ] one\n- [ ] two\n←')
    key = tasks_of(text())[0].key
    say(f'todo check doc:"Plan" token:{key}')
    say(f'todo archive doc:"Plan" token:{key} "in the cellar"')
    return key


def text() -> str:
    return newest(Document.objects.get()).text


def states() -> dict[str, str]:
    """The stored states of the tasks of the document, by their words."""
    words = {task.key: task.words for task in tasks_of(text())}
    return {words.get(row.key, "gone"): row.state for row in TokenState.objects.all()}


@pytest.mark.django_db
def test_a_task_that_is_reworded_keeps_its_state_and_note(say: Say, archived: str) -> None:
    say('write doc:"Plan" replace:"one" with:"one lamp"')
    assert states() == {"one lamp": "archived"}
    assert TokenState.objects.get().data == {"notes": ["in the cellar"]}
    say('write doc:"Plan" replace:"two" with:"one"')
    assert states() == {"one lamp": "archived"}
    say(f'todo check doc:"Plan" token:{archived}')
    assert states() == {"one lamp": "archived", "one": "checked"}
    say("undo n:3")
    assert states()["one"] == "archived" and text() == "- [x] one\n- [ ] two"


@pytest.mark.django_db
def test_a_task_with_the_words_of_an_archived_one_is_its_own(say: Say, archived: str) -> None:
    say('write doc:"Plan" at:start\n- [ ] one\n\n←')
    first, second = (task.key for task in tasks_of(text())[:2])
    assert first == archived and TokenState.objects.get().key == second
    say(f'todo check doc:"Plan" token:{first}')


@pytest.mark.django_db
def test_a_task_that_is_gone_leaves_its_state_to_no_other(say: Say, archived: str) -> None:
    say('write doc:"Plan" replace:"- [x] one\\n" with:""')
    say("undo")
    assert states() == {"one": "archived"}
    say('write doc:"Plan" replace:"- [x] one\\n" with:""')
    say('write doc:"Plan" at:end\n\n- [ ] one\n←')
    assert states() == {}


def typed(edit: Edit, who: User) -> None:
    """Types in the document, without a revision."""
    document = Document.objects.get()
    update = log.opened(document).edit([edit])
    log.append_typed(document, update, [who.participants.get().uid])


@pytest.mark.django_db
def test_the_states_of_tasks_follow_what_is_typed(say: Say, archived: str, writer: User) -> None:
    typed(Edit(0, 0, "- [ ] one\n"), writer)
    say(f'todo check doc:"Plan" token:{archived}')  # the new one, which has the first key
    assert sorted(row.state for row in TokenState.objects.all()) == ["archived", "checked"]
    assert text() == "- [x] one\n- [x] one\n- [ ] two"
    assert TokenState.objects.get(key=archived).state == "checked"
    typed(Edit(len(text()), len(text()), " lamps"), writer)
    count = CaptureQueriesContext(connection)
    TokenState.objects.all().delete()
    with count:
        log.settle(Document.objects.get())
    assert sum("claims_tokenstate" in query["sql"] for query in count) == 1


@pytest.mark.django_db
def test_undo_of_a_task_that_was_reworded_since_is_a_conflict(
    say: Say, tree: Tree, writer: User
) -> None:
    say('write doc:"Plan" new "- [ ] one"')
    say(f'todo check doc:"Plan" token:{tasks_of(text())[0].key}')
    say('write doc:"Plan" replace:"one" with:"two"', by=writer)
    assert refused(say, "undo").code == "CONFLICT"
