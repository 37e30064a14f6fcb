"""Training rows: exact sampled ids, a mask by span, padding by place, and nothing that was cut."""

from __future__ import annotations

import random

import pytest

from envs.base import Verdict
from tests.small import call, rollout, tokenizer_of
from whale.rows import Row, accepted, counted, rows_of, trained_tokens

EOS = 0


def test_merged_calls_have_a_mask_by_span() -> None:
    made = rollout(call([1, 2], [3, EOS]), call([1, 2, 3, EOS, 8, 8, 9], [4, 5, EOS]))
    assert rows_of(made) == [Row((1, 2, 3, EOS, 8, 8, 9, 4, 5, EOS), (0, 0, 1, 1, 0, 0, 0, 1, 1, 1))]
    (row,) = rows_of(made)
    assert (len(row.ids), row.trained) == (len(row.mask), 5)


def test_three_turns_become_one_row() -> None:
    turns = [call([1], [2]), call([1, 2, 7], [3]), call([1, 2, 7, 3, 7], [4])]
    assert rows_of(rollout(*turns)) == [Row((1, 2, 7, 3, 7, 4), (0, 1, 0, 1, 0, 1))]


@pytest.mark.parametrize(
    "prompt",
    [[1, 2, 3, 9], [1, 2, 9, EOS, 8], [1, 2], [1, 2, 3], [9]],
    ids=["end cut off", "reply rewritten", "same prompt", "shorter", "other"],
)
def test_a_prompt_that_does_not_extend_the_row_stays_apart(prompt: list[int]) -> None:
    made = rollout(call([1, 2], [3, EOS]), call(prompt, [5]))
    assert rows_of(made) == [
        Row((1, 2, 3, EOS), (0, 0, 1, 1)),
        Row((*prompt, 5), (0,) * len(prompt) + (1,)),
    ]


def test_only_the_row_just_before_is_extended() -> None:
    made = rollout(call([1], [2]), call([9], [5]), call([1, 2, 7], [3]))
    assert [row.ids for row in rows_of(made)] == [(1, 2), (9, 5), (1, 2, 7, 3)]


def test_every_sample_of_a_vote_is_a_row_of_its_own() -> None:
    made = rollout(call([1, 2], [3], [4, EOS], [3]), call([1, 2, 3, 7], [6]))
    assert [row.ids for row in rows_of(made)] == [(1, 2, 3), (1, 2, 4, EOS), (1, 2, 3, 7, 6)]
    assert rows_of(made)[-1].mask == (0, 0, 1, 0, 1)


def test_ids_are_never_tokenised_again() -> None:
    tokenizer = tokenizer_of()
    rng = random.Random(0)
    prompt = tuple(tokenizer.encode("2 + 2 =", add_special_tokens=False))
    completion = tuple(rng.randrange(2, 258) for _ in range(40))
    text = tokenizer.decode(completion)
    assert tuple(tokenizer.encode(text, add_special_tokens=False)) != completion
    (row,) = rows_of(rollout(call(prompt, completion)))
    assert row.ids == prompt + completion


def test_multiplicity_is_counted_over_rollouts_and_weighs_in_the_denominator() -> None:
    same = [rollout(call([1], [2, 3]), sample=index) for index in range(3)]
    other = rollout(call([1], [2]))
    rows = dict(counted([*same, other]))
    assert rows == {Row((1, 2, 3), (0, 1, 1)): 3, Row((1, 2), (0, 1)): 1}
    assert trained_tokens(list(rows.items())) == 3 * 2 + 1


def test_what_is_trained_on() -> None:
    good = call([1], [2, EOS])
    assert accepted(rollout(good))
    assert not accepted(rollout())
    assert not accepted(rollout(call([1], [2], finish="length")))
    assert not accepted(rollout(call([1], [2], finish="length"), good))
    assert not accepted(rollout(good, call([1], [2], [3], finish="length")))
    for verdict in set(Verdict) - {Verdict.CORRECT}:
        assert not accepted(rollout(good, verdict=verdict))


def test_impossible_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="2 ids but 1 mask entries"):
        Row((1, 2), (1,))
    with pytest.raises(ValueError, match="no token of the model's own"):
        Row((1, 2), (0, 0))
