"""What an edit is: a named change of a harness, with how strongly the evidence suggests it and why."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from whale.offline.evidence import Evidence
from whale.offline.parts import STEPS_SIGN


@dataclass(frozen=True)
class Edit:
    """A change that works on any harness of the contract."""

    name: str
    applies: Callable[[Evidence], float]
    """How strongly the parent's evidence suggests the edit, from 0 (not at all) to about 1."""
    apply: Callable[[str, Evidence], str]
    """Source and the parent's evidence -> new source; equal to the old one when there is nothing to do."""
    why: Callable[[Evidence], str]
    """The evidence in words, with numbers."""
    slot: str = ""
    """Edits of one slot replace each other, so they are not combined. Empty: combines with all."""


LEAST_FOR_FORM, LEAST_FOR_WORK = 12, 40
"""Lowest limits on a reply (tokens): a box with a four-digit number takes about eight, code about 25."""


def least_limit(pieces: Mapping[str, str]) -> int:
    """The lowest limit (tokens) that leaves room for the style of reply that a harness asks for."""
    return LEAST_FOR_WORK if "computed" in pieces or asks_steps(pieces) else LEAST_FOR_FORM


def asks_steps(pieces: Mapping[str, str]) -> bool:
    """Whether a harness asks for steps before the answer, in the words of any form."""
    return STEPS_SIGN in pieces.get("styled", "")


def held_limit(pieces: Mapping[str, str]) -> int:
    """The limit that a harness already sets (tokens); 0 without one."""
    found = re.search(r"\d+", pieces.get("MAX_TOKENS", ""))
    return int(found.group()) if found else 0


def percent(share: float) -> str:
    """A share in whole percent."""
    return f"{100 * share:.0f}%"
