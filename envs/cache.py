"""Where the environments keep what is slow to build, such as search indexes. Deleting it loses time only."""

from __future__ import annotations

import os
from pathlib import Path


def cache_dir() -> Path:
    """The user's cache: ``$WHALE_CACHE``, else ``$XDG_CACHE_HOME/whale-bench``, else ``~/.cache/whale-bench``."""
    if own := os.environ.get("WHALE_CACHE"):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "whale-bench"
