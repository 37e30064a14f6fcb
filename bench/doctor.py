"""Check this machine and say, for everything missing, what to do."""

from __future__ import annotations

import os
import shutil
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich.console import Console

from bench.profile_site import PACKAGES
from envs.base import InputError
from envs.cache import cache_dir
from envs.jail.jail import available
from whale.models import resolve

NEEDED_GB = 15
"""Free disk for one seed of all methods with the cpu profile, in GB."""


def report(console: Console) -> bool:
    """Print one line a check; True when everything that a run needs is there."""
    good = True
    for name in PACKAGES:
        try:
            _line(console, True, f"{name} {version(name)}")
        except PackageNotFoundError:
            good = False
            _line(console, False, f"{name} is not installed; run `pip install -c constraints.txt -e .`")
    try:
        source = resolve("package:smollm2")
        _line(console, True, f"model: {source.name}, converted in {source.directory}")
    except InputError as error:
        good = False
        _line(console, False, str(error))
    tiers = available()
    for tier, state in tiers.items():
        _line(console, state == "ok", f"isolation {tier}: {state}")
    if tiers.get("bubblewrap") != "ok":
        console.print(
            "      install bubblewrap (Debian: apt-get install bubblewrap) for the strongest isolation"
        )
    good = good and "ok" in tiers.values()
    _line(console, True, f"{os.cpu_count()} processor cores; load {os.getloadavg()[0]:.1f}")
    place = next(path for path in (Path.cwd(), *Path.cwd().parents) if path.exists())
    free = shutil.disk_usage(place).free / 1e9
    _line(
        console, free > NEEDED_GB, f"{free:.0f} GB free here; one seed with the cpu profile needs {NEEDED_GB}"
    )
    _line(console, True, f"cache: {cache_dir()}")
    return good


def _line(console: Console, good: bool, text: str) -> None:
    console.print(f"{'ok   ' if good else 'MISS '} {text}", markup=False, highlight=False, soft_wrap=True)
