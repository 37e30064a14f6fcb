"""When an adaptive phase has stopped getting better.

Source: WHALE (arXiv 2609.00196), adaptive schedule: the signal is a sliding mean of a step's training reward, or the
best score of a search's archive; only a strictly higher one counts as better. What the mean is before the window is
full is not published; here there is none, so that a lucky first step cannot set a best that no mean meets again.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, inf

from pydantic import BaseModel, ConfigDict, Field

EXACT = 12
"""Decimals to which means are compared: equal rewards in another order must be a tie."""


class Patience(BaseModel):
    """A stopping rule, in steps of the phase: weight steps or search iterations."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    window: int = Field(gt=0)
    """Steps that a mean is taken over."""
    minimum: int = Field(gt=0)
    """Steps that a phase has at least."""
    patience: int = Field(gt=0)
    """Steps without a new best after which it stops."""

    def enough(self, values: Sequence[float], before: float = -inf) -> bool:
        """Whether a phase with these values, one a step, stops now.

        ``before``: what has to be beaten from the start, such as the score of the incoming harness.
        """
        best, waited = (before if before == -inf else round(before, EXACT)), 0
        for end in range(self.window, len(values) + 1):
            mean = round(fsum(values[end - self.window : end]) / self.window, EXACT)
            best, waited = (mean, 0) if mean > best else (best, waited + 1)
        return len(values) >= self.minimum and waited >= self.patience
