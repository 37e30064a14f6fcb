"""The compared methods, each a short file that says what it is and how it differs from its source."""

from __future__ import annotations

from baselines import frozen, grpo, harness_only, stagewise, stagewise_reversed, weight_only
from whale import adaptive, fixed
from whale.schedule import Method

METHODS: dict[str, Method] = {
    module.METHOD.name: module.METHOD
    for module in (frozen, weight_only, grpo, harness_only, stagewise, stagewise_reversed, fixed, adaptive)
}
"""Every method by name, in the order in which they run (shared prefixes first)."""
