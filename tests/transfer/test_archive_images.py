"""Images that come with the files of other programs: kept, named in their texts, or reported."""

import base64
import io
import json
import zipfile
from typing import Any

import pytest
from PIL import Image as Pillow

from loom.text.images import hashes_in
from loom.transfer import importing, message_images
from loom.transfer.message_images import named_in
from loom.trees import images
from loom.trees.image_files import data_folder
from loom.trees.models import Image
from tests.transfer.conftest import Bring, tree_of
from tests.transfer.test_chats import chatgpt, message

pytestmark = pytest.mark.django_db


def square(colour: str) -> bytes:
    """The bytes of a small image."""
    out = io.BytesIO()
    Pillow.new("RGB", (3, 2), colour).save(out, "PNG")
    return out.getvalue()


RED, BLUE = square("red"), square("blue")
DATA = "data:image/png;base64," + base64.b64encode(RED).decode()


def packed(**files: Any) -> bytes:
    """A ZIP of files by name; a value that is no bytes is JSON."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            raw = content if isinstance(content, bytes) else json.dumps(content).encode()
            archive.writestr(name, raw)
    return out.getvalue()


def of_chatgpt() -> dict[str, Any]:
    """A chat whose question has an image before its words."""
    chat = chatgpt()
    pointer = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-Abc123"}
    parts = {"content_type": "multimodal_text", "parts": [pointer, "Why?"]}
    chat["mapping"]["q"]["message"] = message("user", parts) | {
        "metadata": {"attachments": [{"id": "file-Abc123", "name": "a cat.png"}]}
    }
    return chat


def of_claude() -> dict[str, Any]:
    file = {"file_kind": "image", "file_uuid": "11112222-3333", "file_name": "a_cat.png"}
    question = {"uuid": "1", "sender": "human", "text": "Why?", "files_v2": [file]}
    return {"uuid": "u", "name": "A chat", "chat_messages": [question]}


def of_openwebui(file: dict[str, Any]) -> dict[str, Any]:
    question = {"id": "1", "parentId": None, "role": "user", "content": "Why?", "files": [file]}
    return {"chat": {"title": "A chat", "history": {"messages": {"1": question}, "currentId": "1"}}}


def of_librechat() -> dict[str, Any]:
    file = {"type": "image/png", "filepath": "/images/u/11__a_cat.png", "filename": "a_cat.png"}
    question = {"messageId": "1", "text": "Why?", "sender": "User", "files": [file]}
    return {"conversationId": "c", "title": "A chat", "messages": [question]}


def of_sillytavern() -> bytes:
    head = {"user_name": "A", "character_name": "B", "chat_metadata": {}}
    extra = {"image": "/user/images/B/a_cat.png", "title": "a cat"}
    line_of_chat = {"name": "A", "is_user": True, "mes": "Why?", "extra": extra}
    return b"\n".join(json.dumps(line).encode() for line in (head, line_of_chat))


OPENAI = {
    "messages": [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Why?"},
                {"type": "image_url", "image_url": {"url": DATA, "alt": "a cat"}},
            ],
        }
    ]
}
FILES: dict[str, dict[str, Any]] = {
    "chatgpt": {"conversations.json": [of_chatgpt()], "file-Abc123-photo.png": RED},
    "claude": {"conversations.json": [of_claude()], "files/a_cat.png": RED},
    "openwebui": {
        "chat.json": [of_openwebui({"type": "image", "id": "9", "name": "a cat.png"})],
        "uploads/a cat.png": RED,
    },
    "openwebui in the message": {
        "chat.json": [of_openwebui({"type": "image", "url": DATA, "alt": "a cat"})],
    },
    "librechat": {"chat.json": of_librechat(), "images/u/a_cat.png": RED},
    "sillytavern": {"B/chat.jsonl": of_sillytavern(), "user/images/B/a_cat.png": RED},
    "openai": {"chat.jsonl": OPENAI},
}


@pytest.mark.parametrize("name", FILES)
def test_an_image_of_a_message_is_kept_and_named_in_its_text(name: str, bring: Bring) -> None:
    row = bring(packed(**FILES[name], **{"unused.png": BLUE}), name="archive.zip")
    tree = tree_of(row)
    [kept] = Image.objects.filter(tree=tree)
    assert images.bytes_of(kept) == RED, "and the other one is not taken"
    [node] = tree.nodes.filter(text__startswith="Why?")
    assert node.text == f"Why?\n\n![a cat](image:{kept.sha256})"
    assert row.report["kept"]["images"] == 1
    assert "Images: 1." in row.report["says"]["came"]
    assert base64.b64encode(RED).decode() not in json.dumps(node.imported)


def test_an_image_that_is_not_in_the_file_is_reported(bring: Bring) -> None:
    chat = of_chatgpt()
    chat["mapping"]["q"]["message"]["content"]["parts"].pop()
    row = bring([chat])
    tree = tree_of(row)
    assert tree.nodes.filter(text="[image: a cat]").count() == 1
    assert row.report["dropped"] == {"images that are not in the file": 1}
    assert row.report["says"]["left_out"] == ["Left out: images that are not in the file (1)."]


def test_what_only_looks_like_an_image_is_left_out_and_said(bring: Bring) -> None:
    files = {"conversations.json": [of_chatgpt()], "file-Abc123.png": b"<svg onload=alert(1)>"}
    row = bring(packed(**files))
    assert not Image.objects.exists() and tree_of(row).nodes.filter(text="Why?").count() == 1
    assert "file-Abc123 was left out" in row.report["warnings"][0]


def test_the_same_image_in_two_chats_is_one_file(bring: Bring) -> None:
    files = {"conversations.json": [of_chatgpt(), of_chatgpt()], "file-Abc123.png": RED}
    row = bring(packed(**files), options={"choose": "all"})
    importing.run(row.uid)
    row.refresh_from_db()
    assert row.status == "done" and row.report["kept"]["images"] == 2
    first, second = Image.objects.all()
    assert first.sha256 == second.sha256 and first.tree != second.tree
    texts = first.tree.nodes.filter(text__contains="image:")
    assert hashes_in(texts.get().text) == [first.sha256]


def test_an_import_that_fails_leaves_no_image(
    bring: Bring, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(message_images, "image_reference", broken)
    row = bring(packed(**FILES["chatgpt"]))
    assert row.status == "failed" and not Image.objects.exists()
    assert not [file for file in data_folder.all() if file[1].read_bytes() == RED]


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        "data:image/png;base64,AAAA",
        [[[[[[[{"url": DATA}]]]]]]],
        {"type": "image", "url": 7, "name": None, "metadata": {"dalle": {"prompt": 3}}},
        {"type": "file", "name": "a.pdf"},
        {"url": "data:text/html;base64,AAAA"},
    ],
)
def test_what_names_no_image_is_none(value: Any) -> None:
    assert named_in(value) == []


def test_names_that_cameras_make_up_say_nothing() -> None:
    for name in ("IMG_2031.jpg", "image.png", "file-abc.png", "Screenshot 2026-11-22.png"):
        [image] = named_in({"type": "image", "name": name})
        assert image["alt"] == "", name
