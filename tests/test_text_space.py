"""The prompt space of every environment: which text is the instruction, and edits that change it alone."""

from __future__ import annotations

import ast
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from whale.archive import Archive, Candidate, Trace, TraceCall
from whale.contract import Chat, Problem, Reply, user
from whale.harnesses import starting
from whale.offline.catalogue import SPACES
from whale.offline.evidence import Evidence
from whale.offline.form import BOX
from whale.offline.propose import OfflineProposer
from whale.offline.sentences import added, sentences
from whale.offline.text_edits import instruction_of, text_edits, with_instruction
from whale.prompt_text import same_but_texts
from whale.proposer import source_key

NAMES = tuple(SPACES)
HINTS = {
    "math": "Put the final answer in \\boxed{}.",
    "searchqa": "Answer in a few words in <answer> </answer> tags.",
    "chess": "Reply with one of the legal moves as <move>...</move>.",
}
EVIDENCE = Evidence(rollouts=4)


def h0(name: str) -> str:
    return starting(f"{name}_h0").source


def first_asked(name: str, source: str) -> str:
    """The last message of a harness's first request for an answer, played with empty replies."""
    space: dict[str, Any] = {"__name__": "harness"}
    exec(compile(source, "harness", "exec"), space)
    steps = space["solve"](Problem("Which?", ()))
    result: Any = None
    for _ in range(9):
        request = steps.send(result)
        if isinstance(request, Chat):
            said = str(request.messages[-1].content)
            if SPACES[name].form.around[0].rstrip("{") in said:
                return said
            result = Reply("")
        else:
            result = ""
    raise AssertionError("the harness asks for no answer")


@pytest.mark.parametrize("name", NAMES)
def test_the_instruction_of_a_starting_harness(name: str) -> None:
    source, form = h0(name), SPACES[name].form
    assert instruction_of(source, form) == HINTS[name]
    for text in ("Écris \\boxed{} <answer> <move>,\n'ici' \"là\" {x}.", HINTS[name]):
        child = with_instruction(source, text, form)
        assert instruction_of(child, form) == text
        assert same_but_texts(source, child)
        assert first_asked(name, child).endswith(text)
    assert ast.dump(ast.parse(with_instruction(source, HINTS[name], form))) == ast.dump(ast.parse(source))


LONG = "so, once all of it is added up with care, the answer that comes out is \\boxed{4}"
ASIDE = {
    "the docstring of a file": f'r"""{LONG}"""\n',
    "the docstring of a function": f'def f():\n    r"""{LONG}"""\n',
    "part of an f-string": f'def f(a):\n    return f"{LONG[:-10]} \\\\boxed{{{{}}}} {{a}}"\n',
    "a template": f"def f(a):\n    return {LONG + ' %s'!r} % a\n",
    "a template of another kind": f"def f(a):\n    return {LONG!r}.format(a)\n",
    "a regular expression": f"import re\nre.search({LONG!r}, '')\n",
    "a named regular expression": f"import re\nFORM = {LONG!r}\nre.findall(FORM, '')\n",
    "a worked reply": f"first = assistant({LONG!r})\n",
    "a named worked reply": f"FIRST = {LONG!r}\nfirst = assistant(FIRST)\n",
    "a reply by its role": f"first = Message('assistant', {LONG!r})\n",
    "a table of examples": f"EXAMPLES = [('2 + 2', {LONG!r}), ('1', '1')]\n",
    "a worked question in a table": f"EXAMPLE = ({LONG!r}, '4')\n",
    "what is looked for": f"found = {LONG!r} in ''\n",
    "a longer text without the form": f"HINT = {'words ' * 40!r}\nuser(HINT)\n",
    "a lone marker": "MARKER = '\\\\boxed{----------------------------------------------}'\n",
}


@pytest.mark.parametrize("lines", ASIDE.values(), ids=ASIDE)
def test_what_merely_holds_the_form_is_no_instruction(lines: str) -> None:
    source = lines + f"\ndef solve(p):\n    yield Chat([user(p.question + {HINTS['math']!r})])\n"
    assert instruction_of(source, BOX) == HINTS["math"]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (f"HINT = {LONG!r}\nuser(HINT)\n", LONG),
        (f"user('\\n'.join(['Be brief.', {LONG!r}]))\n", LONG),
        ("HINT = ('Put it in '\n  '\\\\boxed{} please.')\n", "Put it in \\boxed{} please."),
        ("system('Be very brief.')\nuser('Give a number, please.')\n", "Give a number, please."),
        (
            "A = 'Add the numbers up.'\nB = 'A long example of a question.'\nuser(A + B)\nuser(f'{A}')\n",
            "Add the numbers up.",
        ),
        ("text = 'Words that no message holds.'\n", None),
        ("user('Answer:')\n", None),
    ],
)
def test_other_instructions(source: str, found: str | None) -> None:
    assert instruction_of(source, BOX) == found
    changed = with_instruction(source, "Write \\boxed{1}, \u2713.", BOX)
    assert (changed != source) == (found is not None)
    assert same_but_texts(source, changed)


