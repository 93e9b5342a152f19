"""Images reach the models that see, once each; all others, and what is kept, have words."""

import base64
import io
from typing import Any

import pytest
from PIL import Image as Pillow

from agents import subject_prompt
from agents.providers.probing import COLOURS, Probe, _images
from agents.providers.registry import Provider, provider_of
from agents.providers.values import ProviderRequest
from loom.access import Actor, get_actor
from loom.engine.context import Request
from loom.engine.execute import execute_line
from loom.people.models import Grove, Participant, User
from loom.text.images import image_reference
from loom.trees import images
from loom.trees.commands.trees import new_tree
from loom.trees.image_files import data_folder
from loom.trees.models import Image, Tree
from loom.turns.models import Call
from tests.agents.acting import asked, went
from tests.agents.conftest import Say, run
from tests.providers.scripted import ScriptedProvider
from tests.providers.scripts import fails, says

pytestmark = pytest.mark.django_db(transaction=True)
SHAPES = ("openai", "anthropic")


def square(colour: str = "red", side: int = 3) -> bytes:
    """The bytes of a small image."""
    out = io.BytesIO()
    Pillow.new("RGB", (side, side), colour).save(out, "PNG")
    return out.getvalue()


def seeing(model: Participant, *more: str, shape: str = "openai") -> None:
    Participant.objects.filter(pk=model.pk).update(
        capabilities=["images", *more], model_ref=f"{shape}:m"
    )


@pytest.fixture
def shown(actor: Actor, tree: Tree) -> str:
    """A text with an image; the hash of it."""
    sha256 = images.keep(actor, tree, square()).sha256
    execute_line(actor, tree, Request(f"respond root\nLook: {image_reference(sha256, 'a cat')}!"))
    return sha256


def parts(sent: Any) -> list[Any]:
    """The parts of the last message, without marks."""
    return [
        {key: value for key, value in part.items() if key != "cache_control"}
        for part in sent["messages"][-1]["content"]
    ]


def image_of(shape: str, raw: bytes, media: str = "image/png") -> dict[str, Any]:
    data = base64.b64encode(raw).decode()
    if shape == "openai":
        return {"type": "image_url", "image_url": {"url": f"data:{media};base64,{data}"}}
    return {"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_model_that_sees_is_sent_the_image_behind_its_words(
    shape: str, ask: Say, provider: ScriptedProvider, model: Participant, shown: str
) -> None:
    seeing(model, shape=shape)
    run(ask()[0])
    assert parts(provider.seen[0].json) == [
        {"type": "text", "text": "Look: [image: a cat]"},
        image_of(shape, square()),
        {"type": "text", "text": "!"},
    ]
    kept = str(Call.objects.get().request)
    assert f"image:{shown}" in kept and base64.b64encode(square()).decode() not in kept


def test_all_others_read_words(
    ask: Say, provider: ScriptedProvider, model: Participant, shown: str
) -> None:
    run(ask()[0])
    assert provider.seen[0].json["messages"][-1]["content"] == "Look: [image: a cat]!"
    seeing(model)
    Participant.objects.filter(pk=model.pk).update(endpoint="completion")
    run(ask()[0])
    assert "Look: [image: a cat]!" in provider.seen[1].json["prompt"]


def test_an_image_goes_once_and_a_models_own_words_hold_none(
    ask: Say,
    actor: Actor,
    tree: Tree,
    provider: ScriptedProvider,
    model: Participant,
    shown: str,
) -> None:
    seeing(model)
    provider.script(says(image_reference(shown, "as you showed")))
    first = run(ask()[0])
    assert first.node is not None
    execute_line(
        actor, tree, Request(f"respond {first.node.local_id}\nAgain: {image_reference(shown, '')}")
    )
    run(ask()[0])
    sent = provider.seen[1].json["messages"]
    kinds = [[p["type"] for p in m["content"]] if isinstance(m["content"], list) else m["content"]
             for m in sent if m["role"] != "system"]  # fmt: skip
    assert kinds == [["text", "image_url", "text"], "[image: as you showed]", "Again: [image]"]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_server_that_refuses_images_is_asked_again_in_words(
    shape: str, ask: Say, provider: ScriptedProvider, model: Participant, shown: str
) -> None:
    seeing(model, shape=shape)
    provider.script(fails(400, "This model does not support image input."), says("Hm."))
    row = run(ask()[0])
    assert row.node is not None and row.node.text == "Hm."
    assert [part["type"] for part in parts(provider.seen[1].json)] == ["text", "text"]


