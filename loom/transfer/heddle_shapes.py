"""Heddle's own JSON: the fields of its parts. docs/formats.md describes it for people.

Flat, so that depth is no limit, and self-contained: authors by name, nodes by local id.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

VERSION = 1
FLAGS = ("pruned", "version_pruned", "excluded", "sandbox")
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Uid = Annotated[str, Field(max_length=32)]
Name = Annotated[str, Field(max_length=80)]
Item = Annotated[str, Field(max_length=80)]


class _Part(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="allow")


class TreePart(_Part):
    """The tree itself."""

    title: Annotated[str, Field(max_length=300)] = ""
    mode: Literal["dialogue", "buffer"]
    description: str = ""
    system_context: str = ""
    summary: str = ""
    truncation: Literal["truncateMiddle", "rollingWindow", "stopAtLimit"] = "truncateMiddle"
    memory: str = ""
    author_note: str = ""
    note_depth: Annotated[int, Field(ge=1, le=100)] = 3
    lore_scan: Annotated[int, Field(ge=1, le=100_000)] = 2000
    lore_budget: Annotated[int, Field(ge=0, le=100_000)] = 1000
    imported: dict[str, Any] | None = None


class ParticipantPart(_Part):
    """An author in the tree."""

    name: Name
    kind: Literal["human", "model"]


class Source(_Part):
    """A source of a node: a local id, `tree`, or an address in another tree."""

    item: Item
    role: Annotated[str, Field(max_length=12)]
    version_seen: Annotated[str, Field(max_length=64)] = ""


class Proof(_Part):
    """The hashed values that are not among the node's other fields."""

    author: Annotated[str, Field(max_length=64)]
    call: Uid | None = None
    configuration: Hash | None = None
    parent: Hash | None = None


class NodePart(_Part):
    """One version of one slot. `content` only if it is not one block with `text`."""

    id: str
    slot: str | None = None
    parent: str | None = None
    kind: Literal["text", "annotation", "thought", "claim"] = "text"
    form: Annotated[str, Field(max_length=10)] = ""
    text: str = ""
    content: list[dict[str, Any]] | None = None
    author: Name = ""
    created_at: str = ""
    edited_from: str | None = None
    finish: Annotated[str, Field(max_length=80)] = "complete"
    generation: Uid | None = None
    summary: str = ""
    flags: list[Literal["pruned", "version_pruned", "excluded", "sandbox"]] = []
    resolved_at: str | None = None
    sources: list[Source] = []
    imported: dict[str, Any] | None = None
    proof: Proof | None = None
    hash: Hash | None = None


class CallPart(_Part):
    """One exchange with a provider, sealed. `response` is the base64 of the gzip of the body
    bytes, whose hex SHA-256 is `sha256`; `request` is without keys."""

    id: Annotated[str, Field(max_length=32, pattern=r"^[a-z0-9]+$")]
    by: Name
    purpose: Annotated[str, Field(max_length=12)] = "continue"
    provider: Annotated[str, Field(max_length=40)]
    configuration: Annotated[str, Field(max_length=64)] = ""
    request: dict[str, Any]
    response: str
    bytes: Literal["exact", "reassembled"]
    status: Annotated[int, Field(ge=0, le=999)] | None = None
    headers: dict[str, str] = {}
    sha256: Hash
    usage: dict[str, Any] = {}
    note: str = ""
    strategy: Annotated[str, Field(max_length=16)] = ""
    started_at: str
    first_at: str | None = None
    sealed_at: str


class MarkPart(_Part):
    """A mark on a node (its local id) or on the tree (`tree`)."""

    kind: Literal["bookmark", "tag", "read"]
    label: Annotated[str, Field(max_length=200)] = ""
    item: Item
    by: Name = ""
    at: str = ""


class LinkPart(_Part):
    """A link from an item of this tree to another."""

    type: Annotated[str, Field(max_length=40)] = "related"
    source: Item
    target: Item
    note: Annotated[str, Field(max_length=2000)] = ""
    confidence: Annotated[float, Field(ge=0, le=1)] | None = None
    by: Name = ""
    at: str = ""
