"""A GBNF grammar for llama.cpp: what a model may write, prose or whole lines.

It is made from the forms that an agent may use, so that even a small model writes only lines that
can be parsed. It is stricter than the parser: one wording for each form, the canonical one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from loom.language.forms import Form, FormPart
from loom.language.refs import quote as quoted

_FEW = 60  # whole numbers are listed one by one up to this many
_MANY = 3  # further values where a part takes several
_SHARED = (
    r"blanks ::= [ \t]*",
    r'prose ::= blanks ( "-" ( [^>\n\r\x00] rest )? | [^→ \t\n\r\x00-] rest )',
    r"rest ::= [^\n\r\x00]*",
    r'text ::= "\"" char+ "\""',
    r'char ::= [^"\\\n\r\x00] | "\\" ["\\n]',
    r'block ::= "\n" ( inner "\n" )+ "←"',
    r"inner ::= [^←\n\r\x00] rest",
    r"number ::= [1-9] [0-9]{0,2}",
    "letter ::= [a-hjkmnp-tv-z]",
    "digit ::= [2-9]",
    "local ::= letter digit letter digit ( letter ( digit ( letter digit? )? )? )?",
    r"word ::= [a-z]{2,14}",
    r"opaque ::= [a-z] [0-9] [a-z0-9]{0,30}",
)
_JSON = (
    r'json ::= "{" ( pair ( ", " pair )* )? "}"',
    r'pair ::= text ": " value',
    r'value ::= text | "-"? number | "true" | "false" | "null" | json | list',
    r'list ::= "[" ( value ( ", " value )* )? "]"',
)
_REFS = {
    "node": "node",
    "here": '"here"',
    "root": '"root"',
    "parent": '"parent"',
    "document": '"doc:" text ( " §" word )?',
    "tree": '"tree:" text',
    "branch": '"branch:" local',
    "range": 'local "-" local',
    "window": '"#" number',
    "task": '"t" number',
    "stash": '"stash:" text',
    "focus": '"focus"',
    "trail": '"trail:" text',
    "agent": "agent",
    "augment": '"augment:" word',
    "pipe": '"pipe:" text',
    "turn": '"turn:" opaque',
    "step": '"step:" number',
}
_ANY_REF = ("node", "here", "parent", "root", "document", "window")
_PLACES = ("node", "here", "parent", "root")


@dataclass(frozen=True)
class Known:
    """Names that are known: local ids, types of links and lists, names of agents. Empty ones are
    written in their general shape (a type is left out)."""

    nodes: Sequence[str] = ()
    types: Sequence[str] = ()
    agents: Sequence[str] = ()


def grammar_of(forms: Iterable[Form], known: Known | None = None, *, acts: bool = False) -> str:
    """The grammar of whole replies: prose and lines of these forms. With `acts` a reply is one
    line about a node, with its text in quotes. Every line that it produces is parsed as the form
    that it was made from, or as a shorter one that says the same."""
    known = known or Known()
    every = tuple(forms)
    verbs = tuple(dict.fromkeys(form.verb for form in every))
    lines = [_Lines(form, known, verbs, is_short=acts).rule() for form in every]
    names = [f"line{number}" for number in range(len(lines))]
    whole = "command" if acts and lines else 'item ( "\\n" "\\n"? item )*'
    return "\n".join(
        (
            f'root ::= {whole} "\\n"?',
            f"item ::= prose{' | command' if lines else ''}",
            *((f'command ::= "→ " ( {" | ".join(names)} )',) if lines else ()),
            *(f"{name} ::= {line}" for name, line in zip(names, lines, strict=True)),
            f"ref ::= {_refs(_PLACES if acts else _ANY_REF)}",
            f"node ::= {_one_of(known.nodes) if known.nodes else 'local'}",
            f"agent ::= {_agents(known)}",
            *_SHARED,
            *(_JSON if any(form.plan.json for form in every) else ()),
            "",
        )
    )


def _agents(known: Known) -> str:
    return _one_of(f"agent:{quoted(name)}" for name in known.agents) or '"agent:" text'


def literal(text: str) -> str:
    """The text as a terminal."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r") + '"'


def _one_of(words: Iterable[str]) -> str:
    return " | ".join(literal(word) for word in words)


def _refs(kinds: Iterable[str]) -> str:
    return " | ".join(_REFS[kind] for kind in kinds)


