"""Edits confined to the instruction of a harness: the syntax tree stays equal apart from one string.

They are the search space of the control that separates prompt search from code search. Verified replies
are not quoted here, because a string cannot leave out the example that is the question itself.
"""

from __future__ import annotations

import ast
import io
from collections import Counter
from collections.abc import Iterator, Mapping

from whale.offline.edit import Edit
from whale.offline.form import Form
from whale.offline.sentences import Sentence, added, sentences

_MESSAGES = ("user", "system", "Message", "Chat")
"""Constructors of what the model is told, under any prefix."""
_REGULAR = ("re", "regex")
_DATA = (ast.Constant, ast.Tuple, ast.List, ast.Set, ast.Load)


def text_edits(form: Form) -> tuple[Edit, ...]:
    """One edit for each sentence that instructions for this form of answer may have."""
    return tuple(_edit(sentence, form) for sentence in sentences(form))


def instruction_of(source: str, form: Form) -> str | None:
    """The text in a harness that tells the model how to answer; None without one.

    It is the longest string that names what stands before an answer of this form. Where none does, it is the
    sentence that most messages hold, the longest of them. Docstrings, f-strings and other templates, regular
    expressions, and worked examples are no instructions.
    """
    node = _instruction(source, form)
    return None if node is None else str(node.value)


def with_instruction(source: str, text: str, form: Form) -> str:
    """The source with its instruction exchanged for ``text``; unchanged when it has none."""
    node = _instruction(source, form)
    return source if node is None else _replaced(source, node, repr(text))


def _edit(sentence: Sentence, form: Form) -> Edit:
    def apply(source: str, _evidence: object) -> str:
        held = instruction_of(source, form)
        if held is None or sentence.text in held:
            return source
        return with_instruction(source, added(held, sentence, form), form)

    return Edit(
        sentence.name,
        sentence.strength,
        apply,
        lambda e: f'{sentence.cause.found(e)}: say "{sentence.text}"',
        sentence.slot,
    )


def _instruction(source: str, form: Form) -> ast.Constant | None:
    """The string that holds the instruction."""
    nodes = list(ast.walk(ast.parse(source)))
    named = {
        target.id: node.value
        for node in nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    data = {id(arg) for node in nodes if isinstance(node, ast.Call) for arg in node.args}
    aside = {id(part) for node in nodes for part in _aside(node, named, is_argument=id(node) in data)}
    shown = Counter(id(part) for node in nodes if _called(node) in _MESSAGES for part in _parts(node, named))
    sign = form.around[0].rstrip("{")
    naming: list[tuple[tuple[int, ...], ast.Constant]] = []
    other: list[tuple[tuple[int, ...], ast.Constant]] = []
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in aside:
            words = len(node.value.split())
            order = (len(node.value), -node.lineno, -node.col_offset)
            if sign in node.value and words > 1:
                naming.append((order, node))
            elif shown[id(node)] and words > 2:
                other.append(((shown[id(node)], *order), node))
    found = naming or other
    return max(found, key=lambda item: item[0])[1] if found else None


def _aside(node: ast.AST, named: Mapping[str, ast.Constant], *, is_argument: bool) -> Iterator[ast.AST]:
    """What below a node is no instruction, whatever it says."""
    match node:
        case ast.JoinedStr():
            yield from ast.walk(node)
        case (
            ast.Expr(value=text)
            | ast.BinOp(left=text, op=ast.Mod())
            | ast.Attribute(value=text, attr="format")
        ):
            yield text
        case ast.Compare():
            yield from (node.left, *node.comparators)
        case ast.Tuple() | ast.List() | ast.Set() if len(node.elts) > 1 and not is_argument:
            if all(isinstance(part, _DATA) for part in ast.walk(node)):  # a table: questions, replies
                yield from ast.walk(node)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=module)), args=[pattern, *_]):
            if module.split("_")[0] in _REGULAR:
                yield from _parts(pattern, named)
    if isinstance(node, ast.Call) and (_called(node) == "assistant" or _speaks_for_model(node)):
        yield from _parts(node, named)


def _speaks_for_model(node: ast.Call) -> bool:
    """Whether a call is ``Message("assistant", ...)``."""
    given = [*node.args[:1], *(item.value for item in node.keywords if item.arg == "role")]
    return any(isinstance(role, ast.Constant) and role.value == "assistant" for role in given)


def _called(node: ast.AST) -> str:
    """The last part of the name that a node calls; empty when it is no such call."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _parts(node: ast.AST, named: Mapping[str, ast.Constant]) -> Iterator[ast.AST]:
    """Everything in a node, and the strings behind the names in it."""
    for part in ast.walk(node):
        yield part
        if isinstance(part, ast.Name) and part.id in named:
            yield named[part.id]


def _replaced(source: str, node: ast.Constant, new: str) -> str:
    """The source with the node's text exchanged; the tree counts columns in bytes."""
    lines = [line.encode() for line in io.StringIO(source).readlines()]
    last = node.end_lineno or node.lineno
    before = b"".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset]
    after = lines[last - 1][node.end_col_offset or 0 :] + b"".join(lines[last:])
    return (before + new.encode() + after).decode()
