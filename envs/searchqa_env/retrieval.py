"""Search over the passages: what a retriever is, and the default one, BM25 in this process.

The index is built once and kept in the user's cache under a hash of everything that shapes it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from envs.base import InputError
from envs.cache import cache_dir
from envs.searchqa_env.corpus import Passage, corpus_hash

STOPWORDS = "en"
"""Name of the word list that ``bm25s`` leaves out of texts and queries."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One passage that a search found."""

    id: str
    title: str
    text: str
    score: float
    """Larger is better; comparable only inside one answer."""


class Retriever(Protocol):
    """Finds passages."""

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """For each query the ``k`` best passages, best first; fewer only when there are no more.

        Raises ``envs.base.ToolError`` when the machinery fails.
        """
        ...

    def describe(self) -> Mapping[str, str]:
        """What identifies it: its kind, versions, the corpus."""
        ...


class Bm25Retriever:
    """BM25 over title and text. Equal scores are ordered by position, so results do not depend on the machine."""

    def __init__(self, passages: Sequence[Passage], cache: Path | None = None) -> None:
        """Load the index, or build and keep it. ``cache``: its folder; None for the user's cache.

        Raises ``InputError`` for an empty corpus.
        """
        if not passages:
            raise InputError("the corpus is empty, so there is nothing to search; check the data package")
        self._passages = passages
        self._corpus = corpus_hash(passages)
        texts = hashlib.sha256("\n".join(one.indexed for one in passages).encode()).hexdigest()
        key = hashlib.sha256(json.dumps([version("bm25s"), STOPWORDS, texts]).encode()).hexdigest()[:16]
        self._folder = (cache or cache_dir()) / f"bm25-{key}"
        index = self._load()
        self._index = self._build() if index is None else index

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """See ``Retriever.search``. A query without a known word finds the first passages, with score 0."""
        return [self._search(words, k) for words in _words(queries)]

    def describe(self) -> Mapping[str, str]:
        """See ``Retriever.describe``."""
        return {"retriever": "bm25", "bm25s": version("bm25s"), "corpus": self._corpus}

    def _search(self, words: list[str], k: int) -> list[Hit]:
        known = [word for word in words if word and word in self._index.vocab_dict]
        scores = self._index.get_scores(known) if known else np.zeros(len(self._passages), dtype=np.float32)
        return [hit_of(self._passages[index], scores[index]) for index in best(scores, k)]

    def _load(self) -> Any:
        """The cached index; None when there is none or it cannot be read."""
        import bm25s

        try:
            index = bm25s.BM25.load(self._folder)
        except (OSError, ValueError, TypeError, KeyError, EOFError):
            return None
        return index if index.scores["num_docs"] == len(self._passages) else None

    def _build(self) -> Any:
        """Make the index and put it in place at once, so that no other process sees half of it."""
        import bm25s

        index = bm25s.BM25()
        texts = bm25s.tokenize(
            [one.indexed for one in self._passages], stopwords=STOPWORDS, show_progress=False
        )
        index.index(texts, show_progress=False)
        self._folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(dir=self._folder.parent, prefix=".bm25-"))
        try:
            index.save(made, show_progress=False)
            shutil.rmtree(self._folder, ignore_errors=True)
            with contextlib.suppress(OSError):  # another process was faster
                os.rename(made, self._folder)
        finally:
            shutil.rmtree(made, ignore_errors=True)
        return index


def hit_of(passage: Passage, score: float) -> Hit:
    """A passage as a search result."""
    return Hit(passage.id, passage.title, passage.text, float(score))


def best(scores: np.ndarray[Any, np.dtype[np.float32]], k: int) -> list[int]:
    """Positions of the ``k`` largest scores, largest first, equal ones by position."""
    k = min(k, len(scores))
    if k < 1:
        return []
    least = np.partition(scores, len(scores) - k)[len(scores) - k]
    candidates = np.flatnonzero(scores >= least)
    order = np.argsort(-scores[candidates], kind="stable")[:k]
    return [int(index) for index in candidates[order]]


def _words(queries: Sequence[str]) -> list[list[str]]:
    import bm25s

    words: list[list[str]] = bm25s.tokenize(
        list(queries), stopwords=STOPWORDS, return_ids=False, show_progress=False
    )
    return words
