"""Maths with a second look: the model is shown its answer and asked to check it. No tool, one example of a check."""

import re

from whale.contract import Chat, Problem, Step, assistant, user

HINT = "Put the final answer in \\boxed{}."
CHECK = "Check that. Reply with only the right answer in \\boxed{}."
EXAMPLE = "State the final answer to the following arithmetic problem: 2 + 2 ="


def solve(problem: Problem) -> Step:
    """Ask, then ask for the box alone; the first reply stands when the second holds no box."""
    messages = [
        user(f"{EXAMPLE}\n{HINT}"),
        assistant("2 + 2 = \\boxed{4}"),
        user(CHECK),
        assistant("\\boxed{4}"),
        user(f"{problem.question}\n{HINT}"),
    ]
    first = yield Chat(messages)
    second = yield Chat([*messages, assistant(first.text), user(CHECK)])
    return str(second.text if re.search(r"\\boxed\{[^{}]+\}", second.text) else first.text)
