"""The import formats, in the order in which they are tried; the files of an import, which are one
file or those in a ZIP; and the trees in them."""

import lzma
import re
import shutil
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from loom.errors import CommandError
from loom.transfer import pyloom
from loom.transfer.files import MAX_FILE, Event, Tell
from loom.transfer.inputs import (
    ImportFormat,
    Input,
    Put,
    TreeInFile,
    first_bytes,
    json_format,
    looks_like_json,
)
from loom.transfer.message_images import ENDING, ArchiveImages
from loom.transfer.node_collector import mapping_of
from loom.transfer.readers import books, chats, documents, looms, patches, sequences, tapestry
from loom.transfer.readers import heddle as heddle_reader
from loom.transfer.readers.looms import one_tree
from loom.transfer.records import Head, Report, unreadable

ZIP = b"PK\x03\x04"
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
        (start, "This is an image, not a tree.", "drop it on the text field of a tree")
        for start in (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF")
    ),
)
_MARKUP = (b"<!doctype", b"<html", b"<?xml", b"<svg")
Streamed = Callable[[Iterator[Event], Put, Report], Head]


def _streamed(read: Streamed) -> Callable[[Input], Iterator[TreeInFile]]:
    """The `each` of a format whose reader takes events."""

    def of(file: Input, put: Put, report: Report) -> Head:
        return read(file.events(), put, report)

    return one_tree(of)


def _has(*names: str) -> Callable[[Any], bool]:
    """Whether the outermost object has one of these keys."""
    wanted = set(names)
    return lambda sketch: bool(wanted & mapping_of(sketch).keys())


JSON = (
    ImportFormat("heddle", "Heddle", _has("heddle"), _streamed(heddle_reader.read), is_exact=True),
    ImportFormat("chatgpt", "ChatGPT", chats.is_chatgpt, chats.archive(chats.chatgpt)),
    ImportFormat("claude", "Claude", chats.is_claude, chats.archive(chats.claude)),
    ImportFormat("librechat", "LibreChat", chats.is_librechat, chats.archive(chats.librechat)),
    ImportFormat("openwebui", "Open WebUI", chats.is_openwebui, chats.archive(chats.openwebui)),
    ImportFormat("arc", "Arc", chats.is_arc, chats.archive(chats.arc)),
    ImportFormat(
        "sillytavern",
        "SillyTavern",
        sequences.is_sillytavern,
        sequences.each_sillytavern,
        together=sequences.sillytavern_families,
    ),
    ImportFormat("openai", "OpenAI JSONL", sequences.is_openai, one_tree(sequences.read_openai)),
    ImportFormat("mikupad", "mikupad", sequences.is_mikupad, sequences.each_mikupad),
    ImportFormat(
        "mikupad-store", "mikupad", sequences.is_mikupad_store, sequences.each_mikupad_session
    ),
    ImportFormat("miniloom", "miniloom", patches.is_miniloom, one_tree(patches.read_miniloom)),
    ImportFormat(
        "exoloom",
        "Exoloom",
        looms.is_exoloom,
        looms.flat(("tree", "nodes"), looms.take_exoloom, looms.finish_exoloom),
    ),
    ImportFormat("logitloom", "logitloom", looms.is_logitloom, one_tree(looms.read_logitloom)),
    ImportFormat(
        "helm", "Helm", looms.is_helm, looms.flat(("nodes",), looms.take_helm, looms.finish_helm)
    ),
    ImportFormat("bonsai", "bonsai", looms.is_bonsai, looms.flat(("nodes",), looms.take_bonsai)),
    ImportFormat("wool", "wool", looms.is_wool, looms.flat(("nodes",), looms.take_wool)),
    ImportFormat(
        "basemode", "basemode", looms.is_basemode, looms.flat(("nodes",), looms.take_basemode)
    ),
    ImportFormat(
        "loomsidian",
        "loomsidian",
        looms.is_loomsidian,
        looms.flat(("nodes",), looms.take_loomsidian, may_be_empty=True),
    ),
    ImportFormat("loomsidian-data", "loomsidian", looms.is_loomsidian_data, looms.loomsidian_notes),
    ImportFormat("pyloom", "pyloom", _has("root"), _streamed(pyloom.read_full), is_exact=True),
    ImportFormat("pyloom-list", "pyloom", pyloom.is_list, _streamed(pyloom.read_list)),
    ImportFormat(
        "pyloom-simple", "pyloom", _has("children"), _streamed(pyloom.read_simple), is_exact=True
    ),
    ImportFormat("pyloom-flat", "pyloom", looms.is_flat_pyloom, one_tree(looms.read_pyloom_flat)),
)
TAPESTRY = ImportFormat("tapestry", "Tapestry Loom", bool, one_tree(tapestry.read_tapestry))
TEXT = ImportFormat("text", "text", bool, documents.each_document)
_PROSE = (TEXT, *books.FORMATS.values())
FORMATS = (*JSON, TAPESTRY, TEXT, *books.FORMATS.values())
FORMAT_NAMES = tuple(import_format.name for import_format in FORMATS)


