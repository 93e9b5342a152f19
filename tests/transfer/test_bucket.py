"""Images in a bucket: objects of a server that speaks S3, which only Heddle reads."""

import asyncio
import hashlib
import io
import logging
import tarfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from uuid import uuid4

import boto3
import pytest
from django.core.management import call_command
from moto.server import ThreadedMotoServer

from config import env
from config.bucket import bucket_storage
from config.env import Bucket, WrongSetting
from loom import tasks
from loom.access import Actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.errors import CommandError
from loom.management.commands import restore
from loom.people.models import User
from loom.platform.fetched import FetchedResponse
from loom.trees import image_files as image_files_module
from loom.trees import images
from loom.trees.commands import trees
from loom.trees.image_files import data_folder, image_files
from loom.trees.models import Image, Node, Tree
from tests.patience import PATIENCE_S
from tests.transfer.test_images import Client, picture, sent, written

pytestmark = pytest.mark.django_db
logging.getLogger("werkzeug").setLevel(logging.WARNING)


class Storage:
    """A bucket on a server of its own, as whoever runs it sees it."""

    def __init__(self, server: str, settings: Any) -> None:
        self.bucket = Bucket(
            f"bucket-{uuid4().hex[:10]}", "heddle", server, "us-east-1", "key", "secret"
        )
        self.settings = settings
        self.client = boto3.client(
            "s3",
            endpoint_url=server,
            region_name="us-east-1",
            aws_access_key_id="key",
            aws_secret_access_key="secret",
        )
        self.client.create_bucket(Bucket=self.bucket.name)
        self.use(self.bucket)

    def use(self, bucket: Bucket) -> None:
        """Makes this the bucket of the installation."""
        self.settings.IMAGES_BUCKET = bucket.name
        self.settings.STORAGES = {**self.settings.STORAGES, "images": bucket_storage(bucket)}

    def away(self) -> None:
        """Nothing listens where the storage was."""
        self.use(Bucket(self.bucket.name, "heddle", "http://127.0.0.1:9", "us-east-1", "k", "s"))

    def names(self) -> list[str]:
        """The names of all objects."""
        answer = self.client.list_objects_v2(Bucket=self.bucket.name)
        return [content["Key"] for content in answer.get("Contents", ())]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of a server that speaks S3, on loopback."""
    running = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    running.start()
    host, port = running.get_host_and_port()
    yield f"http://{host}:{port}"
    running.stop()


@pytest.fixture
def storage(server: str, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Storage:
    """A fresh bucket in which this installation has its images."""
    monkeypatch.setattr(image_files_module, "WAIT_S", PATIENCE_S)
    return Storage(server, settings)


def _key(sha256: str) -> str:
    return f"heddle/{sha256[:2]}/{sha256}"


def _mark_erased(actor: Actor, tree: Tree) -> None:
    trees.change_tree(actor, tree, {"archived": True})
    trees.erase(actor, tree, tree.title)


def test_an_image_is_an_object_that_members_read_through_heddle(
    storage: Storage, api: Client, writer: User, reader: User, outsider: User, tree: Tree
) -> None:
    raw = picture(size=(5, 7))  # which no other test puts into the folder
    body = sent(api(writer), tree, raw).json()
    assert storage.names() == [_key(body["sha256"])]
    assert not data_folder.path(body["sha256"]).exists()
    address = f"/api/images/{body['sha256']}"
    shown = api(reader).get(address)
    assert (shown.status_code, shown.content) == (200, raw)
    assert api(outsider).get(address).status_code == 404
    grants = storage.client.get_object_acl(Bucket=storage.bucket.name, Key=storage.names()[0])
    assert all(grant["Grantee"].get("URI") is None for grant in grants["Grants"]), "nobody else"


def test_the_same_bytes_are_uploaded_once_and_go_with_the_last_tree(
    storage: Storage, actor: Actor, tree: Tree, buffer: Tree
) -> None:
    sha256 = images.keep(actor, tree, picture()).sha256
    before = storage.client.head_object(Bucket=storage.bucket.name, Key=_key(sha256))
    assert images.keep(actor, buffer, picture()).sha256 == sha256
    after = storage.client.head_object(Bucket=storage.bucket.name, Key=_key(sha256))
    assert before["LastModified"] == after["LastModified"]
    own = trees.new_tree(actor, title="Own")
    green = images.keep(actor, own, picture(colour="green")).sha256
    for number, erased in enumerate((own, tree), 1):
        _mark_erased(actor, erased)
        tasks.erase_tree(erased.uid)
        assert storage.names() == [_key(sha256)], number
    assert green not in str(storage.names())
    _mark_erased(actor, buffer)
    tasks.erase_tree(buffer.uid)
    assert storage.names() == []


def test_an_object_that_comes_to_be_needed_is_put_back(storage: Storage) -> None:
    raw = picture()
    sha256 = hashlib.sha256(raw).hexdigest()
    image_files().store(sha256, raw)
    image_files().remove(sha256, lambda: True)
    assert image_files().read(sha256) == raw
    image_files().remove(sha256, lambda: False)
    assert image_files().read(sha256) == b"" and storage.names() == []
    image_files().remove(sha256, lambda: False)


def test_what_is_missing_or_changed_is_told(
    storage: Storage, api: Client, owner: User, actor: Actor, tree: Tree
) -> None:
    sha256 = images.keep(actor, tree, picture()).sha256
    storage.client.put_object(Bucket=storage.bucket.name, Key=_key(sha256), Body=b"<script>")
    for _ in range(2):
        answer = api(owner).get(f"/api/images/{sha256}")
        assert (answer.status_code, answer.json()["code"]) == (503, "UNAVAILABLE")
        storage.client.delete_object(Bucket=storage.bucket.name, Key=_key(sha256))
    assert images.keep(actor, tree, picture()).sha256 == sha256
    assert api(owner).get(f"/api/images/{sha256}").status_code == 200


def test_an_object_is_fetched_without_a_thread(
    storage: Storage, actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = picture()
    row = images.keep(actor, tree, raw)

    def fetched(sha256: str) -> bytes:
        fetch = image_files().fetching(sha256)
        assert fetch is not None

        async def run() -> bytes:
            return await fetch()

        return asyncio.run(run())

    assert fetched(row.sha256) == raw
    assert fetched("0" * 64) == b""
    monkeypatch.setattr(image_files_module, "MOST_IMAGE_BYTES", 10)
    assert fetched(row.sha256) == b""
    # Only the handler of a web process sends it so.
    assert images.served(row).content == raw
    monkeypatch.setattr(images, "can_wait", lambda: True)
    assert isinstance(images.served(row), FetchedResponse)
    storage.away()
    with pytest.raises(CommandError, match="The storage of images cannot be reached"):
        fetched(row.sha256)
    storage.settings.IMAGES_BUCKET = ""
    assert image_files().fetching(row.sha256) is None


def test_without_the_bucket_nothing_is_stored_and_texts_are_written(
    storage: Storage, api: Client, owner: User, actor: Actor, tree: Tree, client: Any
) -> None:
    kept = images.keep(actor, tree, picture()).sha256
    storage.away()
    answer = sent(api(owner), tree, picture(colour="blue"))
    assert answer.status_code == 503
    assert answer.json() | {"ok": False} == {
        "ok": False,
        "code": "UNAVAILABLE",
        "message": "The image could not be stored. The storage of images cannot be reached.",
        "hint": "try again; nothing else was changed",
        "retryable": True,
    }
    assert Image.objects.filter(tree=tree).count() == 1, "no row without its object"
    assert api(owner).get(f"/api/images/{kept}").json()["code"] == "UNAVAILABLE"
    refs = execute_line(actor, tree, Request(f"respond root\n![a](image:{kept})\n←")).body["refs"]
    assert Node.objects.filter(tree=tree, local_id=refs[0]).exists()
    health = client.get("/healthz").json()
    assert health["images"] == "down"
    assert health["reasons"]["images"] == "The storage of images cannot be reached."


def test_health_says_what_is_wrong_with_the_bucket(
    storage: Storage, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert client.get("/healthz").json()["images"] == "ok"
    monkeypatch.setattr(image_files_module, "REMEMBERED_S", 0.0)
    storage.client.delete_bucket(Bucket=storage.bucket.name)
    health = client.get("/healthz").json()
    assert health["reasons"]["images"] == "The storage of images has no such bucket."
    with pytest.raises(CommandError, match="has no such bucket"):
        image_files().store("ab" * 32, b"x")


def test_a_tree_whose_images_cannot_be_removed_is_erased_later(
    storage: Storage, actor: Actor
) -> None:
    own = trees.new_tree(actor, title="Own")
    images.keep(actor, own, picture())
    _mark_erased(actor, own)
    storage.away()
    with pytest.raises(CommandError, match="could not be"):
        tasks.erase_tree(own.uid)
    assert Image.objects.filter(tree=own).exists()
    storage.use(storage.bucket)
    tasks.erase_tree(own.uid)
    assert storage.names() == [] and not Tree.objects.filter(pk=own.pk).exists()


@pytest.mark.django_db(transaction=True)
def test_a_backup_leaves_the_objects_and_a_restore_puts_images_into_the_bucket(
    storage: Storage,
    actor: Actor,
    tree: Tree,
    tmp_path: Path,
    settings: Any,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sha256, _ = written(actor, tree, picture())
    file = tmp_path / "one.backup"
    call_command("backup", str(file))
    assert f"The images stay in the bucket {storage.bucket.name}" in capsys.readouterr().out
    with tarfile.open(file) as tar:
        assert not [name for name in tar.getnames() if name.startswith("images/")]
    # A backup of a folder, restored where images are in a bucket.
    settings.IMAGES_BUCKET = ""
    data_folder.store(sha256, picture())
    call_command("backup", str(file), stdout=io.StringIO())
    settings.IMAGES_BUCKET = storage.bucket.name
    storage.client.delete_object(Bucket=storage.bucket.name, Key=_key(sha256))
    with closing(tarfile.open(file)) as tar:
        restore._restore_images(tar)
    assert _key(sha256) in storage.names()


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"HEDDLE_IMAGES": "bucket"}, "HEDDLE_IMAGES is no bucket"),
        ({"HEDDLE_IMAGES": "s3://A_B"}, "HEDDLE_IMAGES is no bucket"),
        ({"HEDDLE_IMAGES_ENDPOINT": "storage:9000"}, "HEDDLE_IMAGES_ENDPOINT is no address"),
        ({"HEDDLE_IMAGES_KEY": "k"}, "or neither of them"),
    ],
)
def test_a_wrong_setting_ends_the_start(
    given: dict[str, str], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in ({"HEDDLE_IMAGES": "s3://bucket"} | given).items():
        monkeypatch.setenv(name, value)
    with pytest.raises(WrongSetting, match=sentence):
        env.read()


def test_a_bucket_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDDLE_IMAGES", "s3://our-images/heddle/one/")
    monkeypatch.setenv("HEDDLE_IMAGES_ENDPOINT", "https://storage.example.org")
    assert env.read().images == Bucket("our-images", "heddle/one", "https://storage.example.org")
    monkeypatch.delenv("HEDDLE_IMAGES")
    assert env.read().images is None
