"""The embedded proposer: ranks edits of the best candidates by their evidence, and writes new harnesses.

It needs no model and no credentials, and gives the same proposals for the same archive and seed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from envs.base import InputError
from whale.archive import Archive, Candidate
from whale.offline import frame
from whale.offline.catalogue import EDITS
from whale.offline.edit import Edit
from whale.offline.evidence import Evidence, gather
from whale.offline.form import BOX, Form
from whale.proposer import Proposal, source_key

PARENTS = 3
"""Candidates that are tried as parents first; the others follow when nothing new can be made of these."""
BEHIND = 3.0
"""A parent whose mean is d below the best loses BEHIND * d of its edits' strength."""
UNTRIED = 0.15
"""Added to the strength of an edit that the archive has not seen yet."""
SECOND = 0.6
"""A combination of two edits counts this share of their summed strengths."""
REPEAT = 0.6
"""Strength is multiplied by this for each use of an edit in earlier proposals of the same call."""
JITTER = 0.05
"""Largest random addition, so that seeds explore different near-ties."""


@dataclass(frozen=True)
class _Option:
    """One or two edits that could be applied to a parent."""

    strength: float
    parent: Candidate
    evidence: Evidence
    edits: tuple[Edit, ...]


class OfflineProposer:
    """See ``whale.proposer.Proposer``; ``edits`` is the search space."""

    def __init__(self, edits: Sequence[Edit] = EDITS, form: Form = BOX, name: str = "offline") -> None:
        """Use these edits, whose names must differ, for answers of this form.

        ``name`` tells proposers with other edits apart: what they propose is kept under it.
        """
        if len({edit.name for edit in edits}) != len(edits):
            raise InputError(f"edit names must differ, got {[edit.name for edit in edits]}")
        self.edits = tuple(edits)
        self.form = form
        self.name = name

    def propose(self, archive: Archive, n: int, rng_seed: int) -> list[Proposal]:
        """``n`` new harnesses from the best candidates' evidence; fewer only when all options are used up."""
        held = archive.candidates()
        parents = sorted(
            (item for item in held if item.scores and not item.invalid),
            key=lambda item: (-item.mean, item.calls_mean, item.iteration, item.harness_id),
        )
        if not parents:
            raise InputError(f"{archive.path} holds no scored valid candidate; score h0 first")
        seen = {source_key(item.source) for item in held}
        rng = random.Random(f"offline proposer, seed {rng_seed}, {len(held)} candidates")
        made: list[Proposal] = []
        for group, least in ((parents[:PARENTS], 0.0), (parents[PARENTS:], 0.0), (parents, -1.0)):
            if len(made) < n:
                options = self._options(group, held, least, rng)
                made += _fresh(options, seen, n - len(made))
        return made

    def _options(
        self, parents: Sequence[Candidate], held: Sequence[Candidate], least: float, rng: random.Random
    ) -> list[_Option]:
        """Every edit and pair of edits of every parent, where the evidence is stronger than ``least``."""
        options = []
        best = max(item.mean for item in held)
        gains = _gains(held)
        for parent in parents:
            evidence = gather(parent, held, self.form)
            singles = []
            for edit in self.edits:
                jitter = rng.uniform(0, JITTER)
                strength = edit.applies(evidence)
                if strength > least:
                    learnt = gains.get(edit.name, UNTRIED)
                    singles.append((strength + learnt + jitter - BEHIND * (best - parent.mean), edit))
            options += [_Option(strength, parent, evidence, (edit,)) for strength, edit in singles]
            for (one, first), (two, second) in combinations(singles, 2):
                if not first.slot or first.slot != second.slot:
                    options.append(_Option(SECOND * (one + two), parent, evidence, (first, second)))
        return options


def _gains(held: Sequence[Candidate]) -> dict[str, float]:
    """What each edit brought so far: mean gain of a child over its parent, drawn to 0 when seldom tried."""
    means = {item.harness_id: item.mean for item in held if item.scores}
    found: dict[str, list[float]] = {}
    for item in held:
        if item.parent in means and item.scores:
            for name in item.edit.split("+"):
                found.setdefault(name, []).append(item.mean - means[item.parent])
    return {name: sum(values) / (len(values) + 1) for name, values in found.items()}


def _fresh(options: list[_Option], seen: set[str], wanted: int) -> Iterator[Proposal]:
    """Strongest options first, each use of an edit weakening its next; nothing in ``seen``."""
    uses: dict[str, int] = {}
    rest = list(options)
    while rest and wanted > 0:
        option = max(rest, key=lambda item: _weakened(item, uses))
        rest.remove(option)
        source = option.parent.source
        changed = True
        for edit in option.edits:
            before, source = source, edit.apply(source, option.evidence)
            changed = changed and source != before
        key = source_key(source)
        if not changed or key in seen:
            continue
        seen.add(key)
        wanted -= 1
        for edit in option.edits:
            uses[edit.name] = uses.get(edit.name, 0) + 1
        yield _proposal(option, source)


def _weakened(option: _Option, uses: dict[str, int]) -> float:
    factor = REPEAT ** sum(uses.get(edit.name, 0) for edit in option.edits)
    return option.strength * factor if option.strength > 0 else option.strength / factor


def _proposal(option: _Option, source: str) -> Proposal:
    name = "+".join(edit.name for edit in option.edits)
    why = "; ".join(edit.why(option.evidence) for edit in option.edits)
    parent = option.parent.harness_id
    return Proposal(frame.with_lineage(source, f"From {parent} by {name}: {why}."), parent, name, why)
