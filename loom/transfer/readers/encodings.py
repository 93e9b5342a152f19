"""Bytes as text, and how many characters had to be replaced; the encoding of a page."""

import codecs
import re

from loom.text.counts import counted
from loom.transfer.records import Report

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BARE = ((b"<\0", "utf-16-le"), (b"\0<", "utf-16-be"))  # of a page without a mark
_DECLARED = re.compile(
    rb"""\A\s*<\?xml[^>]{0,200}?\sencoding\s*=\s*["']([\w.:-]{1,40})"""
    rb"""|<meta\s[^>]{0,200}?charset\s*=\s*["']?([\w.:-]{1,40})""",
    re.IGNORECASE,
)
_HEAD = 2048  # bytes within which a page declares its encoding
# Python has others that are no encodings of pages, such as one that takes quadratic time.
_OF_PAGES = re.compile(
    r"iso8859-\d+|cp\d+|koi8-[rtu]|mac-\w+|ptcp154|tis-620|johab|hz"
    r"|(?:gb|big5|euc|shift_jis|iso2022)[\w-]*"
)
# Each character of these has several bytes, or only bytes of ASCII.
_OF_SEVERAL_BYTES = re.compile(r"(?:gb|big5|euc|shift_jis|iso2022|johab|hz|cp9(?:32|49|50)).*")
# Browsers read these as larger ones, and so pages are written (the Encoding Standard).
_READ_AS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}


def decoded(data: bytes) -> tuple[str, int]:
    """The text of a page, as `text_in` returns it: in the encoding of its byte order mark, else in
    the one that it declares, else in UTF-8. What is valid as UTF-8 is read so if an element `meta`
    declares one of single bytes: readers of XHTML ignore that, and often it is left from before."""
    encoding, mark = _encoding_of(data)
    return text_in(data[mark:], encoding)


def text_in(raw: bytes, encoding: str) -> tuple[str, int]:
    """The text, without U+0000, and how many characters U+FFFD had to replace."""
    text = raw.decode(encoding, "replace")
    try:
        genuine = raw.count("\ufffd".encode(encoding))
    except UnicodeEncodeError:
        genuine = 0
    text = text.replace("\0", "\ufffd")
    return text, max(0, text.count("\ufffd") - genuine)


def warn_of_replaced(count: int, report: Report) -> None:
    """Reports how many characters had to be replaced, if any."""
    if count:
        report.warn(f"{counted(count, 'character')} not valid in the encoding became \ufffd.")


def _encoding_of(data: bytes) -> tuple[str, int]:
    """The name of the encoding, and how many bytes its mark has."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding, len(mark)
    for start, encoding in _BARE:
        if data.startswith(start):
            return encoding, 0
    declared = _DECLARED.search(data[:_HEAD])
    name = "" if declared is None else (declared[1] or declared[2]).decode("ascii", "ignore")
    try:
        known = codecs.lookup(name).name
    except LookupError:
        return "utf-8", 0
    if declared is not None and declared[2] and not _OF_SEVERAL_BYTES.fullmatch(known):
        known = "utf-8" if _is_utf8(data) else known
    known = _READ_AS.get(known, known)
    # What declares UTF-16 in ASCII is not in UTF-16.
    return (known if _OF_PAGES.fullmatch(known) else "utf-8"), 0


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
