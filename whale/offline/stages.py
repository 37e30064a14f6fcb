"""Where pieces are called from: builds ``prepared``, ``ask`` and the new ``solve`` for the pieces present."""

from __future__ import annotations

import re
from collections.abc import Mapping

from whale.offline import parts

CONTRACT = ("Chat", "Reply", "Tool", "assistant", "system", "user")
"""Names of the contract that pieces may use."""
PIECES = (
    "MARKER",
    "EXAMPLES",
    "MAX_TOKENS",
    "PLAN_TOKENS",
    "SAMPLES",
    "PASSAGES",
    "answer_in",
    "restated",
    "explained",
    "styled",
    "with_examples",
    "with_role",
    "planned",
    "searched",
    "narrowed",
    "sampled",
    "computed",
    "finished",
    "retried",
)
"""Every piece that may stand below the divider, in the order in which it is written there."""
RESERVED = (*CONTRACT, *PIECES, *parts.SHARED, "re", "worded", "prepared", "ask", "draft")
"""Names that must not be used by the draft (with the frame's suffix)."""

_PROMPT = ("restated", "explained", "styled", "with_examples", "with_role", "MAX_TOKENS")


def lower_half(pieces: Mapping[str, str]) -> str:
    """The text below the divider: constants, pieces, the functions they share, then the stages."""
    stages = [build for build in (_worded(pieces), _prepared(pieces), _ask(pieces), _solve(pieces)) if build]
    bodies = [pieces[name] for name in PIECES if name in pieces and name != "answer_in"]
    shared: list[str] = []
    for name in reversed(parts.SHARED):
        if any(re.search(rf"\b{name}\(", body) for body in [*bodies, *stages, *shared]):
            shared.insert(0, parts.SHARED[name].strip())
    if not any("answer_in(" in body for body in [*bodies, *shared]):
        pieces = {name: body for name, body in pieces.items() if name != "answer_in"}
    constants = [pieces[name] for name in PIECES if name in pieces and name.isupper()]
    functions = [pieces[name] for name in PIECES if name in pieces and not name.isupper()]
    blocks = ["\n".join(constants)] if constants else []
    return "\n\n\n".join([*blocks, *shared, *functions, *stages])


def contract_names(lower: str) -> set[str]:
    """Names of the contract that the text uses."""
    return {name for name in CONTRACT if re.search(rf"\b{name}\(|, {name}\)", lower)}


def _worded(pieces: Mapping[str, str]) -> str:
    if not any(name in pieces for name in _PROMPT[:4]):
        return ""
    lines = ["def worded(text, question, problem):", '    """The user message that shows a question."""']
    if "restated" in pieces:
        lines.append("    text = restated(text, question)")
    if "explained" in pieces:
        lines.append("    text = explained(text)")
    if "styled" in pieces:
        lines.append("    text = styled(text, problem)")
    return "\n".join([*lines, "    return text"])


def _prepared(pieces: Mapping[str, str]) -> str:
    if not any(name in pieces for name in _PROMPT):
        return ""
    lines = [
        "def prepared(request, problem):",
        '    """The request as the model sees it; one that does not show the question stays as it is."""',
        "    messages = list(request.messages)",
        "    at = place(messages, problem)",
        "    if at is None:",
        "        return request",
    ]
    if any(name in pieces for name in _PROMPT[:4]):
        lines += [
            "    asked = messages[at].content",
            "    messages[at] = user(worded(asked, problem.question, problem))",
        ]
    if "with_examples" in pieces:
        lines.append("    messages[at:at] = with_examples(asked, problem)")
    if "with_role" in pieces:
        lines.append("    messages = with_role(messages)")
    limit = "request.max_tokens"
    if "MAX_TOKENS" in pieces:
        limit = "min(MAX_TOKENS, request.max_tokens or MAX_TOKENS)"
    return "\n".join([*lines, f"    return Chat(messages, request.samples, {limit})"])


def _ask(pieces: Mapping[str, str]) -> str:
    lines = [
        "def ask(request, problem):",
        '    """Put one request of the draft to the model or a tool."""',
        "    if not isinstance(request, Chat):",
        *_tool(pieces),
        "        return (yield request)",
    ]
    if "MARKER" in pieces:
        lines.append("    if not any(MARKER in message.content for message in request.messages):")
        lines.append("        return (yield request)")
    if "planned" in pieces:
        lines.append("    opening = place(request.messages, problem) == len(request.messages) - 1")
    if any(name in pieces for name in _PROMPT):
        lines.append("    request = prepared(request, problem)")
    if "planned" in pieces:
        lines.append("    if opening:")
        lines.append("        request = yield from planned(request, problem)")
    if "sampled" not in pieces and "computed" not in pieces:
        return "\n".join([*lines, "    return (yield request)"])
    lines.append("    if request.samples > 1:")
    lines.append("        replies = list((yield request))")
    lines.append("    else:")
    once = "list((yield from sampled(request)))" if "sampled" in pieces else "[(yield request)]"
    lines.append(f"        replies = {once}")
    if "computed" in pieces:
        lines.append("    for at, reply in enumerate(replies):")
        lines.append("        replies[at] = yield from computed(reply, problem)")
    one = "chosen(replies)" if "sampled" in pieces else "replies[0]"
    return "\n".join([*lines, f"    return replies if request.samples > 1 else {one}"])


def _tool(pieces: Mapping[str, str]) -> list[str]:
    """What is done with a search of the draft; nothing where no piece is for it."""
    if "searched" not in pieces and "narrowed" not in pieces:
        return []
    found = "(yield from searched(request, problem))" if "searched" in pieces else "(yield request)"
    shown = f"narrowed({found}, problem)" if "narrowed" in pieces else found
    return ['        if request.name == "search":', f"            return {shown}"]


def _solve(pieces: Mapping[str, str]) -> str:
    lines = [
        "def solve(problem):",
        '    """Run `draft`: answer its requests through `ask`, then finish its answer."""',
        "    steps = draft(problem)",
        "    result = None",
        "    while True:",
        "        try:",
        "            request = steps.send(result)",
        "        except StopIteration as end:",
        "            answer = end.value",
        "            break",
        "        result = yield from ask(request, problem)",
    ]
    if "finished" in pieces:
        lines.append("    answer = finished(answer)")
    if "retried" in pieces:
        lines.append("    answer = yield from retried(answer, problem)")
        if "finished" in pieces:
            lines.append("    answer = finished(answer)")
    return "\n".join([*lines, "    return answer"])
