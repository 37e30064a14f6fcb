"""Play and verdicts: the tool never tells more than a game would, and no text makes the verifier fail."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import chess
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envs.base import SPLITS, Environment, InputError, Task, Verdict
from envs.chess_env.env import ENDED, OVER, ChessEnvironment, ChessEpisode, ChessSettings
from envs.chess_env.game import Game, last_tag, random_accuracy
from envs.chess_env.puzzles import Puzzle, make_puzzle
from envs.chess_env.render import position_text
from envs.chess_env.tasks import split_of

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "cases" / "chess_episodes.jsonl").read_text("utf-8").splitlines()
]
BANDS = [
    {"name": "one", "min_rating": 0, "max_rating": 1200, "plies": [1]},
    {"name": "more", "min_rating": 0, "max_rating": 1500, "plies": [3, 5]},
]
SIZES = {"weight": 12, "search": 8, "select": 6, "test": 10}


def settings(**changes: Any) -> ChessSettings:
    given_ = {"verifier": "robust", "data_seed": 1, "sizes": SIZES, "bands": BANDS, "san": "plain", **changes}
    return ChessSettings.model_validate(given_)


@pytest.fixture(scope="module")
def env() -> ChessEnvironment:
    return ChessEnvironment(settings())


@pytest.mark.parametrize("rule", ["canonical", "robust"])
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case: dict[str, Any], rule: str, env: ChessEnvironment) -> None:
    """Through the environment's own tool."""
    game = Game(case["fen"], case["line"].split(), "canonical" if rule == "canonical" else "robust")
    episode = ChessEpisode(game, env.settings.style(env.settings.bands[0]))
    for move in case["plays"]:
        episode.call("play", {"move": move})
    score = episode.verify(case["answer"], truncated=case["truncated"])
    assert score.verdict == case[rule], score
    assert episode.verify(case["answer"], truncated=case["truncated"]) == score, "judging changed the game"


def test_case_ids_are_unique() -> None:
    assert len({case["id"] for case in CASES}) == len(CASES)


def of_band(env: ChessEnvironment, name: str) -> Task:
    return next(task for task in env.tasks("test") if task.meta["family"] == name)


def test_it_is_an_environment(env: ChessEnvironment) -> None:
    held: Environment = env
    assert (held.name, held.tools, ChessEnvironment.Settings) == ("chess", ("play",), ChessSettings)
    held.close()


def test_a_finished_line_and_a_wrong_move_read_the_same(env: ChessEnvironment) -> None:
    for task in (*env.tasks("test"), *env.tasks("search")):
        line = task.gold.split()
        board = chess.Board(task.question.split("FEN: ")[1].split("\n")[0])
        said = set()
        for move in board.legal_moves:
            if len(line) == 1 or move.uci() != line[0]:
                episode = env.open(task)
                said.add(episode.call("play", {"move": move.uci()}))
                assert episode.call("play", {"move": line[0]}) == OVER
        assert said == {ENDED}
        episode = env.open(task)
        replies = [episode.call("play", {"move": move}) for move in line[::2]]
        assert replies[-1] == ENDED
        assert all(reply.startswith("Reply: ") for reply in replies[:-1])


def test_a_right_move_brings_the_stored_reply_and_the_new_position(env: ChessEnvironment) -> None:
    task = of_band(env, "more")
    line = task.gold.split()
    board = chess.Board(task.question.split("FEN: ")[1].split("\n")[0])
    board.push_uci(line[0])
    written = board.san(chess.Move.from_uci(line[1])).rstrip("+#")
    board.push_uci(line[1])
    expected = (
        f"Reply: {line[1]} ({written})\n{position_text(board, env.settings.style(env.settings.bands[0]))}"
    )
    assert env.open(task).call("play", {"move": line[0]}) == expected


def test_an_illegal_move_changes_nothing_and_is_counted(env: ChessEnvironment) -> None:
    task = of_band(env, "one")
    episode = env.open(task)
    for text in ("", "0000", "e9e4", "x" * 10_000, "\x00\u202e\ud800"):
        answer = episode.call("play", {"move": text})
        assert answer.startswith("illegal move: ")
        assert len(answer) < 400
        answer.encode()
    score = episode.verify("", truncated=False)
    assert (score.verdict, score.detail) == (Verdict.NO_ANSWER, "no legal move, 5 illegal")
    episode.call("play", {"move": task.gold})
    assert episode.verify("", truncated=False).verdict is Verdict.CORRECT


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("move", {"move": "e4"}), ("play", {}), ("play", {"move": 3}), ("play", {"move": "e4", "gold": "?"})],
)
def test_a_wrong_tool_call_comes_back_as_text(
    env: ChessEnvironment, tool: str, arguments: dict[str, object]
) -> None:
    answer = env.open(env.tasks("test")[0]).call(tool, arguments)
    assert answer.startswith("error: call play with one argument, move (a text); got ")


def test_attempts_do_not_touch_each_other(env: ChessEnvironment) -> None:
    task = of_band(env, "one")
    first, second = env.open(task), env.open(task)
    first.call("play", {"move": task.gold})
    assert first.verify("", truncated=False).verdict is Verdict.CORRECT
    assert second.verify("", truncated=True).verdict is Verdict.TRUNCATED


PIECES = st.sampled_from(["<move>", "</move>", "<", "e2e4", "Nf3", "O-O", "\x00", "\u202e"]) | st.text(
    max_size=4
)
TEXTS = st.lists(PIECES, max_size=10).map("".join)


