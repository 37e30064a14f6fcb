"""What a person sees while a run goes on: phase, rollouts done of planned, tokens a second, time left.

A live line on a terminal, one plain line at a time elsewhere.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from rich.console import Console
from rich.live import Live
from rich.text import Text

from whale.records import Rollout

PLAIN_EVERY_S = 10.0
"""Seconds between plain lines within one block."""
ENOUGH = 64
"""Finished rollouts before a time is foretold; the first ones carry the loading of the model."""


class Progress:
    """Counts finished rollouts; use as a context manager."""

    def __init__(self, console: Console, planned: int, check: Callable[[], None] = lambda: None) -> None:
        """``planned``: rollouts of the whole command, evaluations included, shared work counted once.

        ``check`` is called whenever something was done, and may raise to end the command.
        """
        self.console, self.planned, self._check = console, planned, check
        self.title = ""
        self.block, self.block_planned, self.done, self.tokens = 0, 0, 0, 0
        self.began = time.monotonic()
        self._spoke = 0.0
        self._live = (
            Live(console=console, refresh_per_second=4, transient=True) if console.is_terminal else None
        )

    def __enter__(self) -> Progress:
        """Start the live line, where there is one."""
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the live line."""
        if self._live:
            self._live.stop()

    def run(self, title: str) -> None:
        """Name the run that the following blocks belong to."""
        self.title = title

    def __call__(self, block: str, planned: int, rollout: Rollout | None) -> None:
        """The lab's watch: a block begins (``rollout`` is None) or one of its rollouts is finished."""
        self._check()
        if rollout is None:
            self.block, self.block_planned = 0, planned
            return
        self.block += 1
        self.done += 1
        self.tokens += rollout.spend.completion_tokens
        if self._live:
            self._live.update(Text(self._line(block)))
        elif time.monotonic() - self._spoke > PLAIN_EVERY_S or self.block == self.block_planned:
            self._spoke = time.monotonic()
            self.console.print(self._line(block), highlight=False, soft_wrap=True)

    def say(self, text: str) -> None:
        """A lasting line."""
        self.console.print(text, highlight=False, soft_wrap=True)

    def _line(self, block: str) -> str:
        spent = max(time.monotonic() - self.began, 1e-9)
        left = ""
        if self.done >= ENOUGH:
            left = f", {_clock(max(self.planned - self.done, 0) * spent / self.done)} left at most"
        return (
            f"{self.title}  {block}: {self.block}/{self.block_planned} rollouts  "
            f"(all: {self.done}/{self.planned}, {self.tokens / spent:.0f} tokens/s{left})"
        )


def _clock(seconds: float) -> str:
    minutes = math.ceil(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min" if minutes >= 60 else f"{minutes} min"
