"""The hub sets that environments read: where each stands, what is read of it, what is published about it.

Facts only. Revisions and hashes stand in the lock; what a row means is for the environment that reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "whole", "text or whole", "texts", "text or texts", "chat"]
"""What a column holds: a text, a whole number, a list of texts, or a list of messages (role and content)."""


@dataclass(frozen=True, slots=True)
class Source:
    """One split of one hub set."""

    name: str
    """What the lock, the commands and the errors call it."""
    repo: str
    """OWNER/NAME on the hub."""
    config: str | None
    """Which of the set's configurations; None where it has one only."""
    split: str
    """The set's own name of the split."""
    columns: Mapping[str, Kind]
    """What is read; a dot leads into a struct. Other columns may stand beside them."""
    rows: int | None
    """Rows as published, copies included; None where the set grows."""
    records: int | None
    """Distinct records as published; None where the set grows."""
    key: str = ""
    """Column that names a record: the first row of a name is read, the others are copies. Empty: no copies."""
    share: float = 1.0
    """Part of the records that is read, chosen by a hash of ``key``; the same part whatever the seed."""


def _qa(name: str, config: str, split: str, rows: int) -> Source:
    columns: Mapping[str, Kind] = {"id": "text", "question": "text", "golden_answers": "texts"}
    return Source(name, "RUC-NLPIR/FlashRAG_datasets", config, split, columns, rows, rows)


DAPO = Source(
    "dapo_math_17k",
    "BytedTsinghua-SIA/DAPO-Math-17k",
    None,
    "train",
    {"prompt": "chat", "reward_model.ground_truth": "text", "extra_info.index": "text"},
    # The hub copy holds each of its 17,917 records 100 times (WHALE's data page names 17,917 after
    # de-duplication). Some records still share their text; those are dropped and counted later.
    rows=1_791_700,
    records=17_917,
    key="extra_info.index",
)
# AIME I and II have 15 problems each; both sets are those that WHALE's data page names.
AIME_2024 = Source(
    "aime_2024",
    "Maxwell-Jia/AIME_2024",
    None,
    "train",
    {"Problem": "text", "Answer": "text or whole"},
    30,
    30,
)
AIME_2025 = Source(
    "aime_2025",
    "yentinglin/aime_2025",
    None,
    "train",
    {"problem": "text", "answer": "text or whole"},
    30,
    30,
)
# The seven sets of Search-R1, in the form in which it reads them. Counts: FlashRAG's table of its sets.
QA = (
    _qa("nq_train", "nq", "train", 79_168),
    _qa("hotpotqa_train", "hotpotqa", "train", 90_447),
    _qa("nq_test", "nq", "test", 3_610),
    _qa("triviaqa_test", "triviaqa", "test", 11_313),
    _qa("popqa_test", "popqa", "test", 14_267),
    _qa("hotpotqa_dev", "hotpotqa", "dev", 7_405),
    _qa("2wikimultihopqa_dev", "2wikimultihopqa", "dev", 12_576),
    _qa("musique_dev", "musique", "dev", 2_417),
    _qa("bamboogle_test", "bamboogle", "test", 125),
)
LICHESS = Source(
    "lichess_puzzles",
    "Lichess/chess-puzzles",
    None,
    "train",
    {
        "PuzzleId": "text",
        "FEN": "text",
        "Moves": "text or texts",
        "Rating": "whole",
        "Popularity": "whole",
        "NbPlays": "whole",
        "Themes": "text or texts",
    },
    # It grew past four million rows and still grows.
    rows=None,
    records=None,
    key="PuzzleId",
    share=1 / 64,  # some 70,000; checking all would take many minutes at every start
)
SOURCES: Mapping[str, Source] = {source.name: source for source in (DAPO, AIME_2024, AIME_2025, *QA, LICHESS)}
