"""Questions from the hub: the seven sets of Search-R1, of which NQ and HotpotQA have training questions.

Their corpus (Wikipedia of 2018) is too large for this process: a server in Search-R1's protocol has it.
"""

from __future__ import annotations

import json

from envs.base import Verdict
from envs.hub.build import Built, build, pool
from envs.hub.records import Row
from envs.hub.sources import SOURCES
from envs.searchqa_env.canonical import canonical
from envs.searchqa_env.robust import robust
from envs.settings import Sizes

TRAIN = ("nq_train", "hotpotqa_train")
TEST = (
    "nq_test",
    "triviaqa_test",
    "popqa_test",
    "hotpotqa_dev",
    "2wikimultihopqa_dev",
    "musique_dev",
    "bamboogle_test",
)
"""A ``dev`` split stands where a set has no test split with answers, as in Search-R1."""


def tasks(sizes: Sizes, seed: int) -> Built:
    """All tasks by split; raises ``InputError`` for sets or sizes that cannot be used."""
    train, test = (
        [pool(name.split("_")[0], SOURCES[name], _pair) for name in names] for names in (TRAIN, TEST)
    )
    return build("searchqa", train, test, sizes, seed, _usable)


def _pair(row: Row) -> tuple[str, str] | None:
    """Question and golds; a question mark is added where there is none, as in Search-R1."""
    question = str(row["question"]).strip()
    if not question:
        return None
    golds = list(dict.fromkeys(str(gold).strip() for gold in row["golden_answers"] if gold))
    return question if question.endswith("?") else f"{question}?", json.dumps(golds, ensure_ascii=False)


def _usable(gold: str) -> str | None:
    """The accepted answers that both verifiers accept from themselves; None if there is none left."""
    answers: list[str] = json.loads(gold)
    kept = [answer for answer in answers if _passes(answer)]
    return json.dumps(kept, ensure_ascii=False) if kept else None


def _passes(answer: str) -> bool:
    text = f"<answer>{answer}</answer>"
    return all(
        verify([answer], text, truncated=False).verdict is Verdict.CORRECT for verify in (canonical, robust)
    )
