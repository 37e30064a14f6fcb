"""The overlap guard: what counts as the same question, as nearly the same, and as another one."""

from __future__ import annotations

import random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from envs.base import SPLITS, InputError, Split, Task
from envs.hub.overlap import FEWEST, RUN, SHARED, Overlap, normal, refuse_overlap, runs

LONG = (
    "Every morning Aya goes for a nine kilometre walk and stops at a coffee shop afterwards. When she walks "
    "at a constant speed the walk takes her four hours, including some minutes spent in the coffee shop."
)
WORDS = st.lists(st.text("abcdefgh", min_size=1, max_size=6), min_size=RUN + FEWEST, max_size=60)


def found(one: str, other: str) -> str:
    guard = Overlap()
    guard.add(one, "test")
    twin = guard.find(other)
    return twin.kind if twin else ""


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("Who wrote Hamlet?", "who  wrote\n hamlet", "same"),
        ("What is “x”, then?", 'What is "x" then?', "same"),
        ("Find $x$ if $x+1=2$.", "find x if x+1=2", "same"),
        ("Find $x$ if $x+1=2$.", "find x if x-1=2", ""),
        ("What is 5! in base 7?", "What is 5 in base 7?", ""),
        ("Solve 3.5 x = 7", "Solve 35 x = 7", ""),
        ("How long is (0,1]?", "How long is [0,1]?", ""),
        ("f'(x) at 2?", "f(x) at 2?", ""),
        ("Who is the author of the Firm?", "Who is the author of the Prince?", ""),
        ("ﬁnd the ｘ", "find the x", "same"),
        (LONG, LONG.replace("nine", "seven"), "near"),
        (LONG, f"Consider this story. {LONG} How many minutes is she in the shop?", "near"),
        (LONG, LONG.split(". ")[0] + ". What does she drink there when it rains on a long cold day?", ""),
        (LONG, LONG[:60] + " up the hill, and comes back in a bus that takes her to the old town again.", ""),
        ("求所有满足条件的正整数组成的集合的元素个数", "求所有满足条件的正整数组成的集合的元素之和", "near"),
        ("", "", "same"),
        ("", "x", ""),
    ],
)
def test_pairs(one: str, other: str, expected: str) -> None:
    assert found(one, other) == expected
    assert found(other, one) == expected


@given(text=st.text())
def test_any_text_repeats_itself_and_its_normal_form(text: str) -> None:
    assert found(text, text) == "same"
    assert normal(normal(text)) == normal(text)
    assert found(text, normal(text)) == "same"


@given(one=st.text(), other=st.text())
def test_the_guard_does_not_care_which_text_came_first(one: str, other: str) -> None:
    assert found(one, other) == found(other, one)


@given(words=WORDS, before=WORDS, after=WORDS)
def test_a_long_text_inside_another_is_found(words: list[str], before: list[str], after: list[str]) -> None:
    text = " ".join(words)
    assume(len(runs(text)) >= FEWEST)
    assert found(text, " ".join([*before, *words, *after])) in ("near", "same")


@given(words=WORDS, place=st.integers(0, 59))
def test_one_word_changed_in_a_text_of_distinct_words(words: list[str], place: int) -> None:
    own = [f"{word}{number}" for number, word in enumerate(words)]
    changed = [*own]
    changed[place % len(own)] = "other"
    lost = len(runs(" ".join(own)) - runs(" ".join(changed)))
    assert 1 <= lost <= RUN
    count = len(own) - RUN + 1
    near = count >= FEWEST and (count - lost) / count >= SHARED
    assert found(" ".join(own), " ".join(changed)) == ("near" if near else "")


@settings(max_examples=30)
@given(words=st.lists(WORDS, min_size=2, max_size=6), data=st.data())
def test_what_is_found_is_the_same_as_by_comparing_all_pairs(
    words: list[list[str]], data: st.DataObject
) -> None:
    texts = [" ".join(each) for each in words]
    asked = texts.pop(data.draw(st.integers(0, len(texts) - 1)))
    guard = Overlap()
    for text in texts:
        guard.add(text, text)
    pairs = {found(text, asked) for text in texts}
    twin = guard.find(asked)
    assert (twin.kind if twin else "") == ("same" if "same" in pairs else "near" if "near" in pairs else "")


def tasks(**texts: list[str]) -> dict[Split, list[Task]]:
    return {split: [Task.make("x", split, text, "g") for text in texts.get(split, [])] for split in SPLITS}


def test_splits_that_share_nothing_pass() -> None:
    refuse_overlap(tasks(weight=[LONG, "a"], search=["b"], test=["c", "d"]))


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (
            {"weight": ["Who?"], "test": ["who"]},
            "(weight) is the same question as one of test: 'Who?' and 'who'; splits",
        ),
        (
            {"search": [LONG], "test": [f"Now: {LONG}"]},
            "(search) is nearly the same question as one of test: 'Every",
        ),
        ({"select": ["a b", "A  b."]}, "(select) is the same question as one of select: 'A  b.'"),
    ],
)
def test_an_overlap_is_refused_with_both_texts_and_the_next_step(
    texts: dict[str, list[str]], said: str
) -> None:
    with pytest.raises(InputError) as caught:
        refuse_overlap(tasks(**texts))
    assert said in str(caught.value)
    assert str(caught.value).endswith("remove one of the two from the data")


def test_near_questions_inside_one_split_are_allowed() -> None:
    refuse_overlap(tasks(weight=[LONG, LONG.replace("nine", "seven")]))


def test_the_size_of_the_published_sets_is_no_obstacle() -> None:
    """18,000 training texts of sixty words against 2,000 of test: some seconds; all pairs would be 36 million."""
    rng = random.Random(0)
    words = [f"w{number}" for number in range(5000)]
    guard = Overlap()
    test = [" ".join(rng.choices(words, k=60)) for _ in range(2000)]
    for text in test:
        guard.add(text, "test")
    train = [" ".join(rng.choices(words, k=60)) for _ in range(18_000)] + test[:10]
    assert sum(guard.find(text) is not None for text in train) == 10
