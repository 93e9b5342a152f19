"""The wire format of Yjs updates (version 1), read without applying them: which clients wrote what,
what it builds on, what it deletes, and whether all of it is plain text. Pure.

pycrdt cannot say this. It keeps what it cannot integrate yet, and integrates it whenever the
missing letter arrives, whoever types that: so an update is measured here before pycrdt sees it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

ROOT = "text"  # the name of the shared text in every document
MOST_STRUCTS = 200_000  # runs of letters in one update
MOST_DELETES = 400_000  # deleted ranges in one update: a client names all that it knows of
MOST_CLIENT = 2**53  # Yjs and pycrdt draw smaller numbers
MOST_CLOCK = 2**31
PIECE = 16  # structs or deleted ranges that are applied in one step

GC, DELETED, STRING, SKIP = 0, 1, 4, 10
KIND, HAS_KEY, HAS_RIGHT, HAS_LEFT = 31, 32, 64, 128

Clocks = Mapping[int, int]  # the clock that each client has reached


class HostileError(Exception):
    """An invalid update, or one that would make a document invalid."""


class TooLargeError(HostileError):
    """An update that is too large, or would make a document too large."""


@dataclass(frozen=True, slots=True)
class Struct:
    """A run of letters of one client, its place in the bytes of the update, and the letters of
    others that it stands between. `odd` says why it is not plain text."""

    clock: int
    end: int
    at: slice
    needs: tuple[tuple[int, int], ...]
    odd: str = ""


@dataclass(frozen=True)
class Update:
    """An update that has been read. `deletes` are (client, clock, end)."""

    data: bytes
    structs: dict[int, list[Struct]] = field(default_factory=dict)
    deletes: list[tuple[int, int, int]] = field(default_factory=list)

    def lacks(self, known: Clocks) -> bool:
        """Whether it builds on, or deletes, letters that are neither known nor in it. pycrdt would
        keep such a piece for later, and join it to what somebody else types then."""
        reached = dict(known)
        for client, structs in self.structs.items():
            clock = known.get(client, 0)
            for struct in structs:
                if struct.clock > clock:
                    return True
                clock = max(clock, struct.end)
            reached[client] = clock
        needs = (
            need for structs in self.structs.values() for struct in structs for need in struct.needs
        )
        return any(clock >= reached.get(client, 0) for client, clock in needs) or any(
            end > reached.get(client, 0) for client, _, end in self.deletes
        )

    def writers(self, known: Clocks) -> set[int]:
        """The clients of which it has letters that are not known."""
        return {
            client
            for client, structs in self.structs.items()
            if any(struct.end > known.get(client, 0) for struct in structs)
        }

    def demand_plain(self, known: Clocks) -> None:
        """Raises HostileError if what is new in it is anything but letters of the one text."""
        for client, structs in self.structs.items():
            for struct in structs:
                if struct.odd and struct.end > known.get(client, 0):
                    raise HostileError(struct.odd)

    def reached(self, known: Clocks) -> dict[int, int]:
        """The clock of each client once all of it is applied."""
        reached = dict(known)
        for client, structs in self.structs.items():
            if structs:
                reached[client] = max(reached.get(client, 0), structs[-1].end)
        return reached

    @property
    def size(self) -> int:
        """How many structs and deleted ranges it has."""
        return sum(map(len, self.structs.values())) + len(self.deletes)

    def pieces(self, known: Clocks) -> Iterator[bytes]:
        """The update in small steps, each an update that builds on those before it. One step of
        pycrdt cannot be interrupted, and a hostile one takes minutes. Raises HostileError if its
        structs build on each other in a circle."""
        if self.size <= PIECE:
            yield self.data
            return
        reached, places = dict(known), dict.fromkeys(self.structs, 0)
        while places:
            moved = False
            for client in list(places):
                structs, first = self.structs[client], places[client]
                last = _ready(structs, first, client=client, reached=reached)
                for piece in _runs(structs[first:last]):
                    yield self._piece(client, piece)
                moved = moved or last > first
                places[client] = last
                if last == len(structs):
                    del places[client]
            if not moved and places:
                raise HostileError("the update builds on itself")
        for start in range(0, len(self.deletes), PIECE):
            yield _deleting(self.deletes[start : start + PIECE])

    def _piece(self, client: int, structs: list[Struct]) -> bytes:
        head = b"".join(map(number, (1, len(structs), client, structs[0].clock)))
        return b"".join([head, *(self.data[struct.at] for struct in structs), b"\0"])


def _ready(structs: list[Struct], first: int, *, client: int, reached: dict[int, int]) -> int:
    """The first of a client's structs that builds on something not `reached` yet; those before it
    count as reached."""
    at = first
    while at < len(structs):
        if any(clock >= reached.get(client, 0) for client, clock in structs[at].needs):
            break
        reached[client] = max(reached.get(client, 0), structs[at].end)
        at += 1
    return at


def _runs(structs: list[Struct]) -> Iterator[list[Struct]]:
    """The structs in lists of at most PIECE, of which each begins where the one before it ends."""
    run: list[Struct] = []
    for struct in structs:
        if run and (len(run) == PIECE or run[-1].end != struct.clock):
            yield run
            run = []
        run.append(struct)
    if run:
        yield run


def _deleting(ranges: list[tuple[int, int, int]]) -> bytes:
    by_client: dict[int, list[tuple[int, int]]] = {}
    for client, clock, end in ranges:
        by_client.setdefault(client, []).append((clock, end - clock))
    parts = [b"\0", number(len(by_client))]
    for client, its in by_client.items():
        parts += [number(client), number(len(its))]
        parts += [number(value) for pair in its for value in pair]
    return b"".join(parts)


def number(value: int) -> bytes:
    """A number as Yjs writes it: seven bits per byte, the lowest first."""
    parts = bytearray()
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def clocks_of(vector: bytes) -> dict[int, int]:
    """The clock of each client in a state vector."""
    reader = _Reader(vector)
    return {reader.number(): reader.number() for _ in range(reader.number())}


def read_update(data: bytes) -> Update:
    """The update, read. Raises HostileError if it cannot be read, TooLargeError if it has too many
    parts. Its cost is linear in the length; a large one belongs in a thread."""
    reader = _Reader(data)
    try:
        structs: dict[int, list[Struct]] = {}
        total = 0
        for _ in range(reader.number()):
            count, client = reader.number(), reader.number()
            total += count
            if total > MOST_STRUCTS:
                raise TooLargeError("the update has too many parts")
            if client in structs or client >= MOST_CLIENT:
                raise HostileError("the update cannot be read")
            structs[client] = list(_structs(reader, count))
        return Update(data, structs, list(_deletes(reader)))
    except (IndexError, ValueError):
        raise HostileError("the update cannot be read") from None


def _structs(reader: "_Reader", count: int) -> Iterator[Struct]:
    """The structs of one client; gaps between them are left out."""
    clock = reader.number()
    for _ in range(count):
        start = reader.at
        info = reader.byte()
        kind = info & KIND
        if kind in (GC, SKIP):
            length = reader.number()
            struct = Struct(clock, clock + length, slice(start, reader.at), (), "")
        else:
            struct = _item(reader, info, start=start, clock=clock)
            length = struct.end - clock
        clock += length
        if length < 1 or clock > MOST_CLOCK:
            raise ValueError("no such length")
        if kind != SKIP:
            yield struct


def _item(reader: "_Reader", info: int, *, start: int, clock: int) -> Struct:
    """A struct with content. Raises HostileError for content that is no text."""
    needs, odd = [], "" if not info & HAS_KEY else "the text has no attributes"
    for flag in (HAS_LEFT, HAS_RIGHT):
        if info & flag:
            needs.append((reader.number(), reader.number()))
    if not needs:
        if reader.number() == 1:
            if reader.text() != ROOT:
                odd = f"only the text {ROOT!r} is kept"
        else:
            needs.append((reader.number(), reader.number()))
            odd = "the text contains something that is no text"
        if info & HAS_KEY:
            reader.text()
    kind = info & KIND
    if kind == DELETED:
        length = reader.number()
    elif kind == STRING:
        text = reader.text()
        length = (
            len(text) + sum(letter > "\uffff" for letter in text)
            if not text.isascii()
            else len(text)
        )
        if "\0" in text:
            odd = odd or "the text contains U+0000"
    else:
        raise HostileError("the text contains something that is no text")
    return Struct(clock, clock + length, slice(start, reader.at), tuple(needs), odd)


def _deletes(reader: "_Reader") -> Iterator[tuple[int, int, int]]:
    total = 0
    for _ in range(reader.number()):
        client, count = reader.number(), reader.number()
        total += count
        if total > MOST_DELETES:
            raise TooLargeError("the update deletes too many parts")
        for _ in range(count):
            clock, length = reader.number(), reader.number()
            if length < 1 or clock + length > MOST_CLOCK:
                raise ValueError("no such length")
            yield client, clock, clock + length


class _Reader:
    """Reads bytes from the start on. Raises IndexError after the end."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def number(self) -> int:
        value = self.data[self.at]
        self.at += 1
        if value < 128:
            return value
        value &= 127
        for shift in range(7, 64, 7):
            byte = self.byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
        raise ValueError("the number is too large")

    def text(self) -> str:
        length = self.number()
        end = self.at + length
        if end > len(self.data):
            raise IndexError
        value = self.data[self.at : end].decode()  # strict: pycrdt does not check
        self.at = end
        return value
