"""The organisations at which people have accounts, called issuers as in both protocols, and what
they say of a person."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

MOST_GROUPS = 500  # of one person, that are looked at
MOST_WORDS = 255  # characters of a name


@dataclass(frozen=True)
class Issuer:
    """Where people have accounts. `path` is where its pages are ("openid" for /openid/start),
    `entity` what it calls itself, `name` what people call it, `new` who may come for the first time
    (nobody, groups, anybody), and `groups` which role a group has in which grove: its name, the id
    of the grove, the role."""

    path: str
    entity: str
    name: str
    new: str
    groups: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Account:
    """Who somebody is at an organisation: by `subject`, which never changes."""

    subject: str
    username: str = ""
    name: str = ""
    email: str = ""
    groups: frozenset[str] = frozenset()


def groups_in(given: Iterable[object]) -> frozenset[str]:
    """The groups of a person, from what a protocol lists."""
    listed = list(given)[:MOST_GROUPS]
    return frozenset(group for group in listed if isinstance(group, str) and group)


AsksFor = Callable[[], Issuer | None]
_known: list[AsksFor] = []


def offers_accounts(asked: AsksFor) -> AsksFor:
    """Registers what names the organisation of a protocol; None if the operator has set none up."""
    if asked not in _known:
        _known.append(asked)
    return asked


def issuers() -> list[Issuer]:
    """Those that the operator has set up."""
    return [issuer for asked in _known if (issuer := asked()) is not None]
