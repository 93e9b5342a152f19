"""`manage.py export FILE --tree TREE`: writes a tree or a path to a file, once or repeatedly."""

import secrets
import time
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import close_old_connections

from loom import access
from loom.engine.busy import NOT_REACHED
from loom.errors import CommandError as Refusal
from loom.management.shell import StartedCommand, found_person, found_tree, seconds
from loom.people.models import User
from loom.transfer import exporting
from loom.trees.models import Tree
from loom.trees.queries.trees import head_of


class Command(StartedCommand):
    """Writes to a new file first, so that nobody reads half an export."""

    help = "Writes a tree to FILE in any export format; with --every, again after each change."

    def add_arguments(self, parser: CommandParser) -> None:
        """FILE, the tree, who may read it, and what is written."""
        parser.add_argument("file")
        parser.add_argument("--tree", default="", help="id or title; default: the last used")
        parser.add_argument("--as", dest="by", default="", help="USER whose permissions are used")
        parser.add_argument("--format", default="heddle", choices=list(exporting.FORMATS))
        parser.add_argument("--node", default="", help="the end of the path")
        parser.add_argument("--whole", action="store_const", const="1", default="")
        parser.add_argument("--notes", action="store_const", const="1", default="")
        parser.add_argument("--calls", choices=["", "none", "full"], default="")
        parser.add_argument("--every", type=seconds, default=0.0, help="seconds between two checks")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints a line for each file written."""
        try:
            user = found_person(options["by"])
            tree = found_tree(options["tree"], user)
            last = 0
            while True:
                try:
                    seq = head_of(tree)
                    if seq != last:
                        self._write(Path(options["file"]), user, tree, options)
                    last = seq
                except NOT_REACHED as error:
                    if not options["every"]:
                        raise
                    self.stderr.write(f"The database does not answer; trying again. ({error})")
                if not options["every"]:
                    return
                close_old_connections()
                time.sleep(max(options["every"], 0.2))
        except Refusal as refused:
            raise CommandError(f"{refused.message} {refused.hint}".strip()) from None
        except OSError as error:
            raise CommandError(f"{options['file']} can't be written: {error.strerror}.") from None
        except KeyboardInterrupt:
            return

    def _write(self, file: Path, user: User, tree: Tree, options: dict[str, Any]) -> None:
        actor, tree = access.get_tree(user, tree.uid)
        asked = {name: options[name] for name in ("format", "node", "whole", "notes", "calls")}
        format, wanted = exporting.asked(actor, tree, asked)
        waiting = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
        try:
            with waiting.open("wb") as out:
                for piece in format.pieces(wanted):
                    out.write(piece)
            waiting.replace(file)
        finally:
            waiting.unlink(missing_ok=True)
        self.stdout.write(f"wrote {file}")
