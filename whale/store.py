"""Files of a run: content keys, atomic writes, append-only logs, one process a run directory.

Nothing here knows what is stored. A log whose last line is torn is repaired; damage in the middle is an error.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from envs.base import InputError


def content_key(parts: Mapping[str, object]) -> str:
    """20 hex digits that identify ``parts`` (anything JSON can write), independent of their order."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def write_atomic(path: Path, text: str) -> None:
    """Write a whole file or nothing: temporary file, flush to disk, rename."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with partial.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def write_json(path: Path, value: object) -> None:
    """``write_atomic`` of sorted, indented JSON."""
    write_atomic(path, json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


class Log:
    """An append-only file of JSON lines."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, lines: list[str]) -> None:
        """Add lines (each one JSON value without a newline) in one write, and flush to disk."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as stream:
            stream.write("".join(line + "\n" for line in lines).encode())
            stream.flush()
            os.fsync(stream.fileno())

    def lines(self) -> list[str]:
        """All lines. A torn last line is cut off the file first (temp file + rename).

        Raises ``InputError`` naming file and line for any other line that is not JSON.
        """
        if not self.path.exists():
            return []
        *whole, tail = self.path.read_bytes().split(b"\n")
        texts: list[str] = []
        for number, raw in enumerate(whole, 1):
            try:
                text = raw.decode()
                json.loads(text)
            except ValueError as error:
                raise InputError(
                    f"{self.path}, line {number} of {len(whole)}, is damaged: {error}. Remove that line (its work "
                    "is then done again) or restore the file from a copy"
                ) from error
            texts.append(text)
        if tail:
            write_atomic(self.path, "".join(text + "\n" for text in texts))
        return texts


@contextmanager
def exclusive(directory: Path) -> Iterator[None]:
    """Hold the run directory for this process; ``InputError`` when another process has it."""
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "lock").open("a+") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            stream.seek(0)
            owner = stream.read().strip() or "unknown"
            raise InputError(
                f"the run directory {directory} is in use by process {owner}; wait for it, stop it, or choose "
                "another with --runs"
            ) from error
        stream.truncate(0)
        stream.write(f"{os.getpid()}\n")
        stream.flush()
        yield
