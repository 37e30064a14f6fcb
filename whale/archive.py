"""The archive of one harness search: every candidate's source, scores and full rollout traces as files.

Proposers read it, programs through ``Archive`` and coding agents through the files. It never holds a
gold answer, a date or a score that its caller did not measure, so equal searches give equal bytes.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from envs.base import InputError
from whale.contract import Message

SHORTEST_LEAK = 20
"""Shorter texts are not searched for: they occur by coincidence (characters)."""


@dataclass(frozen=True)
class TraceCall:
    """One model call of a rollout."""

    messages: tuple[Message, ...]
    replies: tuple[str, ...]
    """One text per sample."""
    cut: tuple[bool, ...]
    """Whether each reply ran into a token limit."""


@dataclass(frozen=True)
class Trace:
    """One rollout, as a proposer may see it."""

    task_id: str
    """Opaque: says nothing about the answer."""
    question: str
    calls: tuple[TraceCall, ...]
    tools: tuple[tuple[str, str, str], ...]
    """Tool calls as (name, arguments in JSON, result)."""
    answer: str | None
    """The text the harness returned; None when it failed."""
    read: str | None
    """The answer as the environment read it from that text; None when it found none."""
    verdict: str
    error: str = ""
    """Why the harness failed; empty when it did not."""


@dataclass(frozen=True)
class Candidate:
    """One harness of a search with everything measured on it."""

    harness_id: str
    source: str
    parent: str | None
    """Harness id it was made from; None for the incoming harness."""
    edit: str
    why: str
    """The evidence that the edit answers, in words."""
    iteration: int
    """0 for the incoming harness, then 1, 2, ..."""
    scores: tuple[float, ...] = ()
    """One score per search example, in the same order for every candidate."""
    traces: tuple[Trace, ...] = ()
    calls_mean: float = 0.0
    """Model calls a rollout."""
    invalid: str = ""
    """Why it was refused before it was scored; empty when it is valid."""
    failures_only: bool = False
    """Whether ``traces`` are those of failed rollouts, maybe of other tasks, and not one per search example."""

    @property
    def mean(self) -> float:
        """Mean score; 0 for a candidate that was never scored."""
        return sum(self.scores) / len(self.scores) if self.scores else 0.0


_TRACE = TypeAdapter(Trace)
_SCORES = TypeAdapter(tuple[float, ...])
_GUIDE = """# Candidates of this search

Each folder in `candidates/` holds `harness.py` (the source), `scores.json` (one score per search example),
`traces.jsonl` (one rollout a line: prompts, replies, tool calls, answer read, verdict) and `about.json`.
Scores come from one rollout an example, so small differences are noise.

