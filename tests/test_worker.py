"""The killable worker: limits, crashes, faults, threads, memory, and what is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

from envs.worker import Worker, WorkerDied, WorkerFault, WorkerTimeout

ROOT = Path(__file__).resolve().parents[1]


def _running(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _gone(pids: list[int], within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while any(_running(pid) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_returns_and_keeps_the_process() -> None:
    worker = Worker("operator:add")
    try:
        assert worker.call(2, 3, limit_s=5) == 5
        pids = worker.pids()
        assert worker.call("a", "é\ud800", limit_s=5) == "aé\ud800"
        assert worker.pids() == pids
        assert len(pids) == 2
    finally:
        worker.close()
    assert not any(_running(pid) for pid in pids)


def test_timeout_kills_and_the_next_call_works() -> None:
    worker = Worker("time:sleep")
    try:
        worker.call(0, limit_s=5)
        stuck, spare = worker.pids()
        start = time.monotonic()
        with pytest.raises(WorkerTimeout, match=r"0\.3 s"):
            worker.call(60, limit_s=0.3)
        assert 0.3 <= time.monotonic() - start < 3
        assert not Path(f"/proc/{stuck}").exists(), "the killed process must be reaped"
        assert worker.call(0, limit_s=5) is None
        assert worker.pids()[0] == spare
    finally:
        worker.close()


def test_timeout_inside_one_long_c_call() -> None:
    worker = Worker("operator:pow")
    try:
        with pytest.raises(WorkerTimeout):
            worker.call(9, 9**9, limit_s=0.3)
        assert worker.call(2, 10, limit_s=5) == 1024
    finally:
        worker.close()


def test_processor_time_limit() -> None:
    worker = Worker("operator:pow")
    try:
        with pytest.raises(WorkerTimeout, match="processor time"):
            worker.call(9, 9**9, limit_s=60, cpu_limit_s=0.2)
        assert worker.call(2, 10, limit_s=60, cpu_limit_s=0.2) == 1024
    finally:
        worker.close()
    sleeper = Worker("time:sleep")
    try:
        assert sleeper.call(0.5, limit_s=60, cpu_limit_s=0.2) is None
    finally:
        sleeper.close()


def test_death_is_told_apart_from_a_timeout() -> None:
    worker = Worker("os:_exit")
    try:
        with pytest.raises(WorkerDied, match="status 3"):
            worker.call(3, limit_s=5)
        with pytest.raises(WorkerDied, match="status 4"):
            worker.call(4, limit_s=5)
    finally:
        worker.close()


def test_death_while_idle_is_not_the_next_calls_fault() -> None:
    worker = Worker("operator:add")
    try:
        worker.call(1, 1, limit_s=5)
        for pid in worker.pids():
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.2)
        assert worker.call(1, 1, limit_s=5) == 2
    finally:
        worker.close()


@pytest.mark.parametrize(
    ("target", "argument", "message"),
    [
        ("math:sqrt", -1, "ValueError"),
        ("builtins:float", "nan", "not JSON compliant"),
        ("builtins:float", "inf", "not JSON compliant"),
        ("builtins:bytearray", 3 << 30, "MemoryError"),
        ("builtins:bytearray", 3, "not JSON serializable"),
        ("math:nothing", 1, "cannot load"),
        ("no_such_module:f", 1, "cannot load"),
    ],
)
def test_faults_carry_their_reason(target: str, argument: object, message: str) -> None:
    worker = Worker(target)
    try:
        for _ in range(2):
            with pytest.raises(WorkerFault, match=message):
                worker.call(argument, limit_s=5)
    finally:
        worker.close()


def test_printing_does_not_disturb_the_protocol() -> None:
    worker = Worker("builtins:print")
    try:
        assert worker.call('{"value": 7}', limit_s=5) is None
    finally:
        worker.close()


def test_threads_queue_up_and_waiting_does_not_count() -> None:
    worker = Worker("time:sleep")
    faults: list[BaseException] = []

    def call() -> None:
        try:
            worker.call(0.2, limit_s=1.5)
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    worker.close()
    assert faults == []


def test_closed_worker_refuses() -> None:
    worker = Worker("operator:add")
    worker.close()
    worker.close()
    with pytest.raises(RuntimeError, match="closed"):
        worker.call(1, 1, limit_s=1)


@pytest.mark.parametrize("ending", ["", "os._exit(0)", "os.kill(os.getpid(), 9)", "raise SystemExit(3)"])
def test_nothing_outlives_the_parent(ending: str) -> None:
    script = f"""
        import os, threading, time
        from envs.worker import Worker
        worker = Worker("operator:pow")
        worker.call(1, 1, limit_s=5)
        stuck = threading.Thread(target=lambda: worker.call(9, 9**9, limit_s=1.0), daemon=True)
        stuck.start()
        time.sleep(0.2)
        print(*worker.pids(), flush=True)
        {ending}
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=ROOT, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    pids = [int(pid) for pid in done.stdout.split()]
    assert len(pids) == 2, done.stderr
    assert _gone(pids, within_s=10)
