"""Speed floors of the data: loading each environment's embedded data, and search over the embedded passages."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from envs.searchqa_env.corpus import corpus
from envs.searchqa_env.facts import facts
from envs.searchqa_env.retrieval import Bm25Retriever
from envs.table import ENVIRONMENTS

ROOT = Path(__file__).parents[2]
FROM_NOTHING, FROM_CACHE = 60.0, 3.0
"""Most seconds to build an environment of the default profile, and to make it ready for its first question."""
LOAD = """
import sys, time, tomllib
from envs.base import ToolError
from envs.table import environment_class
made = environment_class(sys.argv[1])
table = tomllib.load(open("bench/profiles/cpu.toml", "rb"))[sys.argv[1]]["env"]
start = time.perf_counter()
env = made(made.Settings.model_validate(table))
if sys.argv[1] == "searchqa":
    env.open(env.tasks("test")[0]).call("search", {"query": "capital", "k": 1})
print(time.perf_counter() - start)
env.close()
"""
BATCH, QUERIES, SECOND = 64, 512, 2_000
"""Queries a call, queries a round, and least queries a second."""


def _load(name: str, cache: Path) -> float:
    """Seconds in a fresh process, its imports of the environment not counted."""
    environ = {**os.environ, "WHALE_CACHE": str(cache)}
    run = subprocess.run(
        [sys.executable, "-c", LOAD, name], cwd=ROOT, env=environ, capture_output=True, text=True, check=True
    )
    return float(run.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", sorted(ENVIRONMENTS))
def test_embedded_data_loads_soon(benchmark: BenchmarkFixture, name: str, tmp_path: Path) -> None:
    first = _load(name, tmp_path)
    again = min(_load(name, tmp_path) for _ in range(2))
    again = min(again, benchmark.pedantic(_load, args=(name, tmp_path), rounds=1))  # type: ignore[no-untyped-call]
    print(f"\n{name}: {first:.2f} s from nothing, {again:.2f} s from the cache")
    assert first <= FROM_NOTHING
    assert again <= FROM_CACHE


def test_search_answers_2000_queries_a_second(benchmark: BenchmarkFixture) -> None:
    """The questions' own words as queries, in batches, three passages each."""
    retriever = Bm25Retriever(corpus())
    known = facts()
    chosen = random.Random(0).choices(known, k=QUERIES)
    queries = [f"{fact.country} {fact.relation}" for fact in chosen]
    batches = [queries[first : first + BATCH] for first in range(0, QUERIES, BATCH)]
    hits = benchmark(lambda: sum(len(found) for batch in batches for found in retriever.search(batch, 3)))
    assert hits == 3 * QUERIES
    assert benchmark.stats is not None, "run without --benchmark-disable"
    assert QUERIES / float(benchmark.stats.stats.min) >= SECOND
