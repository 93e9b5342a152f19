"""Images: checked, kept once, read by members of the grove alone, and described to models."""

import base64
import hashlib
import io
import json
import os
import struct
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.utils import timezone
from PIL import Image as Pillow
from PIL.PngImagePlugin import PngInfo
from rest_framework.test import APIClient

from agents.subject_prompt import _piece
from loom import tasks
from loom.access import Actor, get_actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.management.commands import restore
from loom.people.models import Grove, User
from loom.site import markdown
from loom.text import images as image_texts
from loom.transfer import importing
from loom.transfer.exporting import FORMATS
from loom.transfer.models import Import
from loom.transfer.writers import books
from loom.trees import erasing, image_metadata, images
from loom.trees.commands import public_links, trees
from loom.trees.image_files import data_folder
from loom.trees.image_metadata import without_metadata
from loom.trees.models import Image, Tree
from loom.trees.queries.lookup import rows_of
from tests.transfer.conftest import file_of, tree_of
from tests.transfer.planting import paths, wanted

pytestmark = pytest.mark.django_db
Client = Callable[..., APIClient]


def picture(kind: str = "PNG", size: tuple[int, int] = (3, 2), colour: str = "red") -> bytes:
    """The bytes of a small image."""
    out = io.BytesIO()
    Pillow.new("RGB", size, colour).save(out, kind)
    return out.getvalue()


def sent(client: APIClient, tree: Tree, raw: bytes, name: str = "a.png", **more: str) -> Any:
    file = SimpleUploadedFile(name, raw, content_type="text/html")
    return client.post(f"/api/trees/{tree.uid}/images", {"file": file, **more}, format="multipart")


def written(actor: Actor, tree: Tree, raw: bytes, alt: str = "a cat") -> tuple[str, str]:
    """The hash of an image of the tree, and the id of a text that names it."""
    sha256 = images.keep(actor, tree, raw).sha256
    line = f"respond root\nLook: {image_texts.image_reference(sha256, alt)}!"
    return sha256, execute_line(actor, tree, Request(line)).body["refs"][0]


@pytest.mark.parametrize("kind", image_texts.IMAGE_TYPES)
def test_an_image_is_kept_and_read_as_it_was(
    kind: str, api: Client, writer: User, reader: User, tree: Tree
) -> None:
    raw = picture(kind)
    answer = sent(api(writer), tree, raw, "x.html", alt="A [red] cat")
    assert answer.status_code == 201, answer.content
    body = answer.json()
    assert (body["width"], body["height"], body["size"]) == (3, 2, len(raw))
    assert body["media_type"] == image_texts.IMAGE_TYPES[kind][0], "by its content, not by its name"
    assert body["text"] == f"![A (red) cat](image:{body['sha256']})"
    shown = api(reader).get(f"/api/images/{body['sha256']}")
    assert shown.status_code == 200 and shown.content == raw
    assert shown["Content-Type"] == image_texts.IMAGE_TYPES[kind][0]
    assert shown["X-Content-Type-Options"] == "nosniff"
    assert shown["Content-Security-Policy"] == "default-src 'none'; sandbox"
    assert shown["Cross-Origin-Resource-Policy"] == "same-origin"


def test_the_same_bytes_are_kept_once(actor: Actor, tree: Tree, buffer: Tree) -> None:
    raw = picture()
    first, again = images.keep(actor, tree, raw), images.keep(actor, tree, raw)
    other = images.keep(actor, buffer, raw)
    assert first.pk == again.pk != other.pk and first.sha256 == other.sha256
    folder = data_folder.path(first.sha256).parent
    assert [path.name for path in folder.iterdir()] == [first.sha256]


WHOLE = picture(size=(400, 300))
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


