"""Small operations on Python source text that keep its layout: rename, split at the head, list statements.

They change text, found through the tokenizer and the syntax tree; nothing here knows what a harness does.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Callable, Mapping
from dataclasses import dataclass

CONTRACT_MODULE = "whale.contract"


@dataclass(frozen=True)
class Head:
    """The top of a harness file, apart from imports that stay with the draft."""

    docstring: str = ""
    contract: frozenset[str] = frozenset()
    """Names imported from the contract."""
    uses_re: bool = False
    future: bool = False
    """Whether the file has ``from __future__ import annotations``."""


def rename(source: str, names: Mapping[str, str]) -> str:
    """Rename identifiers everywhere except after a dot and inside strings."""
    return _replace(source, lambda token, _line: names.get(token)) if names else source


def rename_solve(source: str, new: str) -> str:
    """Rename the top-level ``solve``; methods of that name keep it."""
    methods = {
        item.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef)
        for item in node.body
        if isinstance(item, ast.FunctionDef) and item.name == "solve"
    }
    return _replace(source, lambda token, line: new if token == "solve" and line not in methods else None)


def _replace(source: str, new_name: Callable[[str, int], str | None]) -> str:
    """Replace identifiers, last first, so that earlier positions stay valid."""
    lines = io.StringIO(source).readlines()
    tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    for index in range(len(tokens) - 1, -1, -1):
        token = tokens[index]
        if token.type != tokenize.NAME or (index and tokens[index - 1].string == "."):
            continue
        new = new_name(token.string, token.start[0])
        if new is not None:
            row, column = token.start
            line = lines[row - 1]
            lines[row - 1] = line[:column] + new + line[column + len(token.string) :]
    return "".join(lines)


def split_head(source: str, suffix: str) -> tuple[Head, str]:
    """Docstring and contract imports apart from the rest; aliased imports with ``suffix`` are dropped too."""
    tree = ast.parse(source)
    lines = io.StringIO(source).readlines()
    docstring = ast.get_docstring(tree) or ""
    contract: set[str] = set()
    uses_re = future = False
    for index, node in enumerate(tree.body):
        alone = all(
            other is node or other.lineno > (node.end_lineno or 0) or (other.end_lineno or 0) < node.lineno
            for other in tree.body
        )
        if index == 0 and docstring and alone:
            _blank(lines, node)
        elif alone and isinstance(node, ast.ImportFrom) and node.module == "__future__":
            future = True
            _blank(lines, node)
        elif alone and _plain_contract_import(node, suffix):
            assert isinstance(node, ast.ImportFrom)
            contract |= {name.name for name in node.names if name.asname is None}
            _blank(lines, node)
        elif alone and isinstance(node, ast.Import) and len(node.names) == 1 and node.names[0].name == "re":
            alias = node.names[0].asname
            if alias is None or (suffix and alias == "re" + suffix):
                uses_re = uses_re or alias is None
                _blank(lines, node)
    return Head(docstring, frozenset(contract), uses_re, future), "".join(lines)


def _plain_contract_import(node: ast.stmt, suffix: str) -> bool:
    return (
        isinstance(node, ast.ImportFrom)
        and node.module == CONTRACT_MODULE
        and node.level == 0
        and all(
            name.name != "*" and (name.asname is None or (suffix and name.asname == name.name + suffix))
            for name in node.names
        )
    )


def _blank(lines: list[str], node: ast.stmt) -> None:
    for row in range(node.lineno - 1, node.end_lineno or node.lineno):
        lines[row] = ""


def render_head(head: Head, names: set[str], suffix: str, *, needs_re: bool) -> str:
    """Docstring and imports of a file that uses ``names`` of the contract below (with ``suffix``)."""
    blocks = [quoted(head.docstring)] if head.docstring else []
    if head.future:
        blocks.append("from __future__ import annotations")
    plain = set(head.contract) | (set() if suffix else names)
    imports = []
    if head.uses_re or (needs_re and not suffix):
        imports.append("import re\n")
    if needs_re and suffix:
        imports.append(f"import re as re{suffix}\n")
    if plain:
        imports.append(f"from {CONTRACT_MODULE} import {', '.join(sorted(plain))}")
    if suffix and names:
        aliased = ", ".join(f"{name} as {name}{suffix}" for name in sorted(names))
        imports.append(f"from {CONTRACT_MODULE} import {aliased}")
    return "\n\n".join([*blocks, "\n".join(imports)]).strip()


def quoted(docstring: str) -> str:
    """A docstring literal for any text."""
    body = docstring.replace("\\", "\\\\").replace('"', "'").strip()
    return f'"""{body}\n"""' if "\n" in body else f'"""{body}"""'


def statements(source: str) -> dict[str, str]:
    """Name -> text of every top-level function and single-name assignment."""
    lines = source.split("\n")
    found = {}
    for node in ast.parse(source).body:
        body = "\n".join(lines[node.lineno - 1 : node.end_lineno])
        if isinstance(node, ast.FunctionDef):
            found[node.name] = body
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            found[node.targets[0].id] = body
    return found


def bound_names(source: str) -> set[str]:
    """Names that the module scope of a file may bind, including through ``global``."""
    names: set[str] = set()
    pending: list[ast.AST] = [ast.parse(source)]
    while pending:
        node = pending.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(child.name)
                declared = [item for item in ast.walk(child) if isinstance(item, ast.Global)]
                names |= {name for item in declared for name in item.names}
                continue
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                names.add(child.id)
            elif isinstance(child, ast.alias):
                names.add((child.asname or child.name).split(".")[0])
            elif isinstance(child, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and child.name:
                names.add(child.name)
            pending.append(child)
    return names
