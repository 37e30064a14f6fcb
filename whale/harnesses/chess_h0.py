"""Starting harness for chess, weak on purpose: one move tag a turn, one example, two retries, nine turns."""

import re

from whale.contract import Chat, Problem, Step, Tool, assistant, user

HINT = "Reply with one move as <move>...</move>, no explanation."
EXAMPLE = """White to move.
FEN: 6k1/5ppp/8/8/8/8/5PPP/4R1K1 w - - 0 1
Legal moves: e1d1 (Rd1), e1e8 (Re8), g1h1 (Kh1)"""
TURNS = 9


def solve(problem: Problem) -> Step:
    """Play the tagged move of each reply; one retry for a reply without a tag, one for an illegal move."""
    messages = [user(f"{EXAMPLE}\n{HINT}"), assistant("<move>e1e8</move>")]
    messages.append(user(f"{problem.question}\n{HINT}"))
    retries = {"format": 1, "illegal": 1}
    for _ in range(TURNS):
        reply = yield Chat(messages)
        tags = re.findall(r"<move>([^<]*)</move>", reply.text)
        said = "No move found."
        if tags:
            said = yield Tool("play", {"move": tags[-1]})
        lacks = "illegal" if said.startswith("illegal") else "" if tags else "format"
        if lacks:
            retries[lacks] -= 1
            if retries[lacks] < 0:
                break
        elif not said.startswith("Reply:"):
            break
        messages += [assistant(reply.text), user(f"{said}\n{HINT}")]
    return ""
