"""Every edit works on any harness of the contract, alone and after any other; proposals follow evidence."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from envs.base import InputError
from whale.archive import Archive, Candidate, Trace, TraceCall
from whale.contract import Chat, Message, Problem, Reply, Tool, user
from whale.offline import frame, stages
from whale.offline.catalogue import EDITS
from whale.offline.edit import Edit
from whale.offline.evidence import Evidence, Quote, choose, gather, quotable
from whale.offline.form import BOX
from whale.offline.propose import OfflineProposer
from whale.offline.text_edits import text_edits
from whale.proposer import source_key

BY_NAME = {edit.name: edit for edit in EDITS}
BY_TEXT = {edit.name: edit for edit in text_edits(BOX)}
QUESTION = "State the final answer to the following arithmetic problem: 4 + 3 - 2 ="

H0 = r'''
"""Ask once; run a code block when there is one."""
import re

from whale.contract import Chat, Tool, assistant, user


def solve(problem):
    messages = [user(problem.question + "\n" + "Put the final answer in \\boxed{}.")]
    reply = yield Chat(messages)
    block = re.search(r"```python\n(.*?)```", reply.text, re.DOTALL)
    if block and "python" in problem.tools:
        output = yield Tool("python", {"code": block.group(1)})
        reply = yield Chat([*messages, assistant(reply.text), user("It printed: " + output)])
    return reply.text
'''.lstrip()

HELPERS = r'''
from whale.contract import Chat as C, system, user

ask = "a name that a piece would also use"


class Judge:
    """A class whose method is called solve, too."""

    def solve(self, texts):
        return max(texts, key=len)


def user_turn(text):
    return [system("Be brief, give a number."), user(text)]


def two(problem):
    replies = yield C(user_turn(problem.question), samples=2)
    assert isinstance(replies, list) and len(replies) == 2
    return [reply.text for reply in replies]


def solve(problem):
    texts = yield from two(problem)
    for _ in range(2):
        request = C(user_turn("Which is right? " + " or ".join(texts)), max_tokens=7)
        texts.append((yield request).text)
    return Judge().solve(texts) + ask[:0]
'''.lstrip()

LOOP = r"""
from __future__ import annotations

import whale.contract as c
from whale.contract import Problem

re = "not the module"


def draft(number: int) -> str:
    return f"Attempt {number}. "


def solve(p: Problem) -> c.Step:
    answer = ""
    for number in range(3):
        answer = (yield c.Chat([c.user(draft(number) + p.question)])).text
        if "boxed" in answer:
            break
    return answer
