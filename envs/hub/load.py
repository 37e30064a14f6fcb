"""Opens hub sets through ``datasets`` and checks what they hold against the lock.

A set comes from the hub at its pinned revision (or from the hub's cache on this machine), or, where
``$WHALE_HUB_FILES`` names a folder, from a file there. Either way its counts and its hash decide.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envs.base import InputError
from envs.hub.lock import Pin, lock_path, pin_of
from envs.hub.records import Records, Row, take
from envs.hub.sources import Source

FILES = "WHALE_HUB_FILES"
"""Environment variable with a folder of files that stand for hub sets."""
FORMATS = {".parquet": "parquet", ".jsonl": "json", ".csv": "csv"}
"""Endings that are looked for, in this order, and what ``datasets`` calls them."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A hub set that is what the lock says."""

    source: Source
    pin: Pin
    rows: Sequence[Row]


def load(source: Source) -> Loaded:
    """Read a pinned set and check it.

    Raises ``InputError`` for a set that is not in the lock, cannot be reached, has another schema, other
    counts or other contents than when it was pinned.
    """
    pin = pin_of(source)
    records = read(source, pin.revision)
    _check(source, pin, records)
    return Loaded(source, pin, records.rows)


def read(source: Source, revision: str) -> Records:
    """Read a set at a revision (40 hex digits) without looking at the lock; raises ``InputError``."""
    file = local_file(source)
    where = str(file) if file else f"{source.name} ({source.repo} at {revision[:12]})"
    return take(source, where, _open(source, revision, file))


def local_file(source: Source) -> Path | None:
    """The file that stands for a set; None where no folder is named. Raises ``InputError`` if it is missing."""
    folder = os.environ.get(FILES)
    if not folder:
        return None
    for ending in FORMATS:
        if (file := Path(folder) / f"{source.name}{ending}").is_file():
            return file
    raise InputError(
        f"${FILES} is {folder}, which has no {source.name} with one of the endings {', '.join(FORMATS)}; on a machine "
        f"with a network run: python -m envs.hub fetch {source.name} --to FOLDER, and copy the file here"
    )


def _open(source: Source, revision: str, file: Path | None) -> Any:
    """A ``datasets.Dataset``, its schema not looked at yet."""
    from datasets import load_dataset

    try:
        if file:
            return load_dataset(FORMATS[file.suffix], data_files=[str(file)], split="train")
        data = load_dataset(source.repo, source.config, split=source.split, revision=revision)
    except Exception as error:  # datasets, the hub's client and every file format have errors of their own
        problem = f"{type(error).__name__}: {error}"
        if file:
            problem = problem if file.stat().st_size else "it is empty"
            kind = FORMATS[file.suffix]
            raise InputError(
                f"{file} cannot be read as {kind} ({problem}); copy or fetch it again"
            ) from error
        raise InputError(
            f"{source.name} ({source.repo} at {revision[:12]}) is not in the cache and cannot be reached "
            f"({problem}); {_fetching(source)}"
        ) from error
    # Without a network datasets takes the newest version in its cache, whatever revision was asked for. The
    # folder of a cached version is named after its commit.
    folders = {Path(part["filename"]).parent.name for part in data.cache_files}
    if others := {name for name in folders if re.fullmatch("[0-9a-f]{40}", name)} - {revision}:
        raise InputError(
            f"{source.name} ({source.repo}) is in the cache at {', '.join(others)}, wanted is {revision}, which cannot "
            f"be reached; {_fetching(source)}"
        )
    return data


def _fetching(source: Source) -> str:
    return (
        f"on a machine with a network run: python -m envs.hub fetch {source.name} (see that HF_HUB_OFFLINE is "
        f"not set), or fetch it elsewhere with --to FOLDER and set {FILES} to that folder"
    )


def _check(source: Source, pin: Pin, records: Records) -> None:
    """A file that was fetched holds the records only, without copies: both counts are right for the rows."""
    step = (
        f"fetch it again with: python -m envs.hub fetch {source.name}; if the set was meant to change, run: "
        f"python -m envs.hub pin {source.name}"
    )
    if records.found not in (pin.rows, pin.records):
        allowed = f"{pin.rows} rows" + (
            f" or {pin.records} without copies" if pin.records != pin.rows else ""
        )
        raise InputError(f"{source.name} has {records.found} rows, {lock_path()} says {allowed}; {step}")
    if len(records.rows) != pin.records:
        raise InputError(
            f"{source.name} has {len(records.rows)} records without copies, {lock_path()} says {pin.records}; {step}"
        )
    if records.sha256 != pin.sha256:
        raise InputError(
            f"{source.name} has changed: the sha256 of its records is {records.sha256}, {lock_path()} says "
            f"{pin.sha256}; {step}"
        )
