"""The zygote seen from outside: start it in a tier, have it fork and end sessions, end it.

Requests are answered one at a time within seconds; anything else means the jail is broken.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import tempfile
from dataclasses import asdict
from pathlib import Path

from envs.jail import tiers
from envs.jail.wire import Limits

ANSWER_S = 20.0
"""Longest wait for an answer of the zygote, in seconds."""
_INSIDE = Path(__file__).parent / "inside"
_MODULES = ("syscalls", "confine", "session", "zygote")
_LOADER = """
import json, os, sys, types
data = b""
while not data.endswith(b"\\n"):
    block = os.read(0, 65536)
    if not block:
        sys.exit(0)
    data += block
job = json.loads(data)
package = sys.modules["inside"] = types.ModuleType("inside")
package.__path__ = []
for name, text in job["modules"].items():
    module = sys.modules["inside." + name] = types.ModuleType("inside." + name)
    module.__package__ = "inside"
    exec(compile(text, "<jail " + name + ">", "exec"), module.__dict__)
    setattr(package, name, module)
package.zygote.main(job["boot"], job["limits"])
"""


class JailBroken(Exception):
    """The zygote died, hung or could not be started; the message says which."""


class Zygote:
    """A running zygote."""

    def __init__(self, tier: str, boot: str, limits: Limits) -> None:
        """Start it; raises ``tiers.TierError`` if it does not come up in this tier."""
        self._control, theirs = socket.socketpair()
        self._control.settimeout(ANSWER_S)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the process)
        try:
            self._process = subprocess.Popen(
                [*tiers.command(tier), "-c", _LOADER],
                stdin=theirs.fileno(), stdout=self._log, stderr=self._log,
                env=tiers.ENVIRONMENT, cwd="/", start_new_session=True,
            )  # fmt: skip
        except BaseException:
            self._control.close()
            self._log.close()
            raise
        finally:
            theirs.close()
        texts = {name: (_INSIDE / f"{name}.py").read_text(encoding="utf-8") for name in _MODULES}
        job = {"modules": texts, "boot": boot, "limits": asdict(limits)}
        try:
            report = self._ask(json.dumps(job).encode() + b"\n")
            self.open_ends = tiers.check(tier, {name: str(reason) for name, reason in report.items()})
            """What the tier leaves open, in words."""
        except JailBroken as error:
            self.close()
            raise tiers.TierError(str(error)) from error
        except BaseException:
            self.close()
            raise

    def _ask(self, request: bytes, descriptor: int | None = None) -> dict[str, object]:
        try:
            if descriptor is None:
                self._control.sendall(request)
            else:
                socket.send_fds(self._control, [request], [descriptor])
            answer = b""
            while not answer.endswith(b"\n"):
                block = self._control.recv(4096)
                if not block:
                    raise JailBroken(f"the zygote died: {self._last_words() or 'without a word'}")
                answer += block
        except OSError as error:
            raise JailBroken(f"no answer from the zygote: {error} {self._last_words()}".strip()) from error
        message: dict[str, object] = json.loads(answer)
        return message

    def _last_words(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.5)
        self._log.seek(0)
        return self._log.read().decode(errors="replace").strip()[-500:]

    def fork(self, descriptor: int) -> int:
        """Fork a session that talks through ``descriptor``; returns its pid inside; raises ``JailBroken``."""
        pid = self._ask(b'{"op": "fork"}', descriptor)["pid"]
        assert isinstance(pid, int)
        return pid

    def end(self, pid: int) -> tuple[int, float]:
        """Kill and reap a session: (exit code, negative for a signal; CPU seconds); raises ``JailBroken``."""
        answer = self._ask(json.dumps({"op": "end", "pid": pid}).encode())
        code, cpu_s = answer["exit"], answer["cpu_s"]
        assert isinstance(code, int)
        assert isinstance(cpu_s, float)
        return code, cpu_s

    def close(self, patience_s: float = 2.0) -> None:
        """End the zygote and all its sessions, whatever state they are in; kill after ``patience_s``."""
        self._control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(patience_s)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._log.close()
