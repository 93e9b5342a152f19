"""The words of the pages, taken out of the sources: what script/messages writes and tests read.

Two catalogues, as Django has them: `django` for templates and Python, `djangojs` for scripts.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_javascript, extract_python
from babel.messages.jslexer import tokenize
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.utils.translation.template import templatize

from tests.house.sources import ROOT, files, name_of, text_of

LOCALES = ROOT / "locale"
PYTHON = {
    "gettext": None,
    "gettext_noop": None,
    "gettext_lazy": None,
    "ngettext": (1, 2),
    "_": None,
}
SCRIPT = {"t": None, "tn": (1, 2)}
# Line, function, text or texts, remarks: Babel yields these, and declares others.
Found = tuple[Any, ...]


def _python(source: str) -> Iterator[Found]:
    yield from extract_python(BytesIO(source.encode()), PYTHON, [], {})


def _template(path: Path) -> Iterator[Found]:
    yield from _python(templatize(text_of(path)))


def script_texts(source: str) -> Iterator[Found]:
    """The texts of a script, those in `${…}` too: there Babel's own way ends an expression at the
    first brace, so that calls with an object are lost."""
    yield from extract_javascript(BytesIO(source.encode()), SCRIPT, [], {})
    for token in tokenize(source):
        if token.type == "template_string":
            for expression in _expressions(token.value):
                yield from script_texts(expression)


def _expressions(template: str) -> Iterator[str]:
    """What is in each `${…}` of a template string."""
    start, depth, quote, at = 0, 0, "", 0
    while at < len(template):
        letter = template[at]
        if letter == "\\":
            at += 1
        elif quote:
            quote = "" if letter == quote else quote
        elif depth and letter in "\"'":
            quote = letter
        elif template.startswith("${", at) and not depth:
            depth, start, at = 1, at + 2, at + 1
        elif depth and letter in "{}":
            depth += 1 if letter == "{" else -1
            if not depth:
                yield template[start:at]
        at += 1


def _collect(catalog: Catalog, path: Path, messages: Iterable[Found]) -> None:
    for _, function, message, *_rest in messages:
        texts = message if isinstance(message, tuple) else (message,)
        if not texts or not isinstance(texts[0], str):
            continue
        is_plural = function in ("ngettext", "tn") and isinstance(texts[1], str)
        entry = (texts[0], texts[1]) if is_plural else texts[0]
        catalog.add(entry, locations=[(name_of(path), 0)])


@cache
def taken() -> dict[str, Catalog]:
    """The catalogues without translations, as the sources are now."""
    catalogs = {
        domain: Catalog(project="Heddle", version="", charset="utf-8", fuzzy=False, locale="en")
        for domain in ("django", "djangojs")
    }
    for path in files(".html"):
        if path.is_relative_to(ROOT / "templates"):
            _collect(catalogs["django"], path, _template(path))
    for path in files(".py"):
        if name_of(path).startswith(("agents/", "loom/")) and "migrations" not in path.parts:
            _collect(catalogs["django"], path, _python(text_of(path)))
    for path in files(".js"):
        is_ours = path.is_relative_to(ROOT / "static" / "src")
        if is_ours and not path.name.endswith(".test.js"):
            _collect(catalogs["djangojs"], path, script_texts(text_of(path)))
    return catalogs


def store(catalog: Catalog, folder: Path, domain: str) -> None:
    """Writes the catalogue as `.po`, sorted, without dates: the same sources, the same file."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{domain}.po").open("wb") as file:
        write_po(file, catalog, sort_output=True, omit_header=False, include_lineno=False)


def stored(folder: Path, domain: str, locale: str) -> Catalog:
    """The catalogue that was written there."""
    with (folder / f"{domain}.po").open("rb") as file:
        return read_po(file, locale=locale)


def compile_to(catalog: Catalog, folder: Path, domain: str) -> None:
    """Writes the `.mo` that programs read."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{domain}.mo").open("wb") as file:
        write_mo(file, catalog)


def missing_in(catalog: Catalog, template: Catalog) -> list[str]:
    """The texts of the sources that a language does not have, or not in all forms, or marked as
    uncertain; in order."""
    missing = []
    for message in template:
        kept = catalog.get(message.id) if message.id else None
        translation = kept.string if kept is not None else ""
        forms = translation if isinstance(translation, tuple | list) else (translation,)
        if message.id and (kept is None or kept.fuzzy or not all(forms)):
            missing.append(message.id if isinstance(message.id, str) else message.id[0])
    return sorted(missing)


_ACCENTS = str.maketrans("aeiouyAEIOUYcnsz", "àéîöüÿÀÉÎÖÜŸçñšž")
_HOLES = re.compile(r"(%\([^)]*\)[sd]|\{[^}]*\}|<[^>]*>|&[a-z]+;)")


def pseudo(text: str) -> str:
    """The text as a language that nobody speaks would have it: ⟦žàîd lîké thîš⟧."""
    parts = _HOLES.split(text)
    accented = "".join(part if n % 2 else part.translate(_ACCENTS) for n, part in enumerate(parts))
    return f"⟦{accented}⟧"


def speak_pseudo(folder: Path, locale: str) -> None:
    """Puts a catalogue of pseudo words for every text into `folder`, under that locale's code."""
    for domain, template in taken().items():
        catalog = Catalog(locale=locale)
        for message in template:
            if isinstance(message.id, str) and message.id:
                catalog.add(message.id, pseudo(message.id))
            elif message.id:
                singular, *_, many = (pseudo(text) for text in message.id)
                forms = (singular, *[many] * (catalog.num_plurals - 1))
                catalog.add(tuple(message.id), forms)
        compile_to(catalog, folder / locale / "LC_MESSAGES", domain)
