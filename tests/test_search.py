"""Harness search with a real model: what is accepted, what is refused, what it costs, and how it resumes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from envs.base import Environment, Task
from envs.math_env.env import MathEnvironment
from tests.small import ASK, Bench, PlainEnvironment
from whale.agent import State
from whale.archive import Archive
from whale.budget import SearchSettings
from whale.control import Control
from whale.harnesses import starting
from whale.hosting import HarnessHost
from whale.models import ModelSource
from whale.phases import Search
from whale.proposer import Proposal
from whale.records import Harness, Rollout
from whale.search import HarnessSearch, Searched, SearchError

GOOD = starting("math_h0").source
MUTE = "def solve(problem):\n    yield Chat([user(problem.question)], max_tokens=4)\n    return 'no idea'\n"
MUTE_TOO = MUTE.replace("no idea", "no idea at all")
QUIET = "def solve(problem):\n    if False:\n        yield\n    return 'no idea'\n"
"""As bad as the others, but ranked before them because it makes no call."""
CHEAT = """
import re

def solve(problem):
    yield Chat([user(problem.question)])
    return f"\\\\boxed{{{eval(re.search('[-0-9 +]+(?= =)', problem.question).group())}}}"
"""
NO_SOLVE = "def answer(problem):\n    return ''\n"
FORK = "import os\n\ndef solve(problem):\n    os.fork()\n    yield Chat([user('x')])\n    return ''\n"


class Script:
    """A proposer that works through a list, call by call; it fails the test when it is asked too often."""

    name = "script"

    def __init__(self, *calls: Sequence[str]) -> None:
        self.calls = list(calls)
        self.asked: list[int] = []

    def propose(self, archive: Archive, n: int, rng_seed: int) -> list[Proposal]:
        self.asked.append(n)
        parent = archive.candidates()[0].harness_id
        sources = self.calls.pop(0)
        return [Proposal(source, parent, f"edit {index}", "scripted") for index, source in enumerate(sources)]


class Place:
    """Searches over one folder; opened anew for each, as after a restart."""

    def __init__(self, root: Path, source: ModelSource, env: Environment, host: HarnessHost) -> None:
        self.root, self.source, self.env, self.host = root, source, env, host
        self.submitted = 0

    def run(
        self,
        proposer: Script,
        *,
        incoming: str = MUTE,
        iterations: int = 1,
        candidates: int = 1,
        accept: str = "confirm",
        state: State | None = None,
        continued: bool = False,
    ) -> Searched:
        bench = Bench(self.root, self.source, self.env, self.host, chunk=64)
        self.settings = SearchSettings.model_validate(
            {"examples": 6, "candidates": candidates, "accept": accept, "finalists": 1, "confirm_samples": 2}
        )
        search = HarnessSearch(bench.lab, proposer, self.settings, Control(self.env, self.host, bench.caps))
        try:
            return search.run(state or bench.state(incoming), Search(iterations, continued), 0)
        finally:
            self.submitted = bench.submitted


@pytest.fixture
def place(tmp_path: Path, tiny_source: ModelSource, math_env: MathEnvironment, host: HarnessHost) -> Place:
    return Place(tmp_path, tiny_source, math_env, host)


class CanaryEnvironment(PlainEnvironment):
    """Its golds are words that nothing but a leak could bring into a file."""

    def __init__(self) -> None:
        super().__init__()
        for split, tasks in self._tasks.items():
            self._tasks[split] = [
                Task.make("plain", split, task.question, f"canary{number}")
                for number, task in enumerate(tasks)
            ]


def test_nothing_that_a_search_leaves_behind_has_a_gold_in_it(
    tmp_path: Path, tiny_source: ModelSource, host: HarnessHost
) -> None:
    env = CanaryEnvironment()
    found = Place(tmp_path, tiny_source, env, host).run(Script([ASK]), incoming=MUTE)
    texts = {path: path.read_text("utf-8", "replace") for path in tmp_path.rglob("*") if path.is_file()}
    assert any(env.tasks("search")[0].question in text for text in texts.values())
    assert [path for path, text in texts.items() if "canary" in text] == []
    assert all(row.screen == 0 for row in found.candidates)


def rows(found: Searched) -> dict[str, tuple[int, bool, str]]:
    return {row.edit: (row.iteration, row.accepted, row.note) for row in found.candidates}


def spent(found: Searched) -> int:
    return found.screening.rollouts + found.confirming.rollouts


def archive_of(found: Searched) -> Archive:
    assert found.state.archive is not None
    return Archive(found.state.archive / "archive")


def test_confirmation_keeps_the_incoming_harness_on_a_tie(place: Place) -> None:
    found = place.run(Script([QUIET]))
    assert found.state.harness.source == MUTE
    assert archive_of(found).best().source == QUIET
    assert [(row.screen, row.confirm, row.accepted) for row in found.candidates] == [
        (0.0, 0.0, True),
        (0.0, 0.0, False),
    ]
    assert (found.state.searches, found.state.steps) == (1, 0)


def test_confirmation_takes_what_is_strictly_better(place: Place) -> None:
    found = place.run(Script([MUTE_TOO, GOOD]), candidates=2)
    assert found.state.harness.source == GOOD
    assert (found.state.harness.parent, found.state.harness.edit) == (Harness(MUTE).id, "edit 1")
    h0, tie, good = found.candidates
    assert good.screen is not None
    assert good.confirm is not None
    assert good.screen > 0
    assert good.confirm > 0
    assert (h0.confirm, tie.confirm, good.accepted, h0.accepted) == (0.0, None, True, False)
    worse = place.run(Script([MUTE]), incoming=GOOD)
    assert worse.state.harness.source == GOOD


def test_argmax_takes_the_archives_best_without_confirmation(place: Place) -> None:
    found = place.run(Script([GOOD], [MUTE_TOO]), iterations=2, accept="argmax")
    best = archive_of(found).best()
    assert found.state.harness == Harness(best.source, best.parent, best.edit)
    assert best.source == GOOD
    assert found.confirming.rollouts == 0
    assert [row.confirm for row in found.candidates] == [None] * 3
    assert spent(found) == place.settings.cost(2) == 6 * 3


@pytest.mark.parametrize(("iterations", "candidates"), [(1, 1), (2, 2)])
def test_a_search_costs_what_its_settings_say(place: Place, iterations: int, candidates: int) -> None:
    sources = [GOOD + f"\nNUMBER = {number}\n" for number in range(iterations * candidates)]
    calls = [sources[index * candidates : (index + 1) * candidates] for index in range(iterations)]
    found = place.run(Script(*calls), iterations=iterations, candidates=candidates)
    assert spent(found) == place.settings.cost(iterations)
    assert found.screening.rollouts == 6 * (1 + iterations * candidates)
    assert found.confirming.rollouts == 2 * 6 * 2
    assert place.submitted == found.screening.model_calls + found.confirming.model_calls
    assert len(found.candidates) == 1 + iterations * candidates


def test_confirmation_uses_fresh_samples(place: Place) -> None:
    place.run(Script([GOOD]))
    seen: dict[tuple[str, str], set[int]] = {}
    for path in (place.root / "rollouts").glob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            made = TypeAdapter(Rollout).validate_json(line)
            samples = seen.setdefault((made.task_id, made.harness_id), set())
            assert made.sample not in samples
            samples.add(made.sample)
    assert set(map(frozenset, seen.values())) == {frozenset({0, 1, 2})}


def test_invalid_proposals_cost_no_rollout_and_are_recorded(place: Place) -> None:
    question = place.env.tasks("test")[0].question
    leak = f"def solve(problem):\n    reply = yield Chat([user({question!r})])\n    return reply.text\n"
    bad = [NO_SOLVE, FORK, leak, CHEAT]
    script = Script([MUTE_TOO, *bad[:3], GOOD], [CHEAT], [GOOD])
    found = place.run(script, candidates=2)
    # The first call gives one valid harness of the two asked for (more than asked is not looked at).
    assert script.asked == [2, 1, 1]
    assert spent(found) == place.settings.cost(1)
    assert place.submitted == found.screening.model_calls + found.confirming.model_calls
    notes = [row.note for row in found.candidates if row.note]
    assert len(notes) == 2
    assert "no `def solve(problem)`" in notes[0]
    assert "it needs no model" in notes[1]
    assert all(row.screen is None and not row.accepted for row in found.candidates if row.note)
    kept = [item for item in archive_of(found).candidates() if item.invalid]
    assert [item.source for item in kept] == [NO_SOLVE, CHEAT]
    assert all(not item.scores and not item.traces for item in kept)


def test_every_kind_of_invalid_proposal_is_refused(place: Place) -> None:
    question = place.env.tasks("test")[0].question
    leak = f"def solve(problem):\n    reply = yield Chat([user({question!r})])\n    return reply.text\n"
    with pytest.raises(SearchError, match="0 valid harnesses of 4 asked") as caught:
        place.run(Script([NO_SOLVE, FORK, leak, CHEAT], [], [], []), candidates=4)
    assert "fails on 6 of 6" in str(caught.value)
    assert "its proposer has not seen" in str(caught.value)
    assert "it needs no model" in str(caught.value)
    assert place.submitted == 6, "only the incoming harness was scored"


def test_a_proposer_with_nothing_new_is_an_error(place: Place) -> None:
    with pytest.raises(SearchError, match="the proposer had nothing new"):
        place.run(Script([], [], [], []))
    script = Script([MUTE], [MUTE + "\n# new comment\n"], [], [MUTE])
    with pytest.raises(SearchError, match="0 valid harnesses of 1 asked"):
        place.run(script)
    assert script.asked == [1, 1, 1, 1]
    assert place.run(Script([], [], [], [MUTE_TOO])).state.harness.source == MUTE, (
        "the last round still counts"
    )


def test_a_finished_search_is_not_run_again(place: Place) -> None:
    first = place.run(Script([NO_SOLVE], [GOOD]))
    again = place.run(Script())
    assert again == first
    assert place.submitted == 0


def test_a_search_that_was_interrupted_ends_as_a_whole_one_does(place: Place) -> None:
    calls = [[NO_SOLVE], [MUTE_TOO], [CHEAT], [GOOD]]
    first = place.run(Script(*calls), iterations=2)
    assert first.state.archive is not None
    summary = (first.state.archive / "archive" / "summary.md").read_bytes()
    (first.state.archive / "done.json").unlink()
    (first.state.archive / "proposals" / "002.json").unlink()
    script = Script(*calls[2:])
    assert place.run(script, iterations=2) == first
    assert place.submitted == 0
    assert script.asked == [1, 1]
    assert (first.state.archive / "archive" / "summary.md").read_bytes() == summary


def test_a_continued_search_goes_on_with_the_archive(place: Place) -> None:
    first = place.run(Script([GOOD]))
    second = place.run(Script([GOOD, MUTE_TOO], [MUTE_TOO]), state=first.state, continued=True)
    assert second.state.archive != first.state.archive
    sources = [item.source for item in archive_of(second).candidates()]
    assert sources == [MUTE, GOOD, MUTE_TOO]
    assert [item.source for item in archive_of(first).candidates()] == [MUTE, GOOD]
    assert second.state.harness.source == GOOD
    assert spent(second) == place.settings.cost(1)
    fresh = place.run(Script([GOOD + "\n# 2\nX = 1\n"]), state=first.state, continued=False)
    assert archive_of(fresh).candidates()[0].source == GOOD


def test_traces_show_what_a_proposer_may_know(place: Place) -> None:
    found = place.run(Script([GOOD]))
    good = archive_of(found).candidates()[1]
    tasks = place.env.tasks("search")[:6]
    assert [trace.question for trace in good.traces] == [task.question for task in tasks]
    assert [trace.verdict == "correct" for trace in good.traces] == [score == 1.0 for score in good.scores]
    assert all(trace.calls[0].replies and trace.calls[0].messages for trace in good.traces)
    assert good.calls_mean >= 1
    assert all(not hasattr(trace, "gold") for trace in good.traces)
