"""Hand-made, to show the room above the starting harness: mates and checks are listed first, and it asks again."""

import re

from whale.contract import Chat, Problem, Step, Tool, assistant, user

HINT = "Reply with the first legal move as <move>...</move>."
EXAMPLES = [
    ("White to move.\nLegal moves: e1e8 (Re8#), e1d1 (Rd1), g1h1 (Kh1)", "e1e8"),
    ("Black to move.\nLegal moves: h2b2 (Qb2#), h2a2 (Qa2+), b3c3 (Kc3), h2g3 (Qg3)", "h2b2"),
    ("White to move.\nLegal moves: c4f7 (Bxf7#), d4f5 (Nf5), a2a4 (a4)", "c4f7"),
    ("Black to move.\nLegal moves: g7g1 (Qg1#), f8f1 (Rf1+), h7h6 (h6), b7c6 (bxc6)", "g7g1"),
]
TRIES = 4


def shown(text: str) -> str:
    """Side to move and the listed moves, mates and checks first."""
    lines = [line for line in text.split("\n") if " to move" in line or line.startswith("Legal")]
    moves = lines[-1].removeprefix("Legal moves: ").split(", ")
    moves.sort(key=lambda move: 0 if "#" in move else 1 if "+" in move else 2)
    return "\n".join([*lines[:-1], "Legal moves: " + ", ".join(moves)])


def solve(problem: Problem) -> Step:
    """Play the tagged move; ask again for want of a legal one."""
    messages = []
    for position, move in EXAMPLES:
        messages += [user(f"{position}\n{HINT}"), assistant(f"<move>{move}</move>")]
    messages.append(user(f"{shown(problem.question)}\n{HINT}"))
    for _ in range(TRIES):
        reply = yield Chat(messages, max_tokens=12)
        tags = re.findall(r"<move>([^<]*)</move>", reply.text)
        if tags and not (yield Tool("play", {"move": tags[-1]})).startswith("illegal"):
            break
    return ""
