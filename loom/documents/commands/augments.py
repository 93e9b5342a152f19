"""Storing an augment: a document that participants load into their prompts (docs/model.md §5.1)."""

import re
from collections.abc import Sequence
from typing import Annotated

from loom.documents import log as document_log
from loom.documents.commands.writing import create
from loom.documents.models import Document, Revision
from loom.engine.arguments import Args, Written
from loom.engine.context import Context, Reply
from loom.engine.registry import command
from loom.engine.streams import Writer
from loom.errors import CommandError
from loom.permissions import LOOM, READ_DOCUMENTS, WRITE_DOCUMENTS
from loom.text.edits import difference
from loom.text.front_matter import MAX_TITLE, title_key
from loom.trees.named_items import item_of
from loom.workspace.commands.augments import warnings_of
from loom.workspace.queries.augments import Augment, augment_of, augments_of
from loom.workspace.queries.workspace_bodies import circle_of

_NAME = re.compile(r"[\w.-]+(?:/[\w.-]+)+")
MOST_AUGMENTS = 200  # of a grove


class Store(Args):
    """The name, with its group, and the text, which may begin with front matter."""

    store: Annotated[str, Written("word", lead="store")]
    name: Annotated[str, Written("word", shown="group/name")]
    content: Annotated[str, Written("content")]


@command(
    "augment",
    group="Keep",
    klass="write",
    permissions={LOOM, READ_DOCUMENTS, WRITE_DOCUMENTS},
    stream="grove",
)
def augment_store(context: Context, args: Store) -> Reply:
    """Stores an augment, or a new revision of it. Front matter between lines of `---` may name
    what it requires (`requires: group/name`) and the commands it teaches (`tools: find, view`)."""
    return store(context, args.name, args.content)


def store(context: Context, given: str, content: str) -> Reply:
    """Stores an augment under a name as it was given, or a new revision of it."""
    name = given.removeprefix("augment:")
    if not _NAME.fullmatch(name) or len(name) > MAX_TITLE:
        raise CommandError(
            "INVALID_SYNTAX",
            f"{given[:60]!r} is not the name of an augment.",
            hint="write a group and a name, such as style/plain",
        )
    if not content.strip():
        raise CommandError("INVALID_SYNTAX", "There is no text to store.", hint="write one")
    every = augments_of(context.actor.grove)
    augment = augment_of("", name, content)
    _demand_requirements(augment, every)
    revision = _stored(context, context.world, name, content, len(every))
    lines = [f"✓ stored {name} (revision {revision.number}); → augment load {name} loads it"]
    lines += [f"  ! {warning}" for warning in warnings_of(augment, every)]
    document = revision.document
    return Reply("\n".join(lines), refs=(f"doc:{document.uid}",), items=(item_of(document),))


def _demand_requirements(augment: Augment, every: Sequence[Augment]) -> None:
    keys = {other.key for other in every}
    circle = circle_of(augment, every)
    if circle:
        raise CommandError(
            "REJECTED",
            f"{' requires '.join(circle)}: that is a circle.",
            hint="leave one of these requirements out",
        )
    missing = [name for name in augment.requires if title_key(name) not in keys]
    if missing:
        raise CommandError(
            "REJECTED",
            f"There is no augment {' or '.join(missing)}.",
            hint="store it first, or leave it out of requires:",
        )


def _stored(context: Context, writer: Writer, name: str, text: str, many: int) -> Revision:
    rows = Document.objects.select_related("grove").filter(grove=context.actor.grove)
    old = rows.filter(title_key=title_key(name)).first()
    if old is not None and old.kind != "augment":
        raise CommandError(
            "CONFLICT", f"{old.shown} is a note.", hint="choose another name for the augment"
        )
    if old is None:
        if many >= MOST_AUGMENTS:
            raise CommandError(
                "LIMIT_EXCEEDED",
                f"At most {MOST_AUGMENTS} augments.",
                hint="change one that there is",
            )
        stored = create(
            writer, context.actor, title=name, text=text, now=context.now, kind="augment"
        )
        return stored.revision
    stored = document_log.write(
        writer,
        old,
        lambda now, _: difference(now, text),
        by=context.actor.participant,
        at=context.now,
    )
    return stored.revision
