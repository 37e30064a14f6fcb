"""The documentation: its commands parse, its links resolve, and it names nothing outside the project."""

from __future__ import annotations

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer

from bench.cli import app
from bench.result_file import load_all
from bench.tables import main_table
from tests.commands import ROOT

README = ROOT / "README.md"
DOCS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
TEXT = {".py", ".md", ".toml", ".ini", ".txt", ".yml", ".yaml", ".cfg", ".json", ".jsonl"}
SKIPPED = {
    ".git",
    ".tox",
    ".venv",
    "runs",
    "build",
    "dist",
    "__pycache__",
    ".hypothesis",
    ".mypy_cache",
    ".ruff_cache",
}
FILES = [
    path
    for path in sorted(ROOT.rglob("*"))
    if path.is_file()
    and (path.suffix in TEXT or not path.suffix)
    and not SKIPPED & set(path.relative_to(ROOT).parts)
    and not any(part.endswith("_cache") for part in path.relative_to(ROOT).parts)
]
FORBIDDEN = [
    "/wor" + "k/",
    "/scrat" + "ch/",
    "help" + "er-",
    "pyp" + "i.org",
    "pythonhos" + "ted.org",
    "huggingface" + ".co",
    "conda.anac" + "onda.org",
]
"""Machine paths and registry hosts; written in two parts so that this file passes too."""


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def commands() -> list[tuple[str, str]]:
    """(place, command line) of everything in the documentation that begins with ``python -m bench``."""
    found = []
    for path in DOCS:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            shown = [
                *re.findall(r"`(python -m bench[^`]*)`", line),
                *re.findall(r"^ *\$? *(python -m bench.*)$", line),
            ]
            found += [(f"{name_of(path)}:{number}", text.split("#")[0].strip()) for text in shown]
    return found


COMMANDS = commands()


def parse(text: str) -> None:
    """Let the command line's own parser read a command, without running it."""
    words = shlex.split(text)[2:]
    if words[0] != "bench":  # a module of its own, such as bench.speed
        assert find_spec(words[0]) is not None, f"no module {words[0]}"
        return
    group = typer.main.get_command(app)
    group.no_args_is_help = False
    with group.make_context("bench", words[1:]) as context:
        rest = [*context._protected_args, *context.args]
        if rest:
            _, command, left = group.resolve_command(context, rest)  # type: ignore[attr-defined]
            command.make_context(rest[0], left, parent=context)


def test_the_readme_is_short_and_shows_commands() -> None:
    assert README.is_file()
    assert len(README.read_text(encoding="utf-8").splitlines()) < 120
    places = [place for place, _ in COMMANDS]
    assert sum(place.startswith("README.md") for place in places) >= 4


@pytest.mark.parametrize(("place", "text"), COMMANDS, ids=[f"{place} {text}" for place, text in COMMANDS])
def test_every_command_shown_parses(place: str, text: str) -> None:
    parse(text)


@pytest.mark.parametrize("text", ["python -m bench rum math", "python -m bench run math --methods all"])
def test_a_wrong_command_would_be_seen(text: str) -> None:
    with pytest.raises(Exception, match=r"No such (command|option)"):
        parse(text)


@pytest.mark.parametrize("path", DOCS, ids=name_of)
def test_every_relative_link_resolves(path: Path) -> None:
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not re.match(r"[a-z]+:", target) and not target.startswith("#"):
            assert (path.parent / target.split("#")[0]).exists(), f"{name_of(path)} links to {target}"


def test_every_tox_environment_in_the_documentation_exists() -> None:
    tox = (ROOT / "tox.ini").read_text(encoding="utf-8")
    known = set(re.findall(r"^\[testenv:([\w-]+)\]", tox, re.MULTILINE))
    for path in DOCS:
        named = set(re.findall(r"tox -e ([\w-]+)", path.read_text(encoding="utf-8")))
        assert named <= known, f"{name_of(path)} names {named - known}"


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_nothing_outside_the_project_is_named(path: Path) -> None:
    text = path.read_text(encoding="utf-8", errors="replace")
    assert [word for word in FORBIDDEN if word in text] == []


def test_the_table_of_room_states_what_the_results_hold() -> None:
    lines = (ROOT / "docs" / "environments.md").read_text(encoding="utf-8").splitlines()
    rows = {
        line.split(" | ")[0]: line.strip("| ").split(" | ")[1:] for line in lines if line.startswith("| ")
    }
    wanted = {
        "| starting harness, starting weights": ("cpu", "frozen"),
        "| starting harness, trained weights (`weight_only`)": ("cpu", "weight_only"),
        "| hand-made harness, starting weights": ("room", "frozen"),
    }
    for head, (folder, method) in wanted.items():
        for cell, env in zip(rows[head], ("math", "searchqa", "chess"), strict=True):
            table = main_table(load_all(ROOT / "results" / folder / env))
            (row,) = (row for row in table.rows if row[0] == method)
            assert cell.split(" %")[0] == row[table.heads.index("test, selected (%)")], (head, env)
