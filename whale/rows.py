"""Training rows from accepted rollouts: exact sampled ids, and a mask that is 1 on the model's own tokens.

Nothing is re-tokenised and no template is consulted, so the end-of-turn token is trained when the model
sampled it, whatever the padding token is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from whale.records import ModelCall, Rollout


@dataclass(frozen=True, slots=True)
class Row:
    """One training sequence."""

    ids: tuple[int, ...]
    mask: tuple[int, ...]
    """1 where the model sampled the token, else 0; as long as ``ids``."""

    def __post_init__(self) -> None:
        if len(self.ids) != len(self.mask):
            raise ValueError(f"a row has {len(self.ids)} ids but {len(self.mask)} mask entries")
        if not any(self.mask):
            raise ValueError("a row has no token of the model's own; it would train nothing")

    @property
    def trained(self) -> int:
        """Tokens that carry loss."""
        return sum(self.mask)


def accepted(rollout: Rollout) -> bool:
    """Whether a rollout is trained on: scored above 0.5, never cut by a limit, and the model spoke."""
    return rollout.score.value > 0.5 and not rollout.cut and bool(rollout.calls)


def rows_of(rollout: Rollout) -> list[Row]:
    """The rows of one rollout; calls whose prompt extends the row before exactly are merged into it."""
    rows: list[Row] = []
    for call in rollout.calls:
        for completion in call.completions:
            last = rows[-1] if rows else None
            if last is not None and len(call.completions) == 1 and _extends(call, last):
                between = call.prompt_ids[len(last.ids) :]
                ids = last.ids + between + completion
                rows[-1] = Row(ids, last.mask + (0,) * len(between) + (1,) * len(completion))
            else:
                ids = call.prompt_ids + completion
                rows.append(Row(ids, (0,) * len(call.prompt_ids) + (1,) * len(completion)))
    return rows


def _extends(call: ModelCall, row: Row) -> bool:
    return call.prompt_ids[: len(row.ids)] == row.ids


def counted(rollouts: Iterable[Rollout]) -> list[tuple[Row, int]]:
    """Distinct rows with their multiplicity: equal rows are computed once and weigh as often as they occur."""
    counts = Counter(row for rollout in rollouts for row in rows_of(rollout))
    return list(counts.items())


def trained_tokens(rows: Sequence[tuple[Row, int]]) -> int:
    """Tokens that carry loss, multiplicity included: the denominator of the loss over all rows."""
    return sum(row.trained * count for row, count in rows)
