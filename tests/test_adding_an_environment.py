"""The page on environments is enough: a fourth one, built from its code blocks alone, is run to a result."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from baselines import METHODS
from bench.config import PROFILES, load_profile
from bench.execute import Run
from bench.profile_site import Site
from bench.result_file import load
from envs import table
from tests.commands import ROOT
from whale.offline import catalogue


def test_an_environment_from_the_page_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_thread: None
) -> None:
    page = (ROOT / "docs" / "environments.md").read_text(encoding="utf-8")
    module, harness = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (tables,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "reverse_page_env.py").write_text(module, encoding="utf-8")
    (tmp_path / "reverse_h0.py").write_text(harness, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(table.ENVIRONMENTS, "reverse", "reverse_page_env:ReverseEnvironment")
    monkeypatch.setitem(catalogue.SPACES, "reverse", eval(_line(page, "Space"), vars(catalogue)))
    profile = tmp_path / "mine.toml"
    smoke = (PROFILES / "smoke.toml").read_text(encoding="utf-8")
    path = str(tmp_path / "reverse_h0.py")
    profile.write_text(f"{smoke}\n{tables.replace('reverse_h0', path)}", encoding="utf-8")
    settings = load_profile(str(profile), "reverse", ["search.examples=8", "weight.prompts=32"])
    site = Site(settings, tmp_path / "runs", lambda *_: None)
    try:
        result = load(Run(site, METHODS["frozen"], 0, "from the page").execute())
    finally:
        site.close()
    assert result.env == "reverse"
    assert len(result.checkpoints[0].test) == 8
    assert sum(sum(counts.values()) for counts in result.checkpoints[0].test.values()) == 64


def _line(page: str, word: str) -> str:
    (found,) = re.findall(rf'`"reverse": ({word}[^`]*)`', page)
    return str(found)
