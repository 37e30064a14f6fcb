"""The published starting harness for maths: no system prompt, the question and one hint, a tool, two turns.

A small model answers almost never in the form asked for, so training alone cannot start from it.
"""

import re

from whale.contract import Chat, Problem, Step, Tool, assistant, user

HINT = "Put the final answer in \\boxed{}."


def solve(problem: Problem) -> Step:
    """Ask once; if the reply is a Python block, run it, show the output and ask for the answer."""
    question = user(f"{problem.question}\n{HINT}")
    reply = yield Chat([question])
    block = re.search(r"```python\n(.*?)```", reply.text, re.DOTALL)
    if block is None or "python" not in problem.tools:
        return str(reply.text)
    output = yield Tool("python", {"code": block.group(1)})
    reply = yield Chat([question, assistant(reply.text), user(f"Output:\n{output}\n{HINT}")])
    return str(reply.text)
