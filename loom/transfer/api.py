"""Imports and exports in the API (docs/model.md §14.3.12)."""

import shutil
import zipfile
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from asgiref.sync import sync_to_async
from django.core.files.uploadedfile import UploadedFile
from django.core.handlers.asgi import ASGIRequest
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter
from pydantic import Field
from rest_framework.decorators import api_view, parser_classes
from rest_framework.exceptions import UnsupportedMediaType
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from loom import access
from loom.access import Actor
from loom.engine.jobs import enqueue
from loom.errors import Code, CommandError, not_found
from loom.people.models import Grove, User
from loom.site.api_requests import Body, read, user_of
from loom.site.downloads import attachment
from loom.site.responses import Returned
from loom.site.schema import a_number, form, number, operation
from loom.text.hashes import instant
from loom.transfer import access as import_access
from loom.transfer import exporting, importing, tables
from loom.transfer.exporting import FORMATS, ExportFormat
from loom.transfer.files import MAX_FILE
from loom.transfer.importing import MAX_PARTS, ask_stop, folder, searched
from loom.transfer.models import Import, ImportPart
from loom.transfer.readers.documents import SPLITS
from loom.transfer.uploads import FORMAT_NAMES
from loom.trees.models import Tree

# Imports: sending, reading the state, choosing, and stopping.


IMPORT_FORM = form(
    "At most 512 MiB. Several parts, or a ZIP, are read together.",
    grove=("Default: the caller's first.", ()),
    format=("Default: detected from the content of the file.", FORMAT_NAMES),
    split=("How a text becomes nodes. Without it the import asks, if it matters.", SPLITS),
    choose=("Imports all trees of a file that has several, without asking.", ("all",)),
)


class Taken(Returned):
    """A file was accepted and waits to be read."""

    id: str


class ImportSays(Returned):
    """The report in sentences: what was imported, what is kept with it, what was left out and
    why."""

    came: list[str]
    beside: list[str]
    left_out: list[str]


class ImportReport(Returned):
    """The result of an import: what was kept, what the format does not define and is kept with the
    nodes, and what was dropped, each by name with its number."""

    format: str
    nodes: int
    trees: int
    says: ImportSays
    kept: dict[str, int]
    unknown: dict[str, int]
    dropped: dict[str, int]
    warnings: list[str]


class ImportProblem(Returned):
    """Why an import failed."""

    code: Code
    message: str
    hint: str
    retryable: bool


class ImportAsks(Returned):
    """The choices before the import continues: which of `parts` trees, and if `split` is not
    empty, in which of these ways texts become nodes."""

    parts: int
    formats: dict[str, int]
    split: list[str]
    notes: list[str]


class ImportState(Returned):
    """An import: `done` of `total` bytes of the file; its tree once it exists, if there is only
    one; and while it is `waiting`, what it `asks`."""

    id: str
    name: str
    status: Literal["queued", "running", "waiting", "done", "failed"]
    done: int
    total: int
    tree: str | None
    asks: ImportAsks | None
    report: ImportReport | None
    error: ImportProblem | None


@operation("POST", "transfer import", "Import trees", body=IMPORT_FORM, answers=Taken, status=202)
@api_view(["POST"])
@parser_classes([MultiPartParser])
def upload(request: Request) -> Response:
    """Accepts files of at most 512 MiB, for writers; they are read in the background."""
    user = user_of(request)
    sent = _sent(request)
    files = _files_of(sent)
    wanted = _one_of(sent, "format", FORMAT_NAMES)
    options = {"split": _one_of(sent, "split", SPLITS), "choose": _one_of(sent, "choose", ("all",))}
    grove = _grove(user, str(sent.get("grove", "")))
    actor = access.get_actor(user, grove)
    access.demand_role(actor, "writer")
    row = Import(grove=grove, participant=actor.participant, format=wanted)
    row.name = _file_name(files[0]) if len(files) == 1 else f"{len(files)} files"
    row.options = {name: value for name, value in options.items() if value}
    row.total = sum(file.size or 0 for file in files)
    row.file = str(folder() / row.uid)
    _store(files, Path(row.file))
    row.save()
    enqueue("loom.tasks.run_import", [row.uid], queue="transfer")
    return Response({"id": row.uid}, status=202)


