"""Which starts of prompts are kept apart: always proper starts, the most saving first, nothing for pennies."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from whale.starts import choose_starts, common

PROMPTS = st.lists(
    st.lists(st.integers(0, 2), min_size=1, max_size=6).map(lambda row: tuple(row) * 8), max_size=12
)
EXAMPLES = tuple(range(100, 400))
"""A long start, as of worked examples."""


@given(PROMPTS, PROMPTS, st.integers(1, 2))
def test_starts_are_beginnings_of_their_prompt_and_of_each_other(
    prompts: list[tuple[int, ...]], known: list[tuple[int, ...]], samples: int
) -> None:
    chosen = choose_starts(dict.fromkeys(prompts, samples), known)
    assert set(chosen) == set(prompts)
    for prompt, chain in chosen.items():
        for shorter, longer in pairwise([*chain, prompt]):
            assert 0 < len(shorter) < len(longer)
            assert longer[: len(shorter)] == shorter
        base = max(
            (one for one in known if prompt[: len(one)] == one and len(one) < len(prompt)),
            key=len,
            default=(),
        )
        assert not base or chain[0] == base


def last(
    prompts: list[tuple[int, ...]], known: list[tuple[int, ...]] | None = None
) -> dict[tuple[int, ...], tuple[int, ...]]:
    """What each prompt's rows read; one sample a prompt."""
    chosen = choose_starts(dict.fromkeys(prompts, 1), known or [])
    return {prompt: chain[-1] if chain else () for prompt, chain in chosen.items()}


def test_a_few_odd_prompts_do_not_spoil_the_start_of_the_rest() -> None:
    many = [(*EXAMPLES, number, 1) for number in range(20)]
    odd = [(100, 101, 7, 7), (8,)]
    chosen = last([odd[0], *many, odd[1]])
    assert {chosen[prompt] for prompt in many} == {EXAMPLES}
    assert chosen[odd[0]] == chosen[odd[1]] == ()


def test_two_harnesses_have_a_start_each() -> None:
    one = [(*EXAMPLES, number, 1) for number in range(9)]
    two = [(*EXAMPLES[:50], 5, *EXAMPLES, number) for number in range(9)]
    chosen = last(one + two)
    assert {chosen[prompt] for prompt in one} == {EXAMPLES}
    assert {chosen[prompt] for prompt in two} == {(*EXAMPLES[:50], 5, *EXAMPLES)}


def test_starts_within_starts() -> None:
    """As of retries: all have the examples, those of one question have the question too."""
    questions = [(*EXAMPLES, question, *EXAMPLES[:90]) for question in range(6)]
    prompts = [(*question, 7, reply, 9) for question in questions for reply in range(4)]
    chosen = choose_starts(dict.fromkeys(prompts, 1), [EXAMPLES])
    assert chosen == {prompt: (EXAMPLES, (*prompt[:391], 7)) for prompt in prompts}


def test_a_known_start_serves_even_a_single_prompt() -> None:
    prompt = (*EXAMPLES, 1, 2)
    assert last([prompt]) == {prompt: ()}
    assert last([prompt], [EXAMPLES]) == {prompt: EXAMPLES}
    assert last([EXAMPLES], [EXAMPLES]) == {EXAMPLES: ()}
    assert last([]) == {}


def test_the_long_prompt_of_several_samples_is_a_start_itself() -> None:
    prompts = [(*EXAMPLES, number, *EXAMPLES) for number in range(3)]
    chosen = choose_starts({prompts[0]: 8, prompts[1]: 8, prompts[2]: 1})
    assert chosen[prompts[0]] == (EXAMPLES, prompts[0][:-1])
    assert chosen[prompts[2]] == (EXAMPLES,)
    turn = (*prompts[0], 5, 6)
    assert last([turn], [EXAMPLES, prompts[0][:-1]]) == {turn: prompts[0][:-1]}


def test_common_leaves_a_token_of_both() -> None:
    assert common((1, 2, 3), (1, 2, 3)) == 2
    assert common((1, 2, 3), (1, 2)) == 1
    assert common((1,), (1, 2)) == 0
    assert common((1, 2, 3, 4), (1, 2, 9, 4)) == 2
