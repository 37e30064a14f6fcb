"""Draws that a hash decides: the same for the same text, whatever else is in the data."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from envs.base import Split


def fraction(*parts: object) -> float:
    """A number from 0 to 1 that is a hash of all parts."""
    body = "|".join(map(str, parts))
    return int.from_bytes(hashlib.sha256(body.encode()).digest()[:8], "big") / 2**64


def split_by(shares: Mapping[Split, float], key: str) -> Split:
    """The split of ``key``, whatever seed and sizes; ``shares``: of each split, 1 in all."""
    place = fraction("split", key)
    for split, share in shares.items():
        place -= share
        if place < 0:
            return split
    return list(shares)[-1]
