"""Reflectors: what they are told, the embedded one, and the one behind a chat endpoint (a real server)."""

from __future__ import annotations

import json
import re
import socket
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvicorn
from fastapi import FastAPI, Request, Response

from envs.base import InputError, Score, Verdict
from whale.chat_reflector import SHOWN, ChatReflector
from whale.contract import user
from whale.offline.catalogue import SPACES
from whale.offline.form import ANSWER, BOX, Form
from whale.offline.reflect import OfflineReflector, feedback_from
from whale.offline.sentences import CUT, LACKING, WRONG, WRONG_WITH_ROOM, WRONG_WITHOUT_TOOL, sentences
from whale.records import Finish, ModelCall, Rollout, Spend
from whale.reflector import Feedback, Reflector, Rewrite
from whale.rollout import OutageError

FORMS = [space.form for space in SPACES.values()]
GOLD = "Mount Zenda"
KEY = "sk-secret-0123456789"
VARIABLE = "WHALE_TEST_KEY"


def rollout(verdict: Verdict, *replies: str, finish: Finish = "stop", error: str = "") -> Rollout:
    calls = tuple(ModelCall((user("q"),), (1,), ((2,),), (reply,), (finish,)) for reply in replies)
    score = Score.of(verdict, GOLD, f"expected {GOLD}")
    return Rollout("t", 0, "h", "w", calls, (), None if error else "", score, Spend(), error)


@pytest.mark.parametrize(
    ("made", "note", "cut", "formed"),
    [
        (rollout(Verdict.CORRECT, "a query", "<answer>x</answer>"), "is right", False, True),
        (rollout(Verdict.WRONG, "<answer>y</answer>"), "is wrong", False, True),
        (rollout(Verdict.NO_ANSWER, "<answer>y</answer>", "It is y."), "holds no <answer>", False, False),
        (rollout(Verdict.NO_ANSWER, "<answer> </answer>"), "holds no <answer>", False, False),
        (rollout(Verdict.NO_ANSWER, "<answer>?</answer>"), "does not count", False, True),
        (rollout(Verdict.TRUNCATED, "Let us", finish="length"), "was cut at the limit", True, False),
        (rollout(Verdict.NO_ANSWER, error="KeyError"), "program around the model failed", False, False),
        (rollout(Verdict.VERIFIER_ERROR, "<answer>y</answer>"), "could not be judged", False, True),
    ],
)
def test_feedback_says_what_became_of_a_rollout(made: Rollout, note: str, cut: bool, formed: bool) -> None:
    said = feedback_from("Which?", made, ANSWER)
    last = made.calls[-1].texts[-1] if made.calls else ""
    assert (said.question, said.reply, said.verdict) == ("Which?", last, made.score.verdict.value)
    assert note in said.note
    assert (said.cut, said.formed) == (cut, formed)
    assert GOLD not in repr(said)


def told(verdict: str = "wrong", *, cut: bool = False, formed: bool = True) -> Feedback:
    return Feedback("Which?", "so", verdict, "It is wrong.", cut, formed)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.noun)
def test_the_feedback_decides_which_sentence_comes(form: Form) -> None:
    cases = [
        ([told("truncated", cut=True), told("correct")], {CUT}),
        ([told("no_answer", formed=False)] * 2, {LACKING}),
        ([told()] * 3, {WRONG, WRONG_WITH_ROOM, WRONG_WITHOUT_TOOL}),
    ]
    for feedback, causes in cases:
        made = {OfflineReflector(form).rewrite(form.hint, feedback, seed).text for seed in range(30)}
        chosen = {next(item for item in sentences(form) if item.text in text) for text in made}
        assert made == {f"{form.hint} {item.text}" for item in chosen}
        assert {item.cause for item in chosen} <= causes
    assert len(made) > 1, "seeds lead apart where strengths are near"


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.noun)
@pytest.mark.parametrize("feedback", [[], [told()], [told("correct")], [told("truncated", cut=True)]])
def test_a_rewrite_is_never_the_instruction_itself(form: Form, feedback: list[Feedback]) -> None:
    reflector: Reflector = OfflineReflector(form)
    text, seen = form.hint, {form.hint}
    for seed in range(40):
        made = reflector.rewrite(text, feedback, seed)
        assert made == OfflineReflector(form).rewrite(text, feedback, seed)
        assert made == Rewrite(made.text), "it costs nothing"
        assert made.text != text
        text = made.text
        held = [item for item in sentences(form) if item.text in text]
        assert len({item.slot for item in held}) == len(held)
        assert len(text) == len(form.hint) + sum(len(item.text) + 1 for item in held)
        assert text.startswith(form.hint)
        seen.add(text)
    assert len(seen) >= 12


