"""The embedded proposer in SearchQA and chess: every edit, and pairs of them, on real tasks and tools."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from typing import Any

import pytest

from bench.config import load_profile
from envs.base import Environment, Task
from envs.table import environment_class
from whale.contract import Chat, Problem, Reply, Tool
from whale.harnesses import starting
from whale.offline import frame
from whale.offline.catalogue import SPACES
from whale.offline.edit import Edit
from whale.offline.evidence import Evidence, Quote

NAMES = ("searchqa", "chess")
EDITS = {name: {edit.name: edit for edit in SPACES[name].edits} for name in NAMES}
Script = Callable[[Task, Chat], str]


@cache
def environment(name: str) -> Environment:
    return environment_class(name)(load_profile("smoke", name).env)


def last(chat: Chat) -> str:
    return str(chat.messages[-1].content)


def legal(_task: Task, chat: Chat) -> str:
    """The first legal move that the model is shown."""
    found = [re.search(r"Legal moves: (\w+)", message.content) for message in chat.messages]
    shown = [match.group(1) for match in found if match]
    return f"<move>{shown[-1]}</move>"


SCRIPTS: dict[str, dict[str, Script]] = {
    "searchqa": {
        "answer": lambda _task, chat: "<answer>Luanda</answer>" if "<answer>" in last(chat) else "capital",
        "words": lambda _task, _chat: "It is Luanda.",
        "empty": lambda _task, _chat: "",
    },
    "chess": {"legal": legal, "illegal": lambda *_: "<move>a1a1</move>", "words": lambda *_: "I resign."},
}


def run(name: str, source: str, task: Task, script: Script) -> tuple[str, list[Chat], list[Tool]]:
    """Play an episode with scripted replies and the environment's own tools: answer, model and tool calls."""
    env = environment(name)
    episode = env.open(task)
    space: dict[str, Any] = {"__name__": "harness"}
    exec(compile(source, "harness", "exec"), space)
    steps = space["solve"](Problem(task.question, env.tools))
    chats: list[Chat] = []
    tools: list[Tool] = []
    result: Any = None
    for _ in range(60):
        try:
            request = steps.send(result)
        except StopIteration as end:
            return str(end.value), chats, tools
        if isinstance(request, Tool):
            tools.append(request)
            result = episode.call(request.name, request.arguments)
        else:
            chats.append(request)
            replies = [Reply(script(task, request)) for _ in range(request.samples)]
            result = replies if request.samples > 1 else replies[0]
    raise AssertionError("the harness does not end")


def evidence_of(name: str) -> Evidence:
    """A parent that fails in every way, with two verified replies to quote."""
    tasks = environment(name).tasks("search")
    reply = "<answer>Lima</answer>" if name == "searchqa" else "<move>e1e8</move>"
    quotes = tuple(Quote(task.question, reply, "form") for task in tasks[1:4])
    return Evidence(10, {"wrong": 0.5, "no_answer": 0.5}, SPACES[name].form, 0.5, 0.0, 0.5, quotes=quotes)


def edited(name: str, *edits: str) -> str:
    source = starting(f"{name}_h0").source
    for edit in edits:
        source = EDITS[name][edit].apply(source, evidence_of(name))
    return source


def cases() -> Iterator[tuple[str, tuple[str, ...]]]:
    for name in NAMES:
        yield from ((name, (edit,)) for edit in EDITS[name])
        yield from ((name, pair) for pair in list(product(EDITS[name], EDITS[name]))[::3])


@pytest.mark.parametrize(("name", "edits"), list(cases()))
def test_every_edit_gives_a_harness_that_runs(name: str, edits: tuple[str, ...]) -> None:
    source = edited(name, *edits)
    assert source != starting(f"{name}_h0").source
    assert frame.read(source).render() == source
    own = [line for line in source.splitlines() if not line.startswith("    ('")]  # quoted examples are long
    assert max(map(len, own)) <= 130
    for script in SCRIPTS[name].values():
        run(name, source, environment(name).tasks("search")[0], script)


@pytest.mark.parametrize("name", NAMES)
def test_there_are_at_least_twelve_edits_with_their_own_names(name: str) -> None:
    assert len(EDITS[name]) == len(SPACES[name].edits) >= 12


@pytest.mark.parametrize("name", NAMES)
def test_every_edit_says_why(name: str) -> None:
    for edit in SPACES[name].edits:
        assert isinstance(edit, Edit)
        assert len(edit.why(evidence_of(name))) > 20
        assert 0 <= edit.applies(evidence_of(name)) <= 1.5


def test_what_concerns_the_answer_leaves_the_query_alone() -> None:
    task = environment("searchqa").tasks("search")[0]
    plain = run("searchqa", edited("searchqa", "hop"), task, SCRIPTS["searchqa"]["answer"])
    changed = run("searchqa", edited("searchqa", "hop", "vote_3", "direct", "examples_2"), task,
                  SCRIPTS["searchqa"]["answer"])  # fmt: skip
    assert changed[1][0] == plain[1][0]
    assert changed[1][1].samples == 3
    assert len(changed[1][1].messages) == len(plain[1][1].messages) + 4


def test_searching_edits_change_what_is_searched() -> None:
    task = environment("searchqa").tasks("search")[0]
    script = SCRIPTS["searchqa"]["answer"]
    asked = {
        edit: [call.arguments for call in run("searchqa", edited("searchqa", edit), task, script)[2]]
        for edit in ("passages_3", "question_query", "both_queries", "hop")
    }
    assert asked["passages_3"] == [{"query": "capital", "k": 3}]
    assert asked["question_query"] == [{"query": task.question, "k": 1}]
    assert asked["both_queries"] == [{"query": task.question, "k": 2}, {"query": "capital", "k": 2}]
    first, second = asked["hop"]
    assert first == {"query": task.question, "k": 1}
    assert str(second["query"]).endswith(" " + task.question)
    _, chats, _ = run("searchqa", edited("searchqa", "question_query_3", "narrow"), task, script)
    shown = chats[1].messages[-1].content
    assert shown.count("[") >= 3
    assert len(shown) < len(
        run("searchqa", edited("searchqa", "question_query_3"), task, script)[1][1].messages[-1].content
    )


def test_an_answer_without_tags_is_read_from_the_last_line() -> None:
    task = environment("searchqa").tasks("search")[0]
    answer, _, _ = run("searchqa", edited("searchqa", "last_line"), task, SCRIPTS["searchqa"]["words"])
    assert answer.endswith("<answer>It is Luanda</answer>")


def test_positions_are_shown_otherwise_with_the_same_moves() -> None:
    task = environment("chess").tasks("search")[0]

    def shown(*edits: str) -> str:
        return last(run("chess", edited("chess", *edits), task, legal)[1][0])

    listed = re.search(r"Legal moves: (.*)", task.question)
    assert listed is not None
    for edit in ("checks_first", "captures_first", "pieces_in_words"):
        now = re.search(r"Legal moves: (.*)", shown(edit))
        assert now is not None
        assert sorted(now.group(1).split(", ")) == sorted(listed.group(1).split(", "))
    assert "White: " in shown("pieces_in_words")
    assert "FEN" not in shown("pieces_in_words")
    for edit, signs in (("checks_first", "+#"), ("captures_first", "x")):
        moves = re.findall(r"\((\S+)\)", shown(edit).split("Legal moves: ")[1])
        first = [any(sign in move for sign in signs) for move in moves]
        assert first == sorted(first, reverse=True)
