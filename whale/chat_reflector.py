"""A reflector behind any OpenAI-compatible chat endpoint: a model reads feedback and writes an instruction.

The client library is the extra ``chat``. The key stays in its environment variable until a request needs it.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from envs.base import InputError
from whale.reflector import Feedback, Rewrite
from whale.rollout import OutageError

EXAMPLE_URL = "http://localhost:8000/v1"
SHOWN = 2000
"""Characters of a question or reply that the model is shown."""
TEMPLATE = """A language model works on tasks of one kind. Every task comes with this instruction:

```
{instruction}
```

This is what it replied to some of them, and what became of each reply:

{feedback}

Write an instruction that makes more replies right. Look for what the failed replies have in common and say
how to do it better; keep what works. Keep the required form of the answer exactly as it is, since an answer
in another form does not count. Say what helps with every task of this kind, and do not answer single tasks.
Be short: the instruction is read with every task, and replies may have room for a few words only.

Put the new instruction between lines of three backticks, and nothing else between them."""
"""What the model is asked; both words in braces are filled in."""

_AGAIN = "run the same command again: what is recorded stays"


class ChatReflector:
    """See ``whale.reflector.Reflector``. Under one seed the model may still write differently each time."""

    def __init__(
        self,
        url: str,
        model: str,
        key_variable: str = "",
        price_in: float = 0.0,
        price_out: float = 0.0,
        template: str = TEMPLATE,
        *,
        retries: int = 5,
        timeout_s: float = 120.0,
    ) -> None:
        """Set up and check the settings; connect to nothing yet.

        ``url``: the API's base, such as http://localhost:8000/v1. ``key_variable``: name of the environment
        variable that holds the key; empty for a server that wants none. Prices are US dollars a million
        tokens. ``retries`` follow a lost connection, a busy server or a failing one. Raises ``InputError``.
        """
        _check(url, model, (price_in, price_out), template)
        self.url, self.model, self.template = url, model, template
        self.price_in, self.price_out = price_in, price_out
        self._variable, self._retries, self._timeout_s = key_variable, retries, timeout_s
        other = "" if template == TEMPLATE else "/" + hashlib.sha256(template.encode()).hexdigest()[:8]
        self.name = f"chat/{model}{other}"
        self._key()
        _library()

    def rewrite(self, instruction: str, feedback: Sequence[Feedback], seed: int) -> Rewrite:
        """The model's new instruction; the old one when its reply is empty.

        Raises ``OutageError`` when all tries failed or the reply is no chat completion, and ``InputError``
        when the endpoint refuses the request.
        """
        words = {"{instruction}": instruction, "{feedback}": _records(feedback)}
        prompt = re.sub(r"\{(?:instruction|feedback)\}", lambda found: words[found[0]], self.template)
        made = self._ask(prompt, seed)
        try:
            content = made.choices[0].message.content or ""
            text = _new_instruction(content.encode("utf-8", "replace").decode())  # no half characters
        except (AttributeError, IndexError, KeyError, TypeError):
            raise OutageError(
                f"the chat endpoint {self.url} answered with no chat completion but {self._safe(made)!r}; "
                f"see that the address is the base of an OpenAI-compatible API, such as {EXAMPLE_URL}, "
                f"and {_AGAIN}"
            ) from None
        usage = getattr(made, "usage", None)
        read, written = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
        dollars = (read * self.price_in + written * self.price_out) / 1e6
        return Rewrite(text or instruction, read, written, dollars)

    def _ask(self, prompt: str, seed: int) -> Any:
        """One request with its retries. Errors carry no cause, since that could hold the key."""
        openai = _library()
        try:
            with openai.OpenAI(
                api_key=self._key(), base_url=self.url, max_retries=self._retries, timeout=self._timeout_s
            ) as client:
                return client.chat.completions.create(
                    model=self.model, messages=[{"role": "user", "content": prompt}], seed=seed % 2**31
                )
        except (openai.OpenAIError, ValueError) as error:
            status = getattr(error, "status_code", 0)
            said = f"{type(error).__name__}: {self._safe(error)}"
        if 400 <= status < 500 and status not in (408, 409, 429):
            raise InputError(
                f"the chat endpoint {self.url} refused a request to model {self.model!r} ({said}); see that "
                f"address, model and key ({self._variable or 'no variable is named for one'}) are right"
            )
        raise OutageError(
            f"the chat endpoint {self.url} gave no reply in up to {self._retries + 1} tries ({said}); "
            f"see that it runs and {_AGAIN}"
        )

    def _key(self) -> str:
        """The key as the environment has it now; the library insists on one where none is needed."""
        if not self._variable:
            return "none"
        key = os.environ.get(self._variable, "").strip()
        if not key:
            raise InputError(
                f"the environment variable {self._variable!r} that should hold the key for {self.url} is not "
                "set; set it, or name no variable for an endpoint that needs no key"
            )
        return key

    def _safe(self, what: object) -> str:
        """The beginning of a text from outside, without the key."""
        text = str(what)
        return (text.replace(self._key(), "[key]") if self._variable else text)[:300]


def _library() -> Any:
    try:
        import openai
    except ImportError as error:
        raise InputError(
            "the chat reflector needs the openai library, which is not installed; "
            "run `pip install whale-bench[chat]`, or use the offline reflector"
        ) from error
    return openai


def _check(url: str, model: str, prices: Sequence[float], template: str) -> None:
    try:
        parts = urlsplit(url)
        usable = (
            parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0 and url.isascii()
        )
    except ValueError:
        usable = False
    if not usable:
        raise InputError(f"cannot read the chat endpoint's url {url!r}; write it like {EXAMPLE_URL}")
    if not model.strip():
        raise InputError("the chat reflector needs the name of a model; give one that the endpoint serves")
    if not all(math.isfinite(price) and price >= 0 for price in prices):
        raise InputError(f"prices must be 0 or more dollars a million tokens, got {list(prices)}")
    lacking = [word for word in ("{instruction}", "{feedback}") if word not in template]
    if lacking:
        raise InputError(
            f"the template lacks {' and '.join(lacking)}; put both where their text should stand"
        )


def _records(feedback: Sequence[Feedback]) -> str:
    """The feedback as the model is shown it."""
    return "\n\n".join(
        f"## Task {number}\n{_short(item.question)}\n### Reply\n{_short(item.reply) or '(empty)'}\n"
        f"### What became of it\n{item.note}"
        for number, item in enumerate(feedback, 1)
    )


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else text[:SHOWN] + " [...]"


def _new_instruction(reply: str) -> str:
    """What stands in the last fenced block, which may lack its end; without a fence, the whole reply."""
    blocks = re.findall(r"^```[^\n`]*\n(.*?)(?:^```[ \t]*$|\Z)", reply, re.DOTALL | re.MULTILINE)
    inline = re.findall(r"```(.*?)```", reply, re.DOTALL)
    return str((blocks or inline or [reply])[-1]).strip()


def _count(usage: object, name: str) -> int:
    """A number of tokens; 0 where the endpoint does not count."""
    number = getattr(usage, name, 0)
    return number if isinstance(number, int) else 0
