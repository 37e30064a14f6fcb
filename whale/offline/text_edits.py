"""Edits confined to the text of a harness's prompt: the syntax tree stays equal apart from one string.

They are the search space of the control that separates prompt search from code search. Verified replies
are not quoted here, because a string cannot leave out the example that is the question itself.
"""

from __future__ import annotations

import ast
import io
from collections.abc import Callable

from whale.offline.edit import Edit, percent
from whale.offline.evidence import Evidence

SENTENCES = {
    "text_direct": ("style", "Reply with only the box. No words, no steps."),
    "text_steps": ("style", "Work step by step, one short line for each step."),
    "text_python": ("style", "First write one ```python block that prints the answer."),
    "text_calculation": ("style", "First write the calculation on one line."),
    "text_box_12": ("box", "For example, if the answer is 12, write \\boxed{12}."),
    "text_box_negative": ("box", "For example, write \\boxed{-7} when the answer is -7."),
    "text_box_end": ("box", "The reply must end with the box."),
    "text_role": ("role", "You are a calculator."),
    "text_teacher": ("role", "You are a careful teacher of arithmetic."),
    "text_brief": ("length", "Use at most twenty words."),
    "text_check": ("length", "Check the signs before you answer."),
}
"""Name -> (slot, sentence). Sentences of one slot replace each other."""


def reworded(source: str, change: Callable[[str], str]) -> str:
    """Change the instruction of a harness: its longest sentence that names the box, else one in a message.

    The source comes back unchanged when it has neither. Docstrings and f-strings are passed over.
    """
    tree = ast.parse(source)
    in_messages = {id(part) for node in ast.walk(tree) if _makes_message(node) for part in ast.walk(node)}
    passed_over = {
        id(part)
        for node in ast.walk(tree)
        for part in (ast.walk(node) if isinstance(node, ast.JoinedStr) else _docstring(node))
    }
    texts = [
        (("boxed" in node.value, len(node.value), -node.lineno, -node.col_offset), node, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in passed_over
    ]
    texts = [item for item in texts if item[2].count(" ") >= 2 and (item[0][0] or id(item[1]) in in_messages)]
    if not texts:
        return source
    _, node, text = max(texts, key=lambda item: item[0])
    return _replaced(source, node, repr(change(text)))


def _makes_message(node: ast.AST) -> bool:
    """Whether a node calls a constructor of messages, under any prefix."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in ("user", "system", "Message", "Chat")


def _docstring(node: ast.AST) -> list[ast.AST]:
    """The string of a statement that is nothing but a string."""
    return [node.value] if isinstance(node, ast.Expr) else []


def _replaced(source: str, node: ast.Constant, new: str) -> str:
    """The source with the node's text exchanged; the tree counts columns in bytes."""
    lines = [line.encode() for line in io.StringIO(source).readlines()]
    last = node.end_lineno or node.lineno
    before = b"".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset]
    after = lines[last - 1][node.end_col_offset or 0 :] + b"".join(lines[last:])
    return (before + new.encode() + after).decode()


def _says(name: str) -> Callable[[str, Evidence], str]:
    slot, sentence = SENTENCES[name]

    def change(text: str) -> str:
        for other_slot, other in SENTENCES.values():
            if other_slot == slot:
                text = text.replace(" " + other, "")
        return f"{text} {sentence}"

    return lambda source, _evidence: reworded(source, change)


def _edit(name: str, strength: Callable[[Evidence], float], finding: Callable[[Evidence], str]) -> Edit:
    slot, sentence = SENTENCES[name]
    return Edit(name, strength, _says(name), lambda e: f'{finding(e)}: say "{sentence}"', slot)


def _cut(e: Evidence) -> str:
    return f"{percent(e.cut)} of {e.rollouts} rollouts were cut"


def _boxless(e: Evidence) -> str:
    return f"{percent(e.no_form)} of {e.rollouts} answers hold no box"


def _wrong(e: Evidence) -> str:
    return f"{percent(e.share('wrong'))} of {e.rollouts} answers are wrong"


TEXT_EDITS: tuple[Edit, ...] = (
    _edit("text_direct", lambda e: 0.2 + 0.8 * e.cut, _cut),
    _edit("text_box_12", lambda e: 0.8 * e.no_form, _boxless),
    _edit("text_box_negative", lambda e: 0.7 * e.no_form, _boxless),
    _edit("text_box_end", lambda e: 0.6 * e.no_form, _boxless),
    _edit("text_python", lambda e: 0.6 * e.share("wrong") * (1 - e.tools), _wrong),
    _edit("text_calculation", lambda e: 0.5 * e.share("wrong"), _wrong),
    _edit("text_steps", lambda e: 0.6 * e.share("wrong") * (1 - e.cut), _wrong),
    _edit("text_role", lambda e: 0.3 * e.share("wrong"), _wrong),
    _edit("text_teacher", lambda e: 0.2 * e.share("wrong"), _wrong),
    _edit("text_brief", lambda e: 0.4 * e.cut, _cut),
    _edit("text_check", lambda e: 0.2 * e.share("wrong"), _wrong),
)