"""


class Archive:
    """A directory of candidates, in the order in which they were added."""

    def __init__(self, path: Path) -> None:
        """Use ``Archive.open``; this only remembers the place."""
        self.path = path

    @staticmethod
    def open(path: Path) -> Archive:
        """Open or create the archive at ``path``; what an interrupted ``add`` left behind is removed."""
        archive = Archive(path)
        (path / "candidates").mkdir(parents=True, exist_ok=True)
        for left in (path / "candidates").glob(".new-*"):
            shutil.rmtree(left)
        archive._summarise()
        return archive

    def add(self, candidate: Candidate) -> None:
        """Store a candidate; adding an identical one again changes nothing.

        Raises ``InputError`` when its id is taken by different content, or scores and traces disagree.
        """
        aligned = len(candidate.traces) == len(candidate.scores)
        if candidate.traces and not (aligned or candidate.failures_only):
            raise InputError(
                f"candidate {candidate.harness_id}: {len(candidate.scores)} scores but "
                f"{len(candidate.traces)} traces; give one of each per search example"
            )
        if re.fullmatch(r"[\w-]+", candidate.harness_id) is None:
            raise InputError(f"harness id {candidate.harness_id!r} may hold letters, digits, - and _ only")
        held = self.candidates()
        for other in held:
            if other.harness_id == candidate.harness_id:
                if other == candidate:
                    return
                raise InputError(
                    f"harness {candidate.harness_id} is already in {self.path} with other content; "
                    "propose a new source, or search in a new directory"
                )
        name = f"{len(held):03d}-{candidate.harness_id}"
        fresh = self.path / "candidates" / f".new-{name}"
        fresh.mkdir()
        _write(fresh, candidate)
        os.replace(fresh, self.path / "candidates" / name)
        self._summarise()

    def candidates(self) -> list[Candidate]:
        """All candidates, oldest first; raises ``InputError`` naming a folder that cannot be read."""
        folders = (self.path / "candidates").glob("[0-9]*-*")
        return [_read(folder) for folder in sorted(folders, key=lambda item: int(item.name.split("-")[0]))]

    def best(self) -> Candidate:
        """Highest mean among scored valid candidates; ties go to fewer model calls, then to the earlier."""
        ranked = [item for item in self.candidates() if item.scores and not item.invalid]
        if not ranked:
            raise InputError(f"{self.path} holds no scored valid candidate; score the incoming harness first")
        return min(ranked, key=lambda item: (-item.mean, item.calls_mean))

    def _summarise(self) -> None:
        rows = ["| no. | harness | parent | edit | mean | calls | verdicts | why |", "|" + "---|" * 8]
        for index, item in enumerate(self.candidates()):
            counts = sorted(Counter(trace.verdict for trace in item.traces).items())
            verdicts = ", ".join(f"{name} {count}" for name, count in counts)
            cells = [f"{index:03d}", item.harness_id, item.parent or "-", item.edit]
            cells += ["invalid" if item.invalid else f"{item.mean:.4f}", f"{item.calls_mean:.2f}"]
            cells += [verdicts, item.invalid or item.why]
            rows.append("| " + " | ".join(" ".join(cell.replace("|", "/").split()) for cell in cells) + " |")
        temporary = self.path / ".summary.new"
        temporary.write_text(_GUIDE + "\n".join(rows) + "\n", encoding="utf-8")
        os.replace(temporary, self.path / "summary.md")


def _write(folder: Path, item: Candidate) -> None:
    """Write the four files of a candidate."""
    about = {
        "harness_id": item.harness_id,
        "parent": item.parent,
        "edit": item.edit,
        "why": item.why,
        "iteration": item.iteration,
        "calls_mean": item.calls_mean,
        "invalid": item.invalid,
        "failures_only": item.failures_only,
    }
    (folder / "harness.py").write_text(item.source, encoding="utf-8", newline="")
    (folder / "scores.json").write_text(json.dumps(item.scores) + "\n", encoding="utf-8")
    (folder / "about.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    with (folder / "traces.jsonl").open("w", encoding="utf-8") as out:
        for trace in item.traces:
            out.write(json.dumps(_TRACE.dump_python(trace, mode="json")) + "\n")


def _read(folder: Path) -> Candidate:
    """Read a candidate back, equal to the one that was written."""
    try:
        about = json.loads((folder / "about.json").read_text(encoding="utf-8"))
        scores = _SCORES.validate_json((folder / "scores.json").read_text(encoding="utf-8"))
        with (folder / "traces.jsonl").open(encoding="utf-8") as lines:
            traces = tuple(_TRACE.validate_json(line) for line in lines)
        source = (folder / "harness.py").read_bytes().decode("utf-8")
        return Candidate(source=source, scores=scores, traces=traces, **about)
    except (OSError, ValidationError, ValueError, TypeError) as error:
        raise InputError(
            f"candidate folder {folder} cannot be read ({error}); remove it and search again"
        ) from error


def redact(text: str, golds: Iterable[str]) -> str:
    """Replace every gold that stands alone in ``text`` (not inside a longer word or number)."""
    for gold in sorted({item for item in golds if item}, key=lambda item: (-len(item), item)):
        text = re.sub(rf"(?<![\w.]){re.escape(gold)}(?!\w|\.\d)", "[redacted]", text)
    return text


def leaks(source: str, forbidden_texts: Iterable[str]) -> list[str]:
    """Forbidden texts (of at least 20 characters) that a harness contains, in its text or in its strings.

    Whitespace and case do not count. Raises ``SyntaxError`` when the source does not parse.
    """
    strings = [
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    held = "\n".join(_plain(text) for text in [source, *strings, "".join(strings)])
    found = []
    for text in forbidden_texts:
        plain = _plain(text)
        if len(plain) >= SHORTEST_LEAK and plain in held:
            found.append(text)
    return found


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
