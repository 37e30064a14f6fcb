"""The shape of the code base: imports go down only, names shadow nothing, files stay small and documented."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from importlib.metadata import distribution, packages_distributions
from importlib.util import resolve_name
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = ("envs", "whale", "baselines", "bench")
"""From the lowest to the highest."""
FILES = sorted(path for layer in LAYERS for path in (ROOT / layer).rglob("*.py"))
LONGEST = 300


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def imported(tree: ast.AST, package: str) -> Iterator[str]:
    """Full names of all imported modules, wherever the import stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield resolve_name(module, package) if node.level else module


def breaches(source: str, layer: str, package: str) -> list[str]:
    """Imports of a higher layer, or of the tests."""
    above = {*LAYERS[LAYERS.index(layer) + 1 :], "tests"}
    return [name for name in imported(ast.parse(source), package) if name.split(".")[0] in above]


def test_there_are_files_in_every_layer() -> None:
    assert {path.relative_to(ROOT).parts[0] for path in FILES} == set(LAYERS)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_go_down_only(path: Path) -> None:
    parts = path.relative_to(ROOT).parts
    assert breaches(path.read_text(encoding="utf-8"), parts[0], ".".join(parts[:-1])) == []


@pytest.mark.parametrize(
    ("source", "layer", "found"),
    [
        ("import whale.store", "envs", ["whale.store"]),
        ("def f():\n    from bench import cli", "whale", ["bench"]),
        ("from baselines import METHODS", "whale", ["baselines"]),
        ("import tests.fake_results", "bench", ["tests.fake_results"]),
        ("import envs.base, whale.store", "bench", []),
        ("from . import base", "envs", []),
    ],
)
def test_the_walk_sees_a_breach(source: str, layer: str, found: list[str]) -> None:
    assert breaches(source, layer, layer) == found


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_every_module_says_what_it_is_for_and_stays_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    said = ast.get_docstring(ast.parse(text))
    assert said, "no module docstring"
    assert len([line for line in said.splitlines() if line]) <= 9, (
        "a module docstring of more than nine lines"
    )
    assert len(text.splitlines()) <= LONGEST


def test_no_top_level_name_shadows_a_library() -> None:
    ours = {path.name for path in ROOT.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    ours |= {path.stem for path in ROOT.glob("*.py")}
    assert not ours & set(sys.stdlib_module_names)
    known = packages_distributions()
    for name in ours:
        owners = {str(distribution(owner).metadata["Name"]) for owner in known.get(name, [])}
        assert owners <= {"whale-bench"}, f"{name} is also a package of {owners}"


def test_no_package_folder_shadows_a_library() -> None:
    """``envs/math`` would hide ``math`` from a script that runs inside ``envs``."""
    folders = {path.parent.name for path in FILES if path.name == "__init__.py"} - set(LAYERS)
    assert not folders & (set(sys.stdlib_module_names) | set(packages_distributions()))
