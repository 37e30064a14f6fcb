"""A table as plain rows of text, for the Markdown report and for the terminal."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: column heads and rows of cells, all text."""

    heads: list[str]
    rows: list[list[str]]

    def markdown(self) -> str:
        """The table in Markdown, figures aligned right; bars and line breaks in cells are made harmless."""
        lines = [self.heads, ["---", *["--:"] * (len(self.heads) - 1)], *self.rows]
        return "\n".join("| " + " | ".join(_cell(cell) for cell in row) + " |" for row in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
