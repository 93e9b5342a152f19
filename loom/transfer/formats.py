"""All formats that are read, in the order in which they are tried."""

from collections.abc import Callable, Iterator
from typing import Any

from loom.transfer import heddle_reader, pyloom
from loom.transfer.files import Event
from loom.transfer.gathering import mapping_of
from loom.transfer.inputs import Input, Part, Put
from loom.transfer.readers import books, chats, documents, looms, patches, sequences, tapestry
from loom.transfer.readers.looms import one_tree
from loom.transfer.recognition import Format, first_bytes, json_format, looks_like_json
from loom.transfer.records import Head, Report, unreadable

ZIP = b"PK\x03\x04"
_PIECE = 1024 * 1024
# Files that are not read, by their first bytes: what they are, and what to do.
_AS_TEXT = "save it as text, Markdown, DOCX or EPUB"
_UNREAD = (
    (b"%PDF-", "PDF files are not read.", _AS_TEXT),
    (b"\xd0\xcf\x11\xe0", "Documents of old versions of Word are not read.", "save it as DOCX"),
    (b"{\\rtf", "RTF files are not read.", _AS_TEXT),
    (b"\x1f\x8b", "The file is packed with gzip.", "unpack it, or pack it as a ZIP"),
    (b"7z\xbc\xaf\x27\x1c", "The file is packed with 7-Zip.", "unpack it, or pack it as a ZIP"),
    (b"Rar!", "The file is packed with RAR.", "unpack it, or pack it as a ZIP"),
    (b"SQLite format 3\0", "Databases are not read.", "export the trees in the other program"),
    *(
        (start, "This is an image, and no tree.", "drop it on the field of a tree's text")
        for start in (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF")
    ),
)
_MARKUP = (b"<!doctype", b"<html", b"<?xml", b"<svg")
Streamed = Callable[[Iterator[Event], Put, Report], Head]


def _streamed(read: Streamed) -> Callable[[Input], Iterator[Part]]:
    """The `each` of a format whose reader takes events."""

    def of(file: Input, put: Put, report: Report) -> Head:
        return read(file.events(), put, report)

    return one_tree(of)


def _has(*names: str) -> Callable[[Any], bool]:
    """Whether the outermost object has one of these keys."""
    wanted = set(names)
    return lambda sketch: bool(wanted & mapping_of(sketch).keys())


JSON = (
    Format("heddle", "Heddle", _has("heddle"), _streamed(heddle_reader.read), is_exact=True),
    Format("chatgpt", "ChatGPT", chats.is_chatgpt, chats.archive(chats.chatgpt)),
    Format("claude", "Claude", chats.is_claude, chats.archive(chats.claude)),
    Format("librechat", "LibreChat", chats.is_librechat, chats.archive(chats.librechat)),
    Format("openwebui", "Open WebUI", chats.is_openwebui, chats.archive(chats.openwebui)),
    Format("arc", "Arc", chats.is_arc, chats.archive(chats.arc)),
    Format(
        "sillytavern",
        "SillyTavern",
        sequences.is_sillytavern,
        sequences.each_sillytavern,
        together=sequences.sillytavern_families,
    ),
    Format("openai", "OpenAI JSONL", sequences.is_openai, one_tree(sequences.read_openai)),
    Format("mikupad", "mikupad", sequences.is_mikupad, sequences.each_mikupad),
    Format("mikupad-store", "mikupad", sequences.is_mikupad_store, sequences.each_mikupad_session),
    Format("miniloom", "miniloom", patches.is_miniloom, one_tree(patches.read_miniloom)),
    Format(
        "exoloom",
        "Exoloom",
        looms.is_exoloom,
        looms.flat(("tree", "nodes"), looms.take_exoloom, looms.finish_exoloom),
    ),
    Format("logitloom", "logitloom", looms.is_logitloom, one_tree(looms.read_logitloom)),
    Format(
        "helm", "Helm", looms.is_helm, looms.flat(("nodes",), looms.take_helm, looms.finish_helm)
    ),
    Format("bonsai", "bonsai", looms.is_bonsai, looms.flat(("nodes",), looms.take_bonsai)),
    Format("wool", "wool", looms.is_wool, looms.flat(("nodes",), looms.take_wool)),
    Format("basemode", "basemode", looms.is_basemode, looms.flat(("nodes",), looms.take_basemode)),
    Format(
        "loomsidian",
        "loomsidian",
        looms.is_loomsidian,
        looms.flat(("nodes",), looms.take_loomsidian),
    ),
    Format("loomsidian-data", "loomsidian", looms.is_loomsidian_data, looms.loomsidian_notes),
    Format("pyloom", "pyloom", _has("root"), _streamed(pyloom.read_full), is_exact=True),
    Format("pyloom-list", "pyloom", pyloom.is_list, _streamed(pyloom.read_list)),
    Format(
        "pyloom-simple", "pyloom", _has("children"), _streamed(pyloom.read_simple), is_exact=True
    ),
    Format("pyloom-flat", "pyloom", looms.is_flat_pyloom, one_tree(looms.read_pyloom_flat)),
)
TAPESTRY = Format("tapestry", "Tapestry Loom", bool, one_tree(tapestry.read_tapestry))
TEXT = Format("text", "text", bool, documents.each_document)
EVERY = (*JSON, TAPESTRY, TEXT, *books.FORMATS.values())
NAMES = tuple(one.name for one in EVERY)


def format_of(file: Input) -> Format:
    """The format of a file, found out by its content. Raises for one that cannot be read."""
    start = first_bytes(file)
    if start.startswith(ZIP):
        kind = books.kind_of(file.path)
        if not kind:
            raise unreadable("It is a ZIP within a ZIP.", "unpack it first")
        return books.FORMATS[kind]
    if start.startswith(tapestry.MAGIC):
        return TAPESTRY
    for first, sentence, hint in _UNREAD:
        if start.startswith(first):
            raise unreadable(sentence, hint)
    file.check()
    if start.lstrip()[:9].lower().startswith(_MARKUP):
        raise unreadable("Web pages are not read.", "save it as text or Markdown")
    if not looks_like_json(start):
        if not first_bytes(file, _PIECE).strip():
            raise unreadable("The file is empty.")
        return TEXT
    found = json_format(file, JSON)
    if found.is_exact:
        file.demand_exact()
    return found
