"""Maths from the hub: DAPO-Math-17K for training, search and selection, AIME 2024 and 2025 for test."""

from __future__ import annotations

import re
from typing import Any

from envs.hub.build import Built, build, pool
from envs.hub.records import Row
from envs.hub.sources import AIME_2024, AIME_2025, DAPO
from envs.settings import Sizes

BEGIN, END = "Solve the following math problem", "Remember to put your answer"
"""How the paragraphs before and after a problem of DAPO begin. They ask for another form of answer."""
_WHOLE = re.compile(r"[+-]?[0-9]{1,30}")


def tasks(sizes: Sizes, seed: int) -> Built:
    """All tasks by split; raises ``InputError`` for sets or sizes that cannot be used."""
    test = [
        pool("aime_2024", AIME_2024, lambda row: _pair(row["Problem"], row["Answer"])),
        pool("aime_2025", AIME_2025, lambda row: _pair(row["problem"], row["answer"])),
    ]
    return build("math", [pool("dapo", DAPO, _dapo)], test, sizes, seed, _usable)


def _dapo(row: Row) -> tuple[str, str] | None:
    """The problem without its instructions; None where they are not where they belong."""
    paragraphs = str(row["prompt"][0]["content"]).split("\n\n") if row["prompt"] else []
    if len(paragraphs) < 3 or not paragraphs[0].startswith(BEGIN) or not paragraphs[-1].startswith(END):
        return None
    return _pair("\n\n".join(paragraphs[1:-1]), row["reward_model.ground_truth"])


def _pair(question: str, gold: Any) -> tuple[str, str] | None:
    return (question.strip(), str(gold).strip()) if question.strip() else None


def _usable(gold: str) -> str | None:
    """A whole number in its shortest form (AIME prints 070 for 70); both sets have no other answers."""
    return str(int(gold)) if _WHOLE.fullmatch(gold) else None
