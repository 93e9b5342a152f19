"""Links that management commands print."""

from pathlib import Path

from django.conf import settings

from loom.commands import people
from loom.models import User


def _file() -> Path:
    file: Path = settings.DATA_DIR / "address"
    return file


def keep_address() -> None:
    """Notes where this Heddle was started, for commands that are typed without its
    environment."""
    _file().write_text(settings.ORIGINS[0])


def address() -> str:
    """Where browsers find this Heddle: what HEDDLE_ORIGINS says first, else where it was
    started last."""
    if not settings.ENV.origins and _file().exists():
        return _file().read_text().strip()
    return str(settings.ORIGINS[0])


def signin_link(user: User) -> str:
    """A fresh one-time sign-in link."""
    return f"{address()}/signin/{people.make_signin_link(user)}"
