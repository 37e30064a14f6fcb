"""Six arms together, sharing what they have in common, beside six separate runs. Run it on a quiet machine.

``python tests/benchmarks/shared_prefixes.py``: whole processes on ``smoke``, each in a fresh folder; the two ways
alternate. Prints every time, the medians and their ratio.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.profile_site import commit
from whale.store import write_json

ARMS = ("frozen", "weight_only", "harness_only", "stagewise_reversed", "stagewise", "whale")
"""The central comparison and the mirror of its stagewise arm."""


def timed(arms: str, profile: str) -> float:
    """Seconds of one command that runs these arms in a fresh folder."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        words = ["run", "math", "--method", arms, "--profile", profile, "--runs", folder]
        subprocess.run([sys.executable, "-m", "bench", *words], check=True, stdout=subprocess.DEVNULL)
        return time.perf_counter() - began


def main() -> None:
    """Measure, print, and save if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", default="smoke")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--save", type=Path, help="also write the figures to this JSON file")
    chosen = parser.parse_args()
    together, apart = [], []
    load = os.getloadavg()[0]
    for round_ in range(chosen.rounds):
        together.append(timed(",".join(ARMS), chosen.profile))
        each = {arm: timed(arm, chosen.profile) for arm in ARMS}
        apart.append(sum(each.values()))
        shown = ", ".join(f"{arm} {seconds:.1f}" for arm, seconds in each.items())
        print(f"round {round_}: together {together[-1]:.1f} s; apart {apart[-1]:.1f} s ({shown})", flush=True)
    ratio = statistics.median(together) / statistics.median(apart)
    print(f"load before {load:.1f}; medians {statistics.median(together):.1f} and {statistics.median(apart):.1f} s; "
          f"together / apart = {ratio:.2f}")  # fmt: skip
    if chosen.save:
        seconds = {"together": together, "apart": apart}
        rounded = {name: [round(value, 1) for value in row] for name, row in seconds.items()}
        body = {"commit": commit(), "arms": ARMS, "profile": chosen.profile, "seconds": rounded}
        write_json(chosen.save, {**body, "ratio": round(ratio, 3)})


if __name__ == "__main__":
    main()