def test_an_image_of_another_grove_is_never_sent(
    ask: Say,
    actor: Actor,
    tree: Tree,
    outsider: User,
    provider: ScriptedProvider,
    model: Participant,
) -> None:
    stranger = get_actor(outsider, Grove.objects.get(name="Elsewhere"))
    sha256 = images.keep(stranger, new_tree(stranger, title="X"), square("blue")).sha256
    execute_line(actor, tree, Request(f"respond root\nShow {image_reference(sha256, 'it')}"))
    assert not Image.objects.filter(tree=tree).exists()
    seeing(model)
    run(ask()[0])
    assert provider.seen[0].json["messages"][-1]["content"] == "Show [image: it]"


def test_a_missing_file_is_reported_in_words(
    ask: Say, provider: ScriptedProvider, model: Participant, shown: str
) -> None:
    data_folder.path(shown).unlink()
    seeing(model)
    run(ask()[0])
    assert provider.seen[0].json["messages"][-1]["content"] == "Look: [image: a cat]!"


def test_a_large_image_is_made_smaller_and_only_the_last_ones_go(
    actor: Actor, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = images.keep(actor, tree, square(side=3000)).sha256
    sent = subject_prompt.pictures(actor, tree, [image_reference(large, "")])[large]
    with Pillow.open(io.BytesIO(base64.b64decode(sent.data))) as image:
        assert (sent.media_type, image.size) == ("image/jpeg", (1568, 1568))
    monkeypatch.setattr(subject_prompt, "MOST_IMAGES", 2)
    every = [images.keep(actor, tree, square(c)).sha256 for c in ("red", "green", "blue")]
    texts = [image_reference(image, "") for image in (large, *every)]
    assert set(subject_prompt.pictures(actor, tree, texts)) == set(every[1:])
    monkeypatch.setattr(subject_prompt, "MOST_IMAGE_BYTES_AT_ONCE", 10)
    assert subject_prompt.pictures(actor, tree, texts) == {}


def test_in_a_buffer_the_text_of_the_user_holds_it(
    ask: Say,
    actor: Actor,
    tree: Tree,
    provider: ScriptedProvider,
    model: Participant,
    shown: str,
) -> None:
    Tree.objects.filter(pk=tree.pk).update(mode="buffer")
    for way, kinds in (("instruction", ["text", "image_url", "text"]), ("prefill", None)):
        seeing(model, way)
        run(ask()[0])
        content = provider.seen[-1].json["messages"][-1]["content"]
        if kinds:
            assert [part["type"] for part in content] == kinds
        else:
            assert content == "Look: [image: a cat]!", "no provider takes images in a model's turn"


@pytest.mark.parametrize("shape", SHAPES)
def test_an_agent_that_sees_is_sent_what_its_path_holds(
    shape: str,
    actor: Actor,
    tree: Tree,
    agent: Participant,
    provider: ScriptedProvider,
    shown: str,
) -> None:
    seeing(agent, shape=shape)
    node = tree.nodes.get(text__contains=shown).local_id
    provider.script(says("A cat."))
    turn = went(asked(actor, tree, agent, node=node, input="What is there?"))
    assert turn.error is None
    sent = [part for message in provider.seen[0].json["messages"] for part in message["content"]
            if isinstance(message["content"], list)]  # fmt: skip
    shown_images = [
        {key: value for key, value in part.items() if key != "cache_control"}
        for part in sent
        if part["type"] != "text"
    ]
    assert shown_images == [image_of(shape, square())]
    assert b"Look: [image: a cat]" in provider.seen[0].body


@pytest.mark.parametrize(
    ("replies", "sees"),
    [(COLOURS, True), (("Green.", "Green"), False), (("I see no image.", "red"), False)],
)
async def test_a_model_sees_that_names_both_colours(
    replies: tuple[str, str], sees: bool, provider: ScriptedProvider
) -> None:
    provider.script(*(says(reply) for reply in replies))
    asks: Provider = provider_of("openai")
    probe = Probe(
        asks, ProviderRequest(provider.url, "m", None, None), asks.transport((provider.entry,))
    )
    assert await _images(probe) is sees
    sent = provider.seen[0].json["messages"][0]["content"]
    assert [part["type"] for part in sent] == ["text", "image_url"] and len(sent) == 2


async def test_a_model_whose_server_refuses_images_does_not_see(
    provider: ScriptedProvider,
) -> None:
    provider.script(fails(400, "no image"), says("green"), says("red"))
    asks = provider_of("openai")
    probe = Probe(
        asks, ProviderRequest(provider.url, "m", None, None), asks.transport((provider.entry,))
    )
    assert await _images(probe) is False
    assert len(provider.seen) == 1
