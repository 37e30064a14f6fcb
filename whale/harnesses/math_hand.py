"""Hand-made, to show the room above the starting harness: the model writes the sum, Python adds it up."""

import re

from whale.contract import Chat, Problem, Step, Tool, assistant, user

ASK = "Write only the sum itself: "
EXAMPLES = [
    ("State the final answer to the following arithmetic problem: 2 + 2 =", "2 + 2"),
    ("State the final answer to the following arithmetic problem: 310 - 45 =", "310 - 45"),
    ("State the final answer to the following arithmetic problem: 400 - 950 + 81 =", "400 - 950 + 81"),
]


def solve(problem: Problem) -> Step:
    """One reply, one run of it."""
    messages = []
    for question, expression in EXAMPLES:
        messages += [user(ASK + question), assistant(expression)]
    reply = yield Chat([*messages, user(ASK + problem.question)])
    found = re.search(r"\d+(?:\s*[-+]\s*\d+)+", reply.text)
    if found is None:
        return str(reply.text)
    output = yield Tool("python", {"code": f"print({found.group(0)})"})
    return f"\\boxed{{{output.strip()}}}"
