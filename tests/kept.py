"""Rows made once for all tests of a module: what a test changes is taken back at its end."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import transaction

Made = TypeVar("Made")


@contextmanager
def kept(make: Callable[[], Made], *, blocker: Any) -> Iterator[Made]:
    """What `make` returns. Its rows are there within the block, for a fixture of a module, and are
    rolled back after it. The tests need the mark django_db, without `transaction`: theirs are
    savepoints in the transaction that is open meanwhile, which pytest-django allows for.
    `blocker` is the fixture django_db_blocker; django_db_setup has to come before.
    """
    with blocker.unblock():
        outer = transaction.atomic()
        outer.__enter__()
    try:
        with blocker.unblock():
            rows = make()
        yield rows
    finally:
        with blocker.unblock():
            transaction.set_rollback(True)
            outer.__exit__(None, None, None)
