"""What is read of a hub set, once it is open: schema check, copies left out, a hash that order does not change."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from envs.base import InputError
from envs.hashing import fraction
from envs.hub.sources import Source

Row = Mapping[str, Any]
"""One record by the names of the source's columns."""


@dataclass(frozen=True, slots=True)
class Records:
    """What one set gave."""

    rows: Sequence[Row]
    """In the set's order, without copies, of the source's share only."""
    found: int
    """Rows of the whole set."""
    sha256: str
    """Of ``rows``, whatever their order."""


def take(source: Source, where: str, data: Any) -> Records:
    """The records of an open ``datasets.Dataset``; errors call it ``where``.

    Raises ``InputError`` for a missing column, a column of another type, or an empty cell.
    """
    flat = data.flatten()
    _check_schema(source, where, flat.features)
    places = _places(source, flat)
    rows: list[dict[str, Any]] = flat.select_columns(list(source.columns)).select(places).to_list()
    for place, row in zip(places, rows, strict=True):
        if empty := [column for column, cell in row.items() if cell is None]:
            raise InputError(
                f"{where}, row {place + 1}: {', '.join(empty)} is empty; correct or drop the row"
            )
    return Records(rows, len(flat), content_hash(rows))


def content_hash(rows: Sequence[Row]) -> str:
    """SHA-256 over the sorted hashes of all rows: the same for the same rows in another order."""
    bodies = (json.dumps(row, sort_keys=True, ensure_ascii=False) for row in rows)
    each = sorted(hashlib.sha256(body.encode()).digest() for body in bodies)
    return hashlib.sha256(b"".join(each)).hexdigest()


def _places(source: Source, data: Any) -> Sequence[int]:
    """Which rows are read: the first one of each record of the share."""
    if not source.key:
        return range(len(data))
    first: dict[str, int] = {}
    chunks = data.select_columns([source.key]).with_format("arrow")[:].column(0).iterchunks()
    for place, key in enumerate(key for chunk in chunks for key in chunk.to_pylist()):
        if source.share == 1 or fraction("share", key) < source.share:
            first.setdefault(key, place)
    return list(first.values())


def _check_schema(source: Source, where: str, features: Mapping[str, Any]) -> None:
    step = "read another revision, or adapt envs/hub/sources.py to the new schema and pin again"
    if missing := [column for column in source.columns if column not in features]:
        raise InputError(
            f"{where} lacks the columns {missing}; read are {list(source.columns)}, it has {list(features)}; {step}"
        )
    for column, kind in source.columns.items():
        if not any(_is(features[column], each) for each in kind.split(" or ")):
            raise InputError(f"{where}: column {column} is {features[column]}, expected {kind}; {step}")


def _is(feature: Any, kind: str) -> bool:
    """Whether a feature of ``datasets`` (a value, a list of a feature, a dictionary of features) is of a kind."""
    dtype, inner = str(getattr(feature, "dtype", "")), getattr(feature, "feature", None)
    if kind == "text":
        return dtype in ("string", "large_string")
    if kind == "whole":
        return dtype.startswith(("int", "uint"))
    if kind == "texts":
        return inner is not None and _is(inner, "text")
    return isinstance(inner, dict) and all(_is(inner.get(part), "text") for part in ("role", "content"))
