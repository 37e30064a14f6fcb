"""A harness as a draft with named pieces around it: how edits can change any harness, one after another.

The original ``solve`` becomes ``draft``; below a divider stand the pieces and a new ``solve`` that passes
every request and the answer through them. A file whose lower half was rewritten by others is a new draft.
"""

from __future__ import annotations

import ast
import re
import textwrap
from dataclasses import dataclass, field, replace
from functools import lru_cache

from whale.offline import stages, text

_DIVIDER = "# ---- Around draft{}: its requests and its answer pass through the functions below. ----"
_ANY_DIVIDER = re.compile(r"^# ---- Around draft(\w*): its requests .*$", re.MULTILINE)


@dataclass(frozen=True)
class Frame:
    """A harness file taken apart; ``render`` puts it together again."""

    head: text.Head
    draft: str
    """The original harness without docstring and imports of the contract, ``solve`` renamed."""
    suffix: str = ""
    """Added to every name of ours, when the original already uses one of them."""
    pieces: dict[str, str] = field(default_factory=dict)
    """Name -> text of each constant and function that an edit put here."""

    def put(self, **pieces: str | None) -> Frame:
        """Add or replace pieces by name; None removes one."""
        merged = {**self.pieces, **pieces}
        kept = {name: body.strip() for name, body in merged.items() if body is not None}
        return replace(self, pieces=kept)

    def render(self) -> str:
        """The text of the harness file."""
        lower = stages.lower_half(self.pieces)
        names = stages.contract_names(lower)
        needs_re = re.search(r"\bre\.", lower) is not None
        top = text.render_head(self.head, names, self.suffix, needs_re=needs_re)
        if self.suffix:
            lower = text.rename(lower, {name: name + self.suffix for name in stages.RESERVED})
        divider = _DIVIDER.format(self.suffix)
        gap = "\n\n\n" if self.draft.startswith(("def ", "class ", "@")) else "\n\n"
        return f"{top}{gap}{self.draft}\n\n\n{divider}\n\n\n{lower.strip()}\n"


@lru_cache(maxsize=64)
def read(source: str) -> Frame:
    """Take a harness apart; a file without pieces, or with foreign changes to them, becomes a draft."""
    found = list(_ANY_DIVIDER.finditer(source))
    if found:
        frame = _framed(source, found[-1])
        rendered = frame.render()
        if rendered == source or _same_code(rendered, source):
            return frame
    return _wrap(source)


def _framed(source: str, divider: re.Match[str]) -> Frame:
    suffix = divider.group(1)
    lower = source[divider.end() :]
    plain = text.rename(lower, {name + suffix: name for name in stages.RESERVED} if suffix else {})
    statements = text.statements(plain)
    pieces = {name: body for name, body in statements.items() if name in stages.PIECES}
    head, draft = text.split_head(source[: divider.start()], suffix)
    return Frame(head, draft.strip(), suffix, pieces)


def _wrap(source: str) -> Frame:
    """The whole source as a draft, with names of ours that do not meet its own."""
    head, draft = text.split_head(source, "")
    taken = text.bound_names(draft)
    number = 1
    suffix = ""
    while any(name + suffix in taken for name in stages.RESERVED):
        number += 1
        suffix = f"_{number}"
    return Frame(head, text.rename_solve(draft, "draft" + suffix).strip(), suffix)


def _same_code(one: str, other: str) -> bool:
    """Whether two sources differ at most in layout, comments and the module docstring."""
    trees = []
    for source in (one, other):
        tree = ast.parse(source)
        if ast.get_docstring(tree, clean=False) is not None:
            tree.body = tree.body[1:]
        trees.append(ast.dump(tree))
    return trees[0] == trees[1]


def with_lineage(source: str, line: str) -> str:
    """The source with one more line at the end of its docstring, saying where it comes from."""
    if _ANY_DIVIDER.search(source):
        frame = read(source)
        wrapped = "\n".join(textwrap.wrap(line, 100, subsequent_indent="    ", break_long_words=False))
        docstring = f"{frame.head.docstring}\n\n{wrapped}".strip()
        return replace(frame, head=replace(frame.head, docstring=docstring)).render()
    return source