def _sent(request: Request) -> Any:
    try:
        return request.data
    except UnsupportedMediaType:
        raise CommandError(
            "INVALID_SYNTAX",
            "Send the file as multipart/form-data.",
            hint="send multipart/form-data with the part file",
            status=415,
        ) from None


def _one_of(sent: Any, field: str, known: Sequence[str]) -> str:
    value = str(sent.get(field, ""))
    if value and value not in known:
        raise CommandError(
            "INVALID_SYNTAX", f"There is no {field} {value[:40]!r}.", hint=" or ".join(known)
        )
    return value


def _files_of(sent: Any) -> "list[UploadedFile[bytes]]":
    given = sent.getlist("file") if hasattr(sent, "getlist") else []
    files = [file for file in given if isinstance(file, UploadedFile)]
    if not files or len(files) < len(given):
        raise CommandError("INVALID_SYNTAX", "No file was sent.", hint="send it as the part file")
    if sum(file.size or 0 for file in files) > MAX_FILE:
        raise CommandError(
            "LIMIT_EXCEEDED",
            f"Files have at most {MAX_FILE:,} bytes together.",
            hint="send fewer at once, or export a part",
            is_size=True,
        )
    return files


def _file_name(file: "UploadedFile[bytes]") -> str:
    return "".join(letter if letter.isprintable() else " " for letter in file.name or "")[-300:]


def _grove(user: User, uid: str) -> Grove:
    if not uid:
        return access.first_grove(user)
    if not (uid.isascii() and uid.isalnum()):
        raise not_found("This grove")
    return access.get_grove(user, uid)[1]


def _store(files: "list[UploadedFile[bytes]]", path: Path) -> None:
    """Stores one file unchanged, and several as a ZIP."""
    try:
        if len(files) > 1:
            with zipfile.ZipFile(path, "w") as packed:
                for number, file in enumerate(files):
                    with packed.open(f"{number}/{_file_name(file)}", "w", force_zip64=True) as out:
                        shutil.copyfileobj(file, out)
            return
        with path.open("wb") as out:
            for piece in files[0].chunks():
                out.write(piece)
    except OSError:
        path.unlink(missing_ok=True)
        raise CommandError(
            "UNAVAILABLE", "The file could not be stored.", hint="check the free disk space"
        ) from None


@operation("GET", "transfer state", "The state of an import", answers=ImportState)
@operation("DELETE", "transfer end", "Stop an import", answers=ImportState)
@api_view(["GET", "DELETE"])
def state(request: Request, uid: str) -> Response:
    """Status, bytes done of total, the tree once it exists, the report, and the error."""
    actor, row = import_access.get_import(user_of(request), uid)
    return _stopped(actor, row) if request.method == "DELETE" else Response(_state(row))


@operation("POST", "transfer stop", "Stop an import", answers=ImportState)
@api_view(["POST"])
def stop(request: Request, uid: str) -> Response:
    """Stops an import, for writers; nothing was added."""
    return _stopped(*import_access.get_import(user_of(request), uid))


def _stopped(actor: Actor, row: Import) -> Response:
    access.demand_role(actor, "writer")
    ask_stop(row)
    return Response(_state(Import.objects.select_related("tree").get(pk=row.pk)))


def _state(row: Import) -> dict[str, Any]:
    is_done = row.status == "done"
    return {
        "id": row.uid,
        "name": row.name,
        "status": row.status,
        "done": row.done,
        "total": row.total,
        "tree": row.tree.uid if is_done and row.tree else None,
        "asks": _asks(row) if row.status == "waiting" else None,
        "report": row.report if "format" in row.report else None,
        "error": row.error,
    }


def _asks(row: Import) -> dict[str, Any]:
    return {
        "parts": row.parts.count(),
        "formats": row.report.get("formats", {}),
        "split": row.report.get("asks", []),
        "notes": row.report.get("notes", []),
    }


