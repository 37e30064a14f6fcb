"""The SearchQA verifiers against known faults (one data line each) and against arbitrary text."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.base import Score, Verdict
from envs.searchqa_env.answer import LONGEST, last_answer
from envs.searchqa_env.canonical import canonical, exact_match, token_f1
from envs.searchqa_env.normal import normal
from envs.searchqa_env.robust import robust

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "cases" / "qa_answers.jsonl").read_text("utf-8").splitlines()
]
Verifier = Callable[..., Score]
BOTH = pytest.mark.parametrize("verify", [canonical, robust])
PIECES = st.sampled_from(
    ["<answer>", "</answer>", "<answer", ">", "the ", "A", "1,000", ".5", "-", "\u202e", "\0"]
)
TEXTS = st.lists(PIECES | st.text(max_size=4)).map("".join)
WORDS = st.text(
    st.characters(codec="utf-8", categories=("L", "N", "P", "Zs", "M", "S")), min_size=1, max_size=30
)


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case: dict[str, str | bool | list[str]]) -> None:
    golds, text, cut = (
        list(case["gold"]) if isinstance(case["gold"], list) else [],
        str(case["text"]),
        bool(case.get("truncated")),
    )
    assert canonical(golds, text, truncated=cut).verdict == case["canonical"]
    assert robust(golds, text, truncated=cut).verdict == case["robust"]


def test_case_ids_are_unique() -> None:
    assert len({case["id"] for case in CASES}) == len(CASES) >= 100


def test_every_known_fault_has_a_case() -> None:
    assert {f"Q{number:02}" for number in (1, 2, 3, 4, 5, 7, 9, 10)} <= {case["id"][:3] for case in CASES}


@pytest.mark.parametrize(
    ("text", "content"),
    [
        ("", None),
        ("<answer>", None),
        ("</answer>", None),
        ("</answer><answer>", None),
        ("<answer></answer>", ""),
        ("<answer> a b\n</answer>", "a b"),
        ("<answer>a</answer><answer>b</answer>", "b"),
        ("<answer>a</answer></answer>", "a"),
        ("<answer><answer>a</answer>", "a"),
        ("<answer>a</answer><answer>b", "a"),
        ("<ANSWER>a</ANSWER>", None),
    ],
)
def test_last_answer(text: str, content: str | None) -> None:
    assert last_answer(text) == content


@BOTH
@given(text=TEXTS, gold=TEXTS, cut=st.booleans())
def test_a_verdict_comes_for_any_text(verify: Verifier, text: str, gold: str, cut: bool) -> None:
    score = verify([gold], text, truncated=cut)
    assert score.verdict in (Verdict.CORRECT, Verdict.WRONG, Verdict.TRUNCATED if cut else Verdict.NO_ANSWER)


@given(WORDS.filter(lambda text: bool(normal(text))))
def test_a_gold_is_right_by_its_own_verifier(gold: str) -> None:
    text = f"so <answer>{gold}</answer>"
    assert robust([gold], text, truncated=False).verdict is Verdict.CORRECT
    assert robust(["", "another", gold], text, truncated=True).verdict is Verdict.CORRECT


@given(st.text(max_size=60) | TEXTS)
def test_the_normal_form_is_its_own_normal_form(text: str) -> None:
    assert normal(normal(text)) == normal(text)


@given(st.integers(-(10**12), 10**12))
def test_thousands_separators_never_change_a_verdict(number: int) -> None:
    assert normal(f"{number:,}") == normal(str(number)) == str(number)
    assert normal(f"{number + 1:,}") != normal(str(number))


@given(st.decimals(-(10**6), 10**6, places=3), st.decimals(-(10**6), 10**6, places=3))
def test_decimals_stay_apart(one: object, other: object) -> None:
    assert (normal(f"{one:f}") == normal(f"{other:f}")) == (f"{one:f}" == f"{other:f}")


@BOTH
@pytest.mark.parametrize(
    "unit", ["<answer>", "</answer>", "a", "the ", "<answer>a</answer>", "1,000", "\u202e", "-"]
)
def test_time_is_linear(verify: Verifier, unit: str) -> None:
    start = time.process_time()
    verify(["a"], unit * 500_000, truncated=False)
    verify(["a"], f"<answer>{unit * 500_000}</answer>", truncated=False)
    assert time.process_time() - start < 2.0


def test_no_answer_is_kept_beyond_the_cap() -> None:
    score = robust(["a"], f"<answer>{'a' * 10**6}</answer>", truncated=False)
    assert score.verdict is Verdict.WRONG
    assert len(score.answer or "") == LONGEST


@pytest.mark.parametrize(
    ("gold", "answer", "f1"),
    [
        ("New York", "New York", 1.0),
        ("New York", "New York New York", 2 / 3),
        ("New York", "York", 2 / 3),
        ("New York", "Paris", 0.0),
        ("New York", "", 0.0),
        ("the", "a", 1.0),
        ("a b c d", "d c b", 1.0),
    ],
)
def test_token_f1_counts_repeats(gold: str, answer: str, f1: float) -> None:
    assert token_f1([gold], answer) == pytest.approx(f1)


def test_f1_takes_the_best_gold_and_is_no_exact_match() -> None:
    golds, answers = ["Paris", "New York"], ["New York City", "Paris"]
    assert [token_f1(golds, answer) for answer in answers] == pytest.approx([0.8, 1.0])
    assert [exact_match(golds, answer) for answer in answers] == [False, True]
    assert token_f1([], "Paris") == 0.0
