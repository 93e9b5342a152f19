"""`manage.py verify [TREE]`: whether the hashes and seals of a tree, or of all trees, are valid."""

import sys
from typing import Any

from django.core.management.base import CommandError, CommandParser

from loom import access
from loom.errors import CommandError as Refusal
from loom.management.shell import StartedCommand
from loom.reading.queries.verify import verify_tree
from loom.trees.models import Tree


class Command(StartedCommand):
    """Reports on each tree, and names every node that is broken."""

    help = (
        "Checks the hashes and seals of a tree, or of every tree. Exit code 0 where all hold, 1 "
        "where a node is broken."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """TREE."""
        parser.add_argument("tree", nargs="?", default="", help="id or title; default: all")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints a line for each tree, and one below it for each broken node."""
        verdicts = [self._verified(tree) for tree in _trees(options["tree"])]
        broken = verdicts.count("invalid")
        self.stdout.write(f"{len(verdicts)} trees checked, {broken} broken.")
        if broken:
            sys.exit(1)

    def _verified(self, tree: Tree) -> str:
        owner = tree.grove.memberships.filter(role="owner").order_by("pk").first()
        if owner is None:
            self.stdout.write(f"{tree.uid} {tree.title}: not checked, its grove has no owner")
            return "unchecked"
        try:
            report = verify_tree(access.get_actor_in(owner.user, tree.pk), tree, None)
        except Refusal as refused:
            self.stdout.write(f"{tree.uid} {tree.title}: not checked, {refused.message}")
            return "unchecked"
        status = str(report["status"])
        self.stdout.write(
            f"{tree.uid} {tree.title}: {status}, {report['checked']} nodes, {report['calls']} calls"
        )
        for fault in report["broken"]:
            self.stdout.write(f"  {fault['node']}: {fault['reason']}")
        for call in report["broken_calls"]:
            self.stdout.write(f"  call {call}: its stored answer is not what was sealed")
        return status


def _trees(named: str) -> list[Tree]:
    """The trees with that id or title, or all, in order of creation."""
    rows = Tree.objects.filter(erasing_at__isnull=True).select_related("grove").order_by("pk")
    if not named:
        return list(rows)
    trees = list(rows.filter(uid=named)) or list(rows.filter(title__iexact=named))
    if not trees:
        raise CommandError(f"There is no tree {named!r}. Name one by its id or title.")
    return trees