# The trees of a file with several: searching, choosing, and the result of each.


class ImportPartShown(Returned):
    """One tree of a file; `count` is the number of its messages, 0 if unknown."""

    number: int
    title: str
    at: str | None
    count: int
    status: Literal["listed", "chosen", "done", "failed"]
    tree: str | None
    error: ImportProblem | None


class ImportParts(Returned):
    """A page of the trees of a file."""

    count: int
    results: list[ImportPartShown]


class PartsChosen(Body):
    """The trees to import, by number or all that `q` finds, and how texts are split."""

    parts: Annotated[list[Annotated[int, Field(ge=0)]], Field(max_length=MAX_PARTS)] | None = None
    q: Annotated[str, Field(max_length=200)] = ""
    split: Literal["", "sections", "paragraphs", "whole"] = ""


PAGE, MOST_OFFSET = 200, 10**9


@operation(
    "GET",
    "transfer parts",
    "The trees of a file",
    answers=ImportParts,
    asks=(
        OpenApiParameter("q", OpenApiTypes.STR, description="Words of the title."),
        a_number("offset", "How many to skip.", most=MOST_OFFSET, default=0),
        a_number("limit", "At most so many.", least=1, most=MAX_PARTS, default=PAGE),
    ),
)
@api_view(["GET"])
def parts(request: Request, uid: str) -> Response:
    """The trees in a file, at most 1,000 at a time, in the order of the file."""
    _, row = import_access.get_import(user_of(request), uid)
    parts = searched(row, request.query_params.get("q", "")[:200])
    start = number(request, "offset", default=0, most=MOST_OFFSET)
    limit = number(request, "limit", default=PAGE, least=1, most=MAX_PARTS)
    shown = parts.select_related("tree")[start : start + limit]
    return Response({"count": parts.count(), "results": [_part(part) for part in shown]})


def _part(part: ImportPart) -> dict[str, Any]:
    is_seen = part.tree is not None and part.tree.erasing_at is None
    return {
        "number": part.number,
        "title": part.title,
        "at": None if part.at is None else instant(part.at),
        "count": part.count,
        "status": part.status,
        "tree": part.tree.uid if part.tree and is_seen else None,
        "error": part.error,
    }


@operation(
    "POST",
    "transfer choose",
    "Choose what to import",
    body=PartsChosen,
    answers=ImportState,
    status=202,
)
@api_view(["POST"])
def choose(request: Request, uid: str) -> Response:
    """Continues a waiting import, for writers: with the trees of these numbers, with those that
    `q` finds, or with all."""
    actor, row = import_access.get_import(user_of(request), uid)
    access.demand_role(actor, "writer")
    sent = read(request, PartsChosen)
    numbers = sent.parts
    if numbers is None and sent.q:
        numbers = list(searched(row, sent.q).values_list("number", flat=True))
    importing.choose(row, numbers, sent.split)
    return Response(_state(Import.objects.select_related("tree").get(pk=row.pk)), status=202)


# Exports.


class LeftOut(Returned):
    """A kind of data that an export does not contain, with its number and a sentence."""

    what: str
    count: int
    says: str


class ExportPreview(Returned):
    """What an export contains and leaves out. `warnings` are sentences about names that it has
    although `authors=0` asks for none."""

    format: str
    nodes: int
    characters: int
    left_out: list[LeftOut]
    warnings: list[str]


_ANSWERS = {
    (200, export_format.media.partition(";")[0]): OpenApiTypes.OBJECT
    if export_format.media == "application/json"
    else OpenApiTypes.BINARY
    if export_format.name in ("zip", "epub", "docx")
    else OpenApiTypes.STR
    for export_format in FORMATS.values()
}


_ASKS = (
    OpenApiParameter("format", OpenApiTypes.STR, enum=tuple(FORMATS), default="heddle"),
    OpenApiParameter("node", OpenApiTypes.STR, description="The end of the path."),
    OpenApiParameter("whole", OpenApiTypes.BOOL, description="All branches, not one path."),
    OpenApiParameter("notes", OpenApiTypes.BOOL, description="With annotations."),
    OpenApiParameter("authors", OpenApiTypes.BOOL, description="With the names of authors."),
    OpenApiParameter(
        "calls",
        OpenApiTypes.STR,
        enum=("none", "full"),
        description="With the requests to models and their answers that the caller may read.",
    ),
)


