"""Augments: documents that a participant loads into its prompt (docs/model.md §5.1, Keep)."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from loom.engine.arguments import Args, Written
from loom.engine.context import Context, Reply
from loom.engine.registry import command
from loom.engine.registry import every as commands
from loom.errors import CommandError, not_found
from loom.permissions import LOOM
from loom.text.front_matter import title_key
from loom.text.tokens import count
from loom.workspace.effects import AugmentsChosen
from loom.workspace.queries.augments import (
    Augment,
    Loaded,
    in_order,
    loaded_in,
)

_NAME = re.compile(r"[\w.-]+(?:/[\w.-]+)+")
SHARE = 2  # loaded texts take at most half of what a model can read
CHARACTERS = 3  # of a token, at least


# Listing.


class AugmentListArgs(Args):
    """Names of augments, in which `*` stands for anything."""

    list: Annotated[str, Written("word", lead="list")]
    patterns: Annotated[tuple[str, ...], Written("word", many=True, shown="PATTERN")] = ()


@command("augment", group="Keep", klass="look", permissions={LOOM})
def augment_list(context: Context, args: AugmentListArgs) -> Reply:
    """Lists the augments: ● loaded, 📌 pinned, with what they require and the tools they name."""
    loaded = loaded_in(context.workspace)
    augments = _matching(loaded.every, args.patterns) if args.patterns else loaded.every
    lines = [_line(loaded, augment) for augment in augments]
    return Reply("\n".join(lines) or "there are no augments; → augment store group/name makes one")


def _line(loaded: Loaded, augment: Augment) -> str:
    parts = [f"{loaded.mark_of(augment) or '·'} {augment.name}"]
    if augment.requires:
        parts.append(f"requires {', '.join(augment.requires)}")
    if augment.tools:
        parts.append(f"tools {', '.join(augment.tools)}")
    return " · ".join(parts)


def _matching(every: Sequence[Augment], patterns: Sequence[str]) -> list[Augment]:
    """The augments that the patterns name. NOT_FOUND if a pattern matches none."""
    by_key: dict[str, Augment] = {}
    for pattern in patterns:
        wanted = title_key(pattern.removeprefix("augment:"))
        some = [augment for augment in every if _fits(augment.key, wanted)]
        if not some:
            raise not_found(f"An augment {pattern!r}", "→ augment list shows what there is")
        by_key |= {augment.key: augment for augment in some}
    return list(by_key.values())


def _fits(key: str, pattern: str) -> bool:
    """Whether a name matches a pattern; only `*` is special."""
    return fnmatchcase(key, re.sub(r"([\[?])", r"[\1]", pattern))


# Loading. What is loaded is kept by the id of the document, so that it may be renamed.


class AugmentChangeArgs(Args):
    """The action and the augments; `exclude:` names those that the patterns leave out."""

    to: Annotated[
        Literal["load", "unload", "pin", "unpin"],
        Written("choice", choices=("load", "unload", "pin", "unpin")),
    ]
    patterns: Annotated[tuple[str, ...], Written("word", many=True, shown="PATTERN")]
    exclude: Annotated[tuple[str, ...], Written("option", key="exclude", value="words")] = ()


@command("augment", group="Keep", klass="look ✓", permissions={LOOM}, stream="workspace")
def augment_change(context: Context, args: AugmentChangeArgs) -> Reply:
    """Loads augments into your prompt with all that they require, or unloads them; a pinned one
    stays when others are unloaded."""
    before = loaded_in(context.workspace)
    augments = _matching(before.every, args.patterns)
    left_out = _matching(before.every, args.exclude) if args.exclude else []
    augments = [augment for augment in augments if augment not in left_out]
    if not augments:
        raise not_found("An augment that is not excluded", "→ augment list shows what there is")
    if args.to in ("load", "pin"):
        return _load(context, before, augments, pins=args.to == "pin")
    if args.to == "unload":
        return _unload(context, before, augments, whole=_names_one(args.patterns))
    pinned = [augment for augment in before.pinned if augment not in augments]
    _set(context, before.chosen, pinned)
    return Reply(
        "\n".join(f"✓ unpinned {augment.name}" for augment in augments if augment in before.pinned)
        or "✓ nothing was pinned"
    )


def _names_one(patterns: Sequence[str]) -> bool:
    return not any("*" in pattern for pattern in patterns)


def _load(context: Context, before: Loaded, augments: list[Augment], *, pins: bool) -> Reply:
    chosen = [*before.chosen, *(augment for augment in augments if augment not in before.chosen)]
    texts = in_order(chosen, before.every)
    _demand_room(context, texts)
    pinned = [*before.pinned, *(augment for augment in augments if augment not in before.pinned)]
    _set(context, chosen, pinned if pins else before.pinned)
    lines = []
    for augment in augments:
        needed = [other.name for other in in_order([augment], before.every) if other != augment]
        more = f" (requires {', '.join(needed)})" if needed else ""
        lines.append(f"✓ {'pinned' if pins else 'loaded'} {augment.name}{more}")
        lines += [f"  ! {warning}" for warning in warnings_of(augment, before.every)]
    return Reply("\n".join([*lines, _token_change(before, texts)]))


def warnings_of(augment: Augment, every: Sequence[Augment]) -> list[str]:
    """What does not fit of the names in its front matter, in words."""
    keys = {other.key for other in every} | {augment.key}
    verbs = {entry.verb for entry in commands()}
    missing = [name for name in augment.requires if title_key(name) not in keys]
    unknown = [name for name in augment.tools if name not in verbs]
    lines = [f"{augment.name} requires {', '.join(missing)}, which is not there"] if missing else []
    return [*lines, *([f"unknown tools: {', '.join(unknown)}"] if unknown else [])]


def _unload(context: Context, before: Loaded, augments: list[Augment], *, whole: bool) -> Reply:
    """Unloads augments. One that a remaining augment requires stays, and so does a pinned one that
    was matched by a pattern with `*`."""
    gone = [
        augment
        for augment in augments
        if augment in before.chosen and (whole or augment not in before.pinned)
    ]
    chosen = [augment for augment in before.chosen if augment not in gone]
    still = in_order(chosen, before.every)
    _set(context, chosen, [augment for augment in before.pinned if augment in chosen])
    unloaded = [augment for augment in augments if augment in before.texts and augment not in still]
    lines = [f"✓ unloaded {augment.name}" for augment in unloaded] or ["✓ nothing was unloaded"]
    for augment in augments:
        if augment in still:
            by = [other.name for other in chosen if augment in in_order([other], before.every)]
            needing = [name for name in by if name != augment.name]
            why = f"needed by {', '.join(needing)}" if needing else "pinned"
            lines.append(f"  kept: {augment.name} ({why})")
    return Reply("\n".join([*lines, _token_change(before, still)]))


def _token_change(before: Loaded, now: Sequence[Augment]) -> str:
    """`  +312 tokens · augments 1,204 tokens`: how a line has changed what is loaded."""
    old, new = (sum(count(texts.text) for texts in some) for some in (before.texts, now))
    return f"  {new - old:+,} tokens · augments {new:,} tokens"


def _set(context: Context, chosen: Sequence[Augment], pinned: Sequence[Augment]) -> None:
    loaded = tuple(augment.uid for augment in chosen)
    context.add(AugmentsChosen(loaded, tuple(augment.uid for augment in pinned)))


def _demand_room(context: Context, texts: Sequence[Augment]) -> None:
    limit = context.workspace.participant.context_limit
    tokens = sum(len(text.text) for text in texts) // CHARACTERS
    if context.workspace.participant.kind == "model" and tokens * SHARE > limit:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"These augments take about {tokens:,} of the {limit:,} tokens that can be read.",
            hint="→ augment unload some first, or load fewer",
        )
