r"""The robust maths verifier: compares the last box exactly with the gold, whatever the spelling.

Plain numbers are settled here; everything else goes to algebra in a process with a hard time limit.
"""

from __future__ import annotations

from envs.base import Score, Verdict
from envs.math_env.answer import last_box, unanswered
from envs.math_env.robust_rules import plain_number, same_plain
from envs.worker import Worker, WorkerError

LONGEST = 10_000
"""Characters; no gold is that long, so a longer answer is wrong and costs nothing."""
WALL_FACTOR = 75.0
"""Wall-clock limit in multiples of the processor time limit: a machine busy with other things, or paused, is no
reason for a verdict."""
_WARM_UP = (r"\int_0^1 x dx", r"\sqrt{2+\sqrt{3}}")
"""A comparison that loads the slow parts of the algebra before the first call's time counts."""


class RobustVerifier:
    r"""Grades a text against a gold; may be called from any thread.

    - The last box anywhere in the text is the answer; nothing outside it is looked at. The first
      argument is the gold: the sides are not interchangeable (see percent and units).
    - Equality is exact. A decimal equals a fraction only if it is that number: 0.333 is not 1/3, but
      ``0.(3)`` and ``0.\overline{3}`` are; ``0.333...`` names no number. ``1.5e3`` is 1500.
    - Characters that cannot be seen do not count, Unicode signs and full-width forms mean their LaTeX.
    - Commas: ``1,000`` is a number (groups of three, not led by 0), ``0,1`` and ``(1,234)`` are lists,
      ``0,05`` is neither. Groups may also stand apart by spaces, ``'`` or ``_``, never by points.
      A text such as ``100,200`` is a number, but beside an explicit list it is read as one.
    - Lists must match as a whole: without brackets ("1 and 2") or in braces in any order, in round or
      square brackets in order. Braces drop repeats. A list of one is its element.
    - Intervals and inequalities are sets of reals and compared as sets, the same both ways; open and
      closed ends matter. ``(a,b)`` is an interval only beside an interval or an inequality.
    - Percent: gold ``28\%`` takes ``28\%``, 28 and 0.28. A gold without the sign takes ``p\%`` by value;
      unless it is below 1 in size it also takes it as the bare p.
    - Units: if both sides name one they must be the same (names, no conversion); if only one side
      names a unit, the values decide.
    - ``x = 5`` answers the gold 5 and the other way round; two different names are different. Any other
      equation is only equal to an equation with the same terms up to a constant factor.
    - Words are compared as words, without regard to case. Answers without a value (``1/0``) are wrong;
      a gold without one, an undecided comparison, a crash and a time-out are ``verifier_error``.
    """

    def __init__(self, time_limit_s: float = 0.8) -> None:
        """``time_limit_s``: seconds of processor time that one comparison may take.

        Processor time, so that verdicts do not depend on the load of the machine; wall-clock time is
        limited too, to ``WALL_FACTOR`` times as much.
        """
        self._limit_s = time_limit_s
        self._worker = Worker("envs.math_env.symbolic:same_answer", warm_up=_WARM_UP)

    def verify(self, gold: str, text: str, *, truncated: bool) -> Score:
        """Judge ``text`` (a whole solution); ``truncated``: the model was cut by its length limit."""
        box = last_box(text)
        if not box.holds_answer:
            return unanswered(box, truncated=truncated)
        answer = box.content.strip()
        if len(answer) > LONGEST and answer != gold.strip():
            return Score.of(Verdict.WRONG, answer[:LONGEST], "longer than any answer")
        try:
            right = self._same(gold.strip(), answer)
        except WorkerError as error:
            return Score.of(Verdict.VERIFIER_ERROR, answer, f"{type(error).__name__}: {error}")
        return Score.of(Verdict.CORRECT if right else Verdict.WRONG, answer)

    def _same(self, gold: str, answer: str) -> bool:
        wanted, given = plain_number(gold), plain_number(answer)
        if wanted and given:
            return same_plain(wanted, given)
        if gold == answer:
            return True
        verdict = self._worker.call(
            gold, answer, limit_s=WALL_FACTOR * self._limit_s, cpu_limit_s=self._limit_s
        )
        if not isinstance(verdict, bool):
            raise WorkerError(f"the comparison returned {verdict!r}, expected true or false")
        return verdict

    def close(self) -> None:
        """End the worker processes."""
        self._worker.close()
