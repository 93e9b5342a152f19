"""Tokens of a text: counted where the model's own vocabulary is at hand, else estimated."""

import os
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import tiktoken

# The vocabularies that litellm brings as files, so that nothing is asked over the network.
_FILES = "litellm/litellm_core_utils/tokenizers"
_O200K = "fb374d419588a4632f3f557e76b4b70aebbca790"
MOST = 400_000  # characters; a longer text is estimated
How = Literal["counted", "estimated"]


def tokens_of(text: str, model_ref: str) -> tuple[int, How]:
    """How many tokens a text has for a model, and whether they are counted or estimated."""
    if model_ref.startswith(("openai:", "litellm:openai/")) and len(text) <= MOST:
        vocabulary = _vocabulary()
        if vocabulary is not None:
            return len(vocabulary.encode_ordinary(text)), "counted"
    return -(-len(text.encode()) // 4), "estimated"


@cache
def _vocabulary() -> "tiktoken.Encoding | None":
    """The vocabulary of OpenAI's newer models; None where its file is gone. Reading it takes
    0.6 s once, and 90 MB: only a process that is asked for it has it."""
    try:
        folder = Path(str(metadata.distribution("litellm").locate_file(_FILES)))
    except metadata.PackageNotFoundError:
        return None
    if not (folder / _O200K).exists():
        return None
    import tiktoken

    os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(folder))
    return tiktoken.get_encoding("o200k_base")
