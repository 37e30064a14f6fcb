"""What a proposer is: reads an archive, writes new harness files. It never scores and never sees a gold."""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass
from typing import Protocol

from whale.archive import Archive


@dataclass(frozen=True)
class Proposal:
    """One new harness and where it comes from."""

    source: str
    parent: str
    """Harness id of the candidate it was made from."""
    edit: str
    """Name of the change, or names joined by ``+``."""
    why: str
    """The evidence it answers, with numbers."""


class Proposer(Protocol):
    """Writes new harnesses from the evidence in an archive."""

    name: str

    def propose(self, archive: Archive, n: int, rng_seed: int) -> list[Proposal]:
        """Return ``n`` new harnesses, all distinct and none of them in the archive (see ``source_key``).

        Fewer only when nothing new can be made. The same archive and seed give the same list for a
        deterministic proposer.
        """
        ...


def source_key(source: str) -> str:
    """Hash that is equal for sources which differ only in layout, comments or the module docstring."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        text = "\n".join(line.rstrip() for line in source.strip().splitlines())
    else:
        if ast.get_docstring(tree, clean=False) is not None:
            tree.body = tree.body[1:]
        text = ast.unparse(tree)
    return hashlib.sha256(text.encode()).hexdigest()
