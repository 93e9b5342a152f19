"""The parts of one form while a line is read: which are given, and which comes next."""

from collections.abc import Callable

from loom.grammar.bad import Bad, short, unread
from loom.grammar.forms import Form, Part, syntax
from loom.grammar.tokens import Token


class Filling:
    """The values of a form's parts so far; `given` names those that the line has."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.plan = form.plan
        self.values: dict[str, object] = dict(form.plan.absent)
        self.given: set[str] = set()
        self._several: dict[str, list[str]] = {}
        self._next = 0  # the first part in order that may still be filled

    def reach(self, fits: Callable[[Part], bool]) -> Part | None:
        """The next part in order that fits; what must stand before it is not passed over."""
        for part in self.plan.order[self._next :]:
            if fits(part):
                return part
            if not part.optional and part.name not in self.given:
                return None
        return None

    def place(self, kinds: tuple[str, ...], value: str) -> bool:
        """Gives a text to the next part of one of these kinds; False where there is none."""
        part = self.reach(lambda part: part.kind in kinds)
        if part is None:
            return False
        if part.name in self.plan.many:
            self._several.setdefault(part.name, []).append(value)
        else:
            self.values[part.name] = value
        self.fill(part)
        return True

    def fill(self, part: Part) -> None:
        """Marks a part of the order as given; one that takes several may be given again."""
        self.given.add(part.name)
        self._next = self.plan.order.index(part) + (part.name not in self.plan.many)

    def claim(self, part: Part, written: str) -> None:
        """Marks an option, word or led part as given. Raises Bad the second time."""
        if part.name in self.given:
            also = f" of {'|'.join(part.choices)}" if part.kind == "choice" else ""
            raise unread(f"{short(written)} stands twice.", f"give one{also}")
        self.given.add(part.name)

    def settle(self) -> bool:
        """At the end of the line: whether the content is still missing and must be a block.

        Raises Bad where anything else is missing.
        """
        self.values.update({name: tuple(texts) for name, texts in self._several.items()})
        wants_block = False
        for part in self.plan.required:
            if part.name not in self.given:
                if part.kind != "content" or part.lead:
                    raise self.missing(part)
                wants_block = True
        for part in self.form.parts:
            if part.needs and part.name in self.given and part.needs not in self.given:
                raise unread(
                    f"{part.key}: stands only beside what it is about.",
                    f"write → {syntax(self.form)}",
                )
        return wants_block

    def missing(self, part: Part) -> Bad:
        """The refusal of a line that lacks a part."""
        return unread(f"{self.form.verb} needs {_described(part)}.", f"write → {syntax(self.form)}")

    def unexpected(self, token: Token) -> Bad:
        """The refusal of a token that fits no part."""
        return unread(
            f"{short(token.raw)} has no place in {self.form.verb}.",
            f"write → {syntax(self.form)}",
        )


def _described(part: Part) -> str:
    if part.kind == "option":
        return f"{part.key}:"
    if part.kind == "choice":
        return " or ".join(part.choices)
    if part.kind == "word":
        return part.lead or "a word"
    named = {"ref": "a reference", "range": "a range", "type": "a type", "tags": "a tag"}
    article = named.get(part.kind, "a text")
    return f"{article} after {part.lead}" if part.lead else article
