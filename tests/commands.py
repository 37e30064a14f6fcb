"""Runs the real command line in a process of its own, as a person would, from any working directory."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIMIT_S = 900
"""Longest wait for a command; a command that hangs fails the test."""


def start(*words: str, cwd: Path) -> subprocess.Popen[str]:
    """Start ``python -m bench WORDS`` as the leader of a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "bench", *words],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200", "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def bench(*words: str, cwd: Path) -> tuple[int, str, str]:
    """Run ``python -m bench WORDS`` to its end: (exit code, output, error output)."""
    with start(*words, cwd=cwd) as process:
        try:
            out, err = process.communicate(timeout=LIMIT_S)
        except BaseException:
            process.kill()
            raise
    return process.returncode, out, err


def finished(*words: str, cwd: Path) -> str:
    """Run a command that must succeed; its output."""
    code, out, err = bench(*words, cwd=cwd)
    assert code == 0, f"exit code {code}\n{out[-3000:]}\n{err[-3000:]}"
    assert "Traceback" not in out + err
    return out


def without_commit(text: bytes) -> bytes:
    """A result file or report without the checkout's commit, which an editor may change between two runs."""
    return re.sub(rb'("commit": "|- commit: `)[^"`]*', rb"\1", text)


def results(runs: Path) -> dict[str, bytes]:
    """Result files below a runs folder, by name; see ``without_commit``."""
    found = {path.name: without_commit(path.read_bytes()) for path in runs.glob("*/*/*/s*/*-s*.json")}
    assert found, f"no result files below {runs}"
    return found
