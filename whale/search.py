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
from whale.archive import Archive, Candidate, Trace, TraceCall
from whale.control import Control
from whale.lab import Lab, fields, hash_free
from whale.patience import Patience
from whale.proposer import Proposal, Proposer, source_key
from whale.records import Harness, Rollout, Spend
from whale.rollout import Work
from whale.schedule import SearchSettings
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
    iterations: int
    """How many were carried out."""


class HarnessSearch:
    """Phase H."""

    def __init__(self, lab: Lab, proposer: Proposer, settings: SearchSettings, control: Control) -> None:
        self.lab, self.proposer, self.settings, self.control = lab, proposer, settings, control
        self.tasks: Sequence[Task] = lab.env.tasks("search")[: settings.examples]

    def run(
        self, state: State, iterations: int, seed: int, *, continued: bool, until: Patience | None = None
    ) -> Searched:
        """Search for a better harness; ``continued`` goes on with the archive of the search before.

        ``until`` may have enough before ``iterations`` are through. Raises ``SearchError`` when the proposer cannot
        fill an iteration.
        """
        before = state.archive if continued else None
        key = self.lab.key(
            "search",
            weights=state.weights_id,
            harness=state.harness.id,
            before=before.name if before else None,
            number=state.searches,
            iterations=iterations,
            until=until.model_dump() if until else None,
            settings=self.settings.model_dump(),
            proposer=self.proposer.name,
            seed=seed,
        )
        target = self.lab.root / "searches" / key
        if not (target / "done.json").is_file():
            self._search(state, iterations, seed, target, before, until)
        done = json.loads((target / "done.json").read_text(encoding="utf-8"))
        accepted = Harness(**done["harness"])
        after = replace(state, harness=accepted, searches=state.searches + 1, archive=target)
        rows = tuple(Scored(**row) for row in done["candidates"])
        spends = Spend(**done["screening"]), Spend(**done["confirming"])
        return Searched(after, *spends, rows, done["iterations"])

    def _search(
        self,
        state: State,
        iterations: int,
        seed: int,
        target: Path,
        before: Path | None,
        until: Patience | None,
    ) -> None:
        """Everything is computed again from recorded rollouts and proposals; only those cost anything."""
        shutil.rmtree(target / "archive", ignore_errors=True)
        if before is not None:
            shutil.copytree(before / "archive", target / "archive")
        archive = Archive.open(target / "archive")
        first = max((candidate.iteration for candidate in archive.candidates()), default=-1) + 1
        incoming = [(state.harness, "the harness in force")]
        spend = self._score(archive, state, incoming, first, seed)
        bests = [archive.best().mean]
        for iteration in range(first + 1, first + 1 + iterations):
            proposals = self._proposals(archive, state, iteration, seed, target)
            new = [(Harness(item.source, item.parent, item.edit), item.why) for item in proposals]
            spend += self._score(archive, state, new, iteration, seed)
            bests.append(archive.best().mean)
            if until and until.enough(bests[1:], before=bests[0]):
                break
        confirmed, again = self._confirm(archive, state, seed)
        winner = self._accept(archive, state, confirmed)
        fresh = [candidate for candidate in archive.candidates() if candidate.iteration >= first]
        rows = [
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
            for candidate in fresh
        ]
        body = {
            "harness": fields(winner),
            "screening": fields(spend),
            "confirming": fields(again),
            "candidates": [asdict(row) for row in rows],
            "iterations": len(bests) - 1,
        }
        write_json(target / "done.json", body)

    def _score(
        self, archive: Archive, state: State, new: Sequence[tuple[Harness, str]], iteration: int, seed: int
    ) -> Spend:
        """One rollout a search task for each of these harnesses (with why), recorded in the archive."""
        work = [Work(task, harness, 0) for harness, _ in new for task in self.tasks]
        made = self.lab.rollouts(state, work, f"search {state.searches} iteration {iteration}", seed)
        known = {candidate.harness_id for candidate in archive.candidates()}
        for index, (harness, why) in enumerate(new):
            if harness.id not in known:
                mine = made[index * len(self.tasks) : (index + 1) * len(self.tasks)]
                archive.add(self._candidate(harness, why, iteration, mine))
        return Spend.total(rollout.spend for rollout in made)

    def _candidate(self, harness: Harness, why: str, iteration: int, made: Sequence[Rollout]) -> Candidate:
        return Candidate(
            harness_id=harness.id,
            source=harness.source,
            parent=harness.parent,
            edit=harness.edit,
            why=why,
            iteration=iteration,
            scores=tuple(rollout.score.value for rollout in made),
            traces=tuple(_trace(task, rollout) for task, rollout in zip(self.tasks, made, strict=True)),
            calls_mean=sum(rollout.spend.model_calls for rollout in made) / len(made),
        )

    def _proposals(
        self, archive: Archive, state: State, iteration: int, seed: int, target: Path
    ) -> list[Proposal]:
        """M valid proposals; recorded before they are used, since a proposer may cost money and vary.

        The refused ones are recorded too: a search that is taken up again must see the same archive.
        """
        record = target / "proposals" / f"{iteration:03d}.json"
        if not record.is_file():
            asked = self._ask(archive, state, iteration, seed)
            write_json(record, [{**asdict(item), "refusal": reason} for item, reason in asked])
        valid: list[Proposal] = []
        for row in json.loads(record.read_text(encoding="utf-8")):
            reason = row.pop("refusal", "")
            if reason:
                self._record_invalid(archive, Proposal(**row), iteration, reason)
            else:
                valid.append(Proposal(**row))
        return valid

    def _ask(self, archive: Archive, state: State, iteration: int, seed: int) -> list[tuple[Proposal, str]]:
        """M valid proposals and those refused on the way, each with the reason (empty for the valid)."""
        asked: list[tuple[Proposal, str]] = []
        known = {source_key(candidate.source) for candidate in archive.candidates()}
        wanted = self.settings.candidates
        for round_ in range(ROUNDS):
            rng = hash_free(seed, state.weights_id, state.searches, iteration, round_)
            for proposal in self.proposer.propose(archive, wanted, rng)[:wanted]:
                if source_key(proposal.source) in known:
                    continue
                known.add(source_key(proposal.source))
                reason = self.control.refusal(proposal.source, self.tasks)
                if reason:
                    self._record_invalid(archive, proposal, iteration, reason)
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

    @staticmethod
    def _record_invalid(archive: Archive, proposal: Proposal, iteration: int, reason: str) -> None:
        harness = Harness(proposal.source, proposal.parent, proposal.edit)
        archive.add(
            Candidate(
                harness.id,
                proposal.source,
                proposal.parent,
                proposal.edit,
                proposal.why,
                iteration,
                invalid=reason,
            )
        )

    def _confirm(self, archive: Archive, state: State, seed: int) -> tuple[dict[str, float], Spend]:
        """Mean score on fresh samples of the incoming harness and of the best few others, by harness id."""
        if self.settings.accept == "argmax":
            return {}, Spend()
        others = [row for row in _ranked(archive) if row.harness_id != state.harness.id]
        finalists = [state.harness, *map(_harness, others[: self.settings.finalists])]
        work = [
            Work(task, harness, 1 + sample)
            for harness in finalists
            for task in self.tasks
            for sample in range(self.settings.confirm_samples)
        ]
        made = self.lab.rollouts(state, work, f"search {state.searches} confirm", seed)
        scores: dict[str, list[float]] = {}
        for rollout in made:
            scores.setdefault(rollout.harness_id, []).append(rollout.score.value)
        means = {harness: sum(values) / len(values) for harness, values in scores.items()}
        return means, Spend.total(rollout.spend for rollout in made)

    def _accept(self, archive: Archive, state: State, confirmed: dict[str, float]) -> Harness:
        """The next harness in force; under ``confirm`` the incoming one stays unless strictly beaten."""
        if self.settings.accept == "argmax":
            return _harness(archive.best())
        best = max(confirmed.values())
        if confirmed[state.harness.id] >= best:
            return state.harness
        return next(_harness(row) for row in _ranked(archive) if confirmed.get(row.harness_id) == best)


def _ranked(archive: Archive) -> list[Candidate]:
    """Valid candidates, best first; ties to fewer model calls, then to the earlier one."""
    valid = [candidate for candidate in archive.candidates() if not candidate.invalid]
    return sorted(valid, key=lambda candidate: (-candidate.mean, candidate.calls_mean))


def _harness(candidate: Candidate) -> Harness:
    return Harness(candidate.source, candidate.parent, candidate.edit)


def _trace(task: Task, rollout: Rollout) -> Trace:
    """A rollout as a proposer may see it: no gold."""
    return Trace(
        task_id=task.id,
        question=task.question,
        calls=tuple(
            TraceCall(call.messages, call.texts, tuple(finish == "length" for finish in call.finishes))
            for call in rollout.calls
        ),
        tools=tuple((tool.name, tool.arguments, tool.result) for tool in rollout.tools),
        answer=rollout.answer,
        read=rollout.score.answer,
        verdict=rollout.score.verdict.value,
        error=rollout.error,
    )
