"""E-mail about mentions: to addresses that were confirmed, once, and only what one may read."""

import re
import smtplib
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.core.mail import EmailMessage
from django.test import Client
from django.utils import timezone

from config import env
from loom import tasks
from loom.access import Actor
from loom.engine import jobs
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.notes import mention_mails
from loom.notes.models import Mention
from loom.people import mail
from loom.people.models import Membership, User
from loom.trees.models import Node, Tree

pytestmark = pytest.mark.django_db
Box = list[EmailMessage]


@pytest.fixture(autouse=True)
def server(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mail server, and a worker that runs tasks at once."""
    settings.MAIL_FROM = "Heddle <heddle@example.org>"
    settings.ORIGINS = ("https://loom.example.org",)
    monkeypatch.setattr(mention_mails, "_failed_at", -mention_mails.AFTER_FAILURE_S)

    def now(task: str, args: Sequence[Any], *, queue: str) -> None:
        getattr(tasks, task.rpartition(".")[2])(*args)

    monkeypatch.setattr(jobs, "enqueue", now)


@pytest.fixture
def mentioned(actor: Actor, tree: Tree, writer: User) -> Mention:
    """A mention of the writer, who has an address, three minutes ago."""
    User.objects.filter(pk=writer.pk).update(email="writer@example.org")
    name = Membership.objects.get(user=writer, grove=tree.grove).participant.name
    execute_line(actor, tree, Request('respond root "A lamp."'))
    execute_line(actor, tree, Request(f'annotate here "@{name}, is this a lamp?"'))
    mention = Mention.objects.get()
    Mention.objects.update(at=timezone.now() - timedelta(minutes=3))
    return mention


def test_an_address_counts_once_its_link_was_opened(
    client: Client, owner: User, writer: User, mailoutbox: Box
) -> None:
    client.force_login(owner)
    assert "Address for mentions" in client.get("/settings").content.decode()
    client.post("/settings/address", {"email": "ada@example.org"})
    [sent] = mailoutbox
    assert sent.to == ["ada@example.org"] and User.objects.get(pk=owner.pk).email == ""
    link = re.search(r"https://loom\.example\.org(/settings\?address=\S+)", str(sent.body))
    assert link is not None
    other = Client()
    other.force_login(writer)
    assert "for somebody else" in other.get(link[1]).content.decode()
    page = client.get(link[1]).content.decode()
    assert "Write to you at ada@example.org" in page
    secret = re.search(r'name="secret" value="([^"]+)"', page)
    assert secret is not None
    other.post("/settings/address", {"secret": secret[1]})
    assert not User.objects.exclude(email="").exists()
    client.post("/settings/address", {"secret": secret[1]})
    assert User.objects.get(pk=owner.pk).email == "ada@example.org"
    client.post("/settings/address", {"email": ""})
    assert User.objects.get(pk=owner.pk).email == ""


@pytest.mark.usefixtures("broker_away")
def test_nobody_is_written_to_while_links_cannot_be_counted(
    client: Client, owner: User, mailoutbox: Box
) -> None:
    client.force_login(owner)
    page = client.post("/settings/address", {"email": "ada@example.org"}, follow=True)
    assert "No e-mail can be sent at the moment." in page.content.decode() and not mailoutbox


@pytest.mark.parametrize("given", ["ada", "ada@", "a@b.c\nBcc: x@example.org", "@" * 300])
def test_what_is_no_address_is_refused(
    client: Client, owner: User, mailoutbox: Box, given: str
) -> None:
    client.force_login(owner)
    page = client.post("/settings/address", {"email": given}, follow=True).content.decode()
    assert "This is no e-mail address." in page and not mailoutbox


def test_few_links_are_sent_to_addresses_that_somebody_gives(
    client: Client, owner: User, writer: User, mailoutbox: Box
) -> None:
    def ask(asking: Client, address: str) -> str:
        answer = asking.post("/settings/address", {"email": address}, follow=True)
        return answer.content.decode()

    client.force_login(owner)
    other = Client()
    other.force_login(writer)
    assert "A link was sent to ada@example.org." in ask(client, "ada@example.org")
    for asking, address in ((client, "ada@example.org"), (other, "Ada@Example.org")):
        assert "A link was sent to this address a moment ago." in ask(asking, address)
    assert len(mailoutbox) == 1
    for number in range(mail.MOST_LINKS - 1):
        ask(client, f"a{number}@example.org")
    assert "You have asked for too many links." in ask(client, "bo@example.org")
    assert len(mailoutbox) == mail.MOST_LINKS
    assert "A link was sent to bo@example.org." in ask(other, "bo@example.org")


def test_a_mention_that_was_not_seen_is_sent_once(mentioned: Mention, mailoutbox: Box) -> None:
    assert mention_mails.mail_unseen() == 1
    assert mention_mails.mail_unseen() == 0
    [sent] = mailoutbox
    assert sent.to == ["writer@example.org"] and "mentioned you" in sent.subject
    assert "is this a lamp?" in sent.body
    node = mentioned.node.local_id
    assert f"https://loom.example.org/trees/{mentioned.tree.uid}?node={node}" in sent.body


def test_nobody_is_written_to_who_saw_it_or_gave_no_address_or_may_not_read_it(
    mentioned: Mention, writer: User, mailoutbox: Box
) -> None:
    Mention.objects.update(seen_at=timezone.now())
    assert mention_mails.mail_unseen() == 0
    Mention.objects.update(seen_at=None, at=timezone.now())
    assert mention_mails.mail_unseen() == 0  # they may be reading it now
    Mention.objects.update(at=timezone.now() - timedelta(days=2))
    assert mention_mails.mail_unseen() == 0
    Mention.objects.update(at=timezone.now() - timedelta(minutes=3))
    User.objects.filter(pk=writer.pk).update(email="")
    assert mention_mails.mail_unseen() == 0
    User.objects.filter(pk=writer.pk).update(email="writer@example.org")
    Tree.objects.update(erasing_at=timezone.now())
    mention_mails.mail_unseen()
    Membership.objects.filter(user=writer).delete()
    mention_mails.send(writer.pk, [mentioned.pk])
    assert not mailoutbox


@pytest.mark.parametrize(
    "line", ["prune {note}", "undo", 'edit {note} "Is this a lamp?"', "prune {text}"]
)
def test_what_was_taken_back_in_the_meantime_is_not_sent(
    mentioned: Mention, actor: Actor, mailoutbox: Box, line: str
) -> None:
    names = {"note": mentioned.node.local_id, "text": Node.objects.get(text="A lamp.").local_id}
    execute_line(actor, mentioned.tree, Request(line.format(**names)))
    mention_mails.mail_unseen()
    assert not mailoutbox


def test_a_note_that_was_worded_again_is_sent_with_its_new_words(
    mentioned: Mention, actor: Actor, mailoutbox: Box
) -> None:
    note = mentioned.node
    line = f'edit {note.local_id} replace:"is this a lamp?" with:"this is one."'
    execute_line(actor, mentioned.tree, Request(line))
    mention_mails.mail_unseen()
    [sent] = mailoutbox
    assert "this is one." in sent.body and "lamp?" not in sent.body
    newer = Node.objects.get(edited_from=note)
    line = f'edit {newer.local_id} replace:"this is one." with:"it is."'
    execute_line(actor, mentioned.tree, Request(line))
    mention_mails.mail_unseen()
    assert len(mailoutbox) == 1  # they know of it


def test_without_a_server_nothing_is_looked_for(
    mentioned: Mention, settings: Any, client: Client, owner: User
) -> None:
    settings.MAIL_FROM = ""
    assert mention_mails.mail_unseen() == 0
    client.force_login(owner)
    assert "Address for mentions" not in client.get("/settings").content.decode()
    page = client.post("/settings/address", {"email": "ada@example.org"}, follow=True)
    assert "No e-mail is sent here." in page.content.decode()


def test_what_the_server_does_not_take_is_tried_again(
    mentioned: Mention, mailoutbox: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: EmailMessage) -> None:
        raise smtplib.SMTPServerDisconnected("away")

    with monkeypatch.context() as away:
        away.setattr(EmailMessage, "send", refuse)
        mention_mails.mail_unseen()
    assert Mention.objects.get().mailed_at is None
    assert mention_mails.mail_unseen() == 0  # for five minutes
    monkeypatch.setattr(mention_mails, "_failed_at", -mention_mails.AFTER_FAILURE_S)
    assert mention_mails.mail_unseen() == 1
    assert len(mailoutbox) == 1


@pytest.mark.parametrize(
    ("url", "sender", "sentence"),
    [
        ("mail.example.org", "a@b.c", "HEDDLE_MAIL_URL is no address"),
        ("smtp://host:port", "a@b.c", "HEDDLE_MAIL_URL is no address"),
        ("smtp://mail.example.org", "", "HEDDLE_MAIL_FROM is no address"),
    ],
)
def test_a_wrong_server_ends_the_start(
    url: str, sender: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDDLE_MAIL_URL", url)
    monkeypatch.setenv("HEDDLE_MAIL_FROM", sender)
    with pytest.raises(env.WrongSetting, match=sentence):
        env.read()


def test_a_server_is_read_with_its_port_and_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDDLE_MAIL_URL", "smtps://ada:p%40ss@mail.example.org")
    monkeypatch.setenv("HEDDLE_MAIL_FROM", "a@b.c")
    read = env.read().mail
    assert read == env.Mail("mail.example.org", 465, "ada", "p@ss", "implicit", "a@b.c")
