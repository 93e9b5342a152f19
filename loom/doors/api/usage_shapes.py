"""What is told about tokens and money, for the OpenAPI schema."""

from typing import Literal

from pydantic import BaseModel, Field


class Sums(BaseModel):
    """Tokens of ended candidates, as providers counted them; `usd` null where no price was
    known."""

    generations: int
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    usd: float | None


class OfParticipant(Sums):
    """The sums of a model, or of the member who asked."""

    participant: str
    name: str


class TreeUsage(BaseModel):
    """A tree's sums; `node` and `path` where a node was named."""

    tree: Sums
    node: Sums | None
    path: Sums | None
    participants: list[OfParticipant]
    people: list[OfParticipant]


class Money(BaseModel):
    """A member's money of today (UTC); `left_usd` null where there is no limit."""

    limit_usd: float
    spent_usd: float
    reserved_usd: float
    left_usd: float | None


class Shared(Sums):
    """What a member asked of a model."""

    person: str
    person_name: str
    participant: str
    participant_name: str


class OfDay(Sums):
    """The sums of a day."""

    day: str


class OfTree(Sums):
    """The sums of a tree."""

    tree: str
    title: str


class OfPerson(BaseModel):
    """What a member spent, erased trees included, and has left today."""

    participant: str
    name: str
    usd: float
    today: Money


class GroveUsage(BaseModel):
    """A grove's sums from a day to a day."""

    from_: str = Field(alias="from")
    to: str
    limit_usd: float
    total: Sums
    shares: list[Shared]
    days: list[OfDay]
    trees: list[OfTree]
    people: list[OfPerson]


class ToRead(BaseModel):
    """What one candidate of a model reads, and what that costs: `prices` in USD per million
    tokens, null where none is known; `length` is what is reserved for an answer."""

    participant: str
    name: str
    tokens: int
    how: Literal["counted", "estimated"]
    length: int
    prices: dict[str, float] | None
    caches_from: int | None


class Estimate(BaseModel):
    """What continuing from a node would cost."""

    money: Money
    participants: list[ToRead]
