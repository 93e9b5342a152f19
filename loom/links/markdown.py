"""An exploration as a Markdown document: the steps in order, and in each the items as nested
quotes, the portals (docs/model.md §8). Pure but for the values it is given."""

from collections.abc import Callable, Collection, Mapping, Sequence

from loom.language.portals import MOST_DEEP, PortalItem, PortalView, item_as_markdown
from loom.links.portals import nouns_of
from loom.links.trail_steps import TrailStep
from loom.links.trails import EndSeen, EndsSeen

MOST_SHOWN = 4000  # characters of one text


def trail_markdown(
    name: str,
    steps: Sequence[TrailStep],
    stops: EndsSeen,
    withheld: Collection[int] = (),
    *,
    is_live: bool = False,
    opened: Callable[[str], str] = str,
) -> str:
    """The document: a heading, then each step where it was taken, deeper steps inside those that
    led to them, with the notes as prose between. With `is_live` names lead to their items, as they
    do in a document of the grove; the texts of items in `withheld` are left out. `opened` returns a
    text with what the portals written in it lead to."""
    own = {
        stop.item: text
        for stop in stops.by_item.values()
        if stop.item not in withheld and (text := stops.text_of(stop))
    }
    texts = {
        item: opened(text[:MOST_SHOWN]) + (" …" if len(text) > MOST_SHOWN else "")
        for item, text in own.items()
    }
    lines = [f"# {name}", ""]
    depths: dict[int, int] = {}
    for number, step in enumerate(steps, 1):
        depth = max((depths[item] + 1 for item in step.of if item in depths), default=0)
        depth = min(depth, MOST_DEEP - 1)
        shown = _step(number, step, stops, depth=depth, texts=texts, is_live=is_live)
        lines += [*shown, ""]
        depths.update(dict.fromkeys(step.to, depth))
    return "\n".join(lines).rstrip() + "\n"


def _step(
    number: int,
    step: TrailStep,
    stops: EndsSeen,
    *,
    depth: int,
    texts: Mapping[int, str],
    is_live: bool,
) -> list[str]:
    quote = "> " * depth
    ends = stops.of(step.to)
    name = ends[0].shown if len(ends) == 1 else ""
    portal = PortalView(step.type, len(ends), name, is_open=True, nouns=nouns_of(step.to))
    title = portal.heading if step.type else portal.target
    lines = [f"{quote}{number}. **{title}**" + (f" because {step.because}" if step.because else "")]
    lines += (
        [quote.rstrip(), *(f"{quote}{line}" for line in step.note.split("\n"))] if step.note else []
    )
    for stop in ends:
        lines += item_as_markdown(_item(stop, texts), depth + 1, is_live=is_live)
    return lines


def _item(stop: EndSeen, texts: Mapping[int, str]) -> PortalItem:
    by = stop.node.author.name if stop.node is not None else ""
    return PortalItem(stop.shown, by, stop.state, texts.get(stop.item, ""))