class _Lines:
    """The lines of one form, as the right side of a rule."""

    def __init__(
        self, form: Form, known: Known, verbs: Sequence[str], *, is_short: bool = False
    ) -> None:
        self.form = form
        self.is_short = is_short
        self.known = known
        self.verbs = verbs
        self.inner = {part.needs: part for part in form.parts if part.needs}

    def rule(self) -> str:
        """The verb and its parts; a text may also be a block, which then ends the line."""
        parts = [part for part in self.form.parts if not part.needs]
        pieces = [self._piece(part, as_block=False) for part in parts]
        line = " ".join([literal(self.form.verb), *(piece for piece in pieces if piece)])
        block = self.form.plan.block
        if block is None or block.optional or self.is_short:
            return line
        pieces = [self._piece(part, as_block=True) for part in parts]
        return f"{line} | " + " ".join(
            [literal(self.form.verb), *(piece for piece in pieces if piece), "block"]
        )

    def _piece(self, part: FormPart, *, as_block: bool) -> str:
        """A blank and the part, in brackets if it is optional; "" without it."""
        if part.kind == "content" and as_block:
            return literal(f" {part.lead}") if part.lead else ""
        rule = self._value_rule(part)
        if not rule:
            return ""
        inner = self.inner.get(part.name)
        nested = f" {self._piece(inner, as_block=as_block)}" if inner is not None else ""
        piece = f"{_before(part)} ( {rule} ){self._more(part, rule)}{nested}"
        return f"( {piece} )?" if part.optional or part.kind == "flag" else piece

    def _more(self, part: FormPart, rule: str) -> str:
        if part.many or part.kind == "tags":
            lead = f" {part.lead} " if part.lead and part.kind == "ref" else " "
            return f" ( {literal(lead)} ( {rule} ) ){{0,{_MANY}}}"
        if part.value in ("refs", "words"):
            return f' ( "," ( {rule} ) ){{0,{_MANY}}}'
        return ""

    def _value_rule(self, part: FormPart) -> str:
        """What stands for the part's value, the alternatives without their brackets."""
        if part.value == "json":
            return "json"
        if part.kind == "option":
            return self._option(part)
        if part.kind in ("flag", "choice"):
            return _one_of(part.choices) if part.kind == "choice" else literal(part.word)
        if part.kind == "word":
            words = (part.lead,) if part.lead else part.choices or self._verbs(part)
            return _one_of(words) or ("" if part.optional else "word")
        if part.kind == "type":
            types = (*part.choices, *self.known.types)
            return _one_of(types) or ("" if part.optional else "word")
        if part.kind == "ref":
            if part.but:
                some = _PLACES if self.is_short else _ANY_REF
                return _refs(ref for ref in some if ref not in part.but)
            kinds = [ref for ref in part.refs if ref in _PLACES] if self.is_short else part.refs
            return _refs(kinds) or _refs(part.refs) or "ref"
        return {"range": _REFS["range"], "tags": '"#" word'}.get(part.kind, "text")

    def _verbs(self, part: FormPart) -> Sequence[str]:
        return self.verbs if part.name == "verb" else ()

    def _option(self, part: FormPart) -> str:
        if part.value in ("int", "float", "number"):
            return _numbers(part)
        if part.value == "choice":
            return _one_of(part.choices)
        if part.value in ("ref", "refs"):
            return " | ".join((*map(literal, part.choices), _refs(part.refs) or "ref"))
        if part.value == "place":
            return '"start" | "end" | "line:" number | "§" word'
        if part.value in ("word", "words"):
            return _one_of(part.choices or self.known.types) or "word"
        return "text"


def _before(part: FormPart) -> str:
    if part.kind == "option":
        return literal(f" {part.key}:")
    led = part.lead and part.kind not in ("word", "flag")
    return literal(f" {part.lead} " if led else " ")


def _numbers(part: FormPart) -> str:
    """Numbers within the bounds: whole ones, or tenths where the range is small."""
    low = 1 if part.minimum is None else int(part.minimum)
    high = low + 999 if part.maximum is None else int(part.maximum)
    if part.value == "float" and high - low <= 2:
        tenths = (
            range(low * 10 + 1, high * 10) if part.exclusive else range(low * 10, high * 10 + 1)
        )
        return _one_of(repr(tenth / 10).removesuffix(".0") for tenth in tenths)
    low, high = (low + 1, high - 1) if part.exclusive else (low, high)
    if high - low < _FEW:
        return _one_of(str(number) for number in range(low, high + 1))
    # Numbers of so many digits that the least is not under the bound nor the greatest over.
    fewest, most = len(str(low - 1)) + (low > 1), len(str(high + 1)) - 1
    return f"[1-9] [0-9]{{{fewest - 1},{most - 1}}}" if fewest <= most else literal(str(low))
