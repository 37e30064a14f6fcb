"""That every known fault of answers, moves, units and numbers stands as a case, and those that are no text."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from bench.wording import percent
from envs.base import Score, Verdict
from envs.searchqa_env.canonical import canonical, token_f1

CASES = Path(__file__).parent / "cases"
FAULTS = {
    "math": "M01 M02 M03 M04 M05 M07 M08 M10 M11 M12 M13 M14 M16 M17 M18 M20 Z01 Z02 T06",
    "qa": "Q01 Q02 Q03 Q04 Q05 Q07 Q09 Q10",
    "chess": "C01 C02 C04 C06 C07 C09 C11 C13 C14",
}
"""Ids by verifier; Q10 and Z05 have their figures below, M17 has its threads in ``test_math_verifier``."""


@pytest.mark.parametrize(
    ("verifier", "fault"), [(name, fault) for name, faults in FAULTS.items() for fault in faults.split()]
)
def test_it_has_a_case(verifier: str, fault: str) -> None:
    ids = [json.loads(line)["id"] for path in CASES.glob(f"{verifier}_*.jsonl") for line in path.open("rb")]
    assert any(name.startswith(fault) for name in ids)


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, float("nan")], ids=lambda value: f"S13-{value}"
)
def test_a_score_that_is_no_number_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="must be finite"):
        Score(Verdict.CORRECT, value)


@pytest.mark.parametrize("verdict", list(Verdict), ids=lambda verdict: f"S13-{verdict}")
def test_every_verdict_has_a_finite_score(verdict: Verdict) -> None:
    assert Score.of(verdict).value == float(verdict is Verdict.CORRECT)


@pytest.mark.parametrize(
    ("fraction", "shown"), [(0.005, "0.5"), (0.0049, "0.5"), (0.0, "0.0"), (0.9949, "99.5"), (None, "–")],
    ids=lambda value: f"X02-{value}",
)  # fmt: skip
def test_rounding_never_favours_the_grader(fraction: float | None, shown: str) -> None:
    assert percent(fraction) == shown


@pytest.mark.parametrize(
    ("gold", "answer", "f1"),
    [
        ("New York", "New York New York", 2 / 3),
        ("New York New York", "New York", 2 / 3),
        ("a b b c", "b c", 0.8),
        ("New York", "York", 2 / 3),
        ("York York", "York", 2 / 3),
    ],
    ids=lambda value: f"Z05-{value}",
)
def test_token_f1_counts_tokens_and_is_not_rounded(gold: str, answer: str, f1: float) -> None:
    assert token_f1([gold], answer) == f1


def test_three_metrics_have_three_values() -> None:
    """Q10: exact match is the verdict; that a text holds the gold, or shares words with it, is no match."""
    score = canonical(["New York"], "<answer>New York City</answer>", truncated=False)
    assert (score.value, "new york" in (score.answer or "").lower()) == (0.0, True)
    assert token_f1(["New York"], "New York City") == pytest.approx(0.8)
