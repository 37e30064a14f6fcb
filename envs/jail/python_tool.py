"""A Python calculator for models: each call is a fresh jailed session, nothing is kept between calls."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType

from envs.base import ToolError
from envs.jail.jail import Fault, Jail, Limits

_BOOT = Path(__file__).with_name("python_boot.py")
_KEY = "code"


class PythonTool:
    """Runs code in its own jail and returns what a person at a prompt would have seen."""

    def __init__(self, limits: Limits = Limits(cpu_s=4, wall_s=10.0), isolation: str | None = None) -> None:  # noqa: B008
        """Start the jail; see ``Jail`` for ``isolation`` and what is raised."""
        self._jail = Jail(_BOOT.read_text(encoding="utf-8"), limits, isolation)
        self.isolation = self._jail.isolation

    def run(self, code: str) -> str:
        """The printed text, else the value of a last expression, else the error's last line.

        At most 2,000 characters; "(no output)" when there is nothing to show. Reaching a limit is an
        error text too. Raises ``ToolError`` only if the jail broke.
        """
        self._jail.start(_KEY, code, None)
        (event,) = self._jail.collect()
        if event.kind == "return" and isinstance(event.value, str):
            return event.value or "(no output)"
        self._jail.stop(_KEY)
        if event.value is Fault.JAIL:
            raise ToolError(f"the Python tool's jail broke: {event.detail}")
        reason = event.value if event.kind == "error" else Fault.PROTOCOL
        return f"error ({reason}): {event.detail}"[:2000]

    def close(self) -> None:
        """End the jail."""
        self._jail.close()

    def __enter__(self) -> PythonTool:
        """The tool itself; leaving the block closes it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()
