"""Statistics on per-question results: estimates, paired comparisons, detectable differences.

Pure functions on numbers; no file is read and no global random state is touched.
Undefined values are ``None``, never 0.0 and never NaN.
"""

from bench.stats.estimates import area_under_steps, finite, mean_at_k, pass_at_k, question_se
from bench.stats.paired import (
    PairedDifference,
    RunTest,
    hierarchical_interval,
    holm,
    paired_difference,
    sign_flip_over_runs,
    smallest_run_p,
)
from bench.stats.power import detectable_difference, planned_detectable_difference

__all__ = [
    "PairedDifference",
    "RunTest",
    "area_under_steps",
    "detectable_difference",
    "finite",
    "hierarchical_interval",
    "holm",
    "mean_at_k",
    "paired_difference",
    "pass_at_k",
    "planned_detectable_difference",
    "question_se",
    "sign_flip_over_runs",
    "smallest_run_p",
]
