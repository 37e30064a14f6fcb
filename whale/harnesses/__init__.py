"""Starting harnesses (h0), each a file of the contract. They are read as text and run in the jail only."""

from __future__ import annotations

from pathlib import Path

from envs.base import InputError
from whale.records import Harness

_HERE = Path(__file__).parent


def starting(name: str) -> Harness:
    """The harness called ``name`` here, or the file at that path; ``InputError`` when there is neither."""
    known = sorted(file.stem for file in _HERE.glob("*.py") if file.stem != "__init__")
    path = _HERE / f"{name}.py" if name in known else Path(name)
    if not path.is_file():
        raise InputError(
            f"no starting harness {name!r}; known: {', '.join(known)}, or the path of a harness file"
        )
    return Harness(path.read_text(encoding="utf-8"))
