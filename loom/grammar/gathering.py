"""The refs of one line, each with its part, and the slices and trees that belong to them."""

from loom.grammar.bad import short, unread
from loom.grammar.forms import Part
from loom.grammar.naming import ref_of, slice_of
from loom.grammar.refs import continues_tree, in_tree, no_ref, with_slice
from loom.grammar.shapes import Ref, Slice, print_ref, print_slice
from loom.grammar.tokens import Token


class Gathered:
    """Refs in the order of the line. Every method raises Bad."""

    def __init__(self) -> None:
        self._refs: list[tuple[Part, Ref]] = []
        self._pending: list[Slice | Ref] = []  # slices and trees that stand before any ref

    def add(self, part: Part, ref: Ref) -> None:
        """Keeps a ref as (one of) the value of a part."""
        if not allows(part, ref):
            raise unread(
                f"{short(print_ref(ref))} cannot stand here.", f"this takes {wanted(part)}"
            )
        self._refs.append((part, ref))

    def attach(self, extra: Slice | Ref) -> None:
        """Gives the last ref its slice or its tree; before any ref, the only one gets it."""
        if not self._refs:
            self._pending.append(extra)
            return
        part, ref = self._refs[-1]
        joined = with_slice(ref, extra) if isinstance(extra, Slice) else in_tree(ref, extra)
        self._refs[-1] = (part, joined)

    def goes_on(self, token: Token) -> bool:
        """Whether a token belongs to the last ref, which it then has changed: a slice, or
        the node of a tree."""
        last = self._refs[-1][1]
        if last.kind == "tree" and continues_tree(token):
            self._refs[-1] = (self._refs[-1][0], in_tree(demand_ref(token), last))
            return True
        extra = slice_of(token)
        if extra is not None:
            self.attach(extra)
        return extra is not None

    def settle(self) -> None:
        """At the end of the line: a slice before the only ref belongs to that."""
        if self._pending and len(self._refs) != 1:
            first = self._pending[0]
            shown = print_slice(first) if isinstance(first, Slice) else f"in {print_ref(first)}"
            raise unread(
                f"It is not clear what {short(shown)} belongs to.",
                f"write it after its reference, such as here {short(shown)}",
            )
        for extra in self._pending:
            self.attach(extra)

    def into(self, values: dict[str, object], many: frozenset[str]) -> None:
        """Writes the refs into the values of a line; of parts that take several, as tuples."""
        several: dict[str, list[Ref]] = {}
        for part, ref in self._refs:
            if part.name in many:
                several.setdefault(part.name, []).append(ref)
            else:
                values[part.name] = ref
        values.update({name: tuple(refs) for name, refs in several.items()})


def demand_ref(token: Token) -> Ref:
    """The ref that one token is. Raises Bad where it is none."""
    ref = ref_of(token)
    if ref is None:
        raise no_ref(token)
    return ref


def allows(part: Part, ref: Ref) -> bool:
    """Whether a ref of this kind may stand in a part."""
    if part.kind == "range":
        return ref.kind == "range"
    return not part.refs or ref.kind in part.refs


def wanted(part: Part) -> str:
    """What a part takes, for a hint."""
    return "a range, such as r2d4-a7x2" if part.kind == "range" else " or ".join(part.refs)
