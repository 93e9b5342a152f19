"""The registry of commands: each form of each verb, with what it takes and what it may."""

import contextlib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, get_args, get_type_hints

from django.db.models import Q

from loom.access import Actor
from loom.engine.arguments import Args, ArgsT, form_of
from loom.engine.context import Context, Reply
from loom.language import lines
from loom.language.forms import Form, syntax, write_line
from loom.language.refs import ParseError
from loom.language.verbs import Verb, Verbs
from loom.permissions import Permission
from loom.text.shortening import with_quoted_name
from loom.trees.models import Tree

Class = Literal["look", "look ✓", "write", "silent"]
StreamKind = Literal["tree", "grove", "workspace"]
Group = Literal["Look", "Move", "Make", "Keep", "Mind", "Meta"]

Run = Callable[["Context", Any], "Reply"]
TakesAway = Callable[[Mapping[str, object]], bool]
Ahead = Callable[[Actor, Tree, Any], contextlib.AbstractContextManager[None]]


@dataclass(frozen=True)
class Command:
    """One form of one verb. `summary` is the function's docstring; `stream` is the kind of stream
    that it writes: its tree, the grove of its tree, or only the caller's workspace; None for a
    command that only looks. `ahead` does what is long before the stream is locked. `takes_away`
    says of the values of a line whether words are gone after it that no undo brings back."""

    verb: str
    group: Group
    klass: Class
    permissions: frozenset[Permission]
    stream: StreamKind | None
    args: type[Args]
    form: Form
    run: Run
    summary: str
    aliases: tuple[str, ...] = ()
    ahead: Ahead | None = None
    opens_windows: bool = False
    annotates: bool = False
    takes_away: TakesAway = lambda _values: False

    @property
    def name(self) -> str:
        """Its name in calls by name: the verb, or for its further forms a name of their own, such
        as `write_append`."""
        return self.run.__name__.rstrip("_")

    @property
    def facts(self) -> Verb:
        """What is registered of the verb."""
        return language().of(self.verb)

    @property
    def world(self) -> bool:
        """Whether it changes what everybody sees: a tree or a grove."""
        return self.stream in ("tree", "grove")

    @property
    def is_of_view(self) -> bool:
        """Whether it only looks, moves or keeps, in the view of the one who runs it."""
        return self.group in ("Look", "Move", "Keep") and not self.world

    @property
    def syntax(self) -> str:
        """The form as help prints it."""
        return syntax(self.form)


_commands: dict[str, list[Command]] = {}
_aliases: dict[str, str] = {}
_facts: dict[str, Verb] = {}
_by_function: dict[Callable[..., "Reply"], Command] = {}


def describe_verb(verb: Verb) -> None:
    """Registers what is to be known of a verb beside its forms: its past tense, an example, how
    else its lines may be worded."""
    if verb.name in _facts:
        raise ValueError(f"{verb.name!r} is described twice")
    _facts[verb.name] = verb
    language.cache_clear()


def command(
    verb: str,
    *,
    group: Group,
    klass: Class,
    permissions: Iterable[Permission],
    stream: StreamKind | None = None,
    aliases: tuple[str, ...] = (),
    is_first: bool = False,
    ahead: Ahead | None = None,
    makes_window: bool | None = None,
    opens_windows: bool = False,
    annotates: bool = False,
    takes_away: TakesAway = lambda _values: False,
) -> Callable[[Callable[["Context", ArgsT], "Reply"]], Callable[["Context", ArgsT], "Reply"]]:
    """Registers a function as one form of `verb`; the type of its second parameter is its Args.
    The first form that can read a line is used: `is_first` puts this one before those already
    registered. `makes_window`: whether the answer is a result window, as that of every look is;
    `opens_windows`: whether it opens windows of items; `annotates`: whether it only makes notes and
    marks of the caller's own, so that the right to comment in a tree is enough; `takes_away`: as in
    Command."""

    def register(
        run: Callable[["Context", ArgsT], "Reply"],
    ) -> Callable[["Context", ArgsT], "Reply"]:
        args = get_type_hints(run)["args"]
        registered = Command(
            verb=verb,
            group=group,
            klass=klass,
            permissions=frozenset(permissions),
            stream=stream,
            args=args,
            form=form_of(
                verb, args, makes_window=klass == "look" if makes_window is None else makes_window
            ),
            run=run,
            summary=inspect.getdoc(run) or "",
            aliases=aliases,
            ahead=ahead,
            opens_windows=opens_windows,
            annotates=annotates,
            takes_away=takes_away,
        )
        several = _commands.setdefault(verb, [])
        several.insert(0 if is_first else len(several), registered)
        forms.cache_clear()
        language.cache_clear()
        _silent.cache_clear()
        _by_function[run] = registered
        _aliases.update(dict.fromkeys(aliases, verb))
        return run

    return register


