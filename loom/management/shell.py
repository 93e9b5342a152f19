"""What management commands share: printed links, commands typed in the shell, a data folder."""

import errno
from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, connection
from django.db.migrations.recorder import MigrationRecorder

from loom import access
from loom.access import Actor
from loom.engine.context import Answer, Request
from loom.engine.execute import execute_line
from loom.errors import CommandError as Refusal
from loom.errors import not_found
from loom.people.commands import accounts as people
from loom.people.models import Participant, User
from loom.trees.models import Tree


def _file() -> Path:
    file: Path = settings.DATA_DIR / "address"
    return file


def keep_address() -> None:
    """Stores the address where this Heddle was started, for management commands without its
    environment, which leave it as it is."""
    if settings.ENV.origins or not _file().exists():
        _file().write_text(settings.ORIGINS[0])


def address() -> str:
    """The address of this Heddle for browsers: the first one in HEDDLE_ORIGINS, else the one where
    it was last started."""
    if not settings.ENV.origins and _file().exists():
        return _file().read_text().strip()
    return str(settings.ORIGINS[0])


def seconds(text: str) -> float:
    """A number of seconds as an argument: not negative, and at most a year."""
    number = float(text)
    if not 0 <= number <= 365 * 86_400:
        raise ArgumentTypeError(f"{text} is no number of seconds between 0 and a year")
    return number


def signin_link(user: User) -> str:
    """A fresh one-time sign-in link."""
    return f"{address()}/signin/{people.make_signin_link(user)}"


# A command line from the shell: its author, and its tree.


AGENT = "agent:"


def say(line: str, *, tree: str, by: str, at: str = "", dry_run: bool = False) -> Answer:
    """The reply to a line in the tree with that id or title ("" for the one written in last).

    `by` is a user's name ("" for the person who set up Heddle), or an agent's, which then has the
    permissions that both it and the first owner of its grove have. Raises CommandError.
    """
    if by.startswith(AGENT):
        target = found_tree(tree, None)
        actor = _agent(by.removeprefix(AGENT), target)
    else:
        user = found_person(by)
        target = found_tree(tree, user)
        actor = access.get_actor_in(user, target.pk)
    return execute_line(actor, target, Request(line, at=at, dry_run=dry_run))


def found_person(name: str) -> User:
    """The user with that name ("" for the person who set up Heddle)."""
    user = people.find_user(name) if name else User.objects.filter(is_operator=True).first()
    if user is None:
        raise not_found(f"The user {name!r}", 'name one with --as, or an agent as agent:"name"')
    return user


def found_tree(named: str, user: User | None) -> Tree:
    """The tree with that id or title ("" for the one written in last) that the user may see."""
    rows = access.visible_trees(user) if user else Tree.objects.filter(erasing_at__isnull=True)
    rows = rows.select_related("grove").distinct()
    if not named:
        trees = list(rows.order_by("-touched_at")[:1])
    else:
        trees = list(rows.filter(uid=named)) or list(rows.filter(title__iexact=named)[:4])
    if len(trees) > 1:
        ids = ", ".join(tree.uid for tree in trees)
        raise Refusal("INVALID_SYNTAX", "Several trees have this title.", hint=f"--tree {ids}")
    if not trees:
        raise not_found("This tree", "name one by its id or title with --tree")
    return trees[0]


def _agent(name: str, tree: Tree) -> Actor:
    rows = Participant.objects.filter(grove=tree.grove, kind="model", archived_at__isnull=True)
    agent = rows.filter(name__iexact=name.strip('"')).first()
    owner = tree.grove.memberships.filter(role="owner").order_by("pk").first()
    if agent is None or owner is None:
        raise not_found(f"The agent {name}", "the grove's page of participants lists them")
    return access.acting_as(access.get_actor_in(owner.user, tree.pk), agent)


# Commands that need a data folder in which Heddle has been started once.


class StartedCommand(BaseCommand):
    """Prints what to do if there is no Heddle yet, or if its database or disk refuses, instead of
    a traceback."""

    # Django's checks import every view, which takes as long as the rest (measured). A test
    # runs them.
    requires_system_checks = ()

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Runs the command. CommandError where the database is empty, or cannot be used."""
        try:
            if not MigrationRecorder(connection).applied_migrations():
                raise CommandError(
                    f"There is no Heddle data in {settings.DATA_DIR} yet. Start script/server "
                    "once, or name its folder in HEDDLE_DATA."
                )
            return super().execute(*args, **options)
        except OperationalError as error:
            raise CommandError(
                f"The database can't be used: {str(error).strip()}. {_LOOK}"
            ) from None
        except OSError as error:
            if error.errno not in _OF_DISKS:
                raise
            named = error.filename or settings.DATA_DIR
            raise CommandError(f"{named} can't be used: {error.strerror}. {_LOOK}") from None


_OF_DISKS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM)
_LOOK = "Look whether the disk is full or read-only, and who owns the data folder."
