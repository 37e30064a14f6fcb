"""Prompt space: what counts as a change of text, and what as a change of code."""

from __future__ import annotations

import pytest

from whale.harnesses import starting
from whale.prompt_text import same_but_texts

H0 = '''"""Ask once."""
import re
HINT = "Answer in <answer> tags."
EXAMPLES = [("2 + 2", "4")]


def solve(problem):
    reply = yield Chat([user(f"{problem.question}\\n{HINT}")], max_tokens=16)
    return re.sub("x", "", reply.text)
'''
TEXT = {
    "a hint": ("Answer in <answer> tags.", "Think, then answer in tags."),
    "an emptied hint": ("Answer in <answer> tags.", ""),
    "a docstring": ("Ask once.", "Ask with care."),
    "an example": ('("2 + 2", "4")', '("3 + 5", "8")'),
    "the fixed part of an f-string": ('f"{problem.question}\\n{HINT}"', 'f"Q: {problem.question} {HINT}!"'),
    "a comment": ("import re\n", "import re  # for the tags\n"),
    "the quotes": ('"x"', "'x'"),
}
CODE = {
    "another number": ("max_tokens=16", "max_tokens=17"),
    "one example more": ('("2 + 2", "4")', '("2 + 2", "4"), ("1", "1")'),
    "another field": ("{problem.question}", "{problem}"),
    "fields in another order": ('f"{problem.question}\\n{HINT}"', 'f"{HINT}\\n{problem.question}"'),
    "a conversion": ("{HINT}", "{HINT!r}"),
    "a text that becomes a name": ('"x"', "HINT"),
    "bytes": ('"x", ""', 'b"x", b""'),
    "a call around it": ('HINT = "Answer in <answer> tags."', 'HINT = str("Answer in <answer> tags.")'),
    "an import more": ("import re\n", "import re, json\n"),
    "no Python": ("def solve", "def def"),
}


@pytest.mark.parametrize(("before", "after"), TEXT.values(), ids=TEXT)
def test_changes_of_text(before: str, after: str) -> None:
    assert before in H0
    assert same_but_texts(H0, H0.replace(before, after))


def test_a_file_may_lack_its_docstring() -> None:
    bare = H0.removeprefix('"""Ask once."""\n')
    assert bare != H0
    assert same_but_texts(H0, bare)
    assert same_but_texts(bare, H0)
    solving = H0.replace("def solve(problem):\n", 'def solve(problem):\n    """Ask."""\n')
    assert not same_but_texts(H0, solving), "a function's docstring is a statement of it"


@pytest.mark.parametrize(("before", "after"), CODE.values(), ids=CODE)
def test_changes_of_code(before: str, after: str) -> None:
    assert before in H0
    assert not same_but_texts(H0, H0.replace(before, after))


def test_starting_harnesses_are_themselves_and_no_other() -> None:
    names = ("math_h0", "searchqa_h0", "chess_h0")
    for one in names:
        for other in names:
            assert same_but_texts(starting(one).source, starting(other).source) == (one == other)
