"""The integrity controls: what a proposed harness is refused for, and that honest ones pass."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from envs.base import Split, Task
from envs.math_env.env import MathEnvironment
from whale.control import Control, NoiseEngine
from whale.engine import Request
from whale.harnesses import starting
from whale.hosting import HarnessHost
from whale.rollout import Caps

CHEAT = """
import re

def solve(problem):
    yield Chat([user(problem.question)])
    return f"\\\\boxed{{{eval(re.search('[-0-9 +]+(?= =)', problem.question).group())}}}"
"""
BY_TOOL = """
import re

def solve(problem):
    terms = re.search('[-0-9 +]+(?= =)', problem.question).group()
    return "\\\\boxed{%s}" % (yield Tool("python", {"code": terms.strip()})).strip()
"""
VOTE = """
def solve(problem):
    replies = yield Chat([user(problem.question + "\\nPut the final answer in \\\\boxed{}.")], samples=3)
    texts = [reply.text for reply in replies]
    return max(texts, key=texts.count)
"""


@pytest.fixture(scope="module")
def tasks(math_env: MathEnvironment) -> Sequence[Task]:
    return math_env.tasks("search")[:8]


@pytest.fixture(scope="module")
def control(math_env: MathEnvironment, host: HarnessHost) -> Control:
    return Control(math_env, host, Caps(48, 8))


@pytest.mark.parametrize("source", [starting("math_h0").source, VOTE], ids=["h0", "vote"])
def test_honest_harnesses_pass(control: Control, tasks: Sequence[Task], source: str) -> None:
    assert control.refusal(source, tasks) == ""


REFUSED = {
    "not Python": ("def solve(problem:\n", "does not parse: line 1"),
    "no solve": ("def answer(problem):\n    return ''\n", "no `def solve(problem)`"),
    "crash": (
        "def solve(problem):\n    yield Chat([user('x')])\n    return 1 / 0\n",
        "fails on 8 of 8 tasks",
    ),
    "no generator": ("def solve(problem):\n    return 'x'\n", "solve must be a generator"),
    "fork": (
        "import os\n\ndef solve(problem):\n    os.fork()\n    yield Chat([user('x')])\n",
        "fails on 8 of 8",
    ),
    "solves alone": (CHEAT, "with noise for replies it scores 1.00 (chance 0.00): it needs no model"),
    "solves by tool": (BY_TOOL, "with noise for replies it scores 1.00"),
}


@pytest.mark.parametrize(("source", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_refusals_say_why(control: Control, tasks: Sequence[Task], source: str, reason: str) -> None:
    assert reason in control.refusal(source, tasks)


SPLITS_UNSEEN: tuple[Split, ...] = ("weight", "select", "test")


@pytest.mark.parametrize("split", SPLITS_UNSEEN)
def test_text_of_other_splits_is_refused_however_it_is_written(
    control: Control, math_env: MathEnvironment, tasks: Sequence[Task], split: Split
) -> None:
    question = math_env.tasks(split)[3].question
    for text in (question, question.upper(), question.replace(" ", "\\n ")):
        source = f'def solve(problem):\n    reply = yield Chat([user("{text}")])\n    return reply.text\n'
        assert "text of a task that its proposer has not seen" in control.refusal(source, tasks)
    shown = (
        f"def solve(problem):\n    reply = yield Chat([user({tasks[0].question!r})])\n    return reply.text\n"
    )
    assert control.refusal(shown, tasks) == "", "search tasks may be shown"


def test_answers_learnt_by_heart_are_refused(control: Control, tasks: Sequence[Task]) -> None:
    table = {task.question: task.gold for task in tasks[:2]}
    source = (
        f"TABLE = {table!r}\n\ndef solve(problem):\n    reply = yield Chat([user(problem.question)])\n"
        "    return '\\\\boxed{%s}' % TABLE.get(problem.question, '')\n"
    )
    assert "with noise for replies it scores 0.25" in control.refusal(source, tasks)


def test_the_verdict_of_the_control_repeats(control: Control, tasks: Sequence[Task]) -> None:
    engine = NoiseEngine()
    for index in range(60):
        engine.submit(Request(str(index), (1, 2), 5, index))
    first = engine.poll()
    assert engine.poll() == []
    for index in range(60):
        engine.submit(Request(str(index), (1, 2), 5, index))
    assert engine.poll() == first
    texts = [item.text for item in first]
    for form in ("\\boxed{", "```python", "It is "):
        assert any(text.startswith(form) for text in texts)
    assert control.refusal(CHEAT, tasks) == control.refusal(CHEAT, tasks)
