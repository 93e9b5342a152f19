"""What the turn views answer, for the OpenAPI schema. The bodies are made by queries."""

from typing import Any, Literal

from pydantic import BaseModel, Field


class Budget(BaseModel):
    """What a turn may use."""

    preset: Literal["quick", "standard", "thorough"]
    steps: int
    depth: int
    items: int
    rounds: int
    milliseconds: int
    tokens: int


class Usage(BaseModel):
    """What a turn has used; `shown` is the line of it that people and models read."""

    steps: int
    depth: int
    items: int
    rounds: int
    milliseconds: int
    tokens: int
    shown: str


class Extension(BaseModel):
    """More steps that the agent asks its people for, and why."""

    steps: int
    why: str


class Turn(BaseModel):
    """One turn. `stands` is the node it answers below, `input` what it was asked with;
    `generations` are its rounds in order, `steps` the numbers of its lines' steps in the
    agent's workspace; `node` is the answer once it has ended with one."""

    id: str
    tree: str
    status: Literal[
        "queued",
        "leased",
        "assembling",
        "generating",
        "executing",
        "finishing",
        "done",
        "interrupted",
        "halted",
        "failed",
        "stopped",
    ]
    participant: str
    invoked_by: str
    point: str
    stands: str
    input: str | None
    form: Literal["continuation", "aside"] = Field(alias="as")
    budget: Budget
    usage: Usage
    extension: Extension | None
    generations: list[str]
    steps: list[int]
    node: str | None
    finish: str | None
    error: dict[str, Any] | None
    created_at: str
    ended_at: str | None