def format_of(file: Input) -> ImportFormat:
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
    if b"\0" in start and file.name.lower().endswith((".docx", ".epub", ".zip")):
        raise unreadable("The file is damaged: it cannot be unpacked.", "save it again")
    file.check()
    if start.lstrip()[:9].lower().startswith(_MARKUP):
        raise unreadable("Web pages are not read.", "save it as text or Markdown")
    if not looks_like_json(start):
        if not first_bytes(file, _PIECE).strip():
            raise unreadable("The file is empty.")
        return TEXT
    import_format = json_format(file, JSON)
    if import_format.is_exact:
        file.demand_exact()
    return import_format


# -- the files of an import


MAX_FILES = 10_000
_PIECE = 1024 * 1024
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError),
    *(OSError, EOFError, ValueError, IndexError, struct.error),
)
OWN = {"README.md", "tree.json", "tree.md"}  # in every ZIP that Heddle writes
_FOR_PEOPLE = ("calls/", "thoughts/", "thinking/", "evidence/")
_PAPER = re.compile(r"documents\.json$|documents/[^/]+\.md$")
_IMAGE = re.compile(r"([0-9a-f]{64})\.(?:png|jpg|gif|webp)")


class Upload:
    """The files of an import, open until the end. `left_out` are sentences about files that are
    not read, `size` is the number of their bytes."""

    def __init__(self, path: Path, name: str, options: Mapping[str, str], tell: Tell) -> None:
        self._tell, self._options = tell, options
        self._folder = path.with_suffix(".files")
        self.left_out: list[str] = []
        self.size = 0
        self.files: list[tuple[Input, ImportFormat]] = []
        self.images: dict[str, Path] = {}  # of a ZIP of Heddle's own, by hash
        self.archive_images = ArchiveImages()  # of all other ZIPs
        try:
            self._open(path, name)
        except BaseException:
            self.__exit__()
            raise

    def _open(self, path: Path, name: str) -> None:
        if path.stat().st_size == 0:
            raise unreadable("The file is empty.")
        if path.stat().st_size > MAX_FILE:
            raise CommandError(
                "LIMIT_EXCEEDED",
                f"The file has {path.stat().st_size:,} bytes; the maximum is {MAX_FILE:,}.",
                hint="export a part of the tree",
                is_size=True,
            )
        with path.open("rb") as opened:
            is_zip = opened.read(4) == ZIP
        if is_zip and books.kind_of(path) == "":
            self._unpack(path)
        else:
            self._add(path, name)

    def __enter__(self) -> "Upload":
        return self

    def __exit__(self, *_: object) -> None:
        self.archive_images.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _add(self, path: Path, name: str) -> None:
        start = self.size
        self.size += path.stat().st_size
        file = Input(path, name, lambda at: self._tell(start + at), self._options)
        import_format = format_of(file)
        self.files.append((file, import_format))

    def _unpack(self, path: Path) -> None:
        """Unpacks a ZIP, with bounded files and bytes, and takes the files that can be read. Texts
        are not read beside trees: an archive often has a page or a note about itself. DOCX and EPUB
        are texts as well, such as the other chapters of a book, and always read. Of a ZIP that
        Heddle has written, the files for people are left out without a word."""
        self._folder.mkdir(exist_ok=True)
        refused: dict[str, list[str]] = {}
        errors: list[CommandError] = []
        for number, (name, is_document, unpack) in enumerate(self._members(path)):
            target = self._folder / f"{number}"
            try:
                unpack(target)
                if image := _IMAGE.fullmatch(name):
                    self.images[image[1]] = target
                    continue
                if is_document:
                    self.archive_images.documents[name] = target
                    continue
                self._add(target, name)
            except CommandError as error:
                errors.append(error)
                refused.setdefault(error.message, []).append(name)
        self.left_out = [_left_out(names, why) for why, names in refused.items()]
        if self.images and self._own_count() > 1:
            why = "Those of several trees of Heddle cannot be told apart: import each by itself."
            self.left_out.append(f"{len(self.images):,} images were left out. {why}")
        texts = [file.name for file, import_format in self.files if import_format == TEXT]
        if texts and any(import_format not in _PROSE for _, import_format in self.files):
            why = "Texts beside trees are not read: import them by themselves."
            self.left_out.append(_left_out(texts, why))
            self.files = [file for file in self.files if file[1] != TEXT]
        if not self.files:
            raise errors[0] if len(errors) == 1 else unreadable("The ZIP has no trees in it.")

    def _members(self, path: Path) -> Iterator[tuple[str, bool, "_Copy"]]:
        """The name of each file that is read, and whether it is a document of a tree of Heddle."""
        try:
            with zipfile.ZipFile(path) as archive:
                infos = [info for info in archive.infolist() if not info.is_dir()]
                if len(infos) > MAX_FILES:
                    raise unreadable(f"The ZIP has more than {MAX_FILES:,} files.", "split it")
                folders = _own_folders({info.filename for info in infos})
                budget = [MAX_FILE]
                for info in infos:
                    name = PurePosixPath(info.filename.replace("\\", "/"))
                    if name.name.startswith(".") or "__MACOSX" in name.parts:
                        continue
                    inside = _inside(info.filename, folders)
                    if _is_for_people(inside):
                        continue
                    if ENDING.search(name.name) and not _IMAGE.fullmatch(name.name):
                        self.archive_images.add(path, name.name, info)
                        continue
                    # The documents of several trees would have the same names.
                    is_document = len(folders) == 1 and _PAPER.match(inside) is not None
                    shown = inside if is_document else name.name
                    yield shown, is_document, _Copy(archive, info, budget, self._tell)
        except _DAMAGED:
            raise unreadable("The ZIP is damaged.", "pack it again") from None

    def parts(self) -> Iterator[tuple[ImportFormat, TreeInFile]]:
        """The trees of all files, always in the same order; a part without a title is named after
        its file. Files of a family are read together."""
        families: dict[str, list[Input]] = {}
        for file, import_format in self.files:
            if import_format.together is not None:
                families.setdefault(import_format.name, []).append(file)
        for file, import_format in self.files:
            if import_format.together is None:
                every = import_format.trees_in(file)
            elif import_format.name in families:
                every = import_format.together(families.pop(import_format.name))
            else:
                continue
            for part in every:
                title = part.title or PurePosixPath(file.name).stem[:300]
                yield import_format, replace(part, title=title, archive_images=self.archive_images)

    def images_of(self, import_format: ImportFormat) -> dict[str, Path]:
        """The images of a tree of this format, by hash: of Heddle's own, if it is the only one."""
        return self.images if import_format.name == "heddle" and self._own_count() == 1 else {}

    def _own_count(self) -> int:
        return sum(import_format.name == "heddle" for _, import_format in self.files)

    def mended(self, report: Report) -> None:
        """Reports what was left out, and how many characters had to be replaced."""
        for sentence in self.left_out:
            report.warn(sentence)
        for file, _ in self.files:
            file.mended(report)