def test_a_sentence_whose_cause_is_gone_is_dropped() -> None:
    only, steps = BOX.only, next(item.text for item in sentences(BOX) if item.name == "text_check")
    made = OfflineReflector(BOX).rewrite(f"{BOX.hint} {only} {steps}", [told("correct")] * 4, 0).text
    assert len(made) < len(f"{BOX.hint} {only} {steps}")
    assert made.startswith(BOX.hint)
    assert BOX.only in OfflineReflector(BOX).rewrite(only, [], 0).text, "nothing stands before it"


@dataclass
class Endpoint:
    """A chat endpoint on the loopback; ``replies`` are given in turn, the last one again and again."""

    url: str = ""
    replies: list[Response] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)

    def reflector(self, variable: str = "", **settings: Any) -> ChatReflector:
        return ChatReflector(self.url, "some-model", variable, 2.0, 10.0, retries=1, **settings)

    def text_from(self, content: object, instruction: str = "Old.") -> str:
        self.replies[:] = [completion(content)]
        return self.reflector().rewrite(instruction, [], 0).text


@pytest.fixture(scope="module")
def server() -> Iterator[Endpoint]:
    app, endpoint = FastAPI(), Endpoint()

    @app.post("/v1/chat/completions")
    async def complete(request: Request) -> Response:
        endpoint.asked.append(await request.json())
        endpoint.keys.append(request.headers.get("authorization"))
        return endpoint.replies.pop(0) if len(endpoint.replies) > 1 else endpoint.replies[0]

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        running = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
        thread.start()
        while not running.started:
            assert thread.is_alive()
            time.sleep(0.01)
        endpoint.url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        yield endpoint
        running.should_exit = True
        thread.join(20)


@pytest.fixture
def endpoint(server: Endpoint) -> Endpoint:
    for log in (server.replies, server.asked, server.keys):
        log.clear()
    return server


def completion(content: object, usage: object = None) -> Response:
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return Response(json.dumps(body | {"usage": usage}), media_type="application/json")


def failing(status: int, text: str = "down") -> Response:
    body = json.dumps({"error": {"message": text}})
    return Response(body, status, {"retry-after-ms": "1"}, media_type="application/json")


def test_a_model_rewrites_the_instruction(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, KEY + "\n")
    usage = {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050}
    endpoint.replies.append(
        completion("They forget the box.\n```\nUse \\boxed{}.\nAlways.\n```\nDone.", usage)
    )
    feedback = [told(), Feedback("Q" * 9999, "", "no_answer", "It holds no box.", False, False)]
    made = endpoint.reflector(VARIABLE).rewrite("Put {feedback} in \\boxed{}.", feedback, 2**40 + 7)
    assert made == Rewrite("Use \\boxed{}.\nAlways.", 1000, 50, 0.0025)
    (asked,), (header,) = endpoint.asked, endpoint.keys
    prompt = asked["messages"][0]["content"]
    assert (asked["model"], asked["seed"], header) == ("some-model", 7, f"Bearer {KEY}")
    for part in (
        "Put {feedback} in \\boxed{}.",
        "Which?",
        "### Reply\nso\n",
        "It is wrong.",
        "(empty)",
        "It holds no box.",
    ):
        assert prompt.count(part) == 1, part
    assert len(re.findall("Q+ ", prompt)[0]) == SHOWN + 1
    assert "{instruction}" not in prompt


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("  Use the box.\n", "Use the box."),
        ("```\nFirst.\n```\nor rather\n```text\nSecond.\n```", "Second."),
        (
            "```\nFirst write one ```python block that prints it.\n```",
            "First write one ```python block that prints it.",
        ),
        ("Here: ```Use the box.``` That is it.", "Use the box."),
        ("Here:\n```\nUse the", "Use the"),
        ("```\n\n```", "Old."),
        ("", "Old."),
        (None, "Old."),
        ("half \ud800 a character", "half ? a character"),
    ],
)
def test_reading_a_reply(endpoint: Endpoint, content: str | None, text: str) -> None:
    assert endpoint.text_from(content) == text
    assert endpoint.keys == ["Bearer none"]


