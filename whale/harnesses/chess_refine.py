"""The starting harness for chess with a second look: the model is shown its move and asked to check it."""

import re

from whale.contract import Chat, Problem, Step, Tool, assistant, user

HINT = "Reply with one of the legal moves as <move>...</move>."
CHECK = "Is there a better move? Reply with the best of the legal moves as <move>...</move>."
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
    """Ask for a move, then for a better one, and play that; the first stands when the second has no tag.

    One retry after a move that is not legal.
    """
    messages = []
    for position, move in EXAMPLES:
        messages += [user(f"{position}\n{HINT}"), assistant(f"<move>{move}</move>")]
    messages.append(user(f"{problem.question}\n{HINT}"))
    retries = 1
    for _ in range(TURNS):
        first = yield Chat(messages, max_tokens=12)
        second = yield Chat([*messages, assistant(first.text), user(CHECK)], max_tokens=12)
        tags = re.findall(r"<move>([^<]*)</move>", f"{first.text}\n{second.text}")
        said = (yield Tool("play", {"move": tags[-1]})) if tags else ""
        if said.startswith("Reply:"):
            messages += [assistant(f"<move>{tags[-1]}</move>"), user(f"{said}\n{HINT}")]
        elif said.startswith("illegal") and retries:
            retries -= 1
        else:
            break
    return ""
