"""Pipes: checking and saving lines that are run one after the other, each with what the one before
gave (docs/model.md §5.1, §9)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any
from uuid import uuid4

from loom.access import Actor
from loom.claims.models import Pipe
from loom.claims.queries.pipes import pipe_body, pipe_named, pipes_for
from loom.claims.rules import pipes as rules
from loom.claims.rules.pipes import Adapter, Kind
from loom.engine import registry
from loom.engine.actions import RunningAction, action
from loom.engine.arguments import Args, RefField, Written
from loom.engine.by_name import run_command
from loom.engine.context import Answer, Context, Reply, Request
from loom.engine.execute import execute_line
from loom.engine.models import StepItem
from loom.engine.registry import Command, command, describe_verb
from loom.engine.views import Moved
from loom.errors import CommandError, not_found
from loom.language.forms import FormPart, write
from loom.language.lines import Line, read
from loom.language.refs import ParseError, Ref, label_named, print_ref
from loom.language.slices import parse_ref
from loom.language.verbs import Verb
from loom.people.names import skeleton
from loom.permissions import GENERATE, LOOM, WRITE
from loom.reading.commands.view import escaped_for
from loom.text.shortening import excerpt
from loom.trees.models import Node
from loom.trees.named_items import get_node
from loom.trees.queries import lookup
from loom.trees.queries.lookup import withheld

MAX_NAME = 100
MOST_PIPES = 200  # of a grove
LONGEST_REPLY = 4_000  # characters of each line's reply that `run` shows

describe_verb(Verb("pipe", in_pipes=False, takes_documents=False))
describe_verb(Verb("run", past="ran", in_pipes=False, asks_first=True, takes_documents=False))


# Reading the lines.


@dataclass(frozen=True)
class PipeLine:
    """A line of a pipe: `slot` is the part that the line before fills, "" for none, which then
    takes `takes`; `is_whole`: it could be left out; `gives` is what the line gives, the first as
    it is shown."""

    text: str
    line: Line
    slot: str
    takes: Kind | None
    gives: tuple[Kind, ...]
    is_whole: bool


def lines_of(text: str) -> list[PipeLine]:
    """The lines of a pipe. Raises CommandError: for one that cannot be read or is not allowed, and
    REJECTED if what one gives does not fit the next."""
    texts = rules.lines_of(text)
    if not texts:
        raise CommandError("INVALID_SYNTAX", "A pipe has a line.", hint='pipe "view | annotate"')
    if len(texts) > rules.MOST or len(text) > rules.LONGEST:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"A pipe has at most {rules.MOST} lines and {rules.LONGEST:,} characters.",
            hint="save its parts as pipes of their own",
        )
    lines: list[PipeLine] = []
    for number, line_text in enumerate(texts, 1):
        line = _line(line_text, number)
        if line.is_whole and lines and "node" not in lines[-1].gives:
            line = replace(line, slot="", takes=None)
        lines.append(line)
    for number, (before, after) in enumerate(pairwise(lines), 1):
        if rules.adapter(before.gives, after.takes) is None:
            raise CommandError(
                "REJECTED",
                f"Line {number + 1} takes a {after.takes}, and line {number} gives "
                f"a {before.gives[0]}.",
                hint=f"name the {after.takes} in line {number + 1}: {excerpt(after.text)}",
            )
    return lines


def _line(text: str, number: int) -> PipeLine:
    first: ParseError | None = None
    for way, takes in rules.marked(text):
        try:
            line = read(way, registry.language())
        except ParseError as bad:
            first = first or bad
            continue
        command = registry.find(line.verb, line.form)
        slot = _slot(command, line, takes)
        if takes is not None and not slot:
            continue
        _demand_allowed(command, number)
        kind = takes if slot and takes else ("node" if slot else None)
        return PipeLine(text, line, slot, kind, _gives(command), is_whole=takes is None)
    message = first.message if first is not None else "This is no line."
    hint = first.hint if first is not None else ""
    raise CommandError("INVALID_SYNTAX", f"Line {number}: {message}", hint=hint)


def _slot(command: Command, line: Line, takes: Kind | None) -> str:
    """The part of a line in which the mark stands; of a line without one, the target that is left
    out and may be; "" if there is none."""
    if takes is None:
        free = (part for part in command.form.parts if _is_target(part))
        return next((part.name for part in free if line.values.get(part.name) is None), "")
    mark: object = rules.TEXT_MARK
    if takes != "text":
        mark = parse_ref(rules.NODE_MARK if takes == "node" else rules.DOCUMENT_MARK)
    for name, value in line.values.items():
        if value in (mark, (mark,)):
            return name
    return ""


def _is_target(part: FormPart) -> bool:
    return part.kind == "ref" and part.optional and part.lead in ("", "from") and part.takes("node")


def _demand_allowed(command: Command, number: int) -> None:
    facts = command.facts
    if not facts.in_pipes or facts.answers_later or GENERATE in command.permissions:
        raise CommandError(
            "REJECTED",
            f"Line {number}: {command.verb} has no place in a pipe.",
            hint="its result comes later, or it runs other lines; run it on its own",
        )


def _gives(command: Command) -> tuple[Kind, ...]:
    if any(part.refs == ("document",) for part in command.form.parts if part.kind == "ref"):
        return ("text", "document") if command.klass == "look" else ("document",)
    if command.klass == "look":
        return ("text", "node") if command.group == "Look" else ("text",)
    return ("node",)


def _adapters(lines: Sequence[PipeLine]) -> list[Adapter]:
    """The adapters between the lines, without those that are none."""
    return [
        adapter
        for before, after in pairwise(lines)
        if (adapter := rules.adapter(before.gives, after.takes))
    ]


def kinds_of(lines: Sequence[PipeLine]) -> str:
    """`node → text → node (adapter: summary)`: what the first takes, and what each gives."""
    chain: list[Kind | None] = [lines[0].takes]
    for before, after in pairwise(lines):
        fits = after.takes in before.gives
        chain.append(after.takes if fits else before.gives[0])
        if rules.adapter(before.gives, after.takes):
            chain.append(after.takes)
    shown = " → ".join(kind for kind in [*chain, lines[-1].gives[0]] if kind is not None)
    adapters = list(dict.fromkeys(_adapters(lines)))
    named = "adapters" if len(adapters) > 1 else "adapter"
    return f"{shown} ({named}: {', '.join(adapters)})" if adapters else shown


# Checking and saving them.


class PipeArgs(Args):
    """The lines."""

    content: Annotated[str, Written("content")]


class PipeSaved(Args):
    """The lines, and the name under which they are saved."""

    content: Annotated[str, Written("content")]
    save: Annotated[str, Written("option", key="save", value="quoted")]


@command("pipe", group="Make", klass="look ✓", permissions={LOOM})
def pipe(context: Context, args: PipeArgs) -> Reply:
    """Checks lines that are joined by `|`: a line without its target or text gets it from the line
    before. Nothing is run."""
    return Reply(f"✓ pipe valid: {kinds_of(lines_of(args.content))}")


@command("pipe", group="Make", klass="look ✓", permissions={LOOM, WRITE}, stream="grove")
def pipe_save(context: Context, args: PipeSaved) -> Reply:
    """Checks lines that are joined by `|`, and saves them for the grove under a name."""
    saved = _made(context.actor, args.save, args.content, context.now)
    if not context.world.is_dry:
        saved.save(force_insert=True)
        context.world.append("pipe.saved", {"pipe": pipe_body(saved)})
    return Reply(f"✓ saved pipe:{label_named(saved.name)}: {saved.kinds}")


def _made(actor: Actor, name: str, content: str, now: Any) -> Pipe:
    kept = " ".join(name.split())
    if not skeleton(kept) or len(kept) > MAX_NAME or "\0" in kept or '"' in kept:
        raise CommandError(
            "INVALID_SYNTAX",
            f"A name has 1 to {MAX_NAME} characters, something to be seen, and no quotes.",
            hint='save:"gloss"',
        )
    rows = Pipe.objects.filter(grove=actor.grove, archived_at__isnull=True)
    if rows.filter(name_key=kept.casefold()).exists():
        raise CommandError(
            "CONFLICT", f'There is already a pipe:"{kept}".', hint="choose another name"
        )
    if rows.count() >= MOST_PIPES:
        raise CommandError(
            "LIMIT_EXCEEDED", f"A grove has at most {MOST_PIPES} pipes.", hint="archive some"
        )
    lines = lines_of(content)
    return Pipe(
        grove=actor.grove,
        name=kept,
        name_key=kept.casefold(),
        lines=[line.text for line in lines],
        kinds=kinds_of(lines),
        by=actor.participant,
        at=now,
    )


class PipeGiven(Args):
    """A pipe of the grove: its name, and its lines, joined by `|` or one below the other."""

    name: str
    lines: str


class PipeChosen(Args):
    """A pipe of the grove, by id."""

    pipe: str


@action("save_pipe", stream="grove", role="writer")
def save_pipe(change: RunningAction, args: PipeGiven) -> Pipe:
    """Checks the lines of a pipe and saves them for the grove."""
    saved = _made(change.actor, args.name, args.lines, change.now)
    saved.save(force_insert=True)
    change.writer.append("pipe.saved", {"pipe": pipe_body(saved)})
    return saved


@action("archive_pipe", stream="grove", role="writer")
def archive_pipe(change: RunningAction, args: PipeChosen) -> Pipe:
    """Archives a pipe: it can no longer be run, and its name is free."""
    row = pipes_for(change.actor).filter(uid=args.pipe).first()
    if row is None:
        raise not_found("This pipe")
    row.archived_at = change.now
    row.save(update_fields=["archived_at"])
    change.writer.append("pipe.saved", {"pipe": {**pipe_body(row), "archived": True}})
    return row


# Running them.


class RunArgs(Args):
    """A saved pipe, and what its first line takes."""

    pipe: Annotated[RefField, Written("ref", refs=("pipe",))]
    start: Annotated[RefField | None, Written("ref", lead="from")] = None


@dataclass(frozen=True)
class LineResult:
    """What a line gave: the item that it names first, and its reply."""

    ref: Ref | None
    text: str


class ViewPipe(Args):
    """A saved pipe."""

    ref: Annotated[RefField, Written("ref", refs=("pipe",))]


@command("view", group="Look", klass="look", permissions={LOOM}, is_first=True)
def view_pipe(context: Context, args: ViewPipe) -> Reply:
    """Shows the lines of a saved pipe: `view pipe:"name"`. `run` runs them."""
    pipe = pipe_named(context.actor, args.ref)
    lines = [f"pipe:{label_named(pipe.name)} by {pipe.by.name} · {pipe.kinds}", *pipe.lines]
    return Reply("\n".join(escaped_for(context.actor, line) for line in lines))


@command("run", group="Make", klass="look", permissions={LOOM}, stream="tree")
def run(context: Context, args: RunArgs) -> Reply:
    """Runs the lines of a saved pipe as your own, all or none; each takes what the one before gave,
    the first `from:` what you name."""
    pipe = pipe_named(context.actor, args.pipe)
    if context.actor.participant.kind == "model" and pipe.by.kind == "model":
        raise CommandError(
            "PERMISSION_DENIED",
            f"pipe:{label_named(pipe.name)} was saved by a model;"
            " models run pipes that a person saved.",
            hint="give its lines yourself, or ask a person to save it",
        )
    lines = lines_of("\n".join(pipe.lines))
    if context.world.is_dry:
        return _would_run(context, pipe.name, lines, args.start)
    Pipe.objects.filter(pk=pipe.pk).update(ran_at=context.now)
    act, doing = uuid4().hex, f"ran pipe:{label_named(pipe.name)}"[:200]
    given = LineResult(args.start, "")
    before: tuple[Kind, ...] = ("document",) if _is_document(args.start) else ("node",)
    at, shown, items = context.at, [], []
    refs: tuple[str, ...] = ()
    position = ""
    for number, line in enumerate(lines, 1):
        filled = _filled(context, line, given, before, number)
        turn = context.turn if registry.find(line.line.verb, line.line.form).klass != "look" else ""
        sent = Request(filled, at=at, origin=context.world.origin, turn=turn, act=act, doing=doing)
        answer = _answered(context, number, sent)
        given, before = _given(answer), line.gives
        refs = tuple(answer.body["refs"]) or refs
        at = position = str(answer.body["position"])
        items += _items(answer)
        shown += _shown(answer, is_last=number == len(lines))
        if answer.body["stream"] == context.world.stream.name:
            context.world.seqs += answer.body["events"]
    # The lines have numbered steps and events of what this line has locked.
    context.workspace.refresh_from_db()
    context.world.stream.refresh_from_db()
    node = lookup.find_node(context.tree, position)
    if node is not None:
        context.add(Moved(node))
    many = f"{len(lines)} line{'s' if len(lines) > 1 else ''}"
    quotes = tuple(Node.objects.filter(pk__in=_quoted(answer)))
    text = "\n".join([f"✓ ran pipe:{label_named(pipe.name)}: {many}", *shown])
    return Reply(text, refs=refs, items=tuple(dict.fromkeys(items)), quotes=quotes)


def _would_run(context: Context, name: str, lines: Sequence[PipeLine], start: Ref | None) -> Reply:
    """What running the lines would answer, without a lock. A line that takes what one before would
    make is shown as it would be given, and not tried: that is written nowhere."""
    given = LineResult(start, "")
    before: tuple[Kind, ...] = ("document",) if _is_document(start) else ("node",)
    at, shown = context.at, []
    refs: tuple[str, ...] = ()
    made_by = 0  # the line that made what is given next; 0: it is stored
    for number, line in enumerate(lines, 1):
        makes = registry.find(line.line.verb, line.line.form).world
        if made_by and line.slot:
            shown.append("  → " + line.text.partition("\n")[0][:400])
            shown.append(f"    with what line {made_by} makes")
            given, before, made_by = LineResult(None, ""), line.gives, number if makes else made_by
            continue
        filled = _filled(context, line, given, before, number)
        sent = Request(filled, at=at, dry_run=True, origin=context.world.origin)
        answer = _answered(context, number, sent)
        given, before = _given(answer), line.gives
        refs = tuple(answer.body["refs"]) or refs
        made_by = number if makes and not _is_stored(context, given.ref) else 0
        at = "" if makes else str(answer.body["position"])
        shown += _shown(answer, is_last=number == len(lines))
    many = f"{len(lines)} line{'s' if len(lines) > 1 else ''}"
    return Reply("\n".join([f"✓ ran pipe:{label_named(name)}: {many}", *shown]), refs=refs)


def _is_stored(context: Context, ref: Ref | None) -> bool:
    """Whether a ref names a node of the tree as it is now."""
    return ref is not None and lookup.find_node(context.tree, ref.id) is not None


def _is_document(ref: Ref | None) -> bool:
    return ref is not None and ref.kind == "document"


def _answered(context: Context, number: int, sent: Request) -> Answer:
    """Runs a line of a pipe; a refusal says which one it was."""
    try:
        return execute_line(context.actor, context.tree, sent, context.workspace)
    except CommandError as refused:
        message = f"Line {number}, {excerpt(sent.line)}: {refused.message}"
        raise CommandError(refused.code, message, hint=refused.hint) from None


def _filled(
    context: Context, line: PipeLine, given: LineResult, before: tuple[Kind, ...], number: int
) -> str:
    """The line with what the one before gave in its gap."""
    if not line.slot or (number == 1 and given.ref is None and line.is_whole):
        return line.line.canonical
    way = rules.adapter(before, line.takes)
    if number == 1 and given.ref is None and line.takes != "document":
        given, way = LineResult(parse_ref("here"), ""), "" if line.takes == "node" else "content-of"
    if way is None or ((line.takes != "text" or way) and given.ref is None):
        missing = "a document" if line.takes == "document" else "a node"
        raise CommandError(
            "REJECTED",
            f"Line {number} takes {missing}, and was given none.",
            hint="name one: run pipe:… from REF" if number == 1 else "name it in the line",
        )
    value: object = given.ref
    if line.takes == "text":
        value = _text(context, given, way)
    old = line.line.values[line.slot]
    values = {**line.line.values, line.slot: (value,) if isinstance(old, tuple) else value}
    form = registry.forms()[line.line.verb][line.line.form]
    try:
        return write(line.line.verb, form, values)
    except ParseError as bad:
        raise CommandError(bad.code, f"Line {number}: {bad.message}", hint=bad.hint) from None


def _text(context: Context, given: LineResult, way: Adapter) -> str:
    """The text that a line takes: the reply before, or by an adapter the content of a node or the
    summary of a document."""
    if not way or given.ref is None:
        return given.text
    if way == "summary":
        values = {"ref": print_ref(given.ref), "length": "summary"}
        own = context.workspace
        return run_command(context.actor, context.tree, "view", values, workspace=own).reply
    node = get_node(context, given.ref, slices=True)
    if withheld(context.actor, [node.pk]):
        raise CommandError(
            "REJECTED",
            f"[{node.local_id}] is left out of what models are sent.",
            hint="begin with another text",
        )
    return node.text


def _given(answer: Answer) -> LineResult:
    first = next(iter(answer.body["refs"]), None)
    return LineResult(parse_ref(str(first)) if first is not None else None, answer.reply)


def _shown(answer: Answer, *, is_last: bool) -> list[str]:
    """The line as it ran, and what it answered: the last in full, of others the first words."""
    reply = answer.reply if is_last else answer.reply.partition("\n")[0][:200]
    if len(reply) > LONGEST_REPLY:
        reply = f"{reply[:LONGEST_REPLY]}…"
    body = [f"    {line}" for line in reply.split("\n")]
    return [f"  {answer.body['canonical'].partition(chr(10))[0][:400]}", *body]


def _items(answer: Answer) -> list[int]:
    rows = StepItem.objects.filter(step=answer.step).order_by("place")
    return list(rows.values_list("item_id", flat=True))


def _quoted(answer: Answer) -> list[int]:
    """The nodes that the last reply quotes: what `run` says is stored without their texts."""
    held = answer.step.quoted if answer.step is not None else None
    return [quotation[1] for quotation in held or ()]
