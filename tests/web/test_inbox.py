"""The inbox: where others name a person, with a reply that goes into the tree."""

import pytest
from django.utils import timezone

from loom.notes.commands.annotations import names_in
from loom.notes.models import Mention
from loom.people.commands.groves import show_as
from loom.trees.models import Node, Tree
from tests.two_groves import SECRET, TwoGroves

pytestmark = pytest.mark.django_db(transaction=True)


def _mention(two_groves: TwoGroves) -> Mention:
    """A mention of the one who is only in the right grove, by the member of both."""
    right = two_groves.right
    name = right.actor(two_groves.only_right).participant.name
    right.run(two_groves.both, f'annotate root "@{name}, {SECRET}?"')
    return Mention.objects.get()


def test_who_has_a_display_name_is_reached_by_the_name_of_their_account_too(
    two_groves: TwoGroves,
) -> None:
    right, named, both = two_groves.right, two_groves.only_right, two_groves.both
    account = named.username
    show_as(named, name="Bérénice von Überlang")
    right.run(both, f'annotate root "@{account.upper()}, or @bérénice von überlang?"')
    right.run(both, f'annotate root "Nobody is called @{account}s."')
    assert Mention.objects.get().participant.user == named


def test_the_name_of_a_member_means_them_and_not_an_account_of_that_name(
    two_groves: TwoGroves,
) -> None:
    right, named, both = two_groves.right, two_groves.only_right, two_groves.both
    show_as(both, name="Somebody else")
    show_as(named, name=both.username)
    right.run(both, f'annotate root "@{both.username}?"')
    assert Mention.objects.get().participant.user == named


def test_a_reply_goes_below_the_note_and_the_mention_is_seen(two_groves: TwoGroves) -> None:
    mention = _mention(two_groves)
    client = two_groves.client(two_groves.only_right)
    assert "question" not in client.get("/mentions").content.decode()
    assert "Inbox, 1 new" in client.get("/mentions/unseen").content.decode()
    answer = client.post("/mentions", {"mention": mention.pk, "text": "Yes."})
    assert answer.status_code == 302
    reply = Node.objects.get(text="Yes.")
    assert (reply.parent_slot_id, reply.kind) == (mention.node_id, "annotation")
    mention.refresh_from_db()
    assert mention.seen_at is not None
    assert "new" not in client.get("/mentions/unseen").content.decode()


def test_who_may_only_read_is_offered_no_reply(two_groves: TwoGroves) -> None:
    mention = _mention(two_groves)
    named = two_groves.only_right
    client = two_groves.client(named)
    assert f'id="reply-{mention.pk}"' in client.get("/mentions").content.decode()
    membership = mention.tree.grove.memberships.filter(user=named)
    membership.update(role="reader")
    shown = client.get("/mentions").content.decode()
    assert f'id="reply-{mention.pk}"' not in shown and "make you a writer" in shown
    assert 'name="seen"' in shown
    tree = mention.tree
    Tree.objects.filter(pk=tree.pk).update(reader_right="comment")
    assert f'id="reply-{mention.pk}"' in client.get("/mentions").content.decode()
    Tree.objects.filter(pk=tree.pk).update(archived_at=timezone.now())
    assert f'id="reply-{mention.pk}"' not in client.get("/mentions").content.decode()


def test_a_mention_is_marked_as_read_without_a_reply(two_groves: TwoGroves) -> None:
    mention = _mention(two_groves)
    many = Node.objects.count()
    client = two_groves.client(two_groves.only_right)
    assert (
        client.post("/mentions", {"mention": mention.pk, "text": "", "seen": "1"}).status_code
        == 302
    )
    mention.refresh_from_db()
    assert mention.seen_at is not None
    assert Node.objects.count() == many


def test_nobody_replies_to_the_mention_of_somebody_else(two_groves: TwoGroves) -> None:
    mention = _mention(two_groves)
    for user in (two_groves.only_left, two_groves.both):
        client = two_groves.client(user)
        answer = client.post("/mentions", {"mention": mention.pk, "text": "Not mine."})
        assert answer.status_code == 404
        assert SECRET not in answer.content.decode()
    for key in ("", "x", "-1", "9" * 40):
        client = two_groves.client(two_groves.only_right)
        assert client.post("/mentions", {"mention": key, "text": "?"}).status_code == 404
    assert not Node.objects.filter(text="Not mine.").exists()
    mention.refresh_from_db()
    assert mention.seen_at is None


def test_names_are_found_in_a_long_text_of_signs() -> None:
    assert names_in("@" * 100_000 + " @ada", ["Ada"]) == {"Ada"}
