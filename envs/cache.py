"""Where the environments keep what is slow to build, such as search indexes. Deleting it loses time only."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path


def cache_dir() -> Path:
    """The user's cache: ``$WHALE_CACHE``, else ``$XDG_CACHE_HOME/whale-bench``, else ``~/.cache/whale-bench``."""
    if own := os.environ.get("WHALE_CACHE"):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "whale-bench"


def made_once(target: Path, make: Callable[[Path], None]) -> Path:
    """The folder ``target``, filled by ``make`` at the first call and whole or absent at any time.

    Processes that want it at the same time wait for the one that makes it.
    """
    complete = target / "complete"
    if complete.is_file():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.with_name(f".{target.name}.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        if not complete.is_file():
            partial = target.with_name(f".{target.name}.partial")
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir()
            make(partial)
            (partial / complete.name).touch()
            shutil.rmtree(target, ignore_errors=True)
            partial.rename(target)
    return target
