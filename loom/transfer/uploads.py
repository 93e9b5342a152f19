"""The files of an import, which are one file or those in a ZIP; and the trees in them."""

import lzma
import re
import shutil
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from loom.rules.errors import CommandError
from loom.transfer import formats
from loom.transfer.archive_images import ENDING, Shelf
from loom.transfer.files import MAX_FILE, Tell
from loom.transfer.inputs import Input, Part
from loom.transfer.readers import books
from loom.transfer.recognition import Format
from loom.transfer.records import Report, unreadable

MAX_FILES = 10_000
_PIECE = 1024 * 1024
_DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError),
    *(OSError, EOFError, ValueError, IndexError, struct.error),
)
OWN = {"README.md", "tree.json", "tree.md"}  # in every ZIP that Heddle writes
_OF_OWN = re.compile(r"tree\.json$|documents\.json$|images/|documents/[^/]+\.md$")
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
        self.files: list[tuple[Input, Format]] = []
        self.images: dict[str, Path] = {}  # of a ZIP of Heddle's own, by hash
        self.shelf = Shelf()  # of all other ZIPs
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
                status=413,
            )
        with path.open("rb") as opened:
            is_zip = opened.read(4) == formats.ZIP
        if is_zip and books.kind_of(path) == "":
            self._unpack(path)
        else:
            self._add(path, name)

    def __enter__(self) -> "Upload":
        return self

    def __exit__(self, *_: object) -> None:
        self.shelf.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _add(self, path: Path, name: str) -> None:
        start = self.size
        self.size += path.stat().st_size
        file = Input(path, name, lambda at: self._tell(start + at), self._options)
        found = formats.format_of(file)
        self.files.append((file, found))

    def _unpack(self, path: Path) -> None:
        """Unpacks a ZIP, with bounded files and bytes, and takes what can be read. Texts are read
        only where nothing else is: an archive often has a page or a note about itself."""
        self._folder.mkdir(exist_ok=True)
        refused: dict[str, list[str]] = {}
        errors: list[CommandError] = []
        for number, (name, made) in enumerate(self._members(path)):
            target = self._folder / f"{number}"
            try:
                made(target)
                if image := _IMAGE.fullmatch(name):
                    self.images[image[1]] = target
                    continue
                if _PAPER.match(name):
                    self.shelf.papers[name] = target
                    continue
                self._add(target, name)
            except CommandError as error:
                errors.append(error)
                refused.setdefault(error.message, []).append(name)
        self.left_out = [_left_out(names, why) for why, names in refused.items()]
        own = [one for one in self.files if one[1].name == "heddle"]
        if own:
            # Our own ZIP has the same tree in other forms beside it.
            self.left_out = []
            self.files = own
        others = [one for one in self.files if one[1].name != "text"]
        if others and len(others) < len(self.files):
            texts = [one.name for one, found in self.files if found.name == "text"]
            self.left_out.append(_left_out(texts, "The other files are trees, and this is text."))
            self.files = others
        if not self.files:
            raise errors[0] if len(errors) == 1 else unreadable("The ZIP has no trees in it.")

    def _members(self, path: Path) -> Iterator[tuple[str, "_Copy"]]:
        try:
            with zipfile.ZipFile(path) as archive:
                infos = [one for one in archive.infolist() if not one.is_dir()]
                if len(infos) > MAX_FILES:
                    raise unreadable(f"The ZIP has more than {MAX_FILES:,} files.", "split it")
                names = {one.filename for one in infos}
                is_own = names >= OWN
                if is_own:  # what else is in it is for people
                    infos = [one for one in infos if _OF_OWN.match(one.filename)]
                budget = [MAX_FILE]
                for info in infos:
                    name = PurePosixPath(info.filename.replace("\\", "/"))
                    if name.name.startswith(".") or "__MACOSX" in name.parts:
                        continue
                    if ENDING.search(name.name) and not _IMAGE.fullmatch(name.name):
                        self.shelf.add(path, name.name, info)
                        continue
                    is_paper = is_own and _PAPER.match(info.filename)
                    shown = info.filename if is_paper else name.name
                    yield shown, _Copy(archive, info, budget, self._tell)
        except _DAMAGED:
            raise unreadable("The ZIP is damaged.", "pack it again") from None

    def parts(self) -> Iterator[tuple[Format, Part]]:
        """The trees of all files, always in the same order; a part without a title is named after
        its file. Files of a family are read together."""
        families: dict[str, list[Input]] = {}
        for file, found in self.files:
            if found.together is not None:
                families.setdefault(found.name, []).append(file)
        for file, found in self.files:
            if found.together is None:
                every = found.each(file)
            elif found.name in families:
                every = found.together(families.pop(found.name))
            else:
                continue
            for part in every:
                title = part.title or PurePosixPath(file.name).stem[:300]
                yield found, replace(part, title=title, shelf=self.shelf)

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
                        status=413,
                    )
                self._tell(0)
                out.write(piece)
