"""The result file: everything a table, curve, test or claim may use, and nothing else.

One file per run (method, seed). It holds counts, never wall-clock times or dates, so the same run gives
the same bytes; it needs no model and no accelerator to be read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from envs.base import InputError, Verdict

SCHEMA = 1


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SpendRow(_Frozen):
    """What was spent, in counts. Cumulative where it stands in a checkpoint."""

    rollouts: int = 0
    model_calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    dollars: float = 0.0
    """Paid to proposers and judges; 0 with the embedded parts."""


class Checkpoint(_Frozen):
    """The system in force after a phase, and how it did."""

    index: int
    phase: Literal["start", "weight", "search", "attempts", "refine"]
    weights_id: str
    harness_id: str
    charged: SpendRow
    """Cumulative spend charged to the method when this checkpoint came into force."""
    evaluation: SpendRow | None = None
    """What evaluating it on ``select`` and ``test`` took: its price at test time. Never charged."""
    select: dict[str, dict[Verdict, int]]
    """Question id -> verdict -> count; counts of a question sum to ``samples``."""
    test: dict[str, dict[Verdict, int]]


class Cross(_Frozen):
    """A corner of the 2x2: last weights with the first harness, or first weights with the last harness."""

    weights_id: str
    harness_id: str
    test: dict[str, dict[Verdict, int]]
    """As in a checkpoint."""


class HarnessRow(_Frozen):
    """A harness that was in force at some checkpoint."""

    source: str
    parent: str | None
    edit: str
    """Name of the edit that made it from its parent; ``h0`` for the start."""


class CandidateRow(_Frozen):
    """One scored candidate of a search phase (also the rejected ones)."""

    phase: int
    """Index of the checkpoint that the phase ended in."""
    iteration: int
    """0 for the incoming harness, then 1, 2, ..."""
    harness_id: str
    parent: str | None
    edit: str
    screen: float | None
    """Mean score on the search examples; None when the candidate was invalid."""
    confirm: float | None
    """Mean score on fresh samples; None when not among the best few."""
    accepted: bool
    note: str = ""


class TrainRow(_Frozen):
    """One weight step."""

    step: int
    rollouts: int
    accepted: int
    truncated: int
    reward: float
    """Mean score of the step's rollouts."""
    loss: float | None
    """What the learner minimised, before the step (``rsft``: mean negative log-likelihood of a trained token);
    None when nothing was trained on."""


class ResultFile(_Frozen):
    """All that one run reports."""

    schema_version: Literal[1] = 1
    profile: str
    env: str
    method: str
    seed: int
    samples: int
    """Stored samples per question and checkpoint (the k of mean@k)."""
    budget: int
    """Rollouts the method was allowed (0 for those that learn nothing)."""
    prices: dict[str, int] = {}
    """``step``: rollouts of a weight step; ``examples`` and ``candidates`` of a search iteration."""
    overshoot: int = 0
    """Rollouts beyond the soft caps of a library's searches; charged like the others."""
    switches: dict[str, str]
    """Named switches in force, such as ``accept=confirm`` and ``verifier=robust``."""
    provenance: dict[str, str]
    """commit, command, config hash, data hashes, model, versions, hardware."""
    families: dict[str, str]
    """Question id -> task family, for select and test."""
    checkpoints: list[Checkpoint]
    cross: list[Cross] = []
    """For a method that changes weights and harness: last weights with the first harness, then first with last."""
    ledger: dict[str, SpendRow]
    """Purpose (train, search, confirm, proposer, eval) -> spend. ``eval`` is shown, never charged."""
    training: list[TrainRow]
    candidates: list[CandidateRow]
    harnesses: dict[str, HarnessRow]

    @model_validator(mode="after")
    def _counts_add_up(self) -> ResultFile:
        places = [(f"checkpoint {point.index}", point.select) for point in self.checkpoints]
        places += [(f"checkpoint {point.index}", point.test) for point in self.checkpoints]
        places += [("2x2", corner.test) for corner in self.cross]
        for place, split in places:
            for question, counts in split.items():
                if sum(counts.values()) != self.samples:
                    raise ValueError(
                        f"{place}, question {question}: {sum(counts.values())} verdicts, {self.samples} samples"
                    )
        return self


def dump(result: ResultFile) -> str:
    """The file's text: sorted keys, one trailing newline, the same bytes for the same run."""
    return json.dumps(result.model_dump(mode="json"), indent=1, sort_keys=True) + "\n"


def load(path: Path) -> ResultFile:
    """Read and check one file; raises ``InputError`` naming the file and the first thing wrong."""
    try:
        return ResultFile.model_validate_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"no result file at {path}; run `python -m bench run` first") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise InputError(
            f"{path}: {where}: {first['msg']}. Restore the file, or delete it and run its command again"
        ) from error


def load_all(folder: Path) -> list[ResultFile]:
    """Every result file below ``folder``, ordered by method and seed; refuses an empty folder."""
    files = sorted(folder.glob("*-s*.json"))
    if not files:
        raise InputError(f"no result files (METHOD-sSEED.json) in {folder}; run `python -m bench run` first")
    return [load(path) for path in files]


def counts_of(counts: Mapping[Verdict, int]) -> tuple[int, int]:
    """(correct, all) of one question's verdict counts."""
    return counts.get(Verdict.CORRECT, 0), sum(counts.values())
