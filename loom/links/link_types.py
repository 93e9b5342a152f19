"""The stored types of links and their reverses (docs/model.md §8), which are never stored. Pure."""

PAIRS = {
    "contains": "contained_in",
    "imports": "imported_by",
    "calls": "called_by",
    "tests": "tested_by",
    "covers": "covered_by",
    "implements": "implemented_by",
    "specified_by": "specifies",
    "derives_from": "derived_by",
    "evidence": "evidences",
    "supports": "supported_by",
    "refutes": "refuted_by",
    "extends": "extended_by",
    "uses": "used_by",
    "evolved_from": "evolved_to",
    "supersedes": "superseded_by",
    "requires": "required_by",
    "quotes": "quoted_by",
}
SYMMETRIC = ("related", "similar", "contrasts")
STORED = (*PAIRS, *SYMMETRIC)
LINK_TYPES = tuple(sorted({*STORED, *PAIRS.values()}))  # names as read from either side


def reverse_of(name: str) -> str:
    """The name of a stored type as read from its target."""
    return PAIRS.get(name, name)


def arrow(name: str) -> str:
    """How a link is drawn between two ids in a reply: `↔` for the untyped one."""
    return "↔" if name == "related" else f"──[{name}]──→"
