"""A run that is killed at any moment, or stopped, continues with the same command and ends with the same bytes.

``WHALE_KILLS`` sets how often the run is killed, with all methods; by default twice, with some.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.commands import LIMIT_S, bench, finished, results, start, without_commit

KILLS = int(os.environ.get("WHALE_KILLS") or 2)
METHODS = "all" if os.environ.get("WHALE_KILLS") else "frozen,whale"
"""The others are stopped at every event in ``test_arms``."""
SMALL = (
    "env.sizes={weight = 16, search = 6, select = 2, test = 4}",
    "weight.prompts=8",
    "search.examples=6",
    "search.candidates=1",
    "search.finalists=1",
    "budget.iterations=1",
    "rollout.chunk=8",
    "learner.minibatch=8",
)
"""Little work in many small pieces, so that a kill can strike between any two of them."""
COMMAND = (
    *("run", "math", "--method", METHODS, "--profile", "smoke", "--runs", "runs"),
    *(word for change in SMALL for word in ("--set", change)),
)


@dataclass(frozen=True)
class Reference:
    """The same command, never disturbed."""

    results: dict[str, bytes]
    report: bytes
    seconds: float


def report_of(cwd: Path) -> bytes:
    return without_commit((cwd / "runs" / "smoke" / "math" / "report" / "report.md").read_bytes())


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    cwd = tmp_path_factory.mktemp("unkilled")
    began = time.monotonic()
    finished(*COMMAND, cwd=cwd)
    seconds = time.monotonic() - began
    return Reference(results(cwd / "runs"), report_of(cwd), seconds)


def agrees(cwd: Path, reference: Reference) -> None:
    found = results(cwd / "runs")
    assert list(found) == list(reference.results)
    assert [name for name in found if found[name] != reference.results[name]] == []
    assert report_of(cwd) == reference.report


def killed_after(seconds: float, cwd: Path) -> bool:
    """Run the command and kill its process group after ``seconds``; False when it had ended by itself."""
    with start(*COMMAND, cwd=cwd) as process:
        try:
            _, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            return True
    assert process.returncode == 0, err
    return False


def test_a_run_killed_at_random_moments_ends_with_the_same_bytes(
    reference: Reference, tmp_path: Path
) -> None:
    """Moments are spread over the whole duration; a run that ended before its kill is checked and begun anew."""
    rng = random.Random(20260)
    kills = lives = 0
    seconds = reference.seconds
    while kills < KILLS:
        cwd = tmp_path / f"life {lives}"
        cwd.mkdir()
        lives += 1
        began, before = time.monotonic(), kills
        while kills < KILLS and killed_after(rng.uniform(0.02, 0.98) * seconds, cwd):
            kills += 1
        if kills == before:  # the machine has become faster since the duration was measured
            seconds = min(seconds, time.monotonic() - began)
        finished(*COMMAND, cwd=cwd)
        agrees(cwd, reference)


def test_a_torn_record_is_made_again(reference: Reference, tmp_path: Path) -> None:
    """What a power cut leaves: every log ends in the middle of a line, and no run has its result."""
    finished(*COMMAND, cwd=tmp_path)
    home = tmp_path / "runs" / "smoke" / "math"
    for log in (home / "cache" / "rollouts").glob("*.jsonl"):
        log.write_bytes(log.read_bytes()[:-40])
    for result in home.glob("*/s0/*-s0.json"):
        result.unlink()
    finished(*COMMAND, cwd=tmp_path)
    agrees(tmp_path, reference)


def wait_for(text: str, process: subprocess.Popen[str]) -> None:
    """Read the output until a line contains ``text``."""
    assert process.stdout is not None
    began = time.monotonic()
    for line in process.stdout:
        if text in line:
            return
        assert time.monotonic() - began < LIMIT_S
    raise AssertionError(f"the command ended without {text!r}: {process.stderr and process.stderr.read()}")


@pytest.mark.parametrize("moment", ["frozen s0", "train 0"])
def test_ctrl_c_says_how_to_continue_and_a_second_process_is_refused(
    moment: str, reference: Reference, tmp_path: Path
) -> None:
    with start(*COMMAND, cwd=tmp_path) as process:
        wait_for(moment, process)
        code, out, err = bench(*COMMAND, cwd=tmp_path)
        assert (code, out) == (2, "")
        assert f"runs/smoke/math is in use by process {process.pid}; wait for it, stop it, or choose" in err
        assert len(err.splitlines()) == 1
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, f"{out[-2000:]}\n{err[-2000:]}"
    assert err.endswith("stopped; the same command continues where it was\n")
    assert "Traceback" not in out + err
    finished(*COMMAND, cwd=tmp_path)
    agrees(tmp_path, reference)