""".lstrip()

HARNESSES = {"h0": H0, "helpers": HELPERS, "loop": LOOP}

QUOTES = (
    Quote("Calculate 1 + 1.", "\\boxed{2}", "form"),
    Quote("What is 5 - 2?", "\\boxed{3}", "form"),
    Quote("Find the GCD of: 4, 6.", "\\boxed{2}", "form"),
    Quote(QUESTION, "\\boxed{5}", "form"),
    Quote("Calculate 2 * 4.", 'It\'s "2 * 4",\nso it is the same as four and four: \\boxed{8}', "steps"),
    Quote("Calculate 3 * 4.", "```python\nprint(3 * 4)\n```", "code"),
    Quote("Calculate 3 * 5.", "3 * 5", "expression"),
)
EVIDENCE = Evidence(rollouts=4, correct_tokens=9, quotes=QUOTES)


@lru_cache(maxsize=8)
def compiled(source: str) -> CodeType:
    return compile(source, "harness.py", "exec")


def run(
    source: str, problem: Problem, answer: Callable[[Chat, int], str], tool: str = "5\n"
) -> tuple[str, list[Chat], list[Tool]]:
    """Step a harness with scripted replies; returns its answer and what it asked for."""
    space: dict[str, Any] = {"__name__": "harness"}
    exec(compiled(source), space)
    steps = space["solve"](problem)
    chats: list[Chat] = []
    tools: list[Tool] = []
    result: Any = None
    replies = 0
    while len(chats) + len(tools) < 100:
        try:
            request = steps.send(result)
        except StopIteration as end:
            return str(end.value), chats, tools
        if isinstance(request, Tool):
            assert request.name in problem.tools
            tools.append(request)
            result = tool
            continue
        assert isinstance(request, Chat)
        assert request.messages
        assert all(isinstance(message, Message) for message in request.messages)
        chats.append(request)
        made = [Reply(answer(request, replies + at)) for at in range(request.samples)]
        replies += len(made)
        result = made if request.samples > 1 else made[0]
    raise AssertionError("the harness does not end")


def with_edits(source: str, *names: str, evidence: Evidence = EVIDENCE) -> str:
    for name in names:
        source = BY_NAME[name].apply(source, evidence)
    return source


SCRIPTS: dict[str, Callable[[Chat, int], str]] = {
    "box": lambda _chat, at: f"so \\boxed{{{at}}}",
    "code": lambda _chat, _at: "```python\nprint(4 + 3 - 2)\n```",
    "words": lambda _chat, _at: "the answer is 7",
    "empty": lambda _chat, _at: "",
}

SINGLES = [(edit.name,) for edit in EDITS]
PAIRS = list(product(BY_NAME, BY_NAME))
CASES = [
    *(("h0", names) for names in SINGLES + PAIRS),
    *(("helpers", names) for names in SINGLES + PAIRS[::8]),
    *(("loop", names) for names in SINGLES + PAIRS[4::8]),
]


@pytest.mark.parametrize(("harness", "names"), CASES)
def test_every_edit_and_pair_gives_a_harness_that_runs(harness: str, names: tuple[str, ...]) -> None:
    source = with_edits(HARNESSES[harness], *names)
    tree = ast.parse(source)
    solve = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "solve"]
    assert len(solve) == 1
    assert frame.read(source).render() == source
    assert max(len(line) for line in source.splitlines()) <= 120
    for script in SCRIPTS.values():
        for tools, tool in (((), ""), (("python",), "5\n"), (("python",), "Traceback: failed")):
            run(source, Problem(QUESTION, tools), script, tool)


def test_there_are_at_least_twelve_edits_with_their_own_names() -> None:
    assert len(BY_NAME) == len(EDITS) >= 12


def test_an_unedited_frame_behaves_like_its_draft() -> None:
    for source, tools, script in product(HARNESSES.values(), ((), ("python",)), SCRIPTS.values()):
        problem = Problem(QUESTION, tools)
        assert run(frame.read(source).render(), problem, script) == run(source, problem, script)


def test_a_lower_half_changed_by_someone_else_becomes_a_draft() -> None:
    changed = with_edits(H0, "direct").replace("answer = end.value", "answer = end.value + '!'")
    again = with_edits(changed, "form_example", "vote_3")
    assert "def draft_2(" in again
    answer, chats, _ = run(again, Problem(QUESTION), SCRIPTS["words"])
    assert answer.endswith("!")
    assert chats[0].samples == 3
    assert "nothing" not in chats[0].messages[0].content
    assert "No words" in chats[0].messages[0].content


def last_text(source: str, question: str = QUESTION, tools: tuple[str, ...] = ()) -> str:
    _, chats, _ = run(source, Problem(question, tools), SCRIPTS["box"])
    return chats[0].messages[-1].content


def test_wording_edits_change_what_the_model_is_told() -> None:
    assert "\\boxed{12}" in last_text(with_edits(H0, "form_example"))
    assert "only \\boxed{}" in last_text(with_edits(H0, "direct"))
    assert "step by step" in last_text(with_edits(H0, "direct", "steps"))
    assert "only \\boxed{}" not in last_text(with_edits(H0, "direct", "steps"))
    _, chats, _ = run(with_edits(HELPERS, "role"), Problem(QUESTION), SCRIPTS["box"])
    assert [m.role for m in chats[0].messages] == ["system", "user"]
    assert chats[0].messages[0].content.endswith("give a number.")


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        (QUESTION, "4 + 3 - 2 ="),
        ("Solve the following: 12 * 3. Give only the result as your final answer.", "12 * 3"),
        (
            "Find the GCD of these numbers: 26, 760. Give only the GCD as your final answer.",
            "Find the GCD of these numbers:\n26, 760",
        ),
        ("Calculate -5 * -6.", "Calculate -5 * -6."),
        ("Note: no digits here", "Note: no digits here"),
    ],
)
def test_restate_keeps_the_task(question: str, shown: str) -> None:
    text = last_text(with_edits(H0, "restate"), question)
    assert text == shown + "\nPut the final answer in \\boxed{}."


def test_examples_are_verbatim_turns_in_the_same_form_and_skip_the_question_itself() -> None:
    for names in (("examples_4", "restate"), ("restate", "examples_4"), ("direct", "restate", "examples_4")):
        _, chats, _ = run(with_edits(H0, *names), Problem(QUESTION), SCRIPTS["box"])
        turns = chats[0].messages
        assert [turn.role for turn in turns] == ["user", "assistant"] * 3 + ["user"]
        assert {turn.content for turn in turns if turn.role == "assistant"} == {"\\boxed{2}", "\\boxed{3}"}
        own = turns[-1].content
        assert turns[0].content == own.replace("4 + 3 - 2 =", "Calculate 1 + 1.")
        assert all("4 + 3 - 2" not in turn.content for turn in turns[:-1])


def examples_in(source: str) -> list[tuple[str, str]]:
    text = frame.read(source).pieces.get("EXAMPLES", "EXAMPLES = ()")
    return list(ast.literal_eval(text.split("=", 1)[1].strip()))


def test_examples_fit_the_style_that_is_asked_for() -> None:
    assert examples_in(with_edits(H0, "python", "examples_2")) == [("Calculate 3 * 4.", QUOTES[5].reply)]
    assert examples_in(with_edits(H0, "examples_2", "expression")) == [("Calculate 3 * 5.", "3 * 5")]
    assert examples_in(with_edits(H0, "examples_2", "steps")) == [("Calculate 2 * 4.", QUOTES[4].reply)]
    none = replace(EVIDENCE, quotes=QUOTES[:4])
    assert examples_in(with_edits(H0, "examples_2", "python", evidence=none)) == []


def test_numbers_of_examples() -> None:
    assert len(examples_in(with_edits(H0, "examples_3"))) == 3
    assert len(examples_in(with_edits(H0, "examples_3", "more_examples"))) == 4
    assert len(examples_in(with_edits(H0, "examples_3", "fewer_examples"))) == 2
    other = with_edits(H0, "examples_3", "other_examples")
    assert examples_in(other) != examples_in(with_edits(H0, "examples_3"))
    assert BY_NAME["examples_3"].apply(H0, Evidence()) == H0


def test_examples_are_spread_over_forms_of_question() -> None:
    quotes = [Quote(f"Calculate {n} + 1.", f"\\boxed{{{n}}}", "box") for n in range(5)]
    quotes.append(Quote("What is 9 - 1?", "it is \\boxed{8}", "box"))
    assert [quote.question for quote in choose(quotes, ("box",), 2)] == ["Calculate 0 + 1.", "What is 9 - 1?"]


def test_a_vote_asks_for_all_samples_in_one_chat_and_returns_the_most_common() -> None:
    boxes = ["1", "1,000", "1000", "2", "x"]
    source = with_edits(H0, "vote_5")
    answer, chats, _ = run(source, Problem(QUESTION), lambda _chat, at: f"\\boxed{{{boxes[at]}}}")
    assert [chat.samples for chat in chats] == [5]
    assert chats[0].max_tokens is not None
    assert answer == "\\boxed{1,000}"


def test_agree_asks_a_third_time_only_when_two_differ() -> None:
    source = with_edits(H0, "agree")
    _, chats, _ = run(source, Problem(QUESTION), lambda _chat, _at: "\\boxed{1}")
    assert [chat.samples for chat in chats] == [2]
    answer, chats, _ = run(source, Problem(QUESTION), lambda _chat, at: f"\\boxed{{{min(at, 1)}}}")
    assert [chat.samples for chat in chats] == [2, 1]
    assert answer == "\\boxed{1}"


def test_flow_edits() -> None:
    retry = with_edits(H0, "retry")
    answer, chats, _ = run(retry, Problem(QUESTION), lambda _c, at: ["no", "\\boxed{3}"][at])
    assert answer == "\\boxed{3}"
    assert "missing" in chats[1].messages[-1].content
    assert len(run(retry, Problem(QUESTION), SCRIPTS["box"])[1]) == 1
    answer, _, _ = run(with_edits(H0, "last_number"), Problem(QUESTION), lambda _c, _a: "2 and 1,007.")
    assert answer.endswith("\\boxed{1007}")
    for names in (("decompose",), ("restate", "decompose"), ("decompose", "examples_2", "direct")):
        _, chats, _ = run(with_edits(H0, *names), Problem(QUESTION), SCRIPTS["box"])
        assert len(chats) == 2
        assert "Do not solve it yet" in chats[0].messages[-1].content
        assert chats[1].messages[-2].content == "so \\boxed{0}"


def test_token_limits_only_ever_tighten_a_request() -> None:
    tight = with_edits(H0, "short_replies")
    assert run(tight, Problem(QUESTION), SCRIPTS["box"])[1][0].max_tokens == 13
    double = with_edits(tight, "longer_replies")
    assert run(double, Problem(QUESTION), SCRIPTS["box"])[1][0].max_tokens == 26
    for names in (("short_replies", "python"), ("python", "short_replies"), ("vote_3", "steps")):
        assert run(with_edits(H0, *names), Problem(QUESTION), SCRIPTS["box"])[1][0].max_tokens == 40
    asks = H0.replace("Chat(messages)", "Chat(messages, max_tokens=5)")
    assert run(with_edits(asks, "short_replies"), Problem(QUESTION), SCRIPTS["box"])[1][0].max_tokens == 5


def test_python_runs_what_the_model_wrote_and_nothing_else() -> None:
    source = with_edits(H0, "python")
    answer, chats, tools = run(source, Problem(QUESTION, ("python",)), SCRIPTS["code"])
    assert (answer, len(chats)) == ("\\boxed{5}", 1)
    assert [call.arguments for call in tools] == [{"code": "print(4 + 3 - 2)"}]
    bare = run(source, Problem(QUESTION, ("python",)), lambda _c, _a: "```python\n4 + 3 =\n```")[2]
    assert bare[0].arguments == {"code": "4 + 3\nprint(4 + 3)"}
    source = with_edits(H0, "expression")
    _, _, tools = run(source, Problem(QUESTION, ("python",)), lambda _c, _a: "It is 4 +  3 - (2) = 9")
    assert [call.arguments for call in tools] == [{"code": "print(4 + 3 - (2))"}]


@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.name)
def test_noise_replies_never_reach_a_tool_or_an_answer(edit: Edit) -> None:
    for first in (edit.name, "examples_2"):
        source = with_edits(H0, "python", first, edit.name)
        answer, _, tools = run(source, Problem(QUESTION, ("python",)), lambda _c, _a: "lorem ipsum")
        assert tools == []
        assert re.search(r"\d", answer) is None


def trace(question: str, verdict: str, *replies: str, read: str | None = None, cut: bool = False) -> Trace:
    calls = tuple(TraceCall((user(question),), (reply,), (cut,)) for reply in replies)
    return Trace(question, question, calls, (), replies[-1] if replies else None, read, verdict)


def test_quotes_come_only_from_replies_that_led_to_a_verified_answer() -> None:
    code = "```python\nprint(9)\n```"
    ran = trace("q5", "correct", code, "It is 9 \\boxed{9}", read="9")
    ran = replace(ran, tools=(("python", "{}", "9\n"),))
    traces = [
        trace("q1", "correct", "\\boxed{1}", read="1"),
        trace("q1", "correct", "long \\boxed{1}", read="1"),
        trace("q2", "wrong", "\\boxed{2}", read="2"),
        trace("q3", "correct", "\\boxed{3}", read="3", cut=True),
        trace("q4", "correct", "\\boxed{1}", "\\boxed{4}", read="4"),
        trace("q6", "correct", "words 6", read="6"),
        ran,
    ]
    quotes = {(quote.question, quote.reply, quote.kind) for quote in quotable(traces)}
    assert quotes == {
        ("q1", "\\boxed{1}", "form"),
        ("q4", "\\boxed{4}", "form"),
        ("q5", code, "code"),
        ("q5", "It is 9 \\boxed{9}", "form"),
    }


def test_evidence_counts() -> None:
    several = TraceCall((user("q"),), ("\\boxed{1}", "\\boxed{2}"), (False, False))
    traces = (
        trace("a", "correct", "\\boxed{1}", read="1"),
        trace("b", "truncated", "so 1 and", cut=True),
        trace("c", "no_answer", "it is 4"),
        Trace("d", "d", (several,), (("python", "{}", ""),), "\\boxed{1}", "1", "wrong"),
    )
    found = gather(Candidate("x", H0, None, "h0", "", 0, (1.0, 0, 0, 0), traces), [])
    assert (found.no_form, found.bare_number, found.cut, found.tools) == (0.5, 0.25, 0.25, 0.25)
    assert found.disagree == 1
    assert found.share("correct", "wrong") == 0.5
    assert sum(found.verdicts.values()) == 1


def archive_at(
    path: Path, verdict: str = "no_answer", *, cut: bool = False, reply: str = "well, 7"
) -> Archive:
    archive = Archive.open(path)
    asked = [f"Calculate {n} + 1." for n in range(4)]
    traces = [trace(q, "correct", f"\\boxed{{{n + 1}}}", read=str(n + 1)) for n, q in enumerate(asked)]
    traces += [trace(f"Calculate {n} + 1.", verdict, reply, cut=cut) for n in range(4, 16)]
    scores = tuple(float(item.verdict == "correct") for item in traces)
    archive.add(Candidate("h0", H0, None, "h0", "", 0, scores, tuple(traces), 1.0))
    return archive


def test_proposals_are_new_distinct_reproducible_and_say_why(tmp_path: Path) -> None:
    archive = archive_at(tmp_path / "a")
    made = OfflineProposer().propose(archive, 8, 1)
    assert made == OfflineProposer().propose(archive_at(tmp_path / "b"), 8, 1)
    assert len({source_key(item.source) for item in made} | {source_key(H0)}) == 9
    for item in made:
        assert item.parent == "h0"
        assert re.search(r"\d+%? ", item.why)
        docstring = ast.get_docstring(ast.parse(item.source))
        assert docstring is not None
        assert f"From h0 by {item.edit}" in " ".join(docstring.split())
        run(item.source, Problem(QUESTION, ("python",)), SCRIPTS["box"])
        held = archive.candidates()[0].traces
        right = {(t.question, t.calls[0].replies[0]) for t in held if t.verdict == "correct"}
        assert set(examples_in(item.source)) <= right
    assert any(examples_in(item.source) for item in made)


def test_evidence_decides_which_edit_comes_first(tmp_path: Path) -> None:
    long = archive_at(tmp_path / "cut", "truncated", cut=True, reply="a b " * 40)
    cut = OfflineProposer().propose(long, 1, 0)
    boxless = OfflineProposer().propose(archive_at(tmp_path / "boxless"), 1, 0)
    assert "direct" in cut[0].edit.split("+")
    assert "last_number" in boxless[0].edit.split("+")
    assert "last_number" not in cut[0].edit.split("+")


def test_a_search_of_many_iterations_never_repeats_itself(tmp_path: Path) -> None:
    archive = archive_at(tmp_path)
    traces = archive.candidates()[0].traces
    for iteration in range(1, 9):
        for at, item in enumerate(OfflineProposer().propose(archive, 3, iteration)):
            scores = tuple(float((index * 7 + iteration + at) % 3 == 0) for index in range(len(traces)))
            new = Candidate(
                f"i{iteration}c{at}",
                item.source,
                item.parent,
                item.edit,
                item.why,
                iteration,
                scores,
                traces,
                1.0,
            )
            archive.add(new)
            run(item.source, Problem(QUESTION, ("python",)), SCRIPTS["words"])
    keys = {source_key(item.source) for item in archive.candidates()}
    assert len(keys) == 25


def test_fewer_only_when_nothing_new_can_be_made(tmp_path: Path) -> None:
    proposer = OfflineProposer([BY_NAME["direct"], BY_NAME["retry"]])
    edits = [item.edit for item in proposer.propose(archive_at(tmp_path), 9, 0)]
    assert sorted(edits) == ["direct", "direct+retry", "retry"]


def test_an_edit_is_named_only_where_it_changed_something(tmp_path: Path) -> None:
    proposer = OfflineProposer([BY_NAME["python"], BY_NAME["examples_2"]])
    edits = [item.edit for item in proposer.propose(archive_at(tmp_path), 9, 0)]
    assert sorted(edits) == ["examples_2", "python"], "no verified reply with code can be quoted"


def test_a_parent_without_any_trace_still_gets_proposals(tmp_path: Path) -> None:
    archive = Archive.open(tmp_path)
    archive.add(Candidate("h0", H0, None, "h0", "", 0, (1.0,)))
    assert len(OfflineProposer().propose(archive, 12, 0)) == 12


def test_user_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no scored valid candidate"):
        OfflineProposer().propose(Archive.open(tmp_path), 3, 0)
    with pytest.raises(InputError, match="must differ"):
        OfflineProposer([EDITS[0], EDITS[0]])


def test_source_key_ignores_layout_and_docstring_only() -> None:
    assert source_key(H0) == source_key(H0.replace('"""Ask once', '"""Other'))
    assert source_key(H0) == source_key(H0 + "\n# a comment\n")
    assert source_key(H0) != source_key(H0.replace("final", "last"))
    assert source_key("def (") == source_key("def (  \n")


def test_every_piece_has_a_place() -> None:
    assert set(stages.PIECES) <= set(stages.RESERVED)


def strings_apart(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)


@pytest.mark.parametrize("harness", HARNESSES.values(), ids=HARNESSES)
def test_text_edits_change_one_string_and_nothing_else(harness: str) -> None:
    for first, second in product(text_edits(BOX), repeat=2):
        once = first.apply(harness, EVIDENCE)
        twice = second.apply(once, EVIDENCE)
        assert strings_apart(twice) == strings_apart(harness)
        assert (once != harness) == (harness != LOOP), "the loop harness has no instruction to change"
        if first.slot == second.slot:
            assert twice == second.apply(harness, EVIDENCE)
        run(twice, Problem(QUESTION), SCRIPTS["box"])


def test_text_edits_reach_the_prompt_and_are_a_search_space(tmp_path: Path) -> None:
    source = BY_TEXT["text_example"].apply(H0.replace("Put", "\u00e9 Put"), EVIDENCE)
    assert last_text(source).endswith(
        "answer in \\boxed{}. For example, if the answer is 12, write \\boxed{12}."
    )
    made = OfflineProposer(text_edits(BOX)).propose(archive_at(tmp_path), 6, 0)
    assert len(made) == 6
    assert {strings_apart(item.source) for item in made} == {strings_apart(H0)}


@pytest.mark.parametrize(
    ("answer", "box"),
    [("\\boxed{\\frac{1}{2}} or \\boxed{\\frac{\\sqrt{2}}{2}}", "\\frac{\\sqrt{2}}{2}"), ("\\boxed{}", "")],
)
def test_boxes_with_braces_are_read_alike_by_evidence_and_pieces(answer: str, box: str) -> None:
    assert BOX.read(answer) == box
    ended, _, _ = run(with_edits(H0, "last_number"), Problem(QUESTION), lambda _c, _a: answer + " 7 is last")
    assert ended.endswith("\\boxed{7}") == (box == "")