def test_an_endpoint_need_not_count(endpoint: Endpoint) -> None:
    endpoint.replies.append(completion("New."))
    assert endpoint.reflector().rewrite("Old.", [], 0) == Rewrite("New.")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("<html>Welcome</html>", "text/html"),
        ("{", "application/json"),
        ("[]", "application/json"),
        ("{}", "application/json"),
        ('"text"', "application/json"),
        ('{"choices": []}', "application/json"),
        ('{"choices": [{"message": null}]}', "application/json"),
        ('{"choices": [{"message": {"content": ["x"]}}]}', "application/json"),
    ],
)
def test_what_is_no_chat_completion_is_an_outage(endpoint: Endpoint, body: str, kind: str) -> None:
    endpoint.replies.append(Response(body, media_type=kind))
    with pytest.raises(
        OutageError, match=r"chat endpoint http://127.* see that .* run the same command again"
    ):
        endpoint.reflector().rewrite("Old.", [], 0)


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_short_outage_is_bridged_and_a_long_one_stops(endpoint: Endpoint, status: int) -> None:
    endpoint.replies += [failing(status), completion("New.")]
    assert endpoint.reflector().rewrite("Old.", [], 0).text == "New."
    endpoint.replies[:] = [failing(status)]
    with pytest.raises(OutageError, match=rf"gave no reply in up to 2 tries .*{status}.* recorded stays"):
        endpoint.reflector().rewrite("Old.", [], 0)
    assert len(endpoint.asked) == 4


def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(OutageError, match=r"gave no reply .* see that it runs"):
            ChatReflector(url, "m", retries=0).rewrite("Old.", [], 0)


@pytest.mark.parametrize(("status", "error"), [(401, InputError), (404, InputError), (500, OutageError)])
def test_the_key_is_nowhere_to_be_seen(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, status: int, error: type[Exception]
) -> None:
    monkeypatch.setenv(VARIABLE, KEY)
    endpoint.replies.append(failing(status, f"bad key {KEY}"))
    reflector = endpoint.reflector(VARIABLE)
    with pytest.raises(error, match=r"bad key \[key\]") as caught:
        reflector.rewrite("Old.", [], 0)
    assert len(endpoint.asked) == (2 if status == 500 else 1)
    assert KEY not in "".join(traceback.format_exception(caught.value))
    endpoint.replies[:] = [Response(f"<p>{KEY}</p>", media_type="text/html")]
    with pytest.raises(OutageError, match=r"<p>\[key\]</p>"):
        reflector.rewrite("Old.", [], 0)
    assert KEY not in repr(vars(reflector)) + repr(reflector) + reflector.name


def test_a_template_of_ones_own(endpoint: Endpoint) -> None:
    endpoint.replies.append(completion("New."))
    other = endpoint.reflector(template="{feedback} Improve: {instruction}")
    other.rewrite("Old.", [], 0)
    assert endpoint.asked[0]["messages"][0]["content"] == " Improve: Old."
    assert endpoint.reflector().name == "chat/some-model"
    assert re.fullmatch("chat/some-model/[0-9a-f]{8}", other.name)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"url": "localhost:8000"}, "write it like http://localhost:8000/v1"),
        ({"url": "http://[::1/v1"}, "cannot read the chat endpoint's url"),
        ({"url": "http://h:99999"}, "cannot read the chat endpoint's url"),
        ({"model": " "}, "needs the name of a model"),
        ({"key_variable": "WHALE_NO_SUCH_KEY"}, "'WHALE_NO_SUCH_KEY' .* is not set; set it"),
        ({"price_in": -1.0}, r"got \[-1.0, 0.0\]"),
        ({"price_out": float("nan")}, "prices must be 0 or more"),
        ({"template": "{feedback}"}, "lacks {instruction}"),
    ],
)
def test_settings_that_cannot_be_used(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ChatReflector(**({"url": "http://h/v1", "model": "m"} | settings))


def test_the_library_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(InputError, match=r"not installed; run `pip install whale-bench\[chat\]`"):
        ChatReflector("http://h/v1", "m")
