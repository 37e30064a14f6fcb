"""Starting harness for maths, weak on purpose: a form hint, one trivial example, a Python tool, two turns."""

import re

from whale.contract import Chat, Problem, Step, Tool, assistant, user

HINT = "Put the final answer in \\boxed{}."
EXAMPLE = "State the final answer to the following arithmetic problem: 2 + 2 ="


def solve(problem: Problem) -> Step:
    """Ask once; if the reply is a Python block, run it, show the output and ask for the answer."""
    messages = [
        user(f"{EXAMPLE}\n{HINT}"),
        assistant("2 + 2 = \\boxed{4}"),
        user(f"{problem.question}\n{HINT}"),
    ]
    reply = yield Chat(messages)
    block = re.search(r"```python\n(.*?)```", reply.text, re.DOTALL)
    if block is None or "python" not in problem.tools:
        return str(reply.text)
    output = yield Tool("python", {"code": block.group(1)})
    messages += [assistant(reply.text), user(f"Output:\n{output}\n{HINT}")]
    reply = yield Chat(messages)
    return str(reply.text)
