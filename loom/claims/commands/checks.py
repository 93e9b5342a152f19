"""Checks: declaring them, the command check, and running those of a new text."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from loom import access
from loom.access import Actor
from loom.claims.commands import judging
from loom.claims.commands.results import keep_results
from loom.claims.models import Check, CheckResult
from loom.claims.queries.checks import applying, check_body, checks_for, results_of
from loom.claims.rules import checks as rules
from loom.engine import streams
from loom.engine.actions import RunningAction, action
from loom.engine.arguments import Args, RefField, Written
from loom.engine.context import Context, Reply
from loom.engine.execute import execute
from loom.engine.kept_jobs import enqueue_kept
from loom.engine.registry import command, describe_verb
from loom.errors import CommandError, not_found
from loom.language import ids
from loom.language.refs import label_named
from loom.language.verbs import Verb
from loom.people.models import Grove, Participant
from loom.people.names import skeleton
from loom.permissions import GENERATE, LOOM, WRITE
from loom.trees.commands.node_writer import after_adding
from loom.trees.grove_texts import TextPart, after_writing, grove_texts, is_text
from loom.trees.models import GroveText, Node, Tree
from loom.trees.named_items import get_own_node
from loom.trees.queries import lookup
from loom.trees.queries.lookup import withheld
from loom.workspace.commands import lenses
from loom.workspace.commands.lenses import aimed

MAX_NAME = 40
MOST_CHECKS = 200  # of a grove
MARKS = {"passed": "✓", "failed": "✗", "unsure": "?", "asked": "…"}


# Running them by a line.


class CheckNode(Args):
    """What to check, and the name of one check."""

    ref: Annotated[RefField | None, Written("ref", but=("document",))] = None
    name: Annotated[str, Written("quoted")] = ""


Test = Callable[[Context, Node], Reply]
_TESTS: dict[str, Test] = {}


def tests(kind: str) -> Callable[[Test], Test]:
    """Registers what `check` does with nodes of a kind, in place of running their checks."""

    def register(test: Test) -> Test:
        _TESTS[kind] = test
        return test

    return register


describe_verb(Verb("check", phase="testing", shown="part"))


@command("check", group="Mind", klass="look", permissions={LOOM}, stream="tree", aliases=("test",))
def check(context: Context, args: CheckNode) -> Reply:
    """Runs the checks that apply to a text, or the one that you name (`check here "short"`)."""
    ref = aimed(context, args.ref).ref if args.ref is not None else None
    node = get_own_node(context, ref, slices=True)
    if node.kind in _TESTS and not args.name:
        access.demand(context.actor, {WRITE}, "testing a claim")
        return _TESTS[node.kind](context, node)
    if withheld(context.actor, [node.pk]):
        raise CommandError(
            "REJECTED",
            f"[{node.local_id}] is left out of what models are sent.",
            hint="check another text",
        )
    text = lenses.shown_part(node, ref) if ref is not None else node.text
    chosen_checks = _chosen(
        applying(context.actor.grove, context.tree), args.name, f"[{node.local_id}]"
    )
    is_whole = ref is None or ref.slice is None
    item = ids.of_node(node.pk)
    about = _About(node, text, item, "", is_whole, is_again=bool(args.name))
    results = _results(context, chosen_checks, about)
    if is_whole and not context.world.is_dry:
        keep_results(context.world, node.local_id, results)
    return Reply(_said(results), refs=(node.local_id,), items=(item,))


def check_part(context: Context, part: TextPart, name: str, *, is_whole: bool, shown: str) -> Reply:
    """Runs the checks that apply to a text of the grove, or to a part of it, or the one that is
    named; `shown` is what a reply calls the text."""
    text = part.of
    checks = _chosen(applying(context.actor.grove, text), name, shown)
    item, version, ref = text.item_id, part.source.version, f"doc:{text.uid}"
    point = lookup.root_of(context.tree)
    about = _About(point, part.text, item, version, is_whole, is_again=bool(name))
    results = _results(context, checks, about)
    if is_whole and not context.world.is_dry:
        keep_results(context.world, ref, results)
    return Reply(_said(results), refs=(ref,), items=(item,))


def _chosen(rows: Iterable[Check], name: str, shown: str) -> list[Check]:
    checks = list(rows)
    if name:
        checks = [row for row in checks if row.name_key == name.casefold()]
    if not checks and name:
        names = ", ".join(label_named(row.name) for row in rows)
        raise not_found(f"A check {label_named(name)} for {shown}", names and f"there are {names}")
    if not checks:
        raise not_found(
            f"A check for {shown}", "declare one under Checks, in the settings of the grove"
        )
    return checks


@dataclass(frozen=True)
class _About:
    """The text that is checked: `point` is its node, or for a document the root of the tree.
    `is_again`: a judge is asked even if it has answered."""

    point: Node | None
    text: str
    item: int
    version: str
    is_whole: bool
    is_again: bool


def _results(context: Context, checks: Sequence[Check], about: _About) -> list[CheckResult]:
    """What the checks say about a text, as rows that are not stored. A judge that has not answered
    about this version is asked; its answer is stored when it arrives."""
    judges = [row for row in checks if row.kind == "judge"]
    plain = [row for row in checks if row.kind != "judge"]
    by = context.actor.participant
    results = _run(plain, about, by, context.now)
    if not judges:
        return results
    if not about.is_whole:
        raise CommandError(
            "REJECTED",
            f"{judges[0].name} reads whole texts only.",
            hint="check the whole text, or name another check",
        )
    known = {
        result.rule_id: result
        for result in results_of(about.item, about.version)
        if result.outcome == "asked" or not about.is_again
    }
    wanted = [judge for judge in judges if judge.pk not in known]
    if any(judge.asks_id == by.pk for judge in wanted):
        raise CommandError(
            "PERMISSION_DENIED",
            "An agent cannot be its own judge.",
            hint="name another check, or ask a person to run it",
        )
    if wanted:
        if about.point is None:
            raise RuntimeError("on save no judge is asked")
        access.demand(context.actor, {GENERATE}, "asking a judge")
        text, item, version = about.text, about.item, about.version
        results += judging.ask(
            context, wanted, point=about.point, text=text, item=item, version=version
        )
    return [*results, *(known[judge.pk] for judge in judges if judge.pk in known)]


MOST_TESTED = 50  # items of a claim


def run_for(context: Context, items: Sequence[tuple[int, str]]) -> tuple[str, bool]:
    """Runs the checks that apply to items, each in the version that was cited, and stores what they
    say; judges are not asked again. Returns (what they say, whether any applies). A document that
    has changed since is not checked again."""
    lines, every = [], []
    by, now = context.actor.participant, context.now
    for item, version in items[-MOST_TESTED:]:
        checks, about, name = _cited_text(context, item, version)
        if about is None:
            continue
        plain = [row for row in checks if row.kind != "judge"]
        asked = [result for result in results_of(item, version) if result.rule.kind == "judge"]
        results = _run(plain, about, by, now)
        every += [*results, *asked]
        if results and not context.world.is_dry:
            if is_text(item) and context.tree.sandbox_of_id is not None:
                pass  # what a check says there is for its maker alone
            elif is_text(item):
                with context.grove_stream() as writer:
                    keep_results(writer, name, results)
            else:
                keep_results(context.world, name, results)
    if every:
        lines.append(_said(every))
    return "\n".join(lines), bool(every)


def passes(context: Context, item: int, name: str) -> tuple[bool, str]:
    """(whether an item passes the check of that name, what it says). NOT_FOUND if none applies."""
    version = ""
    if is_text(item):
        text = grove_texts().seen(context.actor, context.tree, [item]).get(item)
        version = str(text.revision if text is not None else 0)
    checks, about, shown = _cited_text(context, item, version)
    chosen = [row for row in checks if row.name_key == name.casefold().strip()]
    if about is None or not chosen:
        raise not_found(f"A check {label_named(name)} for {shown or 'this text'}")
    judged = [result for result in results_of(item, version) if result.rule_id == chosen[0].pk]
    plain = [row for row in chosen if row.kind != "judge"]
    results = _run(plain, about, context.actor.participant, context.now) or judged
    return bool(results) and all(result.outcome == "passed" for result in results), _said(results)


def _cited_text(
    context: Context, item: int, version: str
) -> tuple[list[Check], _About | None, str]:
    """(the checks that apply to an item, its text, its name in events); no text for a node of
    another tree, a claim, or a document of another revision."""
    if is_text(item):
        of_grove = grove_texts().seen(context.actor, context.tree, [item]).get(item)
        if of_grove is None or str(of_grove.revision) != version:
            return [], None, ""
        text = grove_texts().part_of(of_grove).text
        about = _About(None, text, item, version, is_whole=True, is_again=False)
        return list(applying(context.actor.grove, of_grove)), about, f"doc:{of_grove.uid}"
    node = Node.objects.filter(pk=ids.node_id(item) or 0, tree=context.tree, kind="text").first()
    if node is None or withheld(context.actor, [node.pk]):
        return [], None, ""
    about = _About(node, node.text, item, version, is_whole=True, is_again=False)
    return list(applying(context.actor.grove, context.tree)), about, node.local_id


def _run(
    checks: Sequence[Check], about: _About, by: Participant, now: datetime
) -> list[CheckResult]:
    """What the checks say about a text, as rows that are not stored."""
    results = []
    for row in checks:
        outcome = rules.run(row.kind, row.parameters, about.text)
        results.append(
            CheckResult(
                rule=row,
                item=about.item,
                version=about.version,
                outcome="passed" if outcome.passed else "failed",
                said=outcome.said[:500],
                by=by,
                at=now,
            )
        )
    return results


def _said(results: Sequence[CheckResult]) -> str:
    """`✓ 3 passed · ✗ 1 failed: max_words 612 > 500`."""
    by_outcome: dict[str, list[CheckResult]] = {}
    for result in results:
        by_outcome.setdefault(result.outcome, []).append(result)
    parts = [f"✓ {len(by_outcome.pop('passed', []))} passed"]
    for outcome, rows in by_outcome.items():
        details = "; ".join(f"{row.rule.name} {row.said}".rstrip() for row in rows)
        parts.append(f"{MARKS[outcome]} {len(rows)} {outcome}: {details}")
    return " · ".join(parts)


# Declaring them.


class CheckDeclared(Args):
    """A new check: `scope` is grove, tree:ID or doc:ID; `agent` is the id of the model that judges
    (only of a judge)."""

    name: str
    kind: str
    parameters: dict[str, Any] = {}
    scope: str = "grove"
    on_save: bool = False
    agent: str = ""


class CheckChangeArgs(Args):
    """The changes to a check; None leaves a field as it is."""

    check: str
    name: str | None = None
    parameters: dict[str, Any] | None = None
    on_save: bool | None = None
    archived: bool | None = None


def declare_check(actor: Actor, **fields: Any) -> Check:
    """Declares a check in the actor's grove, with the fields of `CheckDeclared`. For writers."""
    return execute(actor, actor.grove, _declare, CheckDeclared(**fields))


