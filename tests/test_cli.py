"""The command line: one clear message and an exit code for every wrong input, and no waiting for torch."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from baselines import MAIN, METHODS
from bench import cli, doctor
from bench.cli import main
from bench.profile_site import PACKAGES
from bench.progress import Progress
from bench.result_file import dump
from tests.commands import ROOT, bench
from tests.fake_results import one_result
from whale.models import SMOLLM2_GGUF
from whale.rollout import OutageError
from whale.search import SearchError


class Said:
    """What a command printed and how it ended."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], cwd: Path
    ) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys
        monkeypatch.chdir(cwd)
        monkeypatch.setenv("COLUMNS", "200")

    def __call__(self, *words: str) -> tuple[int, str, str]:
        self.monkeypatch.setattr(sys, "argv", ["bench", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = self.capsys.readouterr()
        code = ended.value.code
        assert isinstance(code, int)
        return code, out, err


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Said:
    return Said(monkeypatch, capsys, tmp_path)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["run", "math", "--method", "whle"],
            "unknown method 'whle'; did you mean 'whale'? Known: all, main, ",
        ),
        (["plan", "math", "--method", "ppo"], "unknown method 'ppo'; known: all, main, frozen, "),
        (["run", "math", "--method", "whale,"], "unknown method ''"),
        (["run", "mth"], "unknown environment 'mth'; did you mean 'math'?"),
        (
            ["plan", "math", "--profile", "smke"],
            "unknown profile 'smke'; did you mean 'smoke'? Known: cpu, smoke",
        ),
        (
            ["run", "math", "--seeds", "zero"],
            "cannot read --seeds 'zero'; write whole numbers such as 0 or 0,1,2",
        ),
        (["run", "math", "--seeds", "0,,1"], "cannot read --seeds '0,,1'; write whole numbers"),
        (["run", "math", "--seeds", "1,1"], "--seeds '1,1' must be distinct and not negative"),
        (["run", "math", "--seeds", "-1"], "--seeds '-1' must be distinct and not negative"),
        (
            ["report", "results/cpu/math", "--unequal", "refus"],
            "unknown --unequal 'refus'; did you mean 'refuse'?",
        ),
        (["plan", "math", "--set", "budgte.steps=1"], "unknown key budgte; did you mean 'budget'?"),
        (["run", "math", "--set", "env.verifer=robust"], "unknown key env.verifer; did you mean 'verifier'?"),
        (["report", "."], "no result files (METHOD-sSEED.json) in .; run `python -m bench run` first"),
        (["report", "nowhere"], "no result files (METHOD-sSEED.json) in nowhere;"),
        (["show", "runs/smoke/math"], "no finished run whale s0 in runs/smoke/math; there: none"),
        (["show", ".", "--verdict", "rigth"], "unknown verdict 'rigth'; known: correct, wrong, "),
    ],
)
def test_wrong_input_ends_with_one_message_and_code_2(said: Said, words: list[str], message: str) -> None:
    code, out, err = said(*words)
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert message in err
    assert len(err.splitlines()) == 1, "one message"


@pytest.mark.parametrize(
    "words", [["rum", "math"], ["run", "math", "--sedes", "0"], ["run"], ["run", "math", "more"]]
)
def test_a_wrong_word_or_option_ends_with_code_2(said: Said, words: list[str]) -> None:
    code, out, err = said(*words)
    assert code == 2
    assert out == ""
    assert "Error" in err
    assert "Traceback" not in err


def test_wrong_input_leaves_nothing_behind(said: Said, tmp_path: Path) -> None:
    said("run", "math", "--method", "whle")
    said("run", "math", "--profile", "smoke", "--seeds", "x")
    assert list(tmp_path.iterdir()) == []


def test_a_real_process_says_it_without_a_traceback(tmp_path: Path) -> None:
    code, out, err = bench("run", "math", "--method", "whle", cwd=tmp_path)
    assert (code, out) == (2, "")
    assert err.startswith("error: unknown method 'whle'; did you mean 'whale'?")
    assert len(err.splitlines()) == 1


