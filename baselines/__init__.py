"""The compared methods, each a short file that says what it is and how it differs from its source."""

from __future__ import annotations

from baselines import (
    attempts,
    frozen,
    fst,
    fst_control,
    grpo,
    harness_only,
    refinement,
    split_evidence,
    stagewise,
    stagewise_reversed,
    weight_only,
)
from whale import adaptive, fixed
from whale.schedule import Method

MAIN = ("frozen", "weight_only", "harness_only", "stagewise", "whale")
"""The methods of the central comparison, which the name ``main`` stands for."""

METHODS: dict[str, Method] = {
    module.METHOD.name: module.METHOD
    for module in (
        frozen,
        attempts,
        refinement,
        weight_only,
        grpo,
        harness_only,
        stagewise_reversed,
        stagewise,
        fst_control,
        split_evidence,
        fst,
        fixed,
        adaptive,
    )
}
"""Every method by name, in the order in which they run (shared prefixes first)."""
