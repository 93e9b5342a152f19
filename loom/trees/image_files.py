"""Where the bytes of images are: in a folder of the data folder, or in a bucket of a storage that
speaks S3 (`HEDDLE_IMAGES`). A file is named by the hash of its bytes, in both alike, so that one
can be copied into the other: `images/ab/abcd…` is `PREFIX/ab/abcd…`.

The bucket is private: only Heddle reads it, after it has looked who asks. Every call has short
timeouts, and each failure is UNAVAILABLE with a sentence; its details are in the log.
"""

import asyncio
import logging
import os
import secrets
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from math import inf
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import httpx
from django.conf import settings
from django.core.files.base import ContentFile
from django.core.files.storage import storages

from loom.errors import CommandError
from loom.platform.fetched import Fetch
from loom.text.images import MOST_IMAGE_BYTES

log = logging.getLogger("heddle.images")
REMEMBERED_S = 30.0  # for how long the state of the bucket is not asked for again
WAIT_S = 1.0  # for its answer
SIGNED_S = 60  # for which an address is good
READ_S, FETCHED_S = 15.0, 30.0  # for one piece of an image, and for all of it
MOST_FETCHED = 32  # images at the same time in a process; the others wait
CANNOT_BE_REACHED = "The storage of images cannot be reached."


class ImageFiles(ABC):
    """The stored bytes of images, by their hashes."""

    name = "images"  # what a person is told

    @abstractmethod
    def read(self, sha256: str) -> bytes:
        """The bytes; empty if there is no such file. UNAVAILABLE if that cannot be told."""

    def fetching(self, sha256: str) -> Fetch | None:
        """What fetches the bytes on a loop, without a thread; None where they are read at once.
        Otherwise as `read`."""
        return None

    @abstractmethod
    def store(self, sha256: str, raw: bytes) -> None:
        """Stores the bytes, so that nobody sees half of them; returns when they are safe."""

    @abstractmethod
    def remove(self, sha256: str, is_needed: Callable[[], bool]) -> None:
        """Removes a file, and puts it back if it has come to be needed in the meantime."""

    def fault(self) -> str:
        """Why images cannot be stored or read, for everybody to see; "" if they can."""
        return ""


class FolderFiles(ImageFiles):
    """Files in the data folder, which all processes share."""

    def path(self, sha256: str) -> Path:
        """Where the file with these bytes is, whichever grove has them."""
        folder: Path = settings.DATA_DIR / "images" / sha256[:2]
        return folder / sha256

    def all(self) -> Iterator[tuple[str, Path]]:
        """The hash and the file of each image."""
        for file in sorted((settings.DATA_DIR / "images").glob("??/*")):
            if len(file.name) == 64:
                yield file.name, file

    def read(self, sha256: str) -> bytes:
        """The bytes of the file, if it can be read."""
        try:
            return self.path(sha256).read_bytes()
        except OSError:
            return b""

    def store(self, sha256: str, raw: bytes) -> None:
        """Writes the file under another name first."""
        path = self.path(sha256)
        if path.is_file() and path.stat().st_size == len(raw):
            path.touch()  # it is in use again: its row may not be there yet
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            waiting = path.with_name(f".{sha256}.{secrets.token_hex(4)}")
            with waiting.open("wb") as out:
                out.write(raw)
                out.flush()
                os.fsync(out.fileno())
            waiting.replace(path)
        except OSError:
            raise CommandError(
                "UNAVAILABLE", "The image could not be stored.", hint="check the free disk space"
            ) from None

    def remove(self, sha256: str, is_needed: Callable[[], bool]) -> None:
        """Moves the file aside first."""
        path = self.path(sha256)
        aside = path.with_name(f".{sha256}.erased")
        try:
            path.replace(aside)
        except FileNotFoundError:
            return
        if is_needed():
            aside.replace(path)
        aside.unlink(missing_ok=True)


