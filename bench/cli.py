"""The command line: run, plan, report, show, doctor. Reads arguments, calls the parts, prints.

Exit codes: 0 done, 1 the work failed, 2 the input cannot be used, 130 stopped with Ctrl-C (resumable).
"""

from __future__ import annotations

import logging
import os
import shutil
import signal
import sys
import warnings
from pathlib import Path
from types import FrameType
from typing import Annotated, Literal, NoReturn, Self

import typer
from rich.console import Console
from rich.table import Table

from baselines import MAIN, METHODS
from bench import doctor as checks
from bench import planning, transcripts
from bench.config import Profile, load_profile, near
from bench.execute import Run, command_line
from bench.profile_site import Site
from bench.progress import Progress
from bench.result_file import load, load_all
from envs.base import InputError
from envs.table import ENVIRONMENTS
from whale.harnesses import starting
from whale.lab import prune
from whale.rollout import OutageError
from whale.schedule import Method
from whale.search import SearchError
from whale.store import exclusive

STOPPED = 130
"""Exit code after Ctrl-C."""

WIDTH = 140
"""Columns of output that is not a terminal's, so that no table heading is cut."""

app = typer.Typer(add_completion=False, no_args_is_help=True, help=__doc__, pretty_exceptions_enable=False)
console = Console(width=None if sys.stdout.isatty() else WIDTH)

EnvName = Annotated[str, typer.Argument(help=f"One of {', '.join(ENVIRONMENTS)}.")]
MethodName = Annotated[str, typer.Option("--method", help=f"Of {', '.join(METHODS)}; or main, or all.")]
ProfileName = Annotated[str, typer.Option("--profile", help="Name of a profile, or the path of a TOML file.")]
Overrides = Annotated[
    list[str] | None, typer.Option("--set", help="Change a profile value: table.key=value.")
]
RunsFolder = Annotated[Path, typer.Option("--runs", help="Where runs are kept.")]


@app.command()
def run(
    env: EnvName,
    method: MethodName = "all",
    seeds: Annotated[str, typer.Option(help="Run seeds, such as 0 or 0,1,2.")] = "0",
    profile: ProfileName = "cpu",
    runs: RunsFolder = Path("runs"),
    results: Annotated[
        Path | None, typer.Option(help="Also copy result files and report to this folder.")
    ] = None,
    set_: Overrides = None,
) -> None:
    """Run methods under seeds, continue where an earlier run stopped, and write the report."""
    settings = load_profile(profile, env, set_ or [])
    chosen, numbers = _methods(method), _seeds(seeds)
    home = runs / settings.name / env
    costs = planning.costs(settings, chosen)
    planned = len(numbers) * sum(row.computed for row in costs)
    with exclusive(home), Progress(console, planned, INTERRUPTS.check) as progress:
        site = Site(settings, runs, progress)
        try:
            for seed in numbers:
                _run_seed(site, chosen, seed, progress)
        finally:
            site.close()
        _report(home, settings, results)


@app.command()
def plan(
    env: EnvName, method: MethodName = "all", profile: ProfileName = "cpu", set_: Overrides = None
) -> None:
    """Show what a run would cost, before anything runs."""
    settings = load_profile(profile, env, set_ or [])
    for name in filter(None, (settings.harness.start, settings.harness.refine)):
        starting(name)
    table = Table(title=f"rollouts a seed, profile {settings.name}")
    for name in ("method", "schedule", "charged", "computed, evaluations included"):
        table.add_column(name, justify="left" if name in ("method", "schedule") else "right")
    rows = planning.costs(settings, _methods(method))
    for row in rows:
        table.add_row(row.name, row.phases, f"{row.charged:,}", f"{row.computed:,}")
    console.print(table)
    total = sum(row.computed for row in rows)
    console.print(
        f"{total:,} rollouts to run a seed, at most {total * settings.rollout.tokens:,} generated tokens; "
        f"{_proposing(settings)}. W = weight steps, H = search iterations, P = calls that evolve prompts."
    )


def _proposing(settings: Profile) -> str:
    """What proposers and reflectors cost, as far as it is known before they are asked."""
    if settings.fst.reflector == "offline":
        return "proposer calls: 0 (offline), cost: $0"
    most = settings.plan.evolving.calls // (2 * settings.fst.minibatch)
    return f"fst asks {settings.fst.chat_model} at most {most} times a cycle, charged by its tokens"


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(help="A folder of METHOD-sSEED.json files.")],
    unequal: Annotated[
        str, typer.Option(help="Methods that were charged differently: interpolate, or refuse.")
    ] = "interpolate",
) -> None:
    """Write the report of a folder of result files, and print its table. Needs no model."""
    if unequal not in ("interpolate", "refuse"):
        raise InputError(f"unknown --unequal {unequal!r}{near(unequal, ['interpolate', 'refuse'])}")
    _print_report(folder, "refuse" if unequal == "refuse" else "interpolate")


