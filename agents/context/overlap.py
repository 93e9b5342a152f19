"""Removes the part of a subject's answer that repeats the end of the text it continues, and
corrects the whitespace between the two. Only the answer is changed, never the text; a note says
what was done. Pure."""

from dataclasses import dataclass, field

from agents.context.subject_request import ASKED, BEGUN, PLAIN

REACH = 20_000  # characters of the text's end that an answer may repeat
LONG = 12  # a repetition this long is not accidental
LONG_WIDE = 6
_OPENING = "“«‘¿¡([„"
_CLOSED = ".,;:!?…)]”’»“%"
# Scripts without spaces between words: Thai to Khmer, Chinese and Japanese.
_WIDE = (
    (0x0E00, 0x0EFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x2E80, 0x9FFF),
    (0xF900, 0xFAFF),
    (0xFF00, 0xFFEF),
    (0x20000, 0x3FFFF),
)


@dataclass
class Overlap:
    """One answer to a text that was sent in one `way`. `feed` takes pieces and returns what can be
    stored; text that is not decided yet is kept back."""

    text: str
    way: str
    note: str = ""
    _held: str = ""
    _is_joined: bool = False
    _core: str = field(init=False)
    _blanks: str = field(init=False)
    _starts: list[int] = field(init=False)

    def __post_init__(self) -> None:
        core = self.text.rstrip()
        self._blanks = self.text[len(core) :]
        self._core = core if self.way in BEGUN else core[-REACH:]
        self._starts = [0] if core and self.way in BEGUN else _starts(self._core)

    @property
    def holds(self) -> bool:
        """Whether text is kept back."""
        return bool(self._held)

    def feed(self, piece: str) -> str:
        """The part of the answer that can be shown after `piece`."""
        if self._is_joined:
            return piece
        self._held += piece
        return "" if self._may_change() else self.rest()

    def rest(self) -> str:
        """The text that was kept back, as it should be stored; afterwards nothing is kept back."""
        held, self._held = self._held, ""
        if self._is_joined or not held:
            return held
        self._is_joined = True
        return self._joined(held)

    def _may_change(self) -> bool:
        """Whether more of the answer could still change the treatment of what has arrived."""
        bare = self._held.lstrip()
        self._starts = [at for at in self._starts if _fits(self._core, at, bare)]
        if not bare:
            return len(self._held) < REACH
        if any(len(self._core) - at >= len(bare) for at in self._starts):
            return True
        least = max((len(self._core) - at for at in self._starts), default=0)
        return bool(least) and not bare[least:].strip()

    def _joined(self, held: str) -> str:
        bare = held.lstrip()
        repeated = self._repeated(bare)
        rest = bare[repeated:] if repeated else held
        begins = rest[: len(rest) - len(rest.lstrip())]
        taken = _of_blanks(self._blanks, begins) if repeated or self.way != PLAIN else 0
        joined = rest[taken:]
        lacks = not (repeated or self._blanks) and self.way in ASKED
        if lacks and _lacks_blank(self._core, joined):
            self.note = "put a blank before it"
            return f" {joined}"
        self.note = _note_on(repeated, taken)
        return joined

    def _repeated(self, bare: str) -> int:
        """How many characters at the start of the answer repeat the end of the text."""
        sizes = (len(self._core) - at for at in self._starts)
        fitting = (size for size in sizes if bare[:size] == self._core[-size:])
        return next((size for size in fitting if self._is_meant(bare, size)), 0)

    def _is_meant(self, bare: str, size: int) -> bool:
        """Whether that many repeated characters are unlikely to be accidental in this language."""
        repeated, is_whole = bare[:size], not bare[size : size + 1].isalnum()
        if size >= (LONG_WIDE if _is_wide(repeated[-1]) else LONG):
            return is_whole or self.way != PLAIN
        return self.way in ASKED and (is_whole or len(repeated.split()) > 1)


def _starts(core: str) -> list[int]:
    """The places where a repetition may begin, longest first: at words."""
    return [
        at
        for at, char in enumerate(core)
        if not char.isspace()
        and (at == 0 or not (core[at - 1].isalnum() and char.isalnum()) or _is_wide(char))
    ]


def _fits(core: str, at: int, bare: str) -> bool:
    """Whether an answer with this start repeats the text from `at`, as far as both go."""
    return core.startswith(bare, at) or bare.startswith(core[at:])


def _of_blanks(blanks: str, begins: str) -> int:
    """How many of the answer's leading blanks the text already ends with. A line break that the
    text lacks stays, and so does indentation."""
    if not blanks:
        return 0
    if begins.startswith(blanks):
        return len(blanks)
    if "\n" in blanks and "\n" not in begins:
        return len(begins) if begins == " " else 0
    return 0 if "\n" in begins and "\n" not in blanks else len(begins)


def _lacks_blank(core: str, answer: str) -> bool:
    """Whether two words would run into each other."""
    if not core or not answer:
        return False
    last, first = core[-1], answer[0]
    if _is_wide(last) or _is_wide(first):
        return False
    opens = first in _OPENING or (first == '"' and core.count('"') % 2 == 0)
    return (first.isalnum() or opens) and (last.isalnum() or _closes(core))


def _closes(core: str) -> bool:
    return core[-1] in _CLOSED or (core[-1] == '"' and core.count('"') % 2 == 0)


def _is_wide(char: str) -> bool:
    return not char.isascii() and any(low <= ord(char) <= high for low, high in _WIDE)


def _note_on(repeated: int, blanks: int) -> str:
    if repeated:
        s = "" if repeated == 1 else "s"
        verb = "repeats" if repeated == 1 else "repeat"
        return f"took off {repeated:,} character{s} that {verb} the end of the text"
    return "took off the blanks that the text ends with" if blanks else ""


def goes_on(text: str, answer: str) -> bool:
    """Whether an answer continues in the middle of a sentence, instead of beginning a new one or
    repeating the old one."""
    first = next((char for char in answer if char.isalnum()), "")
    return first != "" and not first.isupper() and not answer.lstrip().startswith(text)