def change_check(actor: Actor, check: Check, **fields: Any) -> Check:
    """Changes or archives a check, with the fields of `CheckChangeArgs`. For writers."""
    return execute(actor, actor.grove, _change, CheckChangeArgs(check=check.uid, **fields))


@action("declare_check", stream="grove", role="writer")
def _declare(change: RunningAction, args: CheckDeclared) -> Check:
    """Declares a check for texts of a grove, a tree or a document."""
    rows = Check.objects.filter(grove=change.grove, archived_at__isnull=True)
    if rows.count() >= MOST_CHECKS:
        raise CommandError(
            "LIMIT_EXCEEDED", f"A grove has at most {MOST_CHECKS} checks.", hint="archive some"
        )
    new_check = Check(
        grove=change.grove,
        kind=args.kind,
        parameters=rules.checked_parameters(args.kind, args.parameters),
        on_save=args.on_save,
        by=change.actor.participant,
        at=change.now,
    )
    new_check.tree, new_check.about = _scope(change.actor, args.scope)
    _demand_cheap(args.kind, args.on_save)
    new_check.asks = _judge(change.actor, args)
    _rename(new_check, args.name)
    new_check.save()
    return _changed(change, new_check)


@action("change_check", stream="grove", role="writer")
def _change(change: RunningAction, args: CheckChangeArgs) -> Check:
    """Changes or archives a check. Its results stay; those of other parameters are dropped."""
    row = checks_for(change.actor).filter(uid=args.check).first()
    if row is None:
        raise not_found("This check")
    if row.tree is not None:
        access.demand_right_to_write(change.actor, row.tree)
    if args.name is not None:
        _rename(row, args.name)
    if args.parameters is not None:
        parameters = rules.checked_parameters(row.kind, args.parameters)
        if parameters != row.parameters:
            CheckResult.objects.filter(rule=row).delete()
        row.parameters = parameters
    _demand_cheap(row.kind, bool(args.on_save))
    row.on_save = row.on_save if args.on_save is None else args.on_save
    if args.archived:
        row.archived_at = change.now
    row.save()
    return _changed(change, row)


