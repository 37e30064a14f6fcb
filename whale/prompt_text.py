"""Prompt space: harnesses that differ from one another in their texts alone.

The Fast-Slow control of the WHALE paper (arXiv 2609.00196) searches there instead of in code, which isolates
what code adds.
"""

from __future__ import annotations

import ast


def same_but_texts(first: str, second: str) -> bool:
    """Whether two harness sources have one syntax tree apart from string constants.

    False if either does not parse. Comments, layout and the docstring of the file do not count, nor whether
    it has one. Other docstrings are texts. The fixed parts of an f-string are texts, its fields are not.
    """
    try:
        return _shape(first) == _shape(second)
    except (SyntaxError, ValueError):
        return False


def _shape(source: str) -> str:
    tree = ast.parse(source)
    if ast.get_docstring(tree, clean=False) is not None:
        tree.body = tree.body[1:]
    return ast.dump(_Blank().visit(tree))


class _Blank(ast.NodeTransformer):
    """Empties every text."""

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        """Bytes and numbers stay."""
        return ast.Constant("") if isinstance(node.value, str) else node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.JoinedStr:
        """Only the fields of an f-string, in their order."""
        fields = [part for part in node.values if isinstance(part, ast.FormattedValue)]
        return ast.JoinedStr([self.visit(part) for part in fields])