class BucketFiles(ImageFiles):
    """Objects in a private bucket, by django-storages."""

    def __init__(self) -> None:
        self.name = settings.IMAGES_BUCKET
        self._lock = threading.Lock()
        self._asked_at, self._fault = -inf, ""
        self._answered = threading.Event()

    def read(self, sha256: str) -> bytes:
        """The bytes of the object."""
        with _answered("The image could not be read"):
            try:
                with self._objects.open(_key(sha256)) as file:
                    return bytes(file.read())
            except FileNotFoundError:
                return b""

    def fetching(self, sha256: str) -> Fetch:
        """Fetches the object by an address that is signed for a minute, and that nobody but this
        process is told."""
        with _answered("The image could not be read"):
            address = str(self._objects.url(_key(sha256), expire=SIGNED_S))
        return partial(_fetched, address)

    def store(self, sha256: str, raw: bytes) -> None:
        """Uploads the bytes unless they are there. An object is seen when all of it is stored."""
        with _answered("The image could not be stored"):
            key = _key(sha256)
            with suppress(FileNotFoundError):
                if self._size(key) == len(raw):
                    return
            self._objects.save(key, ContentFile(raw))

    def remove(self, sha256: str, is_needed: Callable[[], bool]) -> None:
        """Deletes the object; its bytes are kept in memory until nobody needs them."""
        raw = self.read(sha256)
        if not raw:
            return
        with _answered("The image could not be removed"):
            self._objects.delete(_key(sha256))
        if is_needed():
            self.store(sha256, raw)

    def fault(self) -> str:
        """What the bucket answered last. It is asked in the background, at most once in
        REMEMBERED_S, and its answer is waited for WAIT_S."""
        with self._lock:
            if time.monotonic() - self._asked_at >= REMEMBERED_S:
                self._asked_at, self._answered = time.monotonic(), threading.Event()
                threading.Thread(target=self._ask, name="images", daemon=True).start()
            answered = self._answered
        if not answered.wait(WAIT_S):
            return self._fault or "The storage of images does not answer."
        return self._fault

    def _ask(self) -> None:
        answered = self._answered
        try:
            client = self._objects.connection.meta.client
            client.head_bucket(Bucket=self._objects.bucket_name)
            self._fault = ""
        except Exception as error:  # whatever it is, images cannot be stored
            self._fault = _why(error)
        answered.set()

    def _size(self, key: str) -> int:
        """FileNotFoundError if there is no such object."""
        from botocore.exceptions import ClientError

        try:
            return int(self._objects.size(key))
        except ClientError as error:
            if _status(error) == 404:
                raise FileNotFoundError(key) from None
            raise

    @property
    def _objects(self) -> Any:
        return storages["images"]


# A client for each loop, as its connections belong to it.
_clients: "WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncClient]" = WeakKeyDictionary()


def _client() -> httpx.AsyncClient:
    loop = asyncio.get_running_loop()
    if loop not in _clients:
        limits = httpx.Limits(max_connections=MOST_FETCHED, max_keepalive_connections=8)
        _clients[loop] = httpx.AsyncClient(timeout=httpx.Timeout(READ_S), limits=limits)
    return _clients[loop]


async def _fetched(address: str) -> bytes:
    """The bytes at an address of the storage; empty if there are none."""
    what, raw = "The image could not be read", bytearray()
    try:
        async with asyncio.timeout(FETCHED_S), _client().stream("GET", address) as answer:
            if answer.status_code == 404:
                return b""
            if answer.status_code != 200:
                raise _unavailable(what, _why_status(answer.status_code))
            async for piece in answer.aiter_raw():
                raw += piece
                if len(raw) > MOST_IMAGE_BYTES:
                    return b""  # it is none of ours
    except (httpx.HTTPError, TimeoutError) as error:
        log.warning("%s: %s", what, type(error).__name__)
        raise _unavailable(what, CANNOT_BE_REACHED) from None
    return bytes(raw)


def _key(sha256: str) -> str:
    return f"{sha256[:2]}/{sha256}"


@contextmanager
def _answered(what: str) -> Iterator[None]:
    """Turns what goes wrong with the bucket into UNAVAILABLE with a sentence and a hint."""
    from boto3.exceptions import Boto3Error
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (BotoCoreError, Boto3Error, ClientError, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        log.warning("%s: %s", what, error)
        raise _unavailable(what, _why(error)) from None


def _unavailable(what: str, why: str) -> CommandError:
    hint = "try again; nothing else was changed"
    return CommandError("UNAVAILABLE", f"{what}. {why}", hint=hint, retryable=True)


def _status(error: Exception) -> int:
    response = getattr(error, "response", None) or {}
    return int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _why(error: Exception) -> str:
    """A sentence without addresses and names."""
    status = _status(error)
    if "Credentials" in type(error).__name__:
        return _why_status(403)
    return _why_status(status) if status else CANNOT_BE_REACHED


def _why_status(status: int) -> str:
    if status in (401, 403):
        return "The storage of images refuses the key."
    if status == 404:
        return "The storage of images has no such bucket."
    return f"The storage of images answered {status}."


@cache
def _bucket(name: str) -> BucketFiles:
    return BucketFiles()


data_folder = FolderFiles()


def image_files() -> ImageFiles:
    """Where images are in this installation."""
    return _bucket(settings.IMAGES_BUCKET) if settings.IMAGES_BUCKET else data_folder
