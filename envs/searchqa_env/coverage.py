"""Measures how often a search finds the evidence: ``python -m envs.searchqa_env.coverage``.

The question itself is the query. Two-hop questions show what one search can do; what a second one adds is up
to the harness, and not measured here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from envs.searchqa_env.corpus import corpus
from envs.searchqa_env.questions import Hops, Question
from envs.searchqa_env.retrieval import Bm25Retriever, Retriever
from envs.searchqa_env.tasks import questions

DEPTHS = (1, 5, 10)
SAMPLE = 4000
"""Questions that are measured, evenly spread over all; two hops have tens of thousands."""


def coverage(
    retriever: Retriever, asked: Sequence[Question], depths: Sequence[int] = DEPTHS
) -> Mapping[int, float]:
    """Share of the questions with all evidence among the first k passages, for each k."""
    found = retriever.search([question.text for question in asked], max(depths))
    counts = dict.fromkeys(depths, 0)
    for question, hits in zip(asked, found, strict=True):
        ids = [hit.id for hit in hits]
        for k in depths:
            counts[k] += set(question.evidence) <= set(ids[:k])
    return {k: count / len(asked) for k, count in counts.items()}


def sample(hops: Hops) -> Sequence[Question]:
    """At most ``SAMPLE`` questions, evenly spread."""
    every = questions(hops)
    return every[:: -(-len(every) // SAMPLE)]


def main() -> None:
    """Print the shares, in total and for every relation with one hop."""
    retriever = Bm25Retriever(corpus())
    print(f"{len(corpus())} passages; share with all evidence at k =", *DEPTHS)
    for hops in (1, 2):
        asked = sample(hops)
        print(
            f"{hops} hop, {len(asked)} of {len(questions(hops))} questions:", _row(coverage(retriever, asked))
        )
    for relation in sorted({question.relation for question in questions(1)}):
        asked = [question for question in questions(1) if question.relation == relation]
        print(f"  {relation} ({len(asked)}):", _row(coverage(retriever, asked)))


def _row(shares: Mapping[int, float]) -> str:
    return " / ".join(f"{share:.2f}" for share in shares.values())


if __name__ == "__main__":
    main()