def _left_out(names: list[str], why: str) -> str:
    """Which files are not read, and why; one sentence for all that have the same reason."""
    if len(names) == 1:
        return f"{names[0][:80]} was left out. {why}"
    more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    shown = ", ".join(name[:80] for name in names[:5])
    return f"{len(names):,} files were left out: {shown}{more}. {why}"


def _own_folders(names: set[str]) -> set[str]:
    """The folders of a ZIP that Heddle has written: "" for all of it, or where it was unpacked and
    packed again."""
    folders = {name.removesuffix("tree.json") for name in names if name.endswith("tree.json")}
    own = {folder for folder in folders if names >= {folder + name for name in OWN}}
    return {""} if "" in own else {folder for folder in own if folder.count("/") == 1}


def _inside(name: str, folders: set[str]) -> str:
    """The name of a file within the one of these folders that has it; "" if none has it."""
    if "" in folders:
        return name
    first, slash, inside = name.partition("/")
    return inside if first + slash in folders else ""


def _is_for_people(inside: str) -> bool:
    """Whether a file of a ZIP of Heddle's says in another way what its `tree.json` says. What
    somebody has put beside that is read like any file."""
    return inside in OWN - {"tree.json"} or inside.startswith(_FOR_PEOPLE)


class _Copy:
    """Writes a file of a ZIP to disk; the bytes of all of them are bounded by one budget."""

    def __init__(
        self, archive: zipfile.ZipFile, info: zipfile.ZipInfo, budget: list[int], tell: Tell
    ) -> None:
        self._archive, self._info, self._budget, self._tell = archive, info, budget, tell

    def __call__(self, target: Path) -> None:
        """Writes the file. Raises for one that is damaged, encrypted, or too large."""
        try:
            self._write(target)
        except _DAMAGED:
            raise unreadable("It is damaged or encrypted.", "pack it again") from None

    def _write(self, target: Path) -> None:
        with self._archive.open(self._info) as packed, target.open("wb") as out:
            while piece := packed.read(_PIECE):
                self._budget[0] -= len(piece)
                if self._budget[0] < 0:
                    raise CommandError(
                        "LIMIT_EXCEEDED",
                        f"The files in the ZIP have more than {MAX_FILE:,} bytes.",
                        hint="split it",
                        is_size=True,
                    )
                self._tell(0)
                out.write(piece)
