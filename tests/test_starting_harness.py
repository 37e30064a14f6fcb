"""A starting harness of the user's that cannot work is refused before anything is spent, in one message."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.config import load_profile
from bench.profile_site import Site
from envs.base import InputError
from whale.contract import Problem

BAD = {
    "does not parse": "def solve(problem:\n",
    "has no `def solve": "def answer(problem):\n    yield None\n",
    "yielded": "def solve(problem):\n    yield 42\n    return ''\n",
    "time": "def solve(problem):\n    while True:\n        pass\n    yield None\n",
    "output": "def solve(problem):\n    while True:\n        print('x' * 1000)\n    yield None\n",
    "memory": "def solve(problem):\n    x = bytearray(1 << 34)\n    yield None\n",
    "not permitted": "import os\n\ndef solve(problem):\n    os.fork()\n    yield None\n",
    "PermissionError|FileNotFoundError": "def solve(problem):\n    open('/etc/passwd').read()\n    yield None\n",
    "exception: .*Error": "import socket\n\ndef solve(problem):\n    socket.socket()\n    yield None\n",
    "needs no model": (
        "import re\n\ndef solve(problem):\n"
        "    sums = re.findall(r'[-+ \\d]+', problem.question)\n"
        "    if False:\n        yield None\n"
        "    return '\\\\boxed{' + str(eval(max(sums, key=len))) + '}'\n"
    ),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return Site(load_profile("smoke", "math"), tmp_path_factory.mktemp("runs"), lambda *_: None)


@pytest.mark.parametrize("reason", BAD)
def test_a_bad_starting_harness_is_refused(reason: str, site: Site, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(BAD[reason], encoding="utf-8")
    tables = {"harness": site.profile.harness.model_copy(update={"start": str(file)})}
    site.profile = site.profile.model_copy(update=tables)
    with pytest.raises(InputError, match=f"mine.py cannot be used.*{reason}") as caught:
        site.starting()
    assert "\n" not in str(caught.value).strip()


def test_the_harnesses_that_come_with_the_project_pass(site: Site) -> None:
    for name in ("math_h0", "math_h0_bare"):
        tables = {"harness": site.profile.harness.model_copy(update={"start": name})}
        site.profile = site.profile.model_copy(update=tables)
        assert Problem(site.env.tasks("search")[0].question).question
        assert site.starting().edit == "h0"
