"""What has changed while a line waited for its lock is asked again under it."""

from collections.abc import Callable

import pytest
from django.utils import timezone

from loom.access import acting_as, get_actor
from loom.documents import actions as document_actions
from loom.engine import streams
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.people.models import Grove, Membership, Participant, User
from loom.trees.models import Tree

pytestmark = pytest.mark.django_db
LINES = ['respond root "late"', 'write doc:"Notes" append "late"']


@pytest.fixture
def meanwhile(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Has something happen while the next lock of a stream is waited for."""

    def arrange(happens: Callable[[], object]) -> None:
        lock, left = streams.lock, [happens]

        def waited(*given: object, **named: object) -> object:
            if left:
                left.pop()()
            return lock(*given, **named)  # type: ignore[arg-type]

        monkeypatch.setattr(streams, "lock", waited)

    return arrange


@pytest.fixture
def notes(owner: User, tree: Tree) -> None:
    document_actions.make_document(get_actor(owner, tree.grove), title="Notes", text="one")


@pytest.mark.parametrize("line", LINES)
@pytest.mark.usefixtures("notes")
def test_somebody_who_became_a_reader_is_refused(
    writer: User, grove: Grove, tree: Tree, line: str, meanwhile: Callable[..., None]
) -> None:
    actor = get_actor(writer, grove)
    meanwhile(lambda: Membership.objects.filter(user=writer).update(role="reader"))
    with pytest.raises(CommandError) as refused:
        execute_line(actor, tree, Request(line))
    assert refused.value.code == "PERMISSION_DENIED"


@pytest.mark.usefixtures("notes")
def test_an_agent_whose_permissions_were_taken_is_refused(
    owner: User, muse: Participant, tree: Tree, meanwhile: Callable[..., None]
) -> None:
    muse.permissions = ["loom_aware", "loom_write"]
    muse.save()
    agent = acting_as(get_actor(owner, tree.grove), muse)
    meanwhile(lambda: Participant.objects.filter(pk=muse.pk).update(permissions=["loom_aware"]))
    with pytest.raises(CommandError) as refused:
        execute_line(agent, tree, Request(LINES[0]))
    assert refused.value.code == "PERMISSION_DENIED"


@pytest.mark.parametrize("line", LINES)
@pytest.mark.usefixtures("notes")
def test_nothing_is_written_from_a_tree_that_was_archived(
    writer: User, grove: Grove, tree: Tree, line: str, meanwhile: Callable[..., None]
) -> None:
    meanwhile(lambda: Tree.objects.filter(pk=tree.pk).update(archived_at=timezone.now()))
    with pytest.raises(CommandError, match="archived"):
        execute_line(get_actor(writer, grove), tree, Request(line))