def test_a_failed_search_is_an_error_of_its_own(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise SearchError("iteration 1: 0 valid harnesses of 2 asked")

    monkeypatch.setattr(cli, "load_profile", fails)
    code, out, err = said("plan", "math")
    assert (code, out) == (1, "")
    assert err == "the search failed: iteration 1: 0 valid harnesses of 2 asked\n"


def test_an_outage_is_said_in_one_line(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise OutageError("the server is down")

    monkeypatch.setattr(cli, "load_profile", fails)
    assert said("plan", "math") == (1, "", "stopped by an outage: the server is down\n")


@pytest.mark.parametrize("becomes", [KeyboardInterrupt, EOFError, ImportError, RuntimeError, SystemExit(1)])
def test_ctrl_c_ends_with_130_whatever_a_library_makes_of_it(
    said: Said, monkeypatch: pytest.MonkeyPatch, becomes: BaseException
) -> None:
    def interrupted(*_: object) -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
        except KeyboardInterrupt:
            raise becomes from None

    monkeypatch.setattr(cli, "load_profile", interrupted)
    before = signal.getsignal(signal.SIGINT)
    code, _, err = said("plan", "math")
    assert code == 130
    assert err.endswith("stopped; the same command continues where it was\n")
    assert "Traceback" not in err
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize("where", ["a finaliser", "a library that goes on"])
def test_ctrl_c_is_not_lost_in(where: str, said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    class Finalised:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            os.getpid()  # a bytecode at which the handler runs

    def interrupted(*_: object) -> None:
        if where == "a finaliser":
            Finalised()
            time.sleep(10)
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        Progress(cli.console, 1, cli.INTERRUPTS.check)("block", 1, None)
        pytest.fail("the Ctrl-C was lost")

    monkeypatch.setattr(cli, "load_profile", interrupted)
    code, _, err = said("plan", "math")
    assert code == 130
    assert err == "stopped; the same command continues where it was\n"


def test_a_library_that_fails_without_ctrl_c_is_no_stop(said: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise EOFError

    monkeypatch.setattr(cli, "load_profile", fails)
    assert said("plan", "math")[0] == 1


@pytest.mark.parametrize("profile", ["smoke", "cpu"])
def test_plan_shows_every_method_and_its_charge(said: Said, profile: str) -> None:
    code, out, err = said("plan", "math", "--profile", profile)
    assert (code, err) == (0, "")
    rows = {line.split("│")[1].strip(): line for line in out.splitlines() if line.startswith("│")}
    assert list(rows) == list(METHODS)
    budgets = {name: row.split("│")[3].strip() for name, row in rows.items()}
    assert {budgets[name] for name in ("frozen", "attempts", "refinement")} == {"0"}
    assert len({*budgets.values()}) == 2, "methods that learn are charged differently"
    assert "proposer calls: 0 (offline), cost: $0" in out


def test_main_stands_for_the_central_methods_in_the_order_of_running(said: Said) -> None:
    code, out, err = said("plan", "math", "--method", "whale_adaptive,main,grpo", "--profile", "smoke")
    assert (code, err) == (0, "")
    rows = [line.split("│")[1].strip() for line in out.splitlines() if line.startswith("│")]
    assert rows == [name for name in METHODS if name in (*MAIN, "grpo", "whale_adaptive")]


def test_plan_tells_that_a_reflection_model_costs_something(said: Said) -> None:
    chat = ("--set", "fst.reflector=chat", "--set", "fst.chat_url=http://localhost:1/v1")
    code, _, err = said("plan", "math", *chat)
    assert code == 2
    assert "needs chat_url and chat_model, got 'http://localhost:1/v1' and ''" in err
    code, out, _ = said("plan", "math", *chat, "--set", "fst.chat_model=m")
    assert code == 0
    assert "fst asks m at most 20 times a cycle, charged by its tokens" in " ".join(out.split())


@pytest.mark.parametrize("key", ["start", "refine"])
def test_plan_refuses_a_harness_that_is_not_there(said: Said, key: str) -> None:
    code, _, err = said("plan", "math", "--set", f"harness.{key}=nofile.py")
    assert code == 2
    assert "no starting harness 'nofile.py'; known: " in err


LAZY = """
import sys
import time
from bench.cli import main
from bench.profile_site import PACKAGES
from bench.progress import Progress
sys.argv = ["bench", *{words!r}]
try:
    main()
except SystemExit as end:
    assert end.code == {code}, end.code
heavy = {{"torch", "transformers", "trl", "datasets", "matplotlib", "reasoning_gym"}} & set(sys.modules)
assert not heavy, heavy
"""


@pytest.mark.parametrize(
    ("words", "code"),
    [(["--help"], 0), (["run", "--help"], 0), (["plan", "math"], 0), (["run", "math", "--seeds", "x"], 2)],
)
def test_what_needs_no_model_loads_none(words: list[str], code: int, tmp_path: Path) -> None:
    """Loading torch takes seconds; a plan or an error must not wait for it."""
    done = subprocess.run(
        [sys.executable, "-c", LAZY.format(words=words, code=code)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_a_report_needs_result_files_only(said: Said, tmp_path: Path) -> None:
    for method in ("frozen", "whale"):
        (tmp_path / f"{method}-s0.json").write_text(dump(one_result(method)), encoding="utf-8")
    code, out, err = said("report", ".")
    assert (code, err) == (0, "")
    assert "whale" in out
    assert "report: report.md" in out
    assert {path.name for path in tmp_path.iterdir()} >= {"report.md", "curves.png", "curves.svg"}


def test_a_damaged_result_file_is_named(said: Said, tmp_path: Path) -> None:
    (tmp_path / "whale-s0.json").write_text('{"schema_version": 1}', encoding="utf-8")
    code, _, err = said("report", ".")
    assert code == 2
    assert err.startswith("error: whale-s0.json: ")
    assert err.endswith("Restore the file, or delete it and run its command again\n")


@pytest.fixture
def converted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache in which the default model counts as converted, so that no test converts it."""
    cache = tmp_path / "cache"
    (cache / f"smollm2-135m-{SMOLLM2_GGUF[:12]}").mkdir(parents=True)
    (cache / f"smollm2-135m-{SMOLLM2_GGUF[:12]}" / "complete").touch()
    monkeypatch.setenv("WHALE_CACHE", str(cache))
    return cache


def test_doctor_checks_everything_that_a_run_needs(said: Said, converted: Path) -> None:
    code, out, err = said("doctor")
    lines = out.splitlines()
    assert (code, err) == (0, "")
    assert all(line.startswith(("ok    ", "MISS  ", "      ")) for line in lines)
    for subject in (
        "torch ",
        "reasoning-gym ",
        "model: SmolLM2",
        "isolation ",
        "processor cores",
        "GB free",
        "cache: ",
    ):
        assert any(subject in line for line in lines), subject
    assert str(converted) in out


def test_doctor_names_what_is_missing_and_fails(
    said: Said, converted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "PACKAGES", (*PACKAGES, "whale-no-such-package"))
    code, out, _ = said("doctor")
    assert code == 1
    assert "MISS  whale-no-such-package is not installed; run `pip install" in out


def test_doctor_warns_about_a_full_disk(said: Said, converted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=10**9))
    _, out, _ = said("doctor")
    assert "MISS  1 GB free here" in out
