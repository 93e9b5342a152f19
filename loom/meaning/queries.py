"""The texts that are nearest in meaning to a query or to a text. Who may see them is decided by
those who ask: search, or `similar_to` for one reader."""

import contextlib
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from django.db import connection

from loom.access import Actor
from loom.embedding.embedders import Embedder, EmbedderFailed, embedder_of, is_remote
from loom.engine import backoff, optional_cache
from loom.errors import CommandError
from loom.meaning import multilingual
from loom.meaning.indexing import digest_of
from loom.meaning.models import TextVector
from loom.meaning.multilingual import MultilingualEmbedder
from loom.people.models import Grove
from loom.search.nearest import finds_nearest, prepares_nearest
from loom.trees.models import Node, Tree, Workspace
from loom.trees.queries import lookup, places
from loom.trees.queries.lookup import fetch, selected_versions, within

if TYPE_CHECKING:  # NumPy is loaded with the first question: most processes never ask one
    from loom.embedding.vectors import Floats

# Cosine from which on a text is added to the hits of words. Measured with the embedded embedder:
# the texts of 40 paraphrases have 0.30 (median), the nearest ones to something else about 0.2.
NEAR = 0.2
ALIKE = 0.3  # cosine from which on `similar` lists a text
QUERY_KEPT_S = 3600
MOST_SIFTED = 400  # nearest texts of which those that may be seen are listed
OFF = "Finding by meaning is off here: no embedder is installed."


def demand_embedder(grove: Grove) -> Embedder:
    """The embedder of a grove; UNAVAILABLE if there is none."""
    embedder = embedder_of(grove)
    if embedder is None:
        raise CommandError("UNAVAILABLE", OFF, hint='find words: → find "words"')
    return embedder


def blocks(trees: Collection[int], embedder: str) -> Iterator[bytes]:
    """The blocks of these trees, in one query that reads them one after the other."""
    those, given = within("tree_id", trees)
    sql = f"SELECT rows FROM meaning_vectorblock WHERE {those} AND embedder = %s"
    for (rows,) in fetch(sql, [given, embedder]):
        yield bytes(rows)


def query_vector(embedder: Embedder, query: str) -> "Floats":
    """The vector of a question. That of an endpoint is kept for an hour; in a transaction, and
    while the endpoint pauses after a failure, it is not asked. EmbedderFailed if there is none."""
    if not is_remote(embedder):
        vector: Floats = embedder.vectors([query])[0]
        return vector
    key = f"meaning:query:{digest_of(embedder.name)[:16]}:{digest_of(query)}"
    kept: Floats | None = optional_cache.get(key)
    if kept is not None:
        return kept
    pause_s, reason = backoff.pause(embedder.name)
    if pause_s:
        raise EmbedderFailed(reason)
    if connection.in_atomic_block:  # others would wait for our locks while we wait for it
        raise EmbedderFailed("The embedder is not asked while a line writes.")
    try:
        vector = _asked(embedder, query)
    except EmbedderFailed as failure:
        backoff.failed(embedder.name, str(failure))
        raise
    optional_cache.keep(key, vector, QUERY_KEPT_S)
    return vector


def _asked(embedder: Embedder, query: str) -> "Floats":
    """The vector of a question: one embedder tells questions apart from texts."""
    if isinstance(embedder, MultilingualEmbedder):
        return embedder.question(query)
    vector: Floats = embedder.vectors([query])[0]
    return vector


def _floors(embedder: Embedder) -> tuple[float, float]:
    """The cosines from which on a text is near a question, and alike to another text."""
    if embedder.name == multilingual.NAME:
        return multilingual.NEAR, multilingual.ALIKE
    return NEAR, ALIKE


@prepares_nearest
def prepare_query(query: str, grove: Grove) -> None:
    """Asks an endpoint for the vector of a question before a line takes its locks. What fails is
    said, or left out, when the line runs."""
    embedder = embedder_of(grove)
    if embedder is not None and is_remote(embedder):
        with contextlib.suppress(EmbedderFailed):
            query_vector(embedder, query)


@finds_nearest
def nearest_to_query(
    query: str, grove: Grove, trees: Collection[int], most: int, is_wide: bool
) -> list[tuple[int, float]]:
    """The versions nearest in meaning to a query in trees of one grove; unless `is_wide` only those
    that are near."""
    from loom.meaning.rules import nearest

    embedder = demand_embedder(grove) if is_wide else embedder_of(grove)
    if embedder is None or not trees:
        return []
    try:
        wanted = query_vector(embedder, query)
    except EmbedderFailed as failed:
        if is_wide:
            raise CommandError("UNAVAILABLE", str(failed), hint="try again later") from None
        return []
    if not wanted.any():
        return []
    least = -1.0 if is_wide else _floors(embedder)[0]
    return nearest(blocks(trees, embedder.name), wanted, most, least=least)


def vectors_of(tree: Tree, texts: Mapping[int, str]) -> dict[int, "Floats"]:
    """The vectors of the texts of one tree, by their keys: stored ones, or made now."""
    from loom.meaning.rules import unpacked

    embedder = demand_embedder(tree.grove)
    digests = {key: digest_of(text) for key, text in texts.items()}
    rows = TextVector.objects.filter(
        tree=tree, embedder=embedder.name, digest__in=set(digests.values())
    )
    known = {digest: bytes(vector) for digest, vector in rows.values_list("digest", "vector")}
    stored = [key for key in texts if digests[key] in known]
    rows_of_floats = unpacked([known[digests[key]] for key in stored]) if stored else ()
    vectors = dict(zip(stored, rows_of_floats, strict=True))
    lacking = [key for key in texts if key not in vectors]
    if lacking:
        new = embedder.vectors([texts[key] for key in lacking])
        vectors |= dict(zip(lacking, new, strict=True))
    return vectors


def similar_to(
    actor: Actor, node: Node, workspace: Workspace | None, *, most: int
) -> list[tuple[Node, float]]:
    """The texts of its tree that are nearest to a node, as the actor may see them in their selected
    wordings, with their cosines, nearest first: none of the node's own versions, none that is
    pruned. UNAVAILABLE without an embedder."""
    from loom.meaning.rules import nearest

    wanted = vectors_of(node.tree, {node.pk: node.text})[node.pk]
    embedder = demand_embedder(node.tree.grove)
    _, least = _floors(embedder)
    ranked = nearest(blocks([node.tree_id], embedder.name), wanted, MOST_SIFTED, least=least)
    scores = dict(ranked)
    those, given = within("id", scores)
    slots: dict[int, int] = dict(
        fetch(f"SELECT id, slot_id FROM trees_node WHERE {those} AND NOT version_pruned", [given])
    )
    hidden = places.hidden_among(slots.values())
    selected = selected_versions(slots.values(), workspace)
    gone = lookup.withheld(actor, slots)
    seen = [
        key
        for key, _ in ranked
        if key in slots
        and slots[key] != node.slot_id
        and slots[key] not in hidden
        and key not in gone
        and selected[slots[key]][0] == key
    ][:most]
    nodes = {near.pk: near for near in lookup.rows().filter(pk__in=seen)}
    return [(nodes[key], scores[key]) for key in seen if key in nodes]