@app.command()
def show(
    run_folder: Annotated[Path, typer.Argument(help="runs/PROFILE/ENV")],
    method: Annotated[str, typer.Option(help="A method that has been run.")] = "whale",
    seed: Annotated[int, typer.Option(help="Its seed.")] = 0,
    verdict: Annotated[str, typer.Option(help="Only rollouts with this verdict.")] = "",
    block: Annotated[str, typer.Option(help="Only blocks whose purpose contains this text.")] = "",
    count: Annotated[int, typer.Option(help="How many transcripts.")] = 5,
) -> None:
    """Read transcripts: prompts, replies, tool calls, answer and verdict."""
    transcripts.show(console, run_folder, method, seed, verdict=verdict, block=block, count=count)


@app.command()
def doctor() -> None:
    """Check this machine: packages, model, isolation, processor. Exit code 1 when something needed is missing."""
    if not checks.report(console):
        raise typer.Exit(1)


def main() -> None:
    """Entry point: turns errors with a known cause into one message and an exit code."""
    _quiet()
    with INTERRUPTS as interrupts:
        try:
            app(standalone_mode=True)
        except BaseException as error:
            if interrupts.seen and not (isinstance(error, SystemExit) and not error.code):
                _stop("stopped; the same command continues where it was", STOPPED)
            if isinstance(error, InputError):
                _stop(f"error: {error}", 2)
            if isinstance(error, SearchError):
                _stop(f"the search failed: {error}", 1)
            if isinstance(error, OutageError):
                _stop(f"stopped by an outage: {error}", 1)
            raise


class _Interrupts:
    """Remembers a Ctrl-C: whatever an interrupted library makes of it, the command was stopped, not broken.

    A second Ctrl-C ends the process at once, which every run survives.
    """

    def __init__(self) -> None:
        self.seen = False

    def check(self) -> None:
        """Raise ``KeyboardInterrupt`` if one was raised before and something swallowed it."""
        if self.seen:
            raise KeyboardInterrupt

    def __enter__(self) -> Self:
        self.seen = False
        self._before = signal.signal(signal.SIGINT, self._stop)
        return self

    def __exit__(self, *_: object) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGINT, self._before)

    def _stop(self, _: int, frame: FrameType | None) -> None:
        self.seen = True
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        while frame:
            if frame.f_code.co_name == "__del__":
                # Python only prints what is raised there, so it is raised a moment later.
                signal.signal(signal.SIGALRM, self._stop)
                signal.setitimer(signal.ITIMER_REAL, 0.01)
                return
            frame = frame.f_back
        raise KeyboardInterrupt


INTERRUPTS = _Interrupts()
"""Of this process."""


def _stop(message: str, code: int) -> NoReturn:
    Console(stderr=True).print(message, markup=False, highlight=False, soft_wrap=True)
    sys.exit(code)


def _quiet() -> None:
    """Keep libraries' progress bars and notices out of our output."""
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    warnings.filterwarnings("ignore", module=r"(torch|transformers|trl|datasets|accelerate)(\.|$)")
    logging.getLogger("transformers").setLevel(logging.ERROR)


def _methods(name: str) -> list[Method]:
    if name == "all":
        return list(METHODS.values())
    parts = [part for word in name.split(",") for part in (MAIN if word == "main" else [word])]
    for part in parts:
        if part not in METHODS:
            raise InputError(f"unknown method {part!r}{near(part, ['all', 'main', *METHODS])}")
    return [method for known, method in METHODS.items() if known in parts]


def _seeds(text: str) -> list[int]:
    try:
        seeds = [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"cannot read --seeds {text!r}; write whole numbers such as 0 or 0,1,2") from None
    if len(set(seeds)) != len(seeds) or min(seeds) < 0:
        raise InputError(f"--seeds {text!r} must be distinct and not negative")
    return seeds


def _run_seed(site: Site, chosen: list[Method], seed: int, progress: Progress) -> None:
    """All methods under one seed; then the weights that only led to later ones are deleted."""
    used: list[Path] = []
    last: list[Path] = []
    for item in chosen:
        job = Run(site, item, seed, command_line())
        progress.run(f"{item.name} s{seed}")
        known = job.finished()
        path = job.execute()
        used += job.learners
        last += job.learners[-1:]
        progress.say(f"{item.name} s{seed}: {'already done' if known else 'done'}, {path}")
    prune(used, last)


def _report(home: Path, profile: Profile, results: Path | None) -> None:
    """Collect this profile's result files beside each other, then write the report there."""
    target = home / "report"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for file in sorted(home.glob("*/s*/*-s*.json")):
        if load(file).provenance["config"] == profile.hash:
            shutil.copy(file, target)
    _print_report(target)
    if results is not None:
        shutil.copytree(target, results, dirs_exist_ok=True)
        console.print(f"copied to {results}")


def _print_report(folder: Path, unequal: Literal["interpolate", "refuse"] = "interpolate") -> None:
    from bench.report import screen_table, write_report

    found = load_all(folder)
    written = write_report(folder, found, unequal)
    console.print(screen_table(found))
    console.print(f"report: {written.markdown}", highlight=False, soft_wrap=True)
