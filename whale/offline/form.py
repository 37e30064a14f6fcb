"""How an environment wants its answers written: in the words of a prompt, and in code that reads a reply."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Form:
    """One form of answer. Sentences go into prompts as they stand."""

    noun: str
    """What reports call it."""
    pattern: str
    """Regular expression whose group holds what the form encloses."""
    around: tuple[str, str]
    """What stands before and after an answer."""
    marker: str
    """A request that asks for the answer contains this; empty when every request does."""
    hint: str
    example: str
    only: str
    steps: str
    missing: str
    role: str

    def read(self, text: str | None) -> str | None:
        """What the last form in a text holds, normalised; None without one."""
        found = re.findall(self.pattern, text or "", re.DOTALL)
        return plain(found[-1]) if found else None

    @property
    def reader(self) -> str:
        """The same as a function of harness code."""
        return _READER.replace("PATTERN", f'r"{self.pattern}"').replace("NOUN", self.noun).strip()

    def fill(self, piece: str) -> str:
        """A piece of harness code with this form's words in the places that are marked ``<<like this>>``."""
        words = {
            name: getattr(self, name) for name in ("hint", "example", "only", "steps", "missing", "role")
        }
        words |= {"before": self.around[0], "after": self.around[1]}
        for name, text in words.items():
            piece = piece.replace(f"<<{name}>>", '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"')
        return piece.replace("<<noun>>", self.noun)


def plain(answer: str) -> str:
    """An answer without spaces and thousands separators."""
    return answer.replace(" ", "").replace(",", "").strip()


_READER = r'''
def answer_in(text):
    """What the last NOUN of a text holds, without spaces and thousands separators; None without one."""
    found = re.findall(PATTERN, text or "", re.DOTALL)
    return found[-1].replace(" ", "").replace(",", "").strip() if found else None
'''

BOX = Form(
    noun="box",
    pattern=r"\\boxed\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}",
    around=("\\boxed{", "}"),
    marker="",
    hint="Put the final answer in \\boxed{}.",
    example="For example, if the answer is 12, write \\boxed{12}.",
    only="Reply with only \\boxed{} around the final number. No words, no steps.",
    steps="Work step by step, one short line for each step, then give the box.",
    missing="The final answer is missing. Reply with only \\boxed{} around the number.",
    role="You are a calculator. You answer arithmetic questions briefly and exactly.",
)

ANSWER = Form(
    noun="answer tag",
    pattern=r"<answer>(.*?)</answer>",
    around=("<answer>", "</answer>"),
    marker="<answer>",
    hint="Put the final answer in <answer> </answer> tags.",
    example="For example, if the answer is Paris, write <answer>Paris</answer>.",
    only="Reply with only <answer> </answer> around a few words. No sentence.",
    steps="First copy the words of the passage that hold the answer, then give it in <answer> </answer> tags.",
    missing="The final answer is missing. Reply with only <answer> </answer> around it.",
    role="You answer questions of fact in a few words, with what the passages say.",
)

MOVE = Form(
    noun="move tag",
    pattern=r"<move>(.*?)</move>",
    around=("<move>", "</move>"),
    marker="<move>",
    hint="Put the move in <move> </move> tags.",
    example="For example, <move>e2e4</move>.",
    only="Reply with only <move> </move> around one of the legal moves. No words.",
    steps="First name the piece that can give check or capture, then give the move in <move> </move> tags.",
    missing="The move is missing. Reply with only <move> </move> around one of the legal moves.",
    role="You are a strong chess player. You look for checks, captures and threats first.",
)
