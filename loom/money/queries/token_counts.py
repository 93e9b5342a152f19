"""How many tokens a text or a path has: counted where the vocabulary is there, else estimated."""

import os
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Literal

import tiktoken
from django.db import connection

from loom.access import Actor
from loom.trees.grove_texts import grove_texts
from loom.trees.models import Node, Tree, Workspace
from loom.trees.queries.lookup import fetch, listed
from loom.trees.queries.places import path_ids

# The vocabularies that litellm ships as files, so that nothing is loaded over the network.
_FILES = "litellm/litellm_core_utils/tokenizers"
_O200K = "fb374d419588a4632f3f557e76b4b70aebbca790"
MOST = 400_000  # characters; a longer text is estimated
How = Literal["counted", "estimated"]


def tokens_of(text: str, model_ref: str) -> tuple[int, How]:
    """How many tokens a text has for a model, and whether they were counted or estimated."""
    if model_ref.startswith(("openai:", "litellm:openai/")) and len(text) <= MOST:
        vocabulary = _vocabulary()
        if vocabulary is not None:
            return len(vocabulary.encode_ordinary(text)), "counted"
    return -(-len(text.encode()) // 4), "estimated"


def tokens_of_parts(parts: Iterable[str], model_ref: str) -> tuple[int, How]:
    """How many tokens several texts have, each counted by itself, as sections of a request are."""
    texts = [part for part in parts if part]
    if sum(map(len, texts)) > MOST:
        return sum(-(-len(text.encode()) // 4) for text in texts), "estimated"
    counts = [tokens_of(text, model_ref) for text in texts]
    how: How = "estimated" if any(how == "estimated" for _, how in counts) else "counted"
    return sum(tokens for tokens, _ in counts), how


@cache
def _vocabulary() -> "tiktoken.Encoding | None":
    """The vocabulary of OpenAI's newer models; None if its file is missing. Loading it takes 0.6 s
    once and 90 MB, so it is only loaded in processes that use it."""
    try:
        folder = Path(str(metadata.distribution("litellm").locate_file(_FILES)))
    except metadata.PackageNotFoundError:
        return None
    if not (folder / _O200K).exists():
        return None
    import tiktoken

    os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(folder))
    return tiktoken.get_encoding("o200k_base")


def path_tokens(actor: Actor, tree: Tree, workspace: Workspace | None, node: Node) -> int:
    """About how many tokens the path to `node` has: a quarter of its bytes, which is right for
    English and too many rather than too few for other scripts. With memory and author's note."""
    ids = [version for _, version in path_ids(actor, tree, workspace, node)]
    added = len((tree.memory + tree.author_note).encode())
    lore = tree.lore_budget if grove_texts().is_linked(tree) else 0
    return -(-(bytes_of(ids) + added) // 4) + lore


def bytes_of(nodes: Iterable[int]) -> int:
    """The total bytes of the texts of nodes."""
    size = (
        "octet_length(text)" if connection.vendor == "postgresql" else "length(CAST(text AS BLOB))"
    )
    rows = fetch(f"SELECT SUM({size}) FROM trees_node WHERE id IN ({listed(nodes)})")
    return int(rows[0][0] or 0)
