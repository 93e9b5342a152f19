"""What is decided in one place is decided nowhere else."""

import ast

from loom.links.derived import derived_type
from loom.links.link_types import DERIVED
from tests.house.sources import files, name_of, nodes_of


def test_generations_are_stored_with_their_money_in_one_place() -> None:
    """`queue` gives a generation its lane, rank and what is reserved; a row that is only shown, as
    the next request of a person is, is made without a lane."""
    modules = {
        name_of(path)
        for path in files(".py")
        for node in nodes_of(path)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) in ("Generation", "Generation.objects.create")
        and any(keyword.arg in ("lane", "reserved") for keyword in node.keywords)
        and name_of(path).startswith(("loom", "agents"))
    }
    assert modules == {"loom/turns/queueing.py"}


def test_every_derived_type_has_its_answer() -> None:
    """A word that no link type may have is one that `list` and `expand` answer from columns."""
    assert all(derived_type(word) for word in DERIVED)