def _demand_cheap(kind: str, on_save: bool) -> None:
    if kind == "judge" and on_save:
        raise CommandError(
            "INVALID_SYNTAX", "A judge costs money and is not run on save.", hint="on_save: false"
        )


def _changed(change: RunningAction, row: Check) -> Check:
    rows = Check.objects.filter(grove=change.grove, archived_at__isnull=True, on_save=True)
    Grove.objects.filter(pk=change.grove.pk).update(checks_on_save=rows.exists())
    change.writer.append("check.changed", {"check": check_body(row)})
    return row


def _rename(row: Check, name: str) -> None:
    name = " ".join(name.split())
    if not skeleton(name) or len(name) > MAX_NAME or "\0" in name or '"' in name:
        raise CommandError(
            "INVALID_SYNTAX",
            f"A name has 1 to {MAX_NAME} characters, something to be seen, and no quotes.",
            hint="such as short",
        )
    row.name, row.name_key = name, name.casefold()
    taken = Check.objects.filter(
        grove=row.grove, name_key=row.name_key, archived_at__isnull=True
    ).exclude(pk=row.pk)
    if taken.exists():
        raise CommandError(
            "CONFLICT", f"There is already a check {name!r}.", hint="choose another name"
        )


def _judge(actor: Actor, args: CheckDeclared) -> Participant | None:
    """The agent of a judge; None for other kinds."""
    if args.kind != "judge":
        if args.agent:
            raise CommandError("INVALID_SYNTAX", "Only a judge has an agent.", hint="leave it out")
        return None
    rows = Participant.objects.filter(grove=actor.grove, kind="model", archived_at__isnull=True)
    row = rows.filter(uid=args.agent).first()
    if row is None:
        raise not_found("The agent of this judge", "choose a model of the grove")
    return row


