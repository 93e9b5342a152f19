"""Documents with many headings and embeds, and what each pause of typing stores.

Run: python -m bench.document_growth [largest] [slowest]. For 3,000, 10,000, 30,000 and 100,000
equal headings: how long a second revision takes, `GET /api/documents/{id}`, and its page; the same
for embeds; then how long `POST /api/documents` takes with a million headings, and how many bytes
100 pauses of six letters add to the database for texts of 10 and 100 kB. Prints medians, and how
they grow from one size to the next. A size is left out once a smaller one took more than `slowest`
seconds (default: 20).
"""

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from bench.installation import open_installation

SIZES = (3_000, 10_000, 30_000, 100_000)
PAUSES = 100
TYPED = "typed "


def seconds(work: Callable[[], object], times: int = 3, slowest: float = 20.0) -> float:
    """The median of a few runs; of one, if that is slow."""
    took = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
        if took[-1] > slowest / times:
            break
    return statistics.median(took)


def _rows(name: str, sizes: list[int], work: Callable[[int], float], slowest: float) -> None:
    before: tuple[int, float] | None = None
    for size in sizes:
        took = work(size)
        grew = f"× {took / before[1]:5.1f} for × {size / before[0]:.1f}" if before else ""
        print(f"  {name:<28} {size:>9,} {took:9.3f} s  {grew}", flush=True)
        before = size, took
        if took > slowest:
            print(f"  {name:<28} larger ones are left out")
            return


def _stored() -> int:
    """The bytes of the rows of documents, their revisions, texts and log, and of their events."""
    from django.db import connection

    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind='r'"
            )
        else:
            cursor.execute("VACUUM")
            cursor.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        return int(cursor.fetchone()[0])


class Bench:
    """An installation with one grove, and its documents by piece and size."""

    def __init__(self, sizes: list[int], slowest: float) -> None:
        from django.test import Client

        from loom.access import get_actor
        from loom.people.commands import groves
        from loom.people.models import User

        self.sizes, self.slowest = sizes, slowest
        user = User.objects.create(username="bench")
        self.actor = get_actor(user, groves.make_grove(user, "Bench"))
        self.client = Client()
        self.client.force_login(user)
        self.documents: dict[tuple[str, int], Any] = {}

    def document(self, piece: str, size: int) -> Any:
        """A document of so many pieces, made once."""
        from loom.documents import actions as document_actions

        if (piece, size) not in self.documents:
            title = f"{len(self.documents)}"
            document = document_actions.make_document(self.actor, title=title, text=piece * size)
            self.documents[piece, size] = document
        return self.documents[piece, size]

    def type_in(self, row: Any, at: int, words: str) -> float:
        """Types words and settles them; how long settling takes, in seconds."""
        from loom.documents import log as document_log
        from loom.text.edits import Edit

        update = document_log.opened(row).edit([Edit(at, at, words)])
        document_log.append_typed(row, update, [self.actor.participant.uid])
        began = time.perf_counter()
        document_log.settle(row)
        return time.perf_counter() - began

    def get(self, address: str) -> None:
        """Reads an address."""
        answer = self.client.get(address)
        assert answer.status_code == 200, answer.content[:300]

    def pieces(self, name: str, piece: str) -> None:
        """Revising and reading documents of many pieces."""

        def revise(size: int) -> float:
            row = self.document(piece, size)
            return seconds(lambda: self.type_in(row, 0, piece * 3), slowest=self.slowest)

        def read(address: str) -> Callable[[int], float]:
            return lambda size: seconds(
                lambda: self.get(address.format(self.document(piece, size).uid)),
                slowest=self.slowest,
            )

        _rows(f"{name}: another revision", self.sizes, revise, self.slowest)
        _rows(f"{name}: GET", self.sizes, read("/api/documents/{}"), self.slowest)
        _rows(f"{name}: its page", self.sizes, read("/documents/{}"), self.slowest)

    def post(self, size: int) -> float:
        """Makes a document of so many headings over the API."""
        body = {"title": f"posted {size}", "text": "# h\n" * size}

        def once() -> None:
            answer = self.client.post("/api/documents", body, content_type="application/json")
            print(f"    POST with {size:,} headings: {answer.status_code}")

        return seconds(once, times=1)

    def typed(self, kilobytes: int) -> None:
        """What a hundred pauses of typing store."""
        from loom.documents import actions as document_actions

        text = "She wanted the tower, and nobody knew why, not even at the end.\n" * 16 * kilobytes
        title = f"typed {kilobytes}"
        row = document_actions.make_document(self.actor, title=title, text=text)
        before, half, step = _stored(), len(text) // 2, len(TYPED)
        took = [self.type_in(row, half + step * number, TYPED) for number in range(PAUSES)]
        grown, count = _stored() - before, PAUSES * step
        print(
            f"  {PAUSES} pauses in {kilobytes:>3} kB: {grown:>12,} bytes stored for {count} typed, "
            f"{grown / count:,.0f} for each; settling takes {statistics.median(took) * 1000:.1f} ms"
        )


def main() -> None:
    """Measures all of it."""
    open_installation()
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else SIZES[-1]
    slowest = float(sys.argv[2]) if len(sys.argv) > 2 else 20.0
    bench = Bench([size for size in SIZES if size <= largest], slowest)
    bench.pieces("headings", "# h\n")
    bench.pieces("embeds", "![[a2b2]]\n")
    for kilobytes in (10, 100):
        bench.typed(kilobytes)
    _rows("POST with headings", [1_000, 10 * largest], bench.post, slowest)


if __name__ == "__main__":
    main()
