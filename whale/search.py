"""Harness search under fixed weights (Meta-Harness): propose, check, score, confirm, accept.

Source: WHALE (arXiv 2609.00196), harness search. The published rule takes the archive's best of single noisy
scores (``accept = argmax``); ours lets the best few meet the incoming harness again on fresh samples
(``accept = confirm``). A search that finds nothing new is an error, never "keep the old harness".
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from envs.base import Task
from whale.agent import State
from whale.archive import Archive, Candidate
from whale.budget import SearchSettings
from whale.candidates import FAILURES, invalid_candidate, scored_candidate, trace_of
from whale.control import Control
from whale.lab import Lab, fields, hash_free
from whale.phases import Search
from whale.prompt_text import same_but_texts
from whale.proposer import Proposal, Proposer, source_key
from whale.records import Harness, Rollout, Spend
from whale.rollout import Work
from whale.store import write_json

ROUNDS = 4
"""How often an iteration asks again when proposals turn out invalid."""


class SearchError(RuntimeError):
    """The search could not be carried out (the proposer has nothing new, or only invalid harnesses)."""


@dataclass(frozen=True, slots=True)
class Scored:
    """One candidate as the result file shows it."""

    iteration: int
    harness_id: str
    parent: str | None
    edit: str
    screen: float | None
    confirm: float | None
    accepted: bool
    note: str


@dataclass(frozen=True, slots=True)
class Searched:
    """Result of a search phase."""

    state: State
    screening: Spend
    confirming: Spend
    candidates: tuple[Scored, ...]


class HarnessSearch:
    """Phase H."""

    def __init__(self, lab: Lab, proposer: Proposer, settings: SearchSettings, control: Control) -> None:
        self.lab, self.proposer, self.settings, self.control = lab, proposer, settings, control
        self.tasks: Sequence[Task] = lab.env.tasks("search")[: settings.examples]

    def run(self, state: State, phase: Search, seed: int, failures: Sequence[Rollout] = ()) -> Searched:
        """Search for a better harness.

        A ``continued`` phase goes on with the archive of the search before. ``failures``: rollouts on the weight split
        that a proposer sees in place of the incoming harness's, where the phase says so. Raises ``SearchError`` when
        the proposer cannot fill an iteration.
        """
        before = state.archive if phase.continued else None
        key = self.lab.key(
            "search",
            weights=state.weights_id,
            harness=state.harness.id,
            before=before.name if before else None,
            number=state.searches,
            iterations=phase.iterations,
            until=phase.until.model_dump() if phase.until else None,
            space=phase.space,
            evidence=[phase.evidence, *(rollout.key for rollout in failures)],
            settings=self.settings.model_dump(),
            proposer=self.proposer.name,
            seed=seed,
        )
        target = self.lab.root / "searches" / key
        if not (target / "done.json").is_file():
            _Search(self, state, phase, seed, target, failures).carry_out(before)
        done = json.loads((target / "done.json").read_text(encoding="utf-8"))
        accepted = Harness(**done["harness"])
        after = replace(state, harness=accepted, searches=state.searches + 1, archive=target)
        rows = tuple(Scored(**row) for row in done["candidates"])
        spends = Spend(**done["screening"]), Spend(**done["confirming"])
        return Searched(after, *spends, rows)


class _Search:
    """One search. Everything is computed again from recorded rollouts and proposals; only those cost anything."""

    def __init__(
        self,
        parts: HarnessSearch,
        state: State,
        phase: Search,
        seed: int,
        target: Path,
        failures: Sequence[Rollout],
    ) -> None:
        self.lab, self.proposer, self.settings = parts.lab, parts.proposer, parts.settings
        self.control, self.tasks = parts.control, parts.tasks
        self.state, self.phase, self.seed, self.target = state, phase, seed, target
        self.failures = failures
        self.archive: Archive

    def carry_out(self, before: Path | None) -> None:
        """All of it, from the archive of the search before (if any) to ``done.json``."""
        shutil.rmtree(self.target / "archive", ignore_errors=True)
        if before is not None:
            shutil.copytree(before / "archive", self.target / "archive")
        archive = self.archive = Archive.open(self.target / "archive")
        first = max((candidate.iteration for candidate in archive.candidates()), default=-1) + 1
        spend = self._score([(self.state.harness, "the harness in force")], first, incoming=True)
        bests = [archive.best().mean]
        for iteration in range(first + 1, first + 1 + self.phase.iterations):
            proposals = self._proposals(iteration)
            new = [(Harness(item.source, item.parent, item.edit), item.why) for item in proposals]
            spend += self._score(new, iteration)
            bests.append(archive.best().mean)
            if self.phase.until and self.phase.until.enough(bests[1:], before=bests[0]):
                break
        confirmed, again = self._confirm()
        winner = self._accept(confirmed)
        body = {
            "harness": fields(winner),
            "screening": fields(spend),
            "confirming": fields(again),
            "candidates": [asdict(row) for row in self._rows(first, confirmed, winner)],
        }
        write_json(self.target / "done.json", body)

    def _rows(self, first: int, confirmed: dict[str, float], winner: Harness) -> list[Scored]:
        """What this search added to the archive, for the result file."""
        return [
            Scored(
                candidate.iteration - first,
                candidate.harness_id,
                candidate.parent,
                candidate.edit,
                None if candidate.invalid else candidate.mean,
                confirmed.get(candidate.harness_id),
                candidate.harness_id == winner.id,
                candidate.invalid,
            )
            for candidate in self.archive.candidates()
            if candidate.iteration >= first
        ]

    def _score(self, new: Sequence[tuple[Harness, str]], iteration: int, *, incoming: bool = False) -> Spend:
        """One rollout a search task for each of these harnesses (with why), recorded in the archive."""
        work = [Work(task, harness, 0) for harness, _ in new for task in self.tasks]
        purpose = f"search {self.state.searches} iteration {iteration}"
        made = self.lab.rollouts(self.state, work, purpose, self.seed)
        known = {candidate.harness_id for candidate in self.archive.candidates()}
        for index, (harness, why) in enumerate(new):
            if harness.id not in known:
                mine = made[index * len(self.tasks) : (index + 1) * len(self.tasks)]
                candidate = scored_candidate(harness, why, iteration, self.tasks, mine)
                self.archive.add(self._as_seen(candidate, incoming=incoming))
        return Spend.total(rollout.spend for rollout in made)

    def _as_seen(self, candidate: Candidate, *, incoming: bool) -> Candidate:
        """The candidate with the traces that a proposer may see (``Search.evidence``)."""
        if self.phase.evidence == "search":
            return candidate
        tasks = {task.id: task for task in self.lab.env.tasks("weight")}
        traces = tuple(trace_of(tasks[rollout.task_id], rollout) for rollout in self.failures)
        if not incoming:
            traces = tuple(trace for trace in candidate.traces if trace.verdict in FAILURES)
        return replace(candidate, traces=traces, failures_only=True)

    def _proposals(self, iteration: int) -> list[Proposal]:
        """M valid proposals; recorded before they are used, since a proposer may cost money and vary.

        The refused ones are recorded too: a search that is taken up again must see the same archive.
        """
        record = self.target / "proposals" / f"{iteration:03d}.json"
        if not record.is_file():
            asked = self._ask(iteration)
            write_json(record, [{**asdict(item), "refusal": reason} for item, reason in asked])
        valid: list[Proposal] = []
        for row in json.loads(record.read_text(encoding="utf-8")):
            reason = row.pop("refusal", "")
            if reason:
                self.archive.add(invalid_candidate(Proposal(**row), iteration, reason))
            else:
                valid.append(Proposal(**row))
        return valid

    def _ask(self, iteration: int) -> list[tuple[Proposal, str]]:
        """M valid proposals and those refused on the way, each with the reason (empty for the valid)."""
        asked: list[tuple[Proposal, str]] = []
        known = {source_key(candidate.source) for candidate in self.archive.candidates()}
        wanted = self.settings.candidates
        for round_ in range(ROUNDS):
            rng = hash_free(self.seed, self.state.weights_id, self.state.searches, iteration, round_)
            for proposal in self.proposer.propose(self.archive, wanted, rng)[:wanted]:
                if source_key(proposal.source) in known:
                    continue
                known.add(source_key(proposal.source))
                reason = self._outside(proposal) or self.control.refusal(proposal.source, self.tasks)
                if reason:
                    self.archive.add(invalid_candidate(proposal, iteration, reason))
                asked.append((proposal, reason))
            wanted = self.settings.candidates - sum(not reason for _, reason in asked)
            if not wanted:
                return asked
        refused = [f"{proposal.edit}: {reason}" for proposal, reason in asked if reason]
        raise SearchError(
            f"iteration {iteration}: {len(asked) - len(refused)} valid harnesses of {self.settings.candidates} asked; "
            f"refused: {'; '.join(refused[-3:]) or 'none, the proposer had nothing new'}. "
            "Ask for fewer candidates or iterations, or use another proposer"
        )

    def _outside(self, proposal: Proposal) -> str:
        """Why a proposal lies outside the search space; empty when it does not."""
        if self.phase.space == "code":
            return ""
        sources = {candidate.harness_id: candidate.source for candidate in self.archive.candidates()}
        if same_but_texts(sources.get(proposal.parent, ""), proposal.source):
            return ""
        return (
            f"it changes more than the texts of its parent {proposal.parent}, which is all this search may do"
        )

    def _confirm(self) -> tuple[dict[str, float], Spend]:
        """Mean score on fresh samples of the incoming harness and of the best few others, by harness id."""
        if self.settings.accept == "argmax":
            return {}, Spend()
        others = [row for row in _ranked(self.archive) if row.harness_id != self.state.harness.id]
        finalists = [self.state.harness, *map(_harness, others[: self.settings.finalists])]
        work = [
            Work(task, harness, 1 + sample)
            for harness in finalists
            for task in self.tasks
            for sample in range(self.settings.confirm_samples)
        ]
        made = self.lab.rollouts(self.state, work, f"search {self.state.searches} confirm", self.seed)
        scores: dict[str, list[float]] = {}
        for rollout in made:
            scores.setdefault(rollout.harness_id, []).append(rollout.score.value)
        means = {harness: sum(values) / len(values) for harness, values in scores.items()}
        return means, Spend.total(rollout.spend for rollout in made)

    def _accept(self, confirmed: dict[str, float]) -> Harness:
        """The next harness in force; under ``confirm`` the incoming one stays unless strictly beaten."""
        if self.settings.accept == "argmax":
            return _harness(self.archive.best())
        best = max(confirmed.values())
        if confirmed[self.state.harness.id] >= best:
            return self.state.harness
        return next(_harness(row) for row in _ranked(self.archive) if confirmed.get(row.harness_id) == best)


def _ranked(archive: Archive) -> list[Candidate]:
    """Valid candidates, best first; ties to fewer model calls, then to the earlier one."""
    valid = [candidate for candidate in archive.candidates() if not candidate.invalid]
    return sorted(valid, key=lambda candidate: (-candidate.mean, candidate.calls_mean))


def _harness(candidate: Candidate) -> Harness:
    return Harness(candidate.source, candidate.parent, candidate.edit)