@cache
def forms() -> Mapping[str, Sequence[Form]]:
    """Every verb with its forms, in the order of registration. Cached: every line is parsed with
    it."""
    return {verb: tuple(entry.form for entry in many) for verb, many in _commands.items()}


def aliases() -> dict[str, str]:
    """Other words for a verb, such as `go` for `switch`."""
    return dict(_aliases)


@cache
def language() -> Verbs:
    """The verbs as lines are read with them: forms, aliases and what is registered of each.
    Cached: every line is parsed with it."""
    known = {verb: fact for verb, fact in _facts.items() if verb in _commands}
    return Verbs(forms(), aliases(), known)


def find(verb: str, form: int = 0) -> Command:
    """The command of a verb's form."""
    return _commands[verb][form]


def named(name: str) -> Sequence[Command]:
    """The forms of a verb, or the one form of this name; none if there is no such name."""
    if name in _commands:
        return _commands[name]
    return [entry for entry in every() if entry.name == name]


def command_of(run: Callable[..., "Reply"]) -> Command:
    """The command that a function was registered as."""
    return _by_function[run]


def line_with(run: Callable[..., "Reply"], args: Args, **changes: object) -> str:
    """The line of a command, without its arrow, with other values for some of its arguments."""
    values = {**dict(args), **changes}
    return write_line(command_of(run).form, values, because="").removeprefix("→ ")


def every() -> Iterable[Command]:
    """All commands, verb by verb in the order of registration."""
    return (entry for many in _commands.values() for entry in many)


def listed() -> list[Command]:
    """All commands in the order of help: by group, verb by verb. The forms for documents come
    after the common form of their verb, although the parser tries them first."""
    groups = get_args(Group)
    first: dict[str, tuple[int, int]] = {}
    for place, command in enumerate(every()):
        first.setdefault(command.verb, (groups.index(command.group), place))
    return sorted(every(), key=lambda command: (first[command.verb], is_for_documents(command)))


def is_for_documents(command: Command) -> bool:
    """Whether the first thing that a line names is a document."""
    refs = [part.refs for part in command.form.parts if part.kind == "ref"]
    return refs[:1] == [("document",)]


def verb_of_step(canonical: str) -> str:
    """The verb of a canonical line as a step stores it; "" if there is none."""
    word = canonical.removeprefix("→ ").split(maxsplit=1)
    return word[0] if word and word[0] in _commands else ""


def command_of_step(canonical: str) -> Command:
    """The command whose form a canonical line has, as a step stores it; the first form of the verb
    for a line that an earlier version wrote otherwise."""
    try:
        line = lines.read(with_quoted_name(canonical), language())
    except ParseError:
        return find(verb_of_step(canonical))
    return find(line.verb, line.form)


@cache
def _silent() -> frozenset[str]:
    """The verbs that answer nothing and are no change that others see, such as `think`."""
    several = _commands.items()
    return frozenset(v for v, many in several if all(entry.klass == "silent" for entry in many))


def looking() -> list[str]:
    """The verbs that only look, although they keep something of it for everybody."""
    kept = ((verb, [entry for entry in many if entry.world]) for verb, many in _commands.items())
    return [v for v, many in kept if many and all(c.klass in ("look", "silent") for c in many)]


def is_silent(canonical: str) -> bool:
    """Whether the line of a step is of a verb that answers nothing, such as `think`."""
    return verb_of_step(canonical) in _silent()


def is_line_of(canonical: str, *runs: Callable[..., "Reply"]) -> bool:
    """Whether the line of a step has the verb of one of these commands."""
    return verb_of_step(canonical) in {command_of(run).verb for run in runs}


def steps_of(*runs: Callable[..., "Reply"]) -> Q:
    """The condition that the line of a step has the verb of one of these commands."""
    return _steps({command_of(run).verb for run in runs})


def silent_steps() -> Q:
    """The condition that the line of a step is of a verb that answers nothing."""
    return _steps(_silent())


def _steps(verbs: Iterable[str]) -> Q:
    condition = Q(pk__in=())
    for verb in sorted(verbs):
        condition |= Q(canonical=f"→ {verb}") | Q(canonical__startswith=f"→ {verb} ")
        condition |= Q(canonical__startswith=f"→ {verb}\n")
    return condition


def verbs() -> list[str]:
    """All verbs, in the order of registration."""
    return list(_commands)