@pytest.mark.parametrize("name", NAMES)
def test_sentences_are_distinct_and_natural(name: str) -> None:
    form = SPACES[name].form
    texts = [sentence.text for sentence in sentences(form)]
    assert len({sentence.name for sentence in sentences(form)}) == len(texts) >= 10
    assert {form.only, form.steps, form.example, form.role} <= set(texts)
    assert [(a, b) for a, b in product(texts, texts) if a is not b and a in b] == []
    assert all(text[0].isupper() and text[-1] == "." and len(text.split()) < 25 for text in texts)


@pytest.mark.parametrize("name", NAMES)
def test_every_edit_changes_the_instruction_and_nothing_else(name: str) -> None:
    source, form = h0(name), SPACES[name].form
    edits = text_edits(form)
    children = {edit.name: edit.apply(source, EVIDENCE) for edit in edits}
    assert len({source_key(child) for child in children.values()} | {source_key(source)}) == len(edits) + 1
    for edit, sentence in zip(edits, sentences(form), strict=True):
        child = children[edit.name]
        assert same_but_texts(source, child)
        assert first_asked(name, child).endswith(f"{HINTS[name]} {sentence.text}")
        assert edit.apply(child, EVIDENCE) == child
        assert sentence.text in edit.why(EVIDENCE)
        for other in edits:
            if other.slot == edit.slot:
                again = other.apply(child, EVIDENCE)
                assert again == children[other.name], "edits of one slot replace each other"


def test_a_sentence_that_is_there_stays_where_it_is() -> None:
    first, second = sentences(BOX)[0], sentences(BOX)[1]
    both = added(added("Do it.", first, BOX), second, BOX)
    assert both == f"Do it. {first.text} {second.text}"
    assert added(both, first, BOX) == both
    assert first.removed(both) == f"Do it. {second.text}"


def trace(name: str, verdict: str, reply: str, *, cut: bool = False) -> Trace:
    """A rollout; chess hands its moves to a tool and answers nothing."""
    call = TraceCall((user("q"),), (reply,), (cut,))
    return Trace("t", "q", (call,), (), "" if name == "chess" else reply, None, verdict)


def archive_of(path: Path, source: str, *traces: Trace) -> Archive:
    archive = Archive.open(path)
    scores = tuple(float(item.verdict == "correct") for item in traces)
    archive.add(Candidate("h0", source, None, "h0", "", 0, scores, traces, 1.0))
    return archive


@pytest.mark.parametrize("name", NAMES)
def test_twelve_proposals_one_after_the_other(name: str, tmp_path: Path) -> None:
    space = SPACES[name]
    traces = [trace(name, verdict, "well", cut=verdict == "truncated") for verdict in ("wrong", "truncated")]
    archive = archive_of(tmp_path, h0(name), *traces)
    proposer = OfflineProposer(space.text, space.form, "offline-text")
    assert (proposer.name, OfflineProposer().name) == ("offline-text", "offline")
    for number in range(12):
        (made,) = proposer.propose(archive, 1, number)
        assert same_but_texts(h0(name), made.source)
        assert all(part.startswith("text_") for part in made.edit.split("+"))
        archive.add(
            Candidate(f"c{number}", made.source, made.parent, made.edit, made.why, 1, (0.0, 0.0), (), 1.0)
        )
    assert len({source_key(item.source) for item in archive.candidates()}) == 13


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("docstring", [True, False])
def test_a_parent_made_of_pieces_differs_from_its_child_in_texts_alone(
    name: str, docstring: bool, tmp_path: Path
) -> None:
    space = SPACES[name]
    source = h0(name) if docstring else h0(name).split("\n", 1)[1].lstrip()
    for edit in space.edits:
        if edit.name in ("steps", "retry", "vote_3", "checks_first"):
            source = edit.apply(source, Evidence(form=space.form))
    archive = archive_of(tmp_path, source, trace(name, "wrong", "well"))
    for made in OfflineProposer(space.text, space.form).propose(archive, 3, 0):
        assert same_but_texts(source, made.source)
        assert "From h0 by text_" in (ast.get_docstring(ast.parse(made.source)) or "")


@pytest.mark.parametrize("name", NAMES)
def test_the_evidence_decides_which_sentence_comes_first(name: str, tmp_path: Path) -> None:
    space = SPACES[name]
    formed = {"math": "\\boxed{3}", "searchqa": "<answer>Lima</answer>", "chess": "<move>e2e4</move>"}[name]

    def first(folder: str, *traces: Trace) -> set[str]:
        archive = archive_of(tmp_path / folder, h0(name), *traces)
        (made,) = OfflineProposer(space.text, space.form).propose(archive, 1, 0)
        return {sentence.cause.found(EVIDENCE).split("% ")[1] for sentence in sentences(space.form)
                if sentence.name in made.edit.split("+")}  # fmt: skip

    cut = first("cut", *[trace(name, "truncated", "and so", cut=True)] * 4, trace(name, "correct", formed))
    lacking = first("lacking", *[trace(name, "no_answer", "well, 7")] * 4)
    wrong = first("wrong", *[trace(name, "wrong", formed)] * 4)
    assert any("were cut" in found for found in cut)
    assert all("hold no" in found for found in lacking)
    assert all("are wrong" in found for found in wrong)
