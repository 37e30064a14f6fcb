"""Wall time and peak memory of a whole command, for the README's figures. Run it on a quiet machine.

``python tests/benchmarks/whole_run.py python -m bench run math --profile cpu --runs /tmp/fresh``
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time


def main() -> int:
    """Run the command in the arguments and print what it took; its exit code is passed on."""
    load = os.getloadavg()[0]
    began = time.perf_counter()
    code = subprocess.run(sys.argv[1:], check=False).returncode
    seconds = time.perf_counter() - began
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(
        f"{seconds:.0f} s wall, {usage.ru_utime + usage.ru_stime:.0f} s processor, "
        f"{usage.ru_maxrss / 2**20:.2f} GiB largest process, load before {load:.1f}, exit code {code}"
    )
    return code


if __name__ == "__main__":
    sys.exit(main())
