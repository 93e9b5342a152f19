"""A ZIP of a tree for people and programs: its JSON, its text, the requests and answers of models,
thoughts and evidence as Markdown."""

import io
import json
import zipfile
from collections.abc import Iterator
from operator import attrgetter
from typing import Any

from loom.access import Actor
from loom.errors import CommandError
from loom.links.models import Link
from loom.links.queries import with_seen_ends, written
from loom.reading.queries.provenance import response_of
from loom.text.hashes import instant, instant_or_none
from loom.text.images import IMAGE_TYPES
from loom.transfer.selection import ExportSelection, Selection, batched, notes_of
from loom.transfer.writers import heddle as heddle_writer
from loom.transfer.writers import text as text_writer
from loom.trees.archive_files import added_files
from loom.trees.grove_texts import grove_texts
from loom.trees.images import bytes_of
from loom.trees.models import Image, Node, Tree
from loom.trees.queries.lookup import NodeRow, nodes_in, rows_of
from loom.trees.queries.places import in_chunks
from loom.turns.access import may_read_call
from loom.turns.models import Call
from loom.turns.queries import homes_of_calls

EVIDENCE = ("supports", "refutes", "evidence")
SHOWN = 1024 * 1024  # characters of an answer that Markdown shows
DATE = (1980, 1, 1, 0, 0, 0)  # fixed, so that the same tree gives the same file
_REQUEST_IDS = ("x-request-id", "request-id", "apim-request-id", "cf-ray")
_ENDINGS = dict(IMAGE_TYPES.values())
_README = """# {title}

A tree of Heddle, exported on {day} UTC.

* `tree.json`: the whole tree. Importing it again gives the same tree with its proofs.
* `tree.md`: every visible branch as text.
* `calls/`: what was sent to models and what they answered, byte by byte.
* `documents/`: documents that are linked to the tree or its texts; `documents.json` lists them.
* `images/`: the images that the texts name by these hashes.
* `thoughts/`: what models noted for themselves.
* `thinking/`: by turn of an agent, its steps with what each was for, a trace, and the outcome.
* `evidence/`: what supports and what refutes a text; of claims by claim, source and strength.
* `decisions/`: the commitments of claims with their records and hashes.
"""


class ZipStream:
    """A ZIP file whose bytes are sent while it is being written."""

    def __init__(self) -> None:
        self._out = _ArchiveOutput()
        self._zip = zipfile.ZipFile(self._out, "w", zipfile.ZIP_DEFLATED)

    def file(self, name: str, pieces: Iterator[bytes], *, packed: bool = True) -> Iterator[bytes]:
        """Writes one file; yields the bytes of the archive that are ready after each piece."""
        info = zipfile.ZipInfo(name, DATE)
        info.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
        with self._zip.open(info, "w", force_zip64=True) as out:
            for piece in pieces:
                out.write(piece)
                yield self._out.taken()
        yield self._out.taken()

    def member(self, name: str, content: str | bytes, *, packed: bool = True) -> bytes:
        """Writes one file in one piece. Returns the bytes of the archive that are ready."""
        info = zipfile.ZipInfo(name, DATE)
        info.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
        self._zip.writestr(info, content)
        return self._out.taken()

    def end(self) -> bytes:
        """Writes the directory. Returns the rest of the archive."""
        self._zip.close()
        return self._out.taken()


