"""`manage.py watch DIR --tree TREE`: keeps a file in step with a tree, in both directions."""

import time
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import close_old_connections

from loom import access
from loom.engine.busy import NOT_REACHED
from loom.errors import CommandError as Refusal
from loom.management.shell import StartedCommand, found_person, found_tree, seconds
from loom.transfer.live_folder import KINDS, LiveFile

SETTLE_S = 0.4  # seconds without a change before a file is read: it may be half saved


class Command(StartedCommand):
    """Runs until it is stopped, or once."""

    help = (
        "Keeps a file in DIR in step with a tree: what is saved there becomes versions and texts, "
        "and what changes in the tree is written there. Stop it with Ctrl+C."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """DIR, the tree, who writes, and how often to look."""
        parser.add_argument("dir")
        parser.add_argument("--tree", default="", help="id or title; default: the last used")
        parser.add_argument("--as", dest="by", default="", help="USER, who is the author")
        parser.add_argument("--format", default="markdown", choices=list(KINDS))
        parser.add_argument("--every", type=seconds, default=1.0, help="seconds between two checks")
        parser.add_argument("--once", action="store_true", help="check once and stop")

    def handle(self, *args: Any, **options: Any) -> None:
        """Prints a line for each change."""
        folder = Path(options["dir"])
        if not folder.is_dir():
            raise CommandError(f"{folder} is not a folder. Make it first.")
        try:
            user = found_person(options["by"])
            tree = found_tree(options["tree"], user)
            actor = access.get_actor_in(user, tree.pk)
            kind, every = options["format"], max(options["every"], 0.2)
            file = LiveFile(folder, actor, tree, kind, self.stdout.write, settle=SETTLE_S)
            while options["once"] and file.is_settling():
                time.sleep(SETTLE_S / 4)
            while True:
                try:
                    # Revoked permissions end immediately.
                    file.actor, file.tree = access.get_tree(user, tree.uid)
                    file.step()
                except NOT_REACHED as error:
                    if options["once"]:
                        raise
                    self.stderr.write(f"The database does not answer; trying again. ({error})")
                if options["once"]:
                    return
                close_old_connections()
                time.sleep(every)
        except Refusal as refused:
            raise CommandError(f"{refused.message} {refused.hint}".strip()) from None
        except OSError as error:
            raise CommandError(f"{folder} can't be read or written: {error.strerror}.") from None
        except KeyboardInterrupt:
            return
