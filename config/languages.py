"""The languages of the pages: English, and each that has a compiled catalogue."""

from pathlib import Path

ENGLISH = ("en", "English")


def found(*folders: Path) -> list[tuple[str, str]]:
    """Code and name of each language with a `django.mo` in one of the folders."""
    from django.conf.locale import LANG_INFO

    codes = {
        catalogue.parent.parent.name.replace("_", "-").lower()
        for folder in folders
        for catalogue in folder.glob("*/LC_MESSAGES/django.mo")
    }
    names = {code: str(LANG_INFO.get(code, {}).get("name_local", code)) for code in codes}
    return [ENGLISH, *sorted((code, name) for code, name in names.items() if code != "en")]
