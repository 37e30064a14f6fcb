"""The lock: for every hub set that may be read, its revision, its counts and a hash of what is read of it.

A set that is not in the lock is refused. ``python -m envs.hub pin NAME`` measures a set and writes it down.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from envs.base import InputError
from envs.hub.sources import Source

VARIABLE = "WHALE_HUB_LOCK"
"""Environment variable with the path of another lock file."""
LOCK = Path(__file__).parent / "lock.toml"
"""The lock that comes with the project."""
HEADER = "# Written by: python -m envs.hub pin NAME. What each hub set held when it was pinned; see docs/data.md.\n"


class Pin(BaseModel):
    """One table of the lock."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    repo: str
    revision: str = Field(pattern="^[0-9a-f]{40}$")
    """Commit of the hub set."""
    rows: int = Field(gt=0)
    """Rows of the set, copies included."""
    records: int = Field(gt=0)
    """Records that are read: without copies, and of the source's share only."""
    sha256: str = Field(pattern="^[0-9a-f]{64}$")
    """Of the records in the columns that are read, whatever their order."""


def lock_path() -> Path:
    """``$WHALE_HUB_LOCK``, else the project's own."""
    return Path(os.environ.get(VARIABLE) or LOCK)


def pins() -> dict[str, Pin]:
    """All of the lock, by name of the source; a file that does not exist is an empty lock.

    Raises ``InputError`` for a file that is no lock.
    """
    path = lock_path()
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(
            f"{path} cannot be read as a lock: {error}; restore it from version control"
        ) from error
    return {name: _pin(path, name, table) for name, table in tables.items()}


def _pin(path: Path, name: str, table: object) -> Pin:
    try:
        return Pin.model_validate(table)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in (name, *first["loc"]))
        raise InputError(
            f"{path}: {place}: {first['msg']}, got {first['input']!r}; restore the file, or delete that table and "
            f"write it again with: python -m envs.hub pin {name}"
        ) from error


def pin_of(source: Source) -> Pin:
    """The lock's table of a source. Raises ``InputError`` when there is none, or one of another set."""
    held = pins()
    command = f"python -m envs.hub pin {source.name}"
    if source.name not in held:
        raise InputError(
            f"{source.name} ({source.repo}) is not in the lock {lock_path()}, "
            f"which has: {', '.join(held) or 'nothing'}; on a machine with a network run: {command}"
        )
    pin = held[source.name]
    if pin.repo != source.repo:
        raise InputError(
            f"{lock_path()}: {source.name} was pinned from {pin.repo}, but is read from {source.repo}; run: {command}"
        )
    return pin


def write_pin(name: str, pin: Pin) -> None:
    """Add or replace one table; the whole file is written, tables by name, or nothing is."""
    path = lock_path()
    held = {**pins(), name: pin}
    tables = [_table(key, held[key]) for key in sorted(held)]
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_text("\n".join([HEADER, *tables]), encoding="utf-8")
    os.replace(fresh, path)


def _table(name: str, pin: Pin) -> str:
    values = pin.model_dump()
    lines = [
        f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}"
        for key, value in values.items()
    ]
    return "\n".join([f"[{name}]", *lines, ""])
