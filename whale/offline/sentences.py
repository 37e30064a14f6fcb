"""Sentences that an instruction may end with: the search space of prompts, for edits and the reflector.

Sentences of one slot replace each other. How strongly the evidence suggests one is said here only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from whale.offline.edit import percent
from whale.offline.evidence import Evidence
from whale.offline.form import ANSWER, BOX, MOVE, Form


@dataclass(frozen=True)
class Cause:
    """Something that goes wrong in rollouts."""

    share: Callable[[Evidence], float]
    """How often it does, from 0 to 1."""
    found: Callable[[Evidence], str]
    """The same in words, with numbers."""


@dataclass(frozen=True)
class Sentence:
    """One sentence, or a few that belong together."""

    name: str
    """Of the edit that adds it."""
    slot: str
    text: str
    cause: Cause
    weight: float
    base: float = 0.0

    def strength(self, evidence: Evidence) -> float:
        """How strongly the evidence suggests it, from 0 (not at all) to about 1."""
        return self.base + self.weight * self.cause.share(evidence)

    def removed(self, instruction: str) -> str:
        """The instruction without it; an instruction that begins with it keeps it."""
        return instruction.replace(" " + self.text, "")


def sentences(form: Form) -> tuple[Sentence, ...]:
    """All for one form of answer, in the order in which ties are broken."""
    return (
        Sentence("text_direct", "style", form.only, CUT, 0.8, base=0.2),
        Sentence("text_example", "form", form.example, LACKING, 0.8),
        Sentence("text_end", "form", f"The reply must end with the {form.noun}.", LACKING, 0.6),
        Sentence("text_steps", "style", form.steps, WRONG_WITH_ROOM, 0.6),
        Sentence("text_role", "role", form.role, WRONG, 0.3),
        *_OWN.get(form, ()),
    )


def added(instruction: str, sentence: Sentence, form: Form) -> str:
    """The instruction with the sentence at its end, in place of others of its slot; as it is if it has it."""
    if sentence.text in instruction:
        return instruction
    for other in sentences(form):
        if other.slot == sentence.slot:
            instruction = other.removed(instruction)
    return f"{instruction} {sentence.text}"


def _lacking(e: Evidence) -> float:
    """What was judged right or wrong held the form, be it in a call of a tool, as the moves of a game are."""
    return max(0.0, min(e.no_form, 1 - e.share("correct", "wrong")))


CUT = Cause(lambda e: e.cut, lambda e: f"{percent(e.cut)} of {e.rollouts} rollouts were cut")
LACKING = Cause(_lacking, lambda e: f"{percent(_lacking(e))} of {e.rollouts} answers hold no {e.form.noun}")
WRONG = Cause(
    lambda e: e.share("wrong"), lambda e: f"{percent(e.share('wrong'))} of {e.rollouts} answers are wrong"
)
WRONG_WITH_ROOM = Cause(
    lambda e: e.share("wrong") * (1 - e.cut), lambda e: f"{WRONG.found(e)} and only {percent(e.cut)} were cut"
)
WRONG_WITHOUT_TOOL = Cause(
    lambda e: e.share("wrong") * (1 - e.tools),
    lambda e: f"{WRONG.found(e)} and {percent(e.tools)} call a tool",
)

_OWN: dict[Form, tuple[Sentence, ...]] = {
    BOX: (
        Sentence("text_negative", "form", "Write \\boxed{-7} when the answer is -7.", LACKING, 0.7),
        Sentence(
            "text_python",
            "style",
            "First write one ```python block that prints the answer.",
            WRONG_WITHOUT_TOOL,
            0.6,
        ),
        Sentence("text_calculation", "style", "First write the calculation on one line.", WRONG, 0.5),
        Sentence("text_teacher", "role", "You are a careful teacher of arithmetic.", WRONG, 0.2),
        Sentence("text_brief", "length", "Use at most twenty words.", CUT, 0.4),
        Sentence("text_check", "care", "Check the signs before you answer.", WRONG, 0.2),
    ),
    ANSWER: (
        Sentence("text_number", "form", "Write <answer>42</answer> when the answer is 42.", LACKING, 0.7),
        Sentence("text_guess", "doubt", "Give your best guess if the passage does not say.", LACKING, 0.5),
        Sentence("text_copy", "source", "Copy the answer from the passage word for word.", WRONG, 0.5),
        Sentence("text_passage", "source", "Use what the passage says, not what you remember.", WRONG, 0.4),
        Sentence("text_reader", "role", "You are a careful reader.", WRONG, 0.2),
        Sentence("text_brief", "length", "Do not repeat the question.", CUT, 0.4),
        Sentence("text_whole", "care", "Give the whole name, not an abbreviation.", WRONG, 0.3),
        Sentence("text_read", "care", "Read the question again before you answer.", WRONG, 0.2),
    ),
    MOVE: (
        Sentence("text_squares", "form", "Write the two squares of the move, such as g1f3.", LACKING, 0.7),
        Sentence("text_listed", "legal", "The move must be in the list of legal moves.", LACKING, 0.5),
        Sentence("text_mate", "look", "Play a move marked # if there is one.", WRONG, 0.5),
        Sentence("text_checks", "look", "Look at moves marked + before the others.", WRONG, 0.45),
        Sentence("text_captures", "look", "Look at captures before quiet moves.", WRONG, 0.4),
        Sentence("text_puzzle", "role", "This is a puzzle with one best move.", WRONG, 0.2),
        Sentence("text_brief", "length", "Do not explain the move.", CUT, 0.4),
        Sentence("text_reply", "care", "Think of the other side's best reply before you choose.", WRONG, 0.2),
    ),
}
