"""The maths verifiers against known faults (one data line each) and against random numbers."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.base import Score, Verdict
from envs.math_env.answer import Box, last_box
from envs.math_env.canonical import canonical
from envs.math_env.robust import RobustVerifier
from envs.math_env.robust_rules import plain_number

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "cases" / "math_answers.jsonl").read_text("utf-8").splitlines()
]


@pytest.fixture(scope="module")
def robust() -> Iterator[RobustVerifier]:
    verifier = RobustVerifier()
    yield verifier
    verifier.close()


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case: dict[str, str | bool], robust: RobustVerifier) -> None:
    gold, text, cut = str(case["gold"]), str(case["text"]), bool(case.get("truncated", False))
    assert canonical(gold, text, truncated=cut).verdict == case["canonical"]
    score = robust.verify(gold, text, truncated=cut)
    assert score.verdict == case["robust"], score


def test_case_ids_are_unique() -> None:
    assert len({case["id"] for case in CASES}) == len(CASES) > 250


@pytest.mark.parametrize(
    ("text", "box"),
    [
        ("", Box("none")),
        (r"\boxed", Box("none")),
        (r"\boxed 5", Box("none")),
        (r"\fbox{5}", Box("none")),
        (r"\boxed{", Box("unclosed")),
        (r"\boxed{5} \boxed{6", Box("unclosed")),
        (r"\boxed{}", Box("found", "")),
        (r"\boxed{ 5 }", Box("found", " 5 ")),
        ("\\boxed \n {5}", Box("found", "5")),
        (r"\boxed{\{1\}}", Box("found", r"\{1\}")),
        (r"\boxed{\}}", Box("found", r"\}")),
        (r"\boxed{a \\}", Box("found", r"a \\")),
        (r"\boxed{a{b{c}}d}}", Box("found", "a{b{c}}d")),
        (r"\boxed{\text{no \boxed here}}", Box("found", r"\text{no \boxed here}")),
        (r"\boxed{1 + \boxed{2}}", Box("found", "2")),
    ],
)
def test_last_box(text: str, box: Box) -> None:
    assert last_box(text) == box


PIECES = st.sampled_from(["\\boxed", "{", "}", "\\", " ", "5", "\n"]) | st.text(max_size=3)


@given(st.lists(PIECES).map("".join))
def test_last_box_never_raises(text: str) -> None:
    box = last_box(text)
    assert box.content in text
    assert (box.state == "none") == (not re.search(r"\\boxed\s*\{", text))


@pytest.mark.parametrize("unit", ["\\boxed{", "\\boxed", "\\boxed ", " ", "{", "\\boxed{}", "\\"])
def test_last_box_is_linear(unit: str) -> None:
    start = time.process_time()
    last_box(unit * 1_000_000)
    last_box("\\boxed{" + unit * 1_000_000)
    assert time.process_time() - start < 4.0


def test_a_blank_box_is_no_answer(robust: RobustVerifier) -> None:
    for verify in (canonical, robust.verify):
        assert verify("5", r"\boxed{ }", truncated=False).verdict is Verdict.NO_ANSWER
        assert verify("5", "5", truncated=True).verdict is Verdict.TRUNCATED
        assert verify("5", r"\boxed{5}", truncated=True).verdict is Verdict.CORRECT


def test_canonical_window_is_100_characters() -> None:
    assert canonical("5", r"\boxed{5}" + "." * 91, truncated=False).verdict is Verdict.CORRECT
    assert canonical("5", r"\boxed{5}" + "." * 92, truncated=False).verdict is Verdict.NO_ANSWER


def test_gold_side_is_fixed(robust: RobustVerifier) -> None:
    assert robust.verify(r"28\%", r"\boxed{0.28}", truncated=False).verdict is Verdict.CORRECT
    assert robust.verify("0.28", r"\boxed{28\%}", truncated=False).verdict is Verdict.CORRECT
    assert robust.verify(r"0.5\%", r"\boxed{0.5}", truncated=False).verdict is Verdict.CORRECT
    assert robust.verify("0.5", r"\boxed{0.5\%}", truncated=False).verdict is Verdict.WRONG


def test_a_gold_without_value_is_a_verifier_error(robust: RobustVerifier) -> None:
    score = robust.verify(r"\frac{0}{0}", r"\boxed{5}", truncated=False)
    assert score.verdict is Verdict.VERIFIER_ERROR
    assert "no value" in score.detail


def test_grades_from_other_threads_with_the_limit_in_force(robust: RobustVerifier) -> None:
    scores: dict[str, Score] = {}

    def grade(gold: str, answer: str) -> None:
        scores[answer] = robust.verify(gold, rf"\boxed{{{answer}}}", truncated=False)

    pairs = [("1", "1"), ("1", "9^{9^{9^9}}"), (r"\sqrt{8}", r"2\sqrt{2}"), ("x<3", r"(-\infty,3)")]
    threads = [threading.Thread(target=grade, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert scores.pop("9^{9^{9^9}}").verdict is Verdict.VERIFIER_ERROR
    assert [score.verdict for score in scores.values()] == [Verdict.CORRECT] * 3


def _grouped(number: int) -> str:
    return f"{number:,}"


@given(st.integers(min_value=-(10**12), max_value=10**12))
def test_integer_spellings(robust: RobustVerifier, number: int) -> None:
    sign, size = ("-" if number < 0 else ""), abs(number)
    spellings = [
        f"{number}", f" {number} ", f"{number}.0", f"{number}.", f"${number}$", rf"\text{{{number}}}",
        _grouped(number), _grouped(number).replace(",", "{,}"), f"{sign}00{size}", rf"\frac{{{number}}}{{1}}",
        rf"{sign}\dfrac{{{2 * size}}}{{2}}", f"{number}/1",
    ]  # fmt: skip
    for spelling in spellings:
        text = rf"\boxed{{{spelling}}}"
        assert robust.verify(str(number), text, truncated=False).value == 1.0, spelling
        assert robust.verify(str(number + 1), text, truncated=False).value == 0.0, spelling


@given(st.fractions(min_value=-(10**6), max_value=10**6, max_denominator=10**6))
def test_fraction_spellings(robust: RobustVerifier, number: Fraction) -> None:
    top, bottom = number.numerator, number.denominator
    gold, off = rf"\frac{{{top}}}{{{bottom}}}", rf"\frac{{{top + bottom}}}{{{bottom}}}"
    sign = "-" if top < 0 else ""
    tripled = rf"{sign}\tfrac{{{3 * abs(top)}}}{{{3 * bottom}}}"
    for spelling in (gold, f"{top}/{bottom}", tripled, f"${gold}$"):
        assert robust.verify(gold, rf"\boxed{{{spelling}}}", truncated=False).value == 1.0, spelling
        assert robust.verify(off, rf"\boxed{{{spelling}}}", truncated=False).value == 0.0, spelling


@given(st.decimals(min_value=-(10**6), max_value=10**6, places=6))
def test_decimal_spellings(robust: RobustVerifier, number: object) -> None:
    text = f"{number:f}"
    exact = Fraction(text)
    gold = rf"\frac{{{exact.numerator}}}{{{exact.denominator}}}"
    assert robust.verify(gold, rf"\boxed{{{text}}}", truncated=False).value == 1.0
    assert robust.verify(gold, rf"\boxed{{{text}0}}", truncated=False).value == 1.0
    assert robust.verify(gold, rf"\boxed{{{text}1}}", truncated=False).value == 0.0


@given(st.text(max_size=60))
def test_plain_number_never_raises(text: str) -> None:
    number = plain_number(text)
    assert number is None or isinstance(number.value, Fraction)