def _scope(actor: Actor, scope: str) -> tuple[Any, int | None]:
    """(tree, item of a text outside of trees) that a scope names; (None, None) for the grove."""
    kind, _, uid = scope.partition(":")
    if scope == "grove":
        return None, None
    if kind == "tree":
        tree = access.trees_for(actor).filter(grove=actor.grove, uid=uid).first()
        if tree is None:
            raise not_found("This tree")
        access.demand_no_sandbox(tree)
        access.demand_right_to_write(actor, tree)
        return tree, None
    if kind == "doc":
        text = grove_texts().find(actor, uid)
        if text is None:
            raise not_found("This document")
        return None, text.item_id
    raise CommandError(
        "INVALID_SYNTAX", f"There is no scope {scope[:40]!r}.", hint="grove, tree:ID or doc:ID"
    )


# Checks of a new text, run by a worker after it was stored.


def run_on_save(item: int) -> None:
    """Runs the checks that run on save for a node or the newest version of a text of the grove, and
    stores what they say. Safe to run twice; does nothing if the text is gone."""
    if is_text(item):
        part = grove_texts().whole(item)
        if part is not None:
            _check_now(part)
        return
    node = lookup.rows().filter(pk=ids.node_id(item) or 0).select_related("tree__grove").first()
    if node is None or node.tree.erasing_at is not None or node.parent_slot_id is None:
        return
    about = _About(node, node.text, item, "", is_whole=True, is_again=False)
    _run_now(node.tree, node.local_id, applying(node.tree.grove, node.tree), about, node.author)


def _check_now(part: TextPart) -> None:
    text, source = part.of, part.source
    about = _About(None, part.text, source.item, source.version, is_whole=True, is_again=False)
    rows = applying(text.grove, text)
    _run_now(text.grove, f"doc:{text.uid}", rows, about, part.author)


def _run_now(
    stream: Tree | Grove, item: str, rows: QuerySet[Check], about: _About, by: Participant
) -> None:
    checks = list(rows.filter(on_save=True).exclude(kind="judge"))
    if not checks:
        return
    results = _run(checks, about, by, timezone.now())
    with transaction.atomic():
        writer = streams.lock(stream, actor=by.uid)
        keep_results(writer, item, results)
        writer.flush()


@after_adding
def _want_checks(node: Node) -> None:
    """Has a new text checked, where the grove wants that."""
    if node.tree.grove.checks_on_save and node.kind == "text":
        enqueue_kept("loom.tasks.run_checks", [ids.of_node(node.pk)], queue="transfer")


@after_writing
def _want_checks_of(text: GroveText) -> None:
    """Has a new version of a text of the grove checked, where the grove wants that."""
    if text.grove.checks_on_save:
        enqueue_kept("loom.tasks.run_checks", [text.item_id], queue="transfer")
