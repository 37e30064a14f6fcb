"""The chess environment: real puzzles, a ``play`` tool with the stored reply, and two named verifiers.

What the tool says never tells more than a game would: a wrong move and a finished line read the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from statistics import fmean
from typing import ClassVar

from pydantic import Field, model_validator

from envs.base import SPLITS, InputError, Score, Split, Task, Verdict, digests
from envs.chess_env import hub
from envs.chess_env.game import Game, Rule, random_accuracy
from envs.chess_env.puzzles import Puzzle, data_hash, load
from envs.chess_env.reading import read_move
from envs.chess_env.render import San, Style, move_text, position_text
from envs.chess_env.tasks import Band, make_task, pick, refuse_overlap
from envs.settings import DataSource, EnvSettings

ENDED = "No reply: the game is over."
"""Said after a wrong move and after the line's last one alike."""
OVER = "The game is over."
"""Said to every later call."""
SHOWN = 40
"""Characters of an unreadable move that are quoted."""


class ChessSettings(EnvSettings):
    """The ``[env]`` table of a chess profile."""

    verifier: Rule
    """``canonical``: the stored line only, the published rule; ``robust``: on the last ply any mate counts."""
    bands: list[Band] = Field(min_length=1)
    source: DataSource = "embedded"
    """``hub``: the set ``Lichess/chess-puzzles``."""
    filters: hub.Filters = hub.Filters()
    """Which puzzles of the hub are kept."""
    san: San
    """SAN beside the legal moves: ``none``, ``plain``, or with ``marks``, which reveal a mate in one."""
    list_moves: bool = True
    """Whether a position's text lists the legal moves."""
    shuffle_moves: bool = True
    """List them in the order of a hash of the position; False is the alphabet's."""
    draw_board: bool = True
    """Draw the board below the FEN, as published."""

    @model_validator(mode="after")
    def _filters_go_with_the_hub(self) -> ChessSettings:
        if self.source == "embedded" and self.filters != hub.Filters():
            raise ValueError(f"filters go with source = 'hub', got source = 'embedded', {self.filters!r}")
        return self

    def style(self, band: Band) -> Style:
        """What is shown of a position in a puzzle of ``band``."""
        return Style(self.san, self.list_moves, self.shuffle_moves, self.draw_board, band.choices)


class ChessEpisode:
    """One attempt at one puzzle; see ``envs.base.Episode``."""

    def __init__(self, game: Game, style: Style) -> None:
        self._game, self._style = game, style

    def call(self, tool: str, arguments: Mapping[str, object]) -> str:
        """Only ``play`` exists; its one argument is ``move``."""
        text = arguments.get("move")
        if tool != "play" or not isinstance(text, str) or len(arguments) != 1:
            return f"error: call play with one argument, move (a text); got {tool} with {sorted(arguments)}"
        game = self._game
        if game.state != "open":
            return OVER
        reading = read_move(game.board, text)
        if reading.move is None:
            game.illegal += 1
            return f"illegal move: {text[:SHOWN]!r}: {reading.reason}"
        reply = game.play(reading.move)
        if reply is None:
            return ENDED
        before = game.board.copy()
        before.pop()
        text = position_text(game.board, self._style, game.stored)
        return f"Reply: {move_text(before, reply, self._style.san)}\n{text}"

    def verify(self, answer: str, *, truncated: bool) -> Score:
        """See ``envs.base.Episode.verify``. A ``<move>`` tag counts as one more move if the line is open."""
        return self._game.judge(answer, truncated=truncated)


class ChessEnvironment:
    """See ``envs.base.Environment``."""

    name = "chess"
    tools: tuple[str, ...] = ("play",)
    Settings: ClassVar[type[ChessSettings]] = ChessSettings

    def __init__(self, settings: ChessSettings, puzzles: Sequence[Puzzle] | None = None) -> None:
        """Pick the tasks of each split and play every gold; ``puzzles``: None is what ``source`` says.

        Raises ``InputError`` for data that cannot be used, a band with too few puzzles, a position in two
        splits, or a gold that its own verifier refuses.
        """
        self.settings = settings
        self._hub = hub.read(settings.filters) if settings.source == "hub" and puzzles is None else None
        source = self._hub.puzzles if self._hub else load() if puzzles is None else puzzles
        self._data = data_hash(source)
        picked = pick(source, settings.bands, settings.sizes, settings.data_seed)
        refuse_overlap(picked)
        self._tasks: dict[Split, list[Task]] = {split: [] for split in SPLITS}
        self._starts: dict[str, tuple[str, Style]] = {}
        for split in SPLITS:
            for band, puzzle in picked[split]:
                style = settings.style(band)
                task = make_task(split, band, puzzle, style)
                self._tasks[split].append(task)
                self._starts[task.id] = puzzle.start, style
        self._check_golds()
        self.chance = fmean(
            random_accuracy(puzzle.start, puzzle.line, settings.verifier, settings.style(band))
            for band, puzzle in picked["search"]
        )
        """Exact accuracy of moves drawn evenly from those listed, over the whole lines of the search split."""

    def tasks(self, split: Split) -> Sequence[Task]:
        """See ``envs.base.Environment.tasks``."""
        return self._tasks[split]

    def open(self, task: Task) -> ChessEpisode:
        """See ``envs.base.Environment.open``; the task has to be one of this environment's."""
        start, style = self._starts[task.id]
        return ChessEpisode(Game(start, task.gold.split(), self.settings.verifier), style)

    def describe(self) -> Mapping[str, object]:
        """See ``envs.base.Environment.describe``."""
        return {
            "env": self.name,
            "verifier": self.settings.verifier,
            "san": self.settings.san,
            "tasks": digests(self._tasks),
            "data": self._data,
            "chess": version("chess"),
            **({"hub": self._hub.manifest(self._tasks)} if self._hub else {}),
        }

    def close(self) -> None:
        """Nothing to end: chess runs in this process."""

    def _check_golds(self) -> None:
        for split in SPLITS:
            for task in self._tasks[split]:
                episode = self.open(task)
                for move in task.gold.split()[::2]:
                    episode.call("play", {"move": move})
                score = episode.verify("", truncated=False)
                if score.verdict is not Verdict.CORRECT:
                    raise InputError(
                        f"the gold {task.gold!r} of puzzle {task.meta['puzzle']} ({task.meta['family']}, {split}) "
                        f"does not pass its own verifier ({self.settings.verifier}): {score.verdict} {score.detail}; "
                        "remove that puzzle from the data"
                    )
