"""Which starts of prompts are kept apart: always proper starts, the most saving first, nothing for pennies."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from whale.starts import WORTH, choose_starts, common

PROMPTS = st.lists(
    st.lists(st.integers(0, 2), min_size=1, max_size=6).map(lambda row: tuple(row) * 8), max_size=12
)
EXAMPLES = tuple(range(100, 400))
"""A long start, as of worked examples."""


@given(PROMPTS, PROMPTS)
def test_a_start_is_shorter_than_its_prompt_and_shared_or_known(
    prompts: list[tuple[int, ...]], known: list[tuple[int, ...]]
) -> None:
    chosen = choose_starts(prompts, known)
    assert set(chosen) == set(prompts)
    for prompt, start in chosen.items():
        assert len(start) < len(prompt)
        assert prompt[: len(start)] == start
        if start:
            others = sum(other == start for other in chosen.values())
            assert len(start) * (others - (start not in known)) >= WORTH


def test_a_few_odd_prompts_do_not_spoil_the_start_of_the_rest() -> None:
    many = [(*EXAMPLES, number, 1) for number in range(20)]
    odd = [(100, 101, 7, 7), (8,)]
    chosen = choose_starts([odd[0], *many, odd[1]])
    assert {chosen[prompt] for prompt in many} == {EXAMPLES}
    assert chosen[odd[0]] == chosen[odd[1]] == ()


def test_two_harnesses_have_a_start_each() -> None:
    one = [(*EXAMPLES, number, 1) for number in range(9)]
    two = [(*EXAMPLES[:50], 5, *EXAMPLES, number) for number in range(9)]
    chosen = choose_starts(one + two)
    assert {chosen[prompt] for prompt in one} == {EXAMPLES}
    assert {chosen[prompt] for prompt in two} == {(*EXAMPLES[:50], 5, *EXAMPLES)}


def test_a_known_start_serves_even_a_single_prompt() -> None:
    prompt = (*EXAMPLES, 1, 2)
    assert choose_starts([prompt]) == {prompt: ()}
    assert choose_starts([prompt], [EXAMPLES]) == {prompt: EXAMPLES}
    assert choose_starts([EXAMPLES], [EXAMPLES]) == {EXAMPLES: ()}
    assert choose_starts([]) == {}


def test_common_leaves_a_token_of_both() -> None:
    assert common((1, 2, 3), (1, 2, 3)) == 2
    assert common((1, 2, 3), (1, 2)) == 1
    assert common((1,), (1, 2)) == 0
    assert common((1, 2, 3, 4), (1, 2, 9, 4)) == 2
