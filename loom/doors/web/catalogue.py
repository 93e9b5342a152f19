"""The words of the page's scripts in the reader's language, as the scripts read them."""

import gettext
from functools import lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import get_language, to_locale

# Formulas of plurals repeat after two hundred, as far as anybody knows.
COUNTED = 200


def script_catalogue() -> dict[str, Any]:
    """Text by text; texts for several things as lists, and under "" which form 0 to 199 take.

    Empty for English, which the scripts have themselves.
    """
    language = get_language() or "en"
    return {} if language == "en" else _catalogue(to_locale(language), tuple(settings.LOCALE_PATHS))


@lru_cache(maxsize=64)
def _catalogue(locale: str, folders: tuple[Path, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for folder in folders:
        try:
            words = gettext.translation("djangojs", localedir=folder, languages=[locale])
        except OSError:
            continue
        found = {**_entries(words), **found}
    return found


def _entries(words: gettext.NullTranslations) -> dict[str, Any]:
    made: dict[str, Any] = {}
    entries: dict[Any, str] = getattr(words, "_catalog", {})
    for key, text in sorted(entries.items(), key=lambda one: str(one[0])):
        if isinstance(key, tuple):
            made.setdefault(key[0], []).append(text)
        elif key:
            made[key] = text
    plural = getattr(words, "plural", lambda n: int(n != 1))
    made[""] = "".join(str(plural(n)) for n in range(COUNTED))
    return made
