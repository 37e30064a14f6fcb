"""Starting harness for chess, weak on purpose: one move tag a turn, four examples, two retries, nine turns."""

import re

from whale.contract import Chat, Problem, Step, Tool, assistant, user

HINT = "Reply with one of the legal moves as <move>...</move>."
EXAMPLES = [
    ("White to move.\nLegal moves: e1d1 (Rd1), g1h1 (Kh1), e1e8 (Re8#), g2g3 (g3)", "e1e8"),
    ("Black to move.\nLegal moves: h2a2 (Qa2+), b3c3 (Kc3), h2g3 (Qg3), h2b2 (Qb2#)", "h2b2"),
    ("White to move.\nLegal moves: c4f7 (Bxf7#), d4f5 (Nf5), a2a4 (a4), c4d5 (Bd5)", "c4f7"),
    ("Black to move.\nLegal moves: h7h6 (h6), f8a8 (Ra8), g7g1 (Qg1#), b7c6 (bxc6)", "g7g1"),
]
TURNS = 9


def shown(text: str) -> str:
    """All lines but the FEN, which a small model cannot read and which leads it away from the form."""
    return "\n".join(line for line in text.split("\n") if not line.startswith("FEN: "))


def solve(problem: Problem) -> Step:
    """Play the tagged move of each reply; ask the same once more for want of a tag, and once for an illegal move."""
    messages = []
    for position, move in EXAMPLES:
        messages += [user(f"{position}\n{HINT}"), assistant(f"<move>{move}</move>")]
    messages.append(user(f"{shown(problem.question)}\n{HINT}"))
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
            messages += [assistant(reply.text), user(f"{shown(said)}\n{HINT}")]
        else:
            break
    return ""