@operation("GET", "transfer export", "Export a tree or a path", answers=_ANSWERS, asks=_ASKS)
@api_view(["GET"])
def export(request: Request, uid: str) -> StreamingHttpResponse:
    """A tree or a path as a file. `node` names the end of a path, `whole=1` requests every branch;
    with neither, `markdown`, `text`, `epub`, `docx` and `sillytavern` contain the path to the
    caller's position, and the others every branch."""
    actor, tree = access.get_tree(user_of(request), uid)
    format, wanted = exporting.asked(actor, tree, request.query_params)
    return _streamed(request, format.pieces(wanted), tree, format)


@operation(
    "GET", "transfer preview", "What an export leaves out", answers=ExportPreview, asks=_ASKS
)
@api_view(["GET"])
def preview(request: Request, uid: str) -> Response:
    """The number of texts in an export, and what the format has no place for, with numbers."""
    actor, tree = access.get_tree(user_of(request), uid)
    format, wanted = exporting.asked(actor, tree, request.query_params)
    outcome = exporting.preview(wanted, format)
    losses = [
        {"what": loss.what, "count": loss.count, "says": loss.says} for loss in outcome.losses
    ]
    body = {"format": format.name, "nodes": outcome.nodes, "characters": outcome.characters}
    return Response({**body, "left_out": losses, "warnings": list(outcome.warnings)})


def _streamed(
    request: Request, pieces: Iterator[bytes], tree: Tree, format: ExportFormat
) -> StreamingHttpResponse:
    # Under ASGI, Django would consume a plain iterator completely before it sends anything.
    is_async = isinstance(request._request, ASGIRequest)
    content = _pieces_async(pieces) if is_async else pieces
    answer = StreamingHttpResponse(content, content_type=format.media)
    answer["Content-Disposition"] = attachment(tree.title, format.ending, otherwise="tree")
    return answer


async def _pieces_async(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    following = sync_to_async(lambda: next(pieces, None))
    while (piece := await following()) is not None:
        yield piece


# Tables.


class TableColumn(Returned):
    """A column: its name, and the type of its values; `time` is RFC 3339 in JSON."""

    name: str
    type: Literal["text", "integer", "real", "truth", "time", "json"]


class TableBody(Returned):
    """A table of a tree and its columns."""

    name: str
    says: str
    columns: list[TableColumn]


class TablesOfTree(Returned):
    """The tables that a tree can be read as; `seq` is the newest event that they hold."""

    seq: int
    results: list[TableBody]


@operation("GET", "transfer tables", "The tables of a tree", answers=TablesOfTree)
@api_view(["GET"])
def tables_of(request: Request, uid: str) -> Response:
    """Which tables there are, with their columns."""
    actor, tree = access.get_tree(user_of(request), uid)
    shown = [
        {
            "name": table.name,
            "says": table.says,
            "columns": [{"name": name, "type": kind} for name, kind in table.columns],
        }
        for table in tables.TABLES.values()
    ]
    return Response({"seq": tables.extent_of(actor, tree).head, "results": shown})


@operation(
    "GET",
    "transfer table",
    "One table of a tree",
    answers={(200, "application/jsonl"): OpenApiTypes.STR},
)
@api_view(["GET"])
def table_of(request: Request, uid: str, name: str) -> StreamingHttpResponse:
    """The rows of `nodes`, `versions`, `calls`, `choices`, `events` or `links`, one JSON object a
    line. `export?format=parquet` has all of them as Parquet."""
    actor, tree = access.get_tree(user_of(request), uid)
    table = tables.table_named(name)
    pieces = tables.as_lines(table, tables.extent_of(actor, tree))
    is_async = isinstance(request._request, ASGIRequest)
    content = _pieces_async(pieces) if is_async else pieces
    return StreamingHttpResponse(content, content_type="application/jsonl")
