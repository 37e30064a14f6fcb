"""Starting harness for chess, weak on purpose: one move tag a turn, three examples, two retries, nine turns."""

import re

from whale.contract import Chat, Problem, Step, Tool, assistant, user

HINT = "Reply with one of the legal moves as <move>...</move>."
EXAMPLES = [
    (
        "White to move.\nFEN: 6k1/5ppp/8/8/8/8/5PPP/4R1K1 w - - 0 1\n"
        "Legal moves: e1d1 (Rd1), g1h1 (Kh1), e1e8 (Re8#), g2g3 (g3)",
        "e1e8",
    ),
    (
        "Black to move.\nFEN: 8/8/8/8/8/1k6/7q/1K6 b - - 4 71\n"
        "Legal moves: h2a2 (Qa2+), b3c3 (Kc3), h2g3 (Qg3), h2b2 (Qb2#)",
        "h2b2",
    ),
    (
        "White to move.\nFEN: k7/8/1K6/8/8/8/8/7R w - - 0 60\n"
        "Legal moves: h1h8 (Rh8#), b6c6 (Kc6), h1a1 (Ra1+), h1h2 (Rh2)",
        "h1h8",
    ),
]
TURNS = 9


def solve(problem: Problem) -> Step:
    """Play the tagged move of each reply; ask the same once more for want of a tag, and once for an illegal move."""
    messages = []
    for position, move in EXAMPLES:
        messages += [user(f"{position}\n{HINT}"), assistant(f"<move>{move}</move>")]
    messages.append(user(f"{problem.question}\n{HINT}"))
    retries = {"format": 1, "illegal": 1}
    for _ in range(TURNS):
        reply = yield Chat(messages, max_tokens=12)
        tags = re.findall(r"<move>([^<]*)</move>", reply.text)
        said = (yield Tool("play", {"move": tags[-1]})) if tags else ""
        lacks = "" if tags else "format"
        if said.startswith("illegal"):
            lacks = "illegal"
        if lacks:
            retries[lacks] -= 1
            if retries[lacks] < 0:
                break
        elif said.startswith("Reply:"):
            messages += [assistant(reply.text), user(f"{said}\n{HINT}")]
        else:
            break
    return ""
