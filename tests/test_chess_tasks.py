"""Chess tasks: bands, splits that share no position, and texts whose order gives nothing away."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import replace
from statistics import fmean
from typing import Any

import chess
import pytest
from pydantic import ValidationError

from envs.base import SPLITS, InputError, Split
from envs.chess_env import baselines
from envs.chess_env.puzzles import Puzzle, load
from envs.chess_env.render import Style, ascii_board, legal_moves, ordered_moves, position_text
from envs.chess_env.tasks import RESERVED, SHARES, Band, make_task, pick, refuse_overlap, split_of
from envs.settings import Sizes
from whale.harnesses import chess_h0

EASY = Band(name="easy", min_rating=0, max_rating=999, plies=[1])
HARD = Band(name="hard", min_rating=1000, max_rating=3500, plies=[3, 5])
ALL = Band(name="all", min_rating=0, max_rating=3500, plies=9)
SIZES = Sizes(weight=40, search=16, select=12, test=20)


def picked(
    *bands: Band, sizes: Sizes = SIZES, seed: int = 0, puzzles: tuple[Puzzle, ...] | None = None
) -> dict[Split, list[tuple[Band, Puzzle]]]:
    return pick(load() if puzzles is None else puzzles, bands or (EASY, HARD), sizes, seed)


def ids(chosen: dict[Split, list[tuple[Band, Puzzle]]], split: Split) -> list[str]:
    return [puzzle.id for _, puzzle in chosen[split]]


def resized(**sizes: int) -> Sizes:
    return Sizes.model_validate({**SIZES.model_dump(), **sizes})


def test_splits_are_disjoint_by_position_and_bands_alternate() -> None:
    chosen = picked()
    positions = [puzzle.position for split in SPLITS for _, puzzle in chosen[split]]
    assert len(set(positions)) == len(positions) == 88
    for split in SPLITS:
        assert len(chosen[split]) == getattr(SIZES, split)
        assert [band.name for band, _ in chosen[split]] == ["easy", "hard"] * (len(chosen[split]) // 2)
        assert all(band.holds(puzzle) for band, puzzle in chosen[split])
        assert all(split_of(puzzle.position) == split for _, puzzle in chosen[split])
    refuse_overlap(chosen)


def test_the_same_seed_the_same_puzzles() -> None:
    assert picked(seed=3) == picked(seed=3)
    assert ids(picked(seed=3), "test") != ids(picked(seed=4), "test")


def test_the_order_of_the_source_plays_no_part() -> None:
    assert picked(puzzles=load()[::-1]) == picked()


def test_no_seed_band_or_size_moves_a_position_to_another_split() -> None:
    split_by_id: dict[str, str] = {}
    for seed in range(3):
        for bands in ((EASY, HARD), (ALL, EASY)):
            chosen = picked(*bands, sizes=resized(weight=200), seed=seed)
            for split in SPLITS:
                for name in ids(chosen, split):
                    assert split_by_id.setdefault(name, split) == split


@pytest.mark.parametrize("split", SPLITS)
def test_the_size_of_a_split_leaves_the_others_alone(split: Split) -> None:
    larger, usual = picked(sizes=resized(**{split: 44})), picked()
    for other in SPLITS:
        assert ids(larger, other)[: getattr(SIZES, other)] == ids(usual, other)


def test_every_split_has_its_share() -> None:
    found = Counter(split_of(puzzle.position) for puzzle in load())
    assert math.isclose(sum(SHARES.values()), 1.0)
    for split, share in SHARES.items():
        spread = math.sqrt(share * (1 - share) / len(load()))
        assert abs(found[split] / len(load()) - share) < 4 * spread


def test_two_bands_that_overlap_share_no_puzzle() -> None:
    chosen = picked(ALL, ALL.model_copy(update={"name": "again"}))
    names = [name for split in SPLITS for name in ids(chosen, split)]
    assert len(set(names)) == len(names)


def test_one_position_is_used_once_even_under_two_ids() -> None:
    twins = tuple(replace(puzzle, id=f"{puzzle.id}{copy}") for puzzle in load()[:400] for copy in "ab")
    chosen = picked(ALL, sizes=Sizes(weight=100, search=20, select=20, test=40), puzzles=twins)
    positions = [puzzle.position for split in SPLITS for _, puzzle in chosen[split]]
    assert len(set(positions)) == len(positions)


def test_the_guard_names_both_puzzles() -> None:
    chosen = picked()
    twin = replace(chosen["weight"][0][1], id="twin")
    chosen["test"][0] = (EASY, twin)
    with pytest.raises(InputError, match=r"puzzle 'twin' \(test\) has the position of '\w+' \(weight\): "):
        refuse_overlap(chosen)


def test_the_examples_of_the_starting_harness_are_right_and_reserved() -> None:
    boards = []
    for text, move in chess_h0.EXAMPLES:
        boards.append(chess.Board(text.split("FEN: ")[1].split("\n")[0]))
        listed = re.findall(r"(\w{4}) \((\S+)\)", text)
        assert all(boards[-1].san(chess.Move.from_uci(uci)) == san for uci, san in listed)
        assert dict(listed)[move].endswith("#")
    assert {board.epd() for board in boards} == RESERVED
    assert not RESERVED & {puzzle.position for puzzle in load()}
    same = tuple(replace(puzzle, position=max(RESERVED)) for puzzle in load()[:5])
    with pytest.raises(InputError, match="0 of 1"):
        picked(ALL, sizes=Sizes(weight=1, search=1, select=1, test=1), puzzles=same)


def test_refusals() -> None:
    with pytest.raises(
        InputError, match=r"band 'easy' has too few puzzles: \d+ of 2000 for split 'weight'; widen"
    ):
        picked(sizes=resized(weight=4000))
    with pytest.raises(InputError, match="search = 7 is not a multiple of the 2 shares of the bands"):
        picked(sizes=resized(search=7))
    for bands in ([], [EASY, EASY]):
        with pytest.raises(InputError, match="each with its own name"):
            pick(load(), bands, SIZES, 0)


@pytest.mark.parametrize("plies", [0, 2, 11, [], [1, 2], [13]])
def test_plies_are_odd_and_at_most_nine(plies: Any) -> None:
    with pytest.raises(ValidationError, match="plies are odd numbers from 1 to 9"):
        Band(name="x", min_rating=0, max_rating=1, plies=plies)


def test_a_band_holds_what_it_says() -> None:
    puzzle = next(puzzle for puzzle in load() if puzzle.plies == 5)

    def band(plies: list[int] | int, lowest: int = puzzle.rating, highest: int = puzzle.rating) -> Band:
        return Band(name="x", min_rating=lowest, max_rating=highest, plies=plies)

    assert band([5]).holds(puzzle)
    assert band(5).holds(puzzle)
    assert not band(3).holds(puzzle)
    assert not band([1, 3, 7, 9]).holds(puzzle)
    assert not band(5, lowest=puzzle.rating + 1, highest=3500).holds(puzzle)
    assert not band(5, lowest=0, highest=puzzle.rating - 1).holds(puzzle)


def test_a_task_holds_the_position_and_the_line() -> None:
    band, puzzle = picked()["search"][1]
    task = make_task("search", band, puzzle, Style())
    assert task.gold == " ".join(puzzle.moves[1:])
    assert task.meta == {
        "family": "hard", "rating": str(puzzle.rating), "plies": str(puzzle.plies), "puzzle": puzzle.id,
    }  # fmt: skip
    assert (task.env, task.split) == ("chess", "search")
    assert puzzle.start in task.question


MATE = chess.Board("6k1/5ppp/8/8/8/8/5PPP/4R1K1 w - - 0 1")


def test_the_text_of_a_position() -> None:
    text = position_text(MATE, Style(san="plain", shuffle_moves=False))
    lines = text.splitlines()
    assert lines[:3] == ["White to move.", "FEN: 6k1/5ppp/8/8/8/8/5PPP/4R1K1 w - - 0 1", "Board:"]
    assert lines[3] == "8 . . . . . . k ."
    assert lines[10:12] == ["1 . . . . R . K .", "  a b c d e f g h"]
    assert lines[12].startswith("Legal moves: e1a1 (Ra1), e1b1 (Rb1), ")
    assert "\n".join(lines[3:12]) == ascii_board(MATE)
    assert len(lines) == 13
    assert "Legal" not in position_text(MATE, Style(list_moves=False))


def test_the_marks_reveal_a_mate_and_only_they_do() -> None:
    assert "e1e8 (Re8#)" in legal_moves(MATE, Style(san="marks"))
    assert "e1e8 (Re8)" in legal_moves(MATE, Style(san="plain"))
    for san in ("none", "plain"):
        assert not set("#+") & set(legal_moves(MATE, Style(san="none" if san == "none" else "plain")))
    assert "(" not in legal_moves(MATE, Style(san="none"))
    assert legal_moves(chess.Board("R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1"), Style()) == "none"


def test_the_list_holds_every_legal_move_once() -> None:
    for puzzle in load()[::200]:
        board = chess.Board(puzzle.start)
        for shuffle in (True, False):
            moves = ordered_moves(board, shuffle=shuffle)
            assert len(moves) == len(set(moves))
            assert set(moves) == set(board.legal_moves)


def test_the_order_depends_on_the_position_alone() -> None:
    board = chess.Board(load()[0].start)
    later = board.copy()
    later.halfmove_clock, later.fullmove_number = 7, 99
    assert ordered_moves(board, shuffle=True) == ordered_moves(later, shuffle=True)


def test_the_order_reveals_nothing() -> None:
    """Place of the answer, as a share of the list: uniform, so its mean and its quarters are known."""
    places = []
    for puzzle in load()[::3]:
        board = chess.Board(puzzle.start)
        moves = ordered_moves(board, shuffle=True)
        if len(moves) > 1:
            places.append((moves.index(chess.Move.from_uci(puzzle.line[0])) + 0.5) / len(moves))
    assert abs(fmean(places) - 0.5) < 4 * math.sqrt(1 / 12 / len(places))
    for quarter in range(4):
        share = fmean(quarter / 4 <= place < (quarter + 1) / 4 for place in places)
        assert abs(share - 0.25) < 0.04


def test_rules_of_thumb_play_whole_lines() -> None:
    puzzle = next(puzzle for puzzle in load() if puzzle.plies == 1)
    legal = chess.Board(puzzle.start).legal_moves.count()
    canonical, robust = baselines.outcomes(puzzle)
    assert canonical[0] == pytest.approx(1 / legal)
    assert robust[-1] == 1.0, "a rule that looks for a mate solves a mate in one"
    assert len(baselines.measure([puzzle])) == len(robust) == 1 + len(baselines.CHOICES)
    usable = [puzzle for puzzle in load() if puzzle.plies <= 9]
    assert all(sum(band.holds(puzzle) for band in baselines.BANDS) == 1 for puzzle in usable)
