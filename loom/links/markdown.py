"""An exploration as a Markdown document: the steps in order, and in each the items as nested
quotes, the portals (docs/model.md §8). Pure but for the values it is given."""

from collections.abc import Collection, Sequence

from loom.links.trails import EndSeen, EndsSeen, TrailStep

MOST_DEEP = 5  # nested portals
MOST_SHOWN = 4000  # characters of one text


def trail_markdown(
    name: str, steps: Sequence[TrailStep], stops: EndsSeen, withheld: Collection[int] = ()
) -> str:
    """The document: a heading, then each step where it was taken, deeper steps inside those that
    led to them, with the notes as prose between."""
    lines = [f"# {name}", ""]
    depths: dict[int, int] = {}
    for number, step in enumerate(steps, 1):
        depth = max((depths[one] + 1 for one in step.of if one in depths), default=0)
        depth = min(depth, MOST_DEEP - 1)
        lines += [*_step(number, step, stops, depth=depth, withheld=withheld), ""]
        depths.update(dict.fromkeys(step.to, depth))
    return "\n".join(lines).rstrip() + "\n"


def _step(
    number: int, step: TrailStep, stops: EndsSeen, *, depth: int, withheld: Collection[int]
) -> list[str]:
    quote = "> " * depth
    ends = stops.of(step.to)
    many = ends[0].shown if len(ends) == 1 else f"{len(ends)} items"
    title = f"▼ [{step.type}] ──→ {many}" if step.type else many
    lines = [f"{quote}{number}. **{title}**" + (f" because {step.because}" if step.because else "")]
    lines += (
        [quote.rstrip(), *(f"{quote}{one}" for one in step.note.split("\n"))] if step.note else []
    )
    for stop in ends:
        lines += [quote.rstrip(), *_item(stop, quote + "> ", withheld)]
    return lines


def _item(stop: EndSeen, quote: str, withheld: Collection[int]) -> list[str]:
    state = f" · {stop.state}" if stop.state else ""
    author = f" {stop.node.author.name}" if stop.node is not None else ""
    lines = [f"{quote}`{stop.shown}`{author}{state}"]
    if stop.node is None or stop.item in withheld or not stop.node.text:
        return lines
    text = stop.node.text[:MOST_SHOWN]
    cut = " …" if len(stop.node.text) > MOST_SHOWN else ""
    return [*lines, quote.rstrip(), *(f"{quote}{one}".rstrip() for one in (text + cut).split("\n"))]