@given(st.integers(0, 9), st.lists(TEXTS, max_size=4), TEXTS, st.booleans())
def test_no_text_makes_it_fail(
    env: ChessEnvironment, place: int, plays: list[str], answer: str, truncated: bool
) -> None:
    episode = env.open(env.tasks("test")[place])
    for text in plays:
        episode.call("play", {"move": text})
    score = episode.verify(answer, truncated=truncated)
    assert score.verdict in {Verdict.CORRECT, Verdict.WRONG, Verdict.NO_ANSWER, Verdict.TRUNCATED}
    assert score.value == (score.verdict is Verdict.CORRECT)


@given(TEXTS)
def test_last_tag_is_part_of_the_text(text: str) -> None:
    tag = last_tag(text)
    assert tag is None or f"<move>{tag}</move>" in text


@pytest.mark.parametrize("unit", ["<move>", "</move>", "<move>a", "<", "a"])
def test_an_enormous_answer_is_judged(env: ChessEnvironment, unit: str) -> None:
    assert env.open(env.tasks("test")[0]).verify(unit * 1_000_000, truncated=False).value == 0.0


def puzzle_in(split: str, number: int) -> Puzzle:
    """The ``number``-th of many small puzzles whose position falls into a split: a rook mates."""
    for bits in range(1024):
        board = chess.Board("7k/5ppp/8/8/8/8/8/R5K1 b - - 0 1")
        for place in range(10):
            if bits >> place & 1:
                board.set_piece_at(chess.B2 + place + (place > 6) * 10, chess.Piece.from_symbol("P"))
        puzzle = make_puzzle(
            "test", id=f"{split}{bits}", fen=board.fen(), moves=["h8g8", "a1a8"], rating=600, themes=[]
        )
        number -= split_of(puzzle.position) == split
        if number < 0:
            return puzzle
    raise AssertionError("no such position")


def test_a_gold_that_its_own_verifier_refuses_stops_the_start() -> None:
    """A puzzle made by hand around the checks: its line holds a move that the reader refuses."""
    puzzles = [puzzle_in(split, number) for split in SIZES for number in range(2)]
    broken = Puzzle("odd", puzzles[0].fen, ("h8g8", "a1a9"), 600, (), puzzles[0].start, puzzles[0].position)
    sizes = dict.fromkeys(SIZES, 1)
    with pytest.raises(
        InputError, match=r"the gold 'a1a9' of puzzle odd \(one, weight\) does not pass its own"
    ):
        ChessEnvironment(settings(bands=BANDS[:1], sizes=sizes), [broken, *puzzles[2:]])
    assert ChessEnvironment(settings(bands=BANDS[:1], sizes=sizes), puzzles).tasks("test")


def test_chance_is_that_of_random_legal_moves(env: ChessEnvironment) -> None:
    assert 0.005 < env.chance < 0.15
    mates = "r1b2k1r/1p4p1/p2q1b1p/2np1p1Q/5P2/6P1/PP3NBP/R3R2K w - - 0 23"
    legal = chess.Board(mates).legal_moves.count()
    assert random_accuracy(mates, ["e1e8"], "canonical") == pytest.approx(1 / legal)
    assert random_accuracy(mates, ["e1e8"], "robust") == pytest.approx(2 / legal)
    three = "3r2k1/5ppp/8/8/8/8/4QPPP/4R1K1 w - - 0 1"
    board = chess.Board(three)
    first = board.legal_moves.count()
    for move in ("e2e8", "d8e8"):
        board.push_uci(move)
    assert random_accuracy(three, ["e2e8", "d8e8", "e1e8"], "canonical") == pytest.approx(
        1 / first / board.legal_moves.count()
    )


def test_what_identifies_data_and_grading(env: ChessEnvironment) -> None:
    said = env.describe()
    assert set(said) == {"env", "verifier", "san", "tasks", "data", "chess"}
    assert ChessEnvironment(settings()).describe() == said
    assert ChessEnvironment(settings(data_seed=2)).describe()["tasks"] != said["tasks"]
    assert ChessEnvironment(settings(san="marks")).describe()["tasks"] != said["tasks"]
    assert ChessEnvironment(settings(verifier="canonical")).describe()["verifier"] == "canonical"


def test_a_band_with_choices_lists_the_stored_move_and_a_few_others_at_every_turn() -> None:
    env = ChessEnvironment(settings(bands=[{**BANDS[-1], "choices": 3}]))
    assert env.chance > 1 / 27 - 1e-9, "moves drawn from the three listed, up to three times"
    places: Counter[int] = Counter()
    for split in SPLITS:
        for task in env.tasks(split):
            episode, text = env.open(task), task.question
            for move in task.gold.split()[::2]:
                listed = [entry.split()[0] for entry in text.split("Legal moves: ")[1].split(", ")]
                board = chess.Board(text.split("FEN: ")[1].split("\n")[0])
                assert len(set(listed)) == min(3, board.legal_moves.count())
                assert all(board.is_legal(chess.Move.from_uci(name)) for name in listed)
                places[listed.index(move)] += 1
                text = episode.call("play", {"move": move})
    assert max(places.values()) < 0.6 * sum(places.values()), (
        "the place of the stored move gives nothing away"
    )
    task = env.tasks("search")[0]
    board = chess.Board(task.question.split("FEN: ")[1].split("\n")[0])
    unlisted = next(move.uci() for move in board.legal_moves if move.uci() not in task.question)
    assert env.open(task).call("play", {"move": unlisted}) == ENDED, (
        "a legal move may be played though not listed"
    )
