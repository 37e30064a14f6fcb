"""Hub sets on this machine: list them, pin them (write the lock), fetch them (fill the cache, or a folder).

Needs a network, except where $WHALE_HUB_FILES names a folder that has the files.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from envs.base import InputError
from envs.hub.load import load, read
from envs.hub.lock import Pin, lock_path, pins, write_pin
from envs.hub.sources import SOURCES, Source


def resolve(source: Source) -> str:
    """The commit that a set's main branch stands at now. Raises ``InputError`` when the hub cannot be asked."""
    from huggingface_hub import HfApi

    try:
        return str(HfApi().dataset_info(source.repo).sha)
    except Exception as error:  # the hub's client has many errors of its own
        raise InputError(
            f"cannot ask the hub for the revision of {source.repo} ({type(error).__name__}: {error}); run this on a "
            "machine with a network and without HF_HUB_OFFLINE, or give a known one with --revision"
        ) from error


def measure(source: Source, revision: str) -> Pin:
    """What the lock will say of a set. Raises ``InputError`` when its counts are not the published ones."""
    if not re.fullmatch("[0-9a-f]{40}", revision):
        raise InputError(
            f"a revision is a commit of 40 hex digits, got {revision!r}; leave --revision out for the newest one"
        )
    records = read(source, revision)
    found = {"rows": records.found, "records": len(records.rows)}
    for what, published in (("rows", source.rows), ("records", source.records)):
        if published is not None and found[what] != published:
            raise InputError(
                f"{source.name} has {found[what]} {what} at {revision}, published are {published}; give the revision "
                "that has them with --revision, or correct envs/hub/sources.py and say there who counted"
            )
    return Pin(repo=source.repo, revision=revision, sha256=records.sha256, **found)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code (2: the input cannot be used)."""
    parser = argparse.ArgumentParser(prog="python -m envs.hub", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="all sources, and what the lock says of each")
    pin = commands.add_parser("pin", help="measure sets and write them into the lock")
    pin.add_argument(
        "--revision", default="", help="commit of the set (default: what its main branch stands at)"
    )
    fetch = commands.add_parser("fetch", help="download pinned sets and check them")
    fetch.add_argument("--to", type=Path, help="also write the records as NAME.parquet into this folder")
    for command in (pin, fetch):
        command.add_argument("names", nargs="+", metavar="NAME", help=f"of {', '.join(SOURCES)}; or all")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.command == "list":
            _list()
        for source in _sources(chosen.names) if chosen.command != "list" else ():
            if chosen.command == "pin":
                _pin(source, chosen.revision)
            else:
                _fetch(source, chosen.to)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _sources(names: Sequence[str]) -> list[Source]:
    if unknown := [name for name in names if name not in SOURCES and name != "all"]:
        raise InputError(f"unknown sources {unknown}; known: all, {', '.join(SOURCES)}")
    return list(SOURCES.values()) if "all" in names else [SOURCES[name] for name in dict.fromkeys(names)]


def _list() -> None:
    held = pins()
    for source in SOURCES.values():
        pin = held.get(source.name)
        state = f"{pin.records} records at {pin.revision[:12]}" if pin else "not pinned"
        print(f"{source.name:22} {source.repo:34} {state}")


def _pin(source: Source, revision: str) -> None:
    pin = measure(source, revision or resolve(source))
    write_pin(source.name, pin)
    print(
        f"{source.name}: {pin.rows} rows, {pin.records} records at {pin.revision}, written to {lock_path()}"
    )


def _fetch(source: Source, folder: Path | None) -> None:
    rows = load(source).rows
    print(f"{source.name}: {len(rows)} records, as pinned")
    if folder:
        from datasets import Dataset

        folder.mkdir(parents=True, exist_ok=True)
        Dataset.from_list(list(rows)).to_parquet(folder / f"{source.name}.parquet")
        print(f"written to {folder / f'{source.name}.parquet'}")


if __name__ == "__main__":
    sys.exit(main())