@pytest.mark.parametrize(
    "raw", [b"", b"<html>", SVG, WHOLE[: len(WHOLE) // 2], picture("JPEG")[:200], picture("BMP")]
)
def test_what_is_not_a_whole_image_is_refused(
    raw: bytes, api: Client, writer: User, tree: Tree
) -> None:
    answer = sent(api(writer), tree, raw)
    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_SYNTAX")
    assert not Image.objects.exists()


def test_what_is_too_large_is_refused_before_it_is_decoded(
    api: Client, writer: User, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    bomb = picture(size=(6000, 5000))
    assert len(bomb) < 200_000
    assert sent(api(writer), tree, bomb).status_code == 413
    # A head that claims more pixels than Pillow opens at all.
    head = b"IHDR" + struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    claims = bomb[:12] + head + struct.pack(">I", zlib.crc32(head)) + bomb[33:]
    answer = sent(api(writer), tree, claims)
    assert answer.status_code == 413 and "25,000,000 pixels" in answer.json()["message"]
    monkeypatch.setattr("loom.reading.api.trees.MOST_IMAGE_BYTES", 10)
    assert sent(api(writer), tree, picture()).status_code == 413
    assert api(writer).post(f"/api/trees/{tree.uid}/images", {}, format="json").status_code == 400


def test_readers_outsiders_and_other_groves_get_none(
    api: Client, owner: User, reader: User, outsider: User, tree: Tree, actor: Actor
) -> None:
    assert sent(api(reader), tree, picture()).status_code == 403
    assert sent(api(outsider), tree, picture()).status_code == 404
    sha256, _ = written(actor, tree, picture())
    assert api(outsider).get(f"/api/images/{sha256}").status_code == 404
    assert api(None).get(f"/api/images/{sha256}").status_code == 401
    assert api(owner).get(f"/api/images/{'0' * 64}").status_code == 404


def test_an_archived_tree_takes_no_image(
    actor: Actor, api: Client, owner: User, tree: Tree
) -> None:
    trees.change_tree(actor, tree, {"archived": True})
    assert sent(api(owner), tree, picture()).status_code == 409


def test_a_page_shows_it_and_nothing_of_other_places() -> None:
    sha256 = "ab" * 32
    shown = markdown.rendered(image_texts.image_reference(sha256, 'a "cat" <b>'))
    assert f'src="/api/images/{sha256}"' in shown and "<b>" not in shown
    for other in ("http://e.org/a.png", "image:../secret", "image:" + "AB" * 32, "/api/me"):
        assert "<img" not in markdown.rendered(f"![x]({other})")


def test_models_are_told_what_it_shows(actor: Actor, tree: Tree) -> None:
    _, local_id = written(actor, tree, picture())
    [row] = rows_of([tree.nodes.get(local_id=local_id).pk])
    assert _piece(row).text == "Look: [image: a cat]!"


@pytest.mark.parametrize("name", FORMATS)
def test_exports_hold_it_or_say_what_it_shows(name: str, actor: Actor, tree: Tree) -> None:
    raw = picture()
    sha256, local_id = written(actor, tree, raw)
    end = tree.nodes.get(local_id=local_id) if FORMATS[name].scope == "path" else None
    content = b"".join(FORMATS[name].pieces(wanted(actor, tree, end)))
    if name == "zip":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            assert archive.read(f"images/{sha256}.png") == raw
    elif name == "html":
        assert b'<img src="data:image/png;base64,' in content and b"image:" + b"ab" not in content
    elif name == "heddle":
        assert sha256.encode() in content
    elif name in ("epub", "docx"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            files = {member: archive.read(member) for member in archive.namelist()}
        [inside] = [content for member, content in files.items() if member.endswith(".png")]
        assert inside == raw
        assert any(b'"a cat"' in content for content in files.values())
    elif name == "parquet":  # packed; a row has the text as it is stored, with the image's hash
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            assert archive.namelist()
    elif name != "preferences":  # nothing was chosen here
        assert b"[image: a cat]" in content and sha256.encode() not in content


@pytest.mark.parametrize("writer", [books.epub, books.docx])
def test_a_book_has_webp_as_png_and_describes_what_is_gone(
    writer: Any, actor: Actor, tree: Tree
) -> None:
    kept = images.keep(actor, tree, picture("WEBP")).sha256
    gone = images.keep(actor, tree, picture(colour="green")).sha256
    damaged = images.keep(actor, tree, picture(colour="blue")).sha256
    every = " ".join(image_texts.image_reference(image, "a cat") for image in (kept, gone, damaged))
    data_folder.path(gone).unlink()
    data_folder.path(damaged).write_bytes(b"no image")
    local_id = execute_line(actor, tree, Request(f"respond root\n{every}")).body["refs"][0]
    end = tree.nodes.get(local_id=local_id)
    with zipfile.ZipFile(io.BytesIO(b"".join(writer(wanted(actor, tree, end))))) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    shown = [content for member, content in files.items() if member.endswith((".png", ".webp"))]
    assert [content[:4] for content in shown] == [b"\x89PNG"]
    assert any(b"[image: a cat]" in content for content in files.values())


def test_a_preview_counts_images(actor: Actor, api: Client, owner: User, tree: Tree) -> None:
    written(actor, tree, picture())
    address = f"/api/trees/{tree.uid}/export/preview?format="
    assert {"images": 1}.items() <= {
        loss["what"]: loss["count"] for loss in api(owner).get(f"{address}jsonl").json()["left_out"]
    }.items()
    assert "images" not in json.dumps(api(owner).get(f"{address}zip").json())


# Public links.


def test_a_public_link_shows_the_images_of_its_texts_alone(
    actor: Actor, api: Client, owner: User, tree: Tree
) -> None:
    sha256, local_id = written(actor, tree, picture())
    hidden, gone = written(actor, tree, picture(colour="blue"))
    unnamed = images.keep(actor, tree, picture(colour="green")).sha256
    execute_line(actor, tree, Request(f"prune {gone}"))
    _, secret = public_links.make_public_link(actor, tree, days=7)
    client = api(None)
    address = f"/public/{secret}/images/{local_id}/{sha256}"
    assert address in client.get(f"/public/{secret}?node={local_id}").content.decode()
    shown = client.get(address)
    assert shown.status_code == 200 and shown["Content-Security-Policy"].endswith("sandbox")
    for node, other in ((local_id, unnamed), (gone, hidden), (local_id, hidden), ("zzzz", sha256)):
        assert client.get(f"/public/{secret}/images/{node}/{other}").status_code == 404
    assert client.get(f"/public/nonsense/images/{local_id}/{sha256}").status_code == 404


# Erasing.


def test_an_image_goes_with_its_last_tree(
    actor: Actor, owner: User, api: Client, tree: Tree
) -> None:
    raw = picture()
    sha256, _ = written(actor, tree, raw)
    other = trees.new_tree(actor, title="Other")
    execute_line(actor, other, Request(f"respond root\n{image_texts.image_reference(sha256, '')}"))
    for erased, is_left in ((tree, True), (other, False)):
        trees.change_tree(actor, erased, {"archived": True})
        trees.erase(actor, erased, erased.title)
        tasks.erase_tree(erased.uid)
        assert data_folder.path(sha256).is_file() == is_left
        answer = api(owner).get(f"/api/images/{sha256}")
        assert answer.status_code == (200 if is_left else 404)
    assert not Image.objects.exists()


def test_an_image_goes_with_trees_that_are_erased_at_once(actor: Actor, tree: Tree) -> None:
    sha256, node = written(actor, tree, picture())
    execute_line(actor, tree, Request(f'sandbox from {node} "mine"'))
    discarded = Tree.objects.get(sandbox_of=actor.user)
    execute_line(actor, discarded, Request("discard"))
    other = trees.new_tree(actor, title="Other")
    execute_line(actor, other, Request(f"respond root\n{image_texts.image_reference(sha256, '')}"))
    assert Image.objects.filter(sha256=sha256).count() == 3
    for erased in (tree, other):
        trees.change_tree(actor, erased, {"archived": True})
        trees.erase(actor, erased, erased.title)
    for uid in erasing.waiting():
        tasks.erase_tree(uid)
    assert not data_folder.path(sha256).exists() and not Image.objects.exists()


def test_an_image_stays_for_a_tree_that_an_import_is_writing(actor: Actor, tree: Tree) -> None:
    sha256, _ = written(actor, tree, picture())
    coming = trees.new_tree(actor, title="Coming")
    execute_line(actor, coming, Request(f"respond\n{image_texts.image_reference(sha256, '')}"))
    Tree.objects.filter(pk=coming.pk).update(erasing_at=timezone.now())
    Import.objects.create(
        grove=actor.grove, participant=actor.participant, tree=coming, status="running"
    )
    trees.change_tree(actor, tree, {"archived": True})
    trees.erase(actor, tree, tree.title)
    tasks.erase_tree(tree.uid)
    assert data_folder.path(sha256).is_file()


def test_files_that_no_tree_has_are_removed_after_a_day(actor: Actor, tree: Tree) -> None:
    sha256, _ = written(actor, tree, picture())
    left, fresh, again = (hashlib.sha256(word).hexdigest() for word in (b"left", b"fresh", b"back"))
    for name, word in ((left, b"left"), (fresh, b"fresh"), (again, b"back")):
        data_folder.store(name, word)
    ago = time.time() - images.UNNAMED_S - 60
    for name in (sha256, left, again):
        os.utime(data_folder.path(name), (ago, ago))
    data_folder.store(again, b"back")  # its row is on the way
    assert images.remove_unnamed_files() == 1
    there = [data_folder.path(name).exists() for name in (sha256, left, fresh, again)]
    assert there == [True, False, True, True]


def test_a_damaged_file_is_not_served(actor: Actor, api: Client, owner: User, tree: Tree) -> None:
    sha256, _ = written(actor, tree, picture())
    data_folder.path(sha256).write_bytes(b"<script>")
    assert api(owner).get(f"/api/images/{sha256}").status_code == 503


@pytest.mark.django_db(transaction=True)
def test_a_backup_brings_images_back(actor: Actor, tree: Tree, tmp_path: Path) -> None:
    raw = picture()
    sha256 = images.keep(actor, tree, raw).sha256
    file = str(tmp_path / "one.backup")
    call_command("backup", file, stdout=io.StringIO())
    data_folder.path(sha256).unlink()
    forged = "0" * 64
    with tarfile.open(file, "a") as tar:
        info = tarfile.TarInfo(f"images/{forged}")
        info.size = len(raw)
        tar.addfile(info, io.BytesIO(raw))
    with tarfile.open(file) as tar:
        restore._restore_images(tar)
    assert data_folder.path(sha256).read_bytes() == raw
    assert not data_folder.path(forged).exists(), "its bytes have another hash"


def test_a_zip_brings_its_tree_and_images_into_another_grove(
    actor: Actor, outsider: User, tree: Tree
) -> None:
    raw = picture()
    sha256, _ = written(actor, tree, raw)
    content = b"".join(FORMATS["zip"].pieces(wanted(actor, tree, calls=True)))
    elsewhere = get_actor(outsider, Grove.objects.get(name="Elsewhere"))
    row = file_of(elsewhere, content, name="tree.zip")
    data_folder.path(sha256).unlink()
    importing.run(row.uid)
    row.refresh_from_db()
    imported = tree_of(row)
    assert paths(imported) == paths(tree) and imported.grove != tree.grove
    assert row.report["kept"]["images"] == 1 and row.report["warnings"] == []
    assert images.bytes_of(Image.objects.get(tree=imported)) == raw


# What a camera and its owner write into an image.
PLACE = 0x8825
SECRETS = (b"Ada's secret garden", b"Nikon of Ada", b"51.4779", b"a comment")


def with_metadata(kind: str, *, orientation: int = 1) -> bytes:
    """An image with a place, a description, a device, a comment and what a program wrote."""
    image = Pillow.new("RGB", (4, 2), "red")
    image.putpixel((0, 0), (0, 0, 255))
    exif = Pillow.Exif()
    exif[0x010E], exif[0x010F], exif[0x0112] = "Ada's secret garden", "Nikon of Ada", orientation
    exif.get_ifd(PLACE).update({1: "N", 2: (51.0, 28.0, 40.44), 3: "W", 4: (0.0, 0.0, 5.0)})
    out = io.BytesIO()
    more: dict[str, Any] = {"exif": exif}
    if kind == "JPEG":
        more |= {"quality": 100, "subsampling": 0, "comment": b"a comment", "progressive": True}
    if kind == "PNG":
        texts = PngInfo()
        texts.add_text("Description", "Ada's secret garden")
        texts.add_itxt("XML:com.adobe.xmp", "<x>51.4779</x>")
        more["pnginfo"] = texts
    if kind == "WEBP":
        more |= {"xmp": b"<x>51.4779</x>", "lossless": True}
    if kind == "GIF":
        more = {"comment": b"a comment", "save_all": True, "append_images": [image.rotate(180)]}
    image.save(out, kind, **more)
    return out.getvalue() + b"Ada's secret garden"  # behind the image


def told_by(raw: bytes) -> list[bytes]:
    """What an image says about its maker."""
    with Pillow.open(io.BytesIO(raw)) as image:
        exif = image.getexif()
        leaks = [b"exif"] * bool(dict(exif)) + [b"place"] * bool(exif.get_ifd(PLACE))
    return leaks + [secret for secret in SECRETS if secret in raw]


@pytest.mark.parametrize("kind", image_texts.IMAGE_TYPES)
def test_an_image_is_stored_without_place_device_and_description(
    kind: str, api: Client, writer: User, reader: User, tree: Tree
) -> None:
    raw = with_metadata(kind)
    assert told_by(raw)
    body = sent(api(writer), tree, raw).json()
    stored = data_folder.path(body["sha256"]).read_bytes()
    assert told_by(stored) == [] and len(stored) == body["size"] < len(raw)
    assert api(reader).get(f"/api/images/{body['sha256']}").content == stored
    with Pillow.open(io.BytesIO(raw)) as before, Pillow.open(io.BytesIO(stored)) as after:
        assert getattr(before, "n_frames", 1) == getattr(after, "n_frames", 1)
        assert before.convert("RGB").tobytes() == after.convert("RGB").tobytes()
    assert without_metadata(stored) == stored


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_the_orientation_of_a_camera_is_applied(kind: str, actor: Actor, tree: Tree) -> None:
    row = images.keep(actor, tree, with_metadata(kind, orientation=6))
    assert (row.width, row.height) == (2, 4)
    stored = data_folder.path(row.sha256).read_bytes()
    assert told_by(stored) == []
    with Pillow.open(io.BytesIO(stored)) as image:
        blue = image.convert("RGB").getchannel("B").tobytes()
        assert blue[1] > blue[6], "the blue corner is at the right now"


def test_images_that_are_stored_already_are_shown_without_metadata(
    actor: Actor, tree: Tree, api: Client, reader: User
) -> None:
    raw = with_metadata("JPEG")
    row = images.keep(actor, tree, raw, as_it_is=True)
    assert images.bytes_of(row) == raw, "texts and archives name these bytes"
    assert told_by(api(reader).get(f"/api/images/{row.sha256}").content) == []
    assert told_by(base64.b64decode(images.data_url(row).partition(",")[2])) == []


def test_a_jpeg_that_is_not_as_it_should_be_is_written_again(
    actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(raw: bytes) -> bytes:
        raise ValueError

    for kind in image_texts.IMAGE_TYPES:
        monkeypatch.setitem(image_metadata._FILTERS, kind, broken)
        row = images.keep(actor, tree, with_metadata(kind))
        assert told_by(data_folder.path(row.sha256).read_bytes()) == []
