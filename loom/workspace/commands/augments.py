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
    found = _matching(loaded.every, args.patterns) if args.patterns else loaded.every
    lines = [_line(loaded, one) for one in found]
    return Reply("\n".join(lines) or "there are no augments; → augment store group/name makes one")


def _line(loaded: Loaded, one: Augment) -> str:
    parts = [f"{loaded.mark_of(one) or '·'} {one.name}"]
    if one.requires:
        parts.append(f"requires {', '.join(one.requires)}")
    if one.tools:
        parts.append(f"tools {', '.join(one.tools)}")
    return " · ".join(parts)


def _matching(every: Sequence[Augment], patterns: Sequence[str]) -> list[Augment]:
    """The augments that the patterns name. NOT_FOUND if a pattern matches none."""
    found: dict[str, Augment] = {}
    for pattern in patterns:
        wanted = title_key(pattern.removeprefix("augment:"))
        some = [one for one in every if _fits(one.key, wanted)]
        if not some:
            raise not_found(f"An augment {pattern!r}", "→ augment list shows what there is")
        found |= {one.key: one for one in some}
    return list(found.values())


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
    found = _matching(before.every, args.patterns)
    left_out = _matching(before.every, args.exclude) if args.exclude else []
    found = [one for one in found if one not in left_out]
    if not found:
        raise not_found("An augment that is not excluded", "→ augment list shows what there is")
    if args.to in ("load", "pin"):
        return _load(context, before, found, pins=args.to == "pin")
    if args.to == "unload":
        return _unload(context, before, found, whole=_names_one(args.patterns))
    pinned = [one for one in before.pinned if one not in found]
    _set(context, before.chosen, pinned)
    return Reply(
        "\n".join(f"✓ unpinned {one.name}" for one in found if one in before.pinned)
        or "✓ nothing was pinned"
    )


def _names_one(patterns: Sequence[str]) -> bool:
    return not any("*" in one for one in patterns)


def _load(context: Context, before: Loaded, found: list[Augment], *, pins: bool) -> Reply:
    chosen = [*before.chosen, *(one for one in found if one not in before.chosen)]
    texts = in_order(chosen, before.every)
    _demand_room(context, texts)
    pinned = [*before.pinned, *(one for one in found if one not in before.pinned)]
    _set(context, chosen, pinned if pins else before.pinned)
    lines = []
    for one in found:
        needed = [other.name for other in in_order([one], before.every) if other != one]
        more = f" (requires {', '.join(needed)})" if needed else ""
        lines.append(f"✓ {'pinned' if pins else 'loaded'} {one.name}{more}")
        lines += [f"  ! {said}" for said in warnings_of(one, before.every)]
    return Reply("\n".join([*lines, _token_change(before, texts)]))


def warnings_of(one: Augment, every: Sequence[Augment]) -> list[str]:
    """What does not fit of the names in its front matter, in words."""
    keys = {other.key for other in every} | {one.key}
    verbs = {entry.verb for entry in commands()}
    missing = [name for name in one.requires if title_key(name) not in keys]
    unknown = [name for name in one.tools if name not in verbs]
    said = [f"{one.name} requires {', '.join(missing)}, which is not there"] if missing else []
    return [*said, *([f"unknown tools: {', '.join(unknown)}"] if unknown else [])]


def _unload(context: Context, before: Loaded, found: list[Augment], *, whole: bool) -> Reply:
    """Unloads augments. One that a remaining augment requires stays, and so does a pinned one that
    was matched by a pattern with `*`."""
    gone = [one for one in found if one in before.chosen and (whole or one not in before.pinned)]
    chosen = [one for one in before.chosen if one not in gone]
    still = in_order(chosen, before.every)
    _set(context, chosen, [one for one in before.pinned if one in chosen])
    unloaded = [one for one in found if one in before.texts and one not in still]
    lines = [f"✓ unloaded {one.name}" for one in unloaded] or ["✓ nothing was unloaded"]
    for one in found:
        if one in still:
            by = [other.name for other in chosen if one in in_order([other], before.every)]
            needing = [name for name in by if name != one.name]
            why = f"needed by {', '.join(needing)}" if needing else "pinned"
            lines.append(f"  kept: {one.name} ({why})")
    return Reply("\n".join([*lines, _token_change(before, still)]))


def _token_change(before: Loaded, now: Sequence[Augment]) -> str:
    """`  +312 tokens · augments 1,204 tokens`: how a line has changed what is loaded."""
    old, new = (sum(count(one.text) for one in some) for some in (before.texts, now))
    return f"  {new - old:+,} tokens · augments {new:,} tokens"


def _set(context: Context, chosen: Sequence[Augment], pinned: Sequence[Augment]) -> None:
    loaded = tuple(one.uid for one in chosen)
    context.add(AugmentsChosen(loaded, tuple(one.uid for one in pinned)))


def _demand_room(context: Context, texts: Sequence[Augment]) -> None:
    limit = context.workspace.participant.context_limit
    tokens = sum(len(one.text) for one in texts) // CHARACTERS
    if context.workspace.participant.kind == "model" and tokens * SHARE > limit:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"These augments take about {tokens:,} of the {limit:,} tokens that can be read.",
            hint="→ augment unload some first, or load fewer",
        )
