"""Edits of how a harness shows a chess position. None of them chooses a move: the model does."""

from __future__ import annotations

from whale.offline.edit import Edit, percent
from whale.offline.evidence import Evidence
from whale.offline.wording_edits import put, unless

_SORTED = r'''
def restated(text, question):
    """List moves whose SAN <<what>> before the others; the order within each stays."""
    found = re.search(r"Legal moves: (.*)", question)
    if found is None:
        return text
    moves = found.group(1).split(", ")
    moves.sort(key=lambda move: <<lacks>>)
    return text.replace(found.group(1), ", ".join(moves))
'''


def _first(what: str, lacks: str) -> str:
    return _SORTED.replace("<<what>>", what).replace("<<lacks>>", lacks)


CHECKS_FIRST = _first("bears a mark of check or mate", '"+" not in move and "#" not in move')
CAPTURES_FIRST = _first("says that they capture", '"x" not in move')

PIECES_IN_WORDS = r'''
def restated(text, question):
    """Say in words where the pieces of both sides stand, instead of FEN and board."""
    fen = re.search(r"FEN: (\S+)", question)
    listed = re.search(r"Legal moves: .*", question)
    if fen is None or listed is None:
        return text
    names = {"k": "king", "q": "queen", "r": "rook", "b": "bishop", "n": "knight", "p": "pawn"}
    sides = {"White": [], "Black": []}
    for rank, row in enumerate(fen.group(1).split("/")):
        file = 0
        for sign in row:
            if sign.isdigit():
                file += int(sign)
                continue
            side = "White" if sign.isupper() else "Black"
            sides[side].append(names[sign.lower()] + " " + "abcdefgh"[file] + str(8 - rank))
            file += 1
    for line in question.split("\n")[1:]:
        if line != listed.group(0):
            text = text.replace(line + "\n", "")
    said = [side + ": " + ", ".join(pieces) + "." for side, pieces in sides.items()]
    return text.replace(listed.group(0), "\n".join([*said, listed.group(0)]))
'''


def _showing(name: str, body: str, weight: float, what: str) -> Edit:
    def applies(e: Evidence) -> float:
        return unless("restated", body, e, weight * (1 - e.share("correct")))

    return Edit(
        name,
        applies,
        put(restated=body),
        lambda e: f"{percent(1 - e.share('correct'))} of {e.rollouts} rollouts fail: {what}",
        slot="position",
    )


CHECKS = _showing("checks_first", CHECKS_FIRST, 0.6, "list checks and mates first")
CAPTURES = _showing("captures_first", CAPTURES_FIRST, 0.5, "list captures first")
PIECES = _showing("pieces_in_words", PIECES_IN_WORDS, 0.4, "say where the pieces stand")
