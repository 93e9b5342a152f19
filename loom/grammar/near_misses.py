"""What looks like a command and is none: the answer that says which line to write."""

from loom.grammar.forms import first_word, without_arrow
from loom.grammar.line_reader import Line
from loom.grammar.lines import (
    PUNCTUATION,
    Command,
    Like,
    LineReader,
    makes_window,
    names_something,
)
from loom.grammar.refs import short, unread

_FEW_WORDS = 6


class MissReader(LineReader):
    """A reader of lines that also says what is nearly a command."""

    def examined(self, like: Like, line: str, number: int) -> Command | None:
        """What a line that may look like a command is: a look that runs, a near miss, or None
        where it is only text."""
        said = self.read(like.text, number)
        is_read = said.line is not None and not names_nobody(said.line, like.text)
        if is_read and makes_window(said.line) and not like.indented:
            return said
        if not is_read and not self._is_meant(like.text):
            return None
        return self.near_miss(line, number, said)

    def _is_meant(self, text: str) -> bool:
        """Whether what cannot be read as a command was meant as one."""
        words = without_arrow(text).split()
        word = words[0].strip("*_`" + PUNCTUATION)
        names = names_something(words[1:12])
        if self.verbs.verb_of(word) is not None:
            return names or len(words) <= _FEW_WORDS
        return names

    def near_miss(self, line: str, number: int, said: Command) -> Command:
        """The answer to what looks like a command: the line to write, or why it is none."""
        if said.line is not None:
            first, block, _ = said.line.canonical.partition("\n")
            below = ", its text below it, closed by ←" if block else ""
            hint = f"write {first} alone on its line{below}"
        elif self.wants_block(said.text):
            hint = f"write {said.text} alone on its line, its text below it, closed by ←"
        else:
            assert said.bad is not None
            hint = f"{said.bad.hint}, alone on its line"
        message = f'line {number}: "{short(line)}" looks like a command.'
        return Command(line, bad=unread(message, hint), number=number, near=True)

    def inner_command(self, text: str, number: int) -> Command:
        """The longest command that a text inside a sentence begins with."""
        words = text.split()
        for count in range(len(words), 0, -1):
            said = self.read("→ " + " ".join(words[:count]).rstrip(PUNCTUATION + '"|)'), number)
            if said.line is not None and not names_nobody(said.line, text):
                return said
        return said

    def in_fence(self, line: str, number: int) -> Command | None:
        """The near miss that a line of code is: only one that can be read counts."""
        body = line.strip(" \t\r")
        if not body.startswith(("→", "->")):
            return None
        if self.verbs.verb_of(first_word(without_arrow(body))) is None:
            return None
        said = self.read(body, number)
        is_read = said.line is not None and not names_nobody(said.line, body)
        return self.near_miss(line, number, said) if is_read else None


def names_nobody(line: Line, text: str) -> bool:
    """Whether a line was read with a common word as an id."""
    return "node:" in line.canonical.partition("\n")[0] and "node:" not in text.lower()