class _ArchiveOutput(io.RawIOBase):
    """A write-only file whose bytes are taken out in between."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        piece = bytes(data)  # type: ignore[call-overload]
        self._pieces.append(piece)
        return len(piece)

    def taken(self) -> bytes:
        """The bytes written since the last call."""
        data = b"".join(self._pieces)
        self._pieces = []
        return data


def archive(wanted: ExportSelection) -> Iterator[bytes]:
    """The whole tree as a ZIP, piece by piece."""
    tree = wanted.tree
    out = ZipStream()
    title = " ".join(tree.title.split()) or "Untitled tree"
    yield out.member("README.md", _README.format(title=title, day=f"{tree.touched_at:%Y-%m-%d}"))
    pieces = heddle_writer.pieces(wanted.actor, tree, calls=wanted.calls)
    yield from out.file("tree.json", pieces)
    text = text_writer.tree_as_markdown(wanted.actor, tree, wanted.workspace)
    yield from out.file("tree.md", text)
    if wanted.calls:
        for call in readable_calls(wanted.actor, tree):
            yield out.member(f"calls/{call.uid}.json", _call_json(call))
            yield out.member(f"calls/{call.uid}.response", response_of(call) or b"")
    for image in tree.images.order_by("id"):
        yield out.member(f"images/{image.sha256}.{_ENDINGS[image.media_type]}", _bytes(image))
    listed = []
    for document in sorted(grove_texts().linked(wanted.actor, tree), key=attrgetter("pk")):
        name = f"documents/{_file_name(document.title)}{document.uid}.md"
        yield out.member(name, grove_texts().part_of(document).text)
        listed.append(
            {"file": name, "id": document.uid, "title": document.title, "kind": document.kind}
        )
    if listed:
        yield out.member("documents.json", json.dumps(listed, ensure_ascii=False, indent=1) + "\n")
    for row in _thoughts(tree):
        yield out.member(f"thoughts/{row.local_id}.md", _thought(row))
    for name, text_of in _evidence(wanted.actor, tree):
        yield out.member(f"evidence/{name}.md", text_of)
    for name, content in added_files(wanted.actor, tree):
        yield out.member(name, content)
    yield out.end()


def _file_name(title: str) -> str:
    """The words of a title that are valid on every file system, followed by a dash; else ""."""
    words = "".join(
        letter if letter.isascii() and letter.isalnum() else " " for letter in title
    ).split()
    return f"{'-'.join(words)[:60]}-" if words else ""


def _bytes(image: Image) -> bytes:
    try:
        return bytes_of(image)
    except CommandError:
        return b""  # the file is gone; the rest of the tree is not


def readable_calls(actor: Actor, tree: Tree) -> Iterator[Call]:
    """The sealed calls of a tree that the actor may read, one at a time; of a sandbox also those
    that its texts name and that are kept where it hangs."""
    sealed = Call.objects.filter(sealed_at__isnull=False)
    keys = {*sealed.filter(tree=tree).values_list("pk", flat=True)}
    if elsewhere := homes_of_calls(tree)[1:]:
        named = heddle_writer.named_calls(elsewhere, nodes_in(tree.pk))
        keys |= {*named.values_list("pk", flat=True)}
    for key in sorted(keys):
        call = Call.objects.select_related("participant", "turn").get(pk=key)
        if may_read_call(actor, call):
            yield call


def _call_json(call: Call) -> str:
    body = {
        "id": call.uid,
        "by": call.participant.name,
        "purpose": call.purpose,
        "provider": call.provider,
        "configuration": call.configuration,
        "request": call.request,
        "status": call.status,
        "headers": call.headers,
        "bytes": call.bytes,
        "sha256": call.sha256,
        "usage": call.usage,
        "started_at": instant(call.started_at),
        "sealed_at": instant_or_none(call.sealed_at),
    }
    return json.dumps(body, ensure_ascii=False, indent=1) + "\n"


def _thoughts(tree: Tree) -> Iterator[NodeRow]:
    rows = Node.objects.filter(tree=tree, kind="thought", pruned=False, version_pruned=False)
    sized = rows.filter(slot__pruned=False, slot__sandbox=False).order_by("id")
    for ids in in_chunks(list(sized.values_list("id", "length"))):
        yield from rows_of(ids)


def _thought(row: NodeRow) -> str:
    return f"**{row.author_name}** · `{row.local_id}` · {row.at}\n\n{row.text}\n"


def _evidence(actor: Actor, tree: Tree) -> Iterator[tuple[str, str]]:
    """For each text with supporting or refuting links, its name and a page of those links."""
    rows = Link.objects.filter(tree=tree, removed_at=None, type__in=EVIDENCE)
    links: dict[int, list[Link]] = {}
    for page in batched(rows.select_related("by").order_by("id").iterator(chunk_size=2000), 2000):
        for link in with_seen_ends(actor, tree, page):
            links.setdefault(link.target_id, []).append(link)
    for targets in batched(links, 500):
        items = {link.source_id for target in targets for link in links[target]}
        names = written(items.union(targets), tree.pk)
        for target in targets:
            lines = (
                f"* {link.type}: {names[link.source_id]}, by {link.by.name} on {instant(link.at)}"
                + (f"; {link.note}" if link.note else "")
                for link in links[target]
            )
            name = names[target].replace(" ", "-").replace(":", "-")
            yield name, f"# {names[target]}\n\n" + "\n".join(lines) + "\n"


# Notes and provenance at the end of Markdown.


def notes(wanted: ExportSelection, selection: Selection) -> Iterator[bytes]:
    """The annotations, below the id and the first words of the text that they are about."""
    yield b"\n\n## Notes\n"
    for page in selection.pages():
        by_slot = notes_of(wanted.tree, [step.slot for step, _ in page])
        for step, row in page:
            if step.slot in by_slot:
                words = " ".join(row.text[:240].split())[:80]
                yield f"\n**{row.local_id}** {words}\n\n".encode()
                yield "".join(
                    _note(wanted, level, note) for level, note in by_slot[step.slot]
                ).encode()


def _note(wanted: ExportSelection, level: int, row: NodeRow) -> str:
    by = f" · {row.author_name}" if wanted.authors else ""
    before = "> " * (level + 1)
    lines = f"{row.form or 'note'}{by}: {row.text}".split("\n")
    return "".join(f"{before}{line}\n" for line in lines) + "\n"


def provenance(wanted: ExportSelection, ids: list[int]) -> Iterator[bytes]:
    """Where each of these nodes came from: hashes, calls with their request ids and times, and the
    requests and answers that the actor may read."""
    yield b"\n\n## Provenance\n"
    sent: set[str] = set()
    for keys in batched(ids, 200):
        calls = _calls_by_name(wanted.tree, keys)
        for row in rows_of(keys):
            call = calls.get(row.call_uid) if row.call_uid else None
            yield _facts(row, call, authors=wanted.authors).encode()
            if call is not None and call.uid not in sent:
                sent.add(call.uid)
                whole = Call.objects.select_related("participant", "turn").get(pk=call.pk)
                yield from _exchange(wanted.actor, whole)


def _calls_by_name(tree: Tree, keys: list[int]) -> dict[str, Call]:
    named = Node.objects.filter(pk__in=keys).exclude(call_uid="").values_list("call_uid", flat=True)
    names = set(named)
    rows = Call.objects.filter(tree__in=homes_of_calls(tree)).defer("request", "response")
    calls = {call.origin: call for call in rows.filter(origin__in=names)}
    calls.update({call.uid: call for call in rows.filter(uid__in=names, origin="")})
    return calls


def _facts(row: NodeRow, call: Call | None, *, authors: bool) -> str:
    lines = [
        f"\n### {row.local_id}{f' · {row.author_name}' if authors else ''} · {row.at}\n",
        f"* hash: `{row.hash}`",
        *([f"* hash of the text above: `{row.parent_hash}`"] if row.parent_hash else []),
    ]
    if row.call_uid:
        lines.append(f"* call: `{row.call_uid}`")
    if row.more.configuration:
        lines.append(f"* configuration: `{row.more.configuration}`")
    if call is not None:
        lines += _call_facts(call)
    return "\n".join(lines) + "\n"


def _call_facts(call: Call) -> list[str]:
    headers = {name.lower(): value for name, value in call.headers.items()}
    asked = next((headers[name] for name in _REQUEST_IDS if name in headers), "")
    lines = [f"* provider: {call.provider}, status {call.status}, {call.bytes} bytes"]
    if asked:
        lines.append(f"* request id: `{asked}`")
    for name, at in (
        ("asked", call.started_at),
        ("first word", call.first_at),
        ("sealed", call.sealed_at),
    ):
        if at is not None:
            lines.append(f"* {name}: {instant(at)}")
    return [*lines, f"* SHA-256 of the answer: `{call.sha256}`"]


def _exchange(actor: Actor, call: Call) -> Iterator[bytes]:
    if not may_read_call(actor, call):
        yield b"\nYou may not read what was sent and answered.\n"
        return
    sent: Any = json.dumps(call.request, ensure_ascii=False, indent=1)
    yield f"\nSent:\n\n{_fenced(sent, 'json')}".encode()
    answer = response_of(call)
    if answer is None:
        yield b"\nThe stored answer cannot be read.\n"
        return
    shown = answer[:SHOWN].decode("utf-8", "replace")
    yield f"\nAnswered:\n\n{_fenced(shown, '')}".encode()
    if len(answer) > SHOWN:
        yield f"\nThese are the first {SHOWN:,} of {len(answer):,} bytes.\n".encode()


def _fenced(text: str, language: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}\n"
