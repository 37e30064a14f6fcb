"""The isolation tiers: which command line starts the zygote in each, and what each leaves open.

Landlock, seccomp and rlimits are not a tier: a session applies them in every tier where the kernel has them.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from envs.base import InputError

TIERS = ("bubblewrap", "namespaces", "limits")
"""Best first."""
_PYTHON_FLAGS = ("-s", "-P", "-S", "-B", "-X", "utf8")
"""As ``-I``, which would also ignore the hash seed that makes sessions repeatable."""
ENVIRONMENT = {"PYTHONHASHSEED": "0"}
"""All that the zygote finds in its environment; sessions find nothing."""
_SYSTEM_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")


class TierError(Exception):
    """A tier cannot be used on this machine; the message says why."""


def interpreter() -> Path:
    """The real interpreter below any virtual environment, so that only its own prefix is needed."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    own = Path(sys.base_prefix) / "bin" / version
    return (own if own.exists() else Path(sys.executable)).resolve()


def _library_folders() -> list[Path]:
    """Folders an interpreter needs to start: its standard library and the shared libraries."""
    names = [*_SYSTEM_LIBRARIES, sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]
    names += [str(Path(sys.base_prefix) / "lib")] if sys.base_prefix != "/usr" else []
    return sorted({Path(name) for name in names if os.path.isdir(name)})


def _bubblewrap() -> list[str]:
    program = shutil.which("bwrap")
    if program is None:
        raise TierError("bwrap is not installed (Debian: apt-get install bubblewrap)")
    command = [program, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
    command += ["--clearenv"]
    for name, value in ENVIRONMENT.items():
        command += ["--setenv", name, value]
    folders = _library_folders()
    for path in [*folders, interpreter()]:
        command += ["--ro-bind", str(path), str(path)]
    masked = [p for f in folders if not f.is_symlink() for p in _package_folders(f)]
    for path in sorted(set(masked)):  # installed packages may hold data sets
        command += ["--tmpfs", str(path)]
    return [*command, "--remount-ro", "/", "--chdir", "/", "--", str(interpreter()), *_PYTHON_FLAGS]


def _package_folders(folder: Path) -> list[Path]:
    candidates = [*folder.glob("*-packages"), *folder.glob("python3*/*-packages")]
    return [path for path in candidates if path.is_dir() and not path.is_symlink()]


@functools.cache
def _unshare() -> tuple[str, ...]:
    """The first ``unshare`` command that this machine permits."""
    program = shutil.which("unshare")
    if program is None:
        raise TierError("unshare is not installed (package util-linux)")
    common = ("--net", "--pid", "--ipc", "--uts", "--fork", "--kill-child")
    for command in ((program, "--user", "--map-root-user", *common), (program, *common)):
        tried = subprocess.run([*command, "--", "true"], capture_output=True, text=True, check=False)
        if tried.returncode == 0:
            return command
    raise TierError(f"unshare is not permitted here: {tried.stderr.strip()}")


def command(tier: str) -> list[str]:
    """The command line that starts Python in a tier, without Python's own arguments.

    Raises ``TierError`` where the tier is missing and ``InputError`` for an unknown name.
    """
    if tier not in TIERS:
        raise InputError(f"unknown isolation {tier!r}; allowed are {', '.join(TIERS)}")
    if tier == "limits":
        return [str(interpreter()), *_PYTHON_FLAGS]
    if not sys.platform.startswith("linux"):
        raise TierError(f"Linux only, this is {sys.platform}")
    if tier == "bubblewrap":
        return _bubblewrap()
    return [*_unshare(), "--", str(interpreter()), *_PYTHON_FLAGS]


def check(tier: str, report: Mapping[str, str]) -> list[str]:
    """What a tier leaves open, given the zygote's report (mechanism -> "ok" or why not).

    Raises ``TierError`` when a tier lacks what it cannot do without.
    """
    missing = {name: reason for name, reason in report.items() if reason != "ok"}
    if tier == "namespaces" and missing:
        raise TierError("; ".join(f"{name}: {reason}" for name, reason in missing.items()))
    open_ends = []
    if "seccomp" in missing:
        open_ends.append(f"new processes and signals to other sessions (seccomp: {missing['seccomp']})")
    if tier == "limits":
        open_ends.append("process and network namespaces")
        if "seccomp" in missing:
            open_ends.append("network access")
            if "landlock" in missing:
                open_ends.append(f"files (landlock: {missing['landlock']})")
    return open_ends
