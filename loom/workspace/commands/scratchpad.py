"""The scratchpad of a workspace: one short text that is part of every request of its agent
(docs/model.md §5.1)."""

from typing import Annotated

from loom.engine.arguments import Args, Written
from loom.engine.context import Context, Reply
from loom.engine.registry import command, describe_verb
from loom.errors import CommandError
from loom.language.verbs import Phrases, Verb
from loom.permissions import LOOM
from loom.text.tokens import count
from loom.workspace.effects import ScratchpadChanged
from loom.workspace.models import SCRATCHPAD_TOKENS


class ScratchpadClearArgs(Args):
    """The word `clear`."""

    clear: Annotated[str, Written("word", lead="clear")]


describe_verb(
    Verb(
        "scratchpad",
        past="wrote on the scratchpad",
        taught="scratchpad CONTENT [append] — a short text of yours that every request shows",
        phrases=(
            Phrases("clear scratchpad|clear my scratchpad|empty scratchpad", before="clear"),
            Phrases(
                "add to scratchpad|add to my scratchpad|append to scratchpad|write on scratchpad"
                "|scratchpad add",
                before="append",
                needs="text",
            ),
        ),
    )
)


@command(
    "scratchpad",
    group="Keep",
    klass="write",
    permissions={LOOM},
    stream="workspace",
    takes_away=lambda _values: True,
)
def scratchpad_clear(context: Context, args: ScratchpadClearArgs) -> Reply:
    """Empties your scratchpad."""
    context.add(ScratchpadChanged(""))
    return Reply("✓ scratchpad cleared")


class Write(Args):
    """The text, and whether it comes below what is there."""

    content: Annotated[str, Written("content")]
    append: Annotated[bool, Written("flag")] = False


@command(
    "scratchpad",
    group="Keep",
    klass="write",
    permissions={LOOM},
    stream="workspace",
    takes_away=lambda values: values.get("append") is not True,
)
def scratchpad(context: Context, args: Write) -> Reply:
    """Keeps one short text of yours that every request shows you, also in later turns; it replaces
    what was there, with `append` it comes below."""
    text = args.content.strip()
    if not text:
        raise CommandError(
            "INVALID_SYNTAX",
            "The text is empty.",
            hint="→ scratchpad clear empties the scratchpad",
        )
    before = context.workspace.scratchpad
    whole = f"{before}\n{text}" if args.append and before else text
    tokens = count(whole)
    if tokens > SCRATCHPAD_TOKENS:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"The scratchpad would have {tokens:,} tokens; at most {SCRATCHPAD_TOKENS} fit.",
            hint='write it shorter, or → stash "label" "…" puts a long text aside',
        )
    context.add(ScratchpadChanged(whole))
    return Reply(f"✓ scratchpad ({tokens:,} tokens of {SCRATCHPAD_TOKENS})")
