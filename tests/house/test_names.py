"""Names and docstrings stand on their own: a search for one finds one thing."""

import ast
from collections import defaultdict

from tests.house.sources import files, name_of, nodes_of

# Public classes that share their name with another one. Take a name off when you rename; no name
# is added.
SHARED = set(
    """
    Action Answer Ask Asked Attempt Augment Bookmark Broken Budget Caller Candidate Change
    Changed Changes CheckChanged Clear Counts Difference DocumentChanged Draft Entry Event
    Extension Format Found Frame Grove GroveChanged Here Hit Invitation Kept Line Link LinkType
    Linked List Mark Member MemberNamed Named Near NewInvitation NewPublicLink Node Note Order
    Outline Part Participant ParticipantChanged Piece Place Plan Prepared Progress Proof
    Provenance PublicLink Read Reader Reading Record Reply Request Rest RoundShown Row Run
    Section Seen Sent Session SettingsPinned Shown Source State Step TagNamed Target Task
    TextShown Threads TooLong TooLongError Tree TreeChanged TreeErased Turn TypeChanged Uid
    Usage Verdict View Wanted Watch Window Wire Workspace
    """.split()
)


def _public_classes() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for path in files(".py"):
        name = name_of(path)
        if name.startswith(("loom/", "agents/", "config/")) and "/migrations/" not in name:
            module = next(node for node in nodes_of(path) if isinstance(node, ast.Module))
            for node in module.body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(name)
    del found["Command"]  # as Django wants it of each management command
    return found


def test_no_further_public_class_shares_its_name() -> None:
    several = {name: places for name, places in _public_classes().items() if len(places) > 1}
    assert {name: several[name] for name in sorted(several.keys() - SHARED)} == {}
    assert sorted(SHARED - several.keys()) == [], "take these off SHARED: they are unique now"


def test_no_docstring_begins_with_the_same() -> None:
    """Such a docstring says nothing once the definition above it has moved."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = [
        f"{name_of(path)}: {getattr(node, 'name', '')}"
        for path in files(".py")
        for node in nodes_of(path)
        if isinstance(node, documented) and (ast.get_docstring(node) or "").startswith("The same")
    ]
    assert found == []
