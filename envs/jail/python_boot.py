"""Boot text of the Python tool: runs the source like a calculator. Executed inside the jail only.

It is sent in as text, so it must not import the project.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Generator
from typing import Any

SHOWN_CHARS = 2000
"""Longest answer, in characters."""


class Capture:
    """Keeps the beginning of what is printed; the jail's own sink goes on counting."""

    def __init__(self, sink: Any) -> None:
        """``sink``: where writes are counted."""
        self._sink = sink
        self.kept = ""

    def write(self, text: str) -> int:
        """Keep what fits."""
        self.kept += text[: SHOWN_CHARS + 1 - len(self.kept)]
        return int(self._sink.write(text))

    def flush(self) -> None:
        """Nothing is held back."""


def cut(text: str) -> str:
    """At most ``SHOWN_CHARS`` characters, saying so when something was left out."""
    mark = " ... (cut)"
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - len(mark)] + mark


def session(source: str, payload: object) -> Generator[object, object, str]:
    """Run ``source``; return what it printed, else its last value, else its error's last line."""
    capture = Capture(sys.stdout)
    sys.stdout = capture
    names: dict[str, Any] = {"__name__": "__main__"}
    error, value = "", None
    try:
        tree = ast.parse(source)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "<code>", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "<code>", "eval"), names)
    except (MemoryError, SystemExit):
        raise
    except BaseException as raised:
        error = f"{type(raised).__name__}: {raised}"
    printed = capture.kept.rstrip("\n")
    if not printed and not error and value is not None:
        printed = repr(value)
    return cut("\n".join(part for part in (printed[: SHOWN_CHARS // 2] if error else printed, error) if part))
    yield  # makes this a generator, as every session is
