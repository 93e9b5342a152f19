"""Files that a browser stores: their names, and the header that names them."""

from django.utils.http import content_disposition_header

MOST_LETTERS = 80


def file_name(title: str, otherwise: str) -> str:
    """The title as a file name for any system: no separators, no control characters, not hidden;
    `otherwise` if nothing of it is left."""
    shown = "".join(
        "-" if letter in '/\\:*?"<>|' or not letter.isprintable() else letter for letter in title
    )
    return shown.strip(" .")[:MOST_LETTERS].strip(" .") or otherwise


def attachment(title: str, ending: str, *, otherwise: str) -> str:
    """The value of `Content-Disposition` for a file with that title."""
    name = f"{file_name(title, otherwise)}.{ending}"
    return content_disposition_header(True, name) or "attachment"
