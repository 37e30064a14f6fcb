"""Boot text of the harness host: loads a harness and turns what it yields into JSON. Runs inside the jail.

It is sent in as text, with a last line that loads ``whale/contract.py``, so it must not import the
project. It runs once, before any harness; only ``session`` runs for each. It checks types and counts only;
the meaning of a request is the host's business.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Generator
from types import CodeType, GeneratorType, ModuleType
from typing import Any

CONTRACT = ModuleType("whale.contract")
"""Empty here: the line appended to this text puts the loaded ``whale/contract.py`` here."""
MAX_MESSAGES = 256
MAX_SAMPLES = 64
_ALLOWED = "a harness may yield Chat(messages, samples, max_tokens) or Tool(name, arguments)"
_ROLES = ("system", "user", "assistant")


class ContractError(Exception):
    """The harness did something that the contract does not allow."""

    __module__ = "builtins"  # so that tracebacks show the bare name


def _module(name: str, code: CodeType, names: dict[str, Any]) -> ModuleType:
    """Make a module by running code, with ``names`` already defined in it."""
    module = ModuleType(name)
    module.__dict__.update(names)
    sys.modules[name] = module
    exec(code, module.__dict__)
    return module


def load_contract(text: str) -> ModuleType:
    """Make the contract's module from its source, importable by harnesses as ``whale.contract``."""
    package = sys.modules["whale"] = ModuleType("whale")
    package.__path__ = []
    contract = _module("whale.contract", compile(text, "<boot contract>", "exec", dont_inherit=True), {})
    package.contract = contract  # type: ignore[attr-defined]
    return contract


def load_solve(source: str, contract: ModuleType) -> Any:
    """Run the harness's source and return its ``solve``; the contract's names need no import."""
    filename = "<harness>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    public = {name: value for name, value in vars(contract).items() if not name.startswith("_")}
    code = compile(source, filename, "exec", dont_inherit=True)
    solve = getattr(_module("harness", code, public), "solve", None)
    if not callable(solve):
        raise ContractError(f"a harness must define `def solve(problem)`, but solve is {_shown(solve)}")
    return solve


def _shown(value: object) -> str:
    """A short name for a foreign value."""
    if value is None or isinstance(value, bool | int | float | str):
        return f"{value!r:.80} ({type(value).__name__})"
    return f"a value of type {type(value).__name__}"


def _count(value: object, what: str, most: int | None = None) -> int:
    if type(value) is not int or value < 1 or (most is not None and value > most):
        limits = "at least 1" if most is None else f"from 1 to {most}"
        raise ContractError(f"{what} must be an int, {limits}; got {_shown(value)}")
    return value


def _message(message: Any, contract: ModuleType) -> list[str]:
    if not isinstance(message, contract.Message):
        raise ContractError(f"Chat takes system(), user() and assistant() messages; got {_shown(message)}")
    if message.role not in _ROLES:
        raise ContractError(f"a message's role must be in {_ROLES}; got {_shown(message.role)}")
    if not isinstance(message.content, str):
        raise ContractError(f"a message's content must be a str; got {_shown(message.content)}")
    return [message.role, message.content]


def encode(request: Any, contract: ModuleType) -> dict[str, object]:
    """A yielded ``Chat`` or ``Tool`` as JSON; raises ``ContractError`` naming what was yielded instead."""
    if isinstance(request, contract.Chat):
        messages = request.messages
        if not isinstance(messages, list | tuple) or not 1 <= len(messages) <= MAX_MESSAGES:
            got = f"{len(messages)} of them" if isinstance(messages, list | tuple) else _shown(messages)
            raise ContractError(f"Chat takes a list of 1 to {MAX_MESSAGES} messages; got {got}")
        most = request.max_tokens
        return {
            "chat": [_message(message, contract) for message in messages],
            "samples": _count(request.samples, "Chat.samples", MAX_SAMPLES),
            "max_tokens": None if most is None else _count(most, "Chat.max_tokens"),
        }
    if isinstance(request, contract.Tool):
        if not isinstance(request.name, str):
            raise ContractError(f"a tool's name must be a str; got {_shown(request.name)}")
        arguments = request.arguments
        if not isinstance(arguments, dict) or not all(isinstance(name, str) for name in arguments):
            raise ContractError(f"a tool's arguments must be a dict with str keys; got {_shown(arguments)}")
        return {"tool": request.name, "arguments": arguments}
    raise ContractError(f"solve yielded {_shown(request)}; {_ALLOWED}")


def decode(sent: Any, contract: ModuleType) -> object:
    """What the host sent back: a ``Reply``, a list of them, or a tool's text."""
    if isinstance(sent, str):
        return sent
    replies = [contract.Reply(text, cut) for text, cut in sent["replies"]]
    return replies[0] if sent["single"] else replies


def session(source: str, payload: Any) -> Generator[object, object, str]:
    """Run one harness on one problem: yields requests, is sent results, returns the answer text."""
    contract = CONTRACT
    solve = load_solve(source, contract)
    steps = solve(contract.Problem(payload["question"], tuple(payload["tools"])))
    if not isinstance(steps, GeneratorType):
        raise ContractError(f"solve must be a generator (use yield), but it returned {_shown(steps)}")
    sent: object = None
    while True:
        try:
            request = steps.send(sent)
        except StopIteration as stop:
            answer = stop.value
            break
        sent = decode((yield encode(request, contract)), contract)
    if not isinstance(answer, str):
        raise ContractError(f"solve must return the answer text, a str; it returned {_shown(answer)}")
    return answer
