"""Formulas and symbols of a DOCX as text."""

from lxml import etree

MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
FORMULAS = (f"{MATH}oMath", f"{MATH}oMathPara")
_DEEPEST = 100  # parts of a formula within each other that are told apart
_PARTS = {
    "f": ("{}/{}", ("num", "den")),
    "sSup": ("{}^{}", ("e", "sup")),
    "sSub": ("{}_{}", ("e", "sub")),
    "sSubSup": ("{}_{}^{}", ("e", "sub", "sup")),
    "limLow": ("{}_{}", ("e", "lim")),
    "limUpp": ("{}^{}", ("e", "lim")),
}
_LINES = ("oMathPara", "eqArr", "m")  # what has lines below each other
_BRACKETS = (("begChr", "("), ("endChr", ")"))  # where none is named; an empty one is none
# What somebody removed or moved, and changes are still shown; and line breaks.
_OF_WORD = {f"{WORD}del": "", f"{WORD}moveFrom": "", f"{WORD}br": "; "}


def formula(element: etree._Element, depth: int = 0) -> str:
    """The text of a formula in one line: `a/b` for a fraction, `a^2` for a power, `√(a)`, and
    `1, 2; 3, 4` for a matrix."""
    name = str(element.tag).removeprefix(MATH)
    if name == "t":
        return element.text or ""
    if name in _OF_WORD:
        return _OF_WORD[name]
    if depth > _DEEPEST:
        return "".join(text.text or "" for text in element.iter(f"{MATH}t"))
    if name in _PARTS:
        form, parts = _PARTS[name]
        return form.format(*(_grouped(_part(element, part, depth)) for part in parts))
    if name == "rad":
        return f"{_part(element, 'deg', depth)}√({_part(element, 'e', depth)})"
    if name == "nary":
        sign = _value(element, "naryPr", "chr", "∫")
        for start, part in (("_", "sub"), ("^", "sup")):
            if bound := _part(element, part, depth):
                sign += start + _grouped(bound)
        return f"{sign} {_part(element, 'e', depth)}"
    if name == "d":
        between = _value(element, "dPr", "sepChr", "|")
        inside = between.join(formula(child, depth + 1) for child in element.iterfind(f"{MATH}e"))
        begin, end = (_value(element, "dPr", *usual) for usual in _BRACKETS)
        return f"{begin}{inside}{end}"
    if name == "func":
        return f"{_part(element, 'fName', depth)} {_part(element, 'e', depth)}"
    if name == "mr":
        return ", ".join(formula(child, depth + 1) for child in element)
    if name in _LINES:
        lines = (formula(child, depth + 1) for child in element)
        return "; ".join(line for line in lines if line)
    return "".join(formula(child, depth + 1) for child in element)


def _part(element: etree._Element, name: str, depth: int) -> str:
    child = element.find(f"{MATH}{name}")
    return "" if child is None else formula(child, depth + 1)


def _grouped(text: str) -> str:
    return text if len(text) < 2 or text.isalnum() else f"({text})"


def _value(element: etree._Element, group: str, name: str, usual: str) -> str:
    child = element.find(f"{MATH}{group}/{MATH}{name}")
    return usual if child is None else str(child.get(f"{MATH}val", usual))


# Fonts whose characters are pictures: those that have a letter of their own in Unicode, by code.

_GREEK = "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ", "αβχδεφγηιϕκλμνοπθρστυϖωξψζ"
_SYMBOL = dict(enumerate(_GREEK[0], ord("A"))) | dict(enumerate(_GREEK[1], ord("a")))
_SYMBOL |= {code: chr(code) for code in range(0x20, 0x40)}
_SYMBOL |= {0xA3: "≤", 0xA5: "∞", 0xAB: "↔", 0xAC: "←", 0xAD: "↑", 0xAE: "→", 0xAF: "↓"}
_SYMBOL |= {0xB0: "°", 0xB1: "±", 0xB3: "≥", 0xB4: "×", 0xB5: "∝", 0xB6: "∂", 0xB7: "•"}
_SYMBOL |= {0xB8: "÷", 0xB9: "≠", 0xBA: "≡", 0xBB: "≈", 0xBC: "…", 0xC6: "∅", 0xC7: "∩"}
_SYMBOL |= {0xC8: "∪", 0xCC: "⊂", 0xCD: "⊆", 0xCE: "∈", 0xCF: "∉", 0xD1: "∇", 0xD5: "∏"}
_SYMBOL |= {0xD6: "√", 0xD8: "¬", 0xD9: "∧", 0xDA: "∨", 0xDB: "⇔", 0xDC: "⇐", 0xDE: "⇒"}
_SYMBOL |= {0xE5: "∑", 0xF2: "∫", 0x22: "∀", 0x24: "∃", 0x2D: "−"}
_WINGDINGS = {0x4A: "☺", 0x4B: "😐", 0x4C: "☹", 0x6C: "●", 0x6E: "■", 0x6F: "□", 0xA7: "▪"}
_WINGDINGS |= {0xA8: "◻", 0xDF: "←", 0xE0: "→", 0xE7: "⇐", 0xE8: "⇒", 0xF3: "⇔", 0xFB: "✗"}
_WINGDINGS |= {0xFC: "✓", 0xFD: "☒", 0xFE: "☑"}
_FONTS = {"symbol": _SYMBOL, "wingdings": _WINGDINGS}


def symbol(font: str, code: str) -> str:
    """A character of a font, with its code in hexadecimal; "" where it has no letter in Unicode."""
    try:
        place = int(code, 16)
    except ValueError:
        return ""
    if 0xF000 <= place <= 0xF0FF:
        return _FONTS.get(font.lower(), {}).get(place - 0xF000, "")
    if font.lower() in _FONTS and place < 0x100:
        return _FONTS[font.lower()].get(place, "")
    is_letter = 0x20 <= place < 0xD800 or 0xF900 <= place < 0xFFFE or 0x10000 <= place < 0xF0000
    return chr(place) if is_letter else ""
