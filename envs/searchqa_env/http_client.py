"""A retriever behind HTTP, in the protocol of the Search-R1 server. A client only: ``serve`` is the server.

Whatever goes wrong on the way (no connection, time-out, a reply out of form) is a ``ToolError``, so that an
outage is counted as an outage and never as a hard question.
"""

from __future__ import annotations

import http.client
import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from envs.base import InputError, ToolError
from envs.searchqa_env.retrieval import Hit

EXAMPLE_URL = "http://127.0.0.1:8000/retrieve"
LARGEST_REPLY = 64 << 20
"""Bytes of a reply that are read; a longer one is an error."""
LARGEST = 1e300
"""Scores beyond it, and what is no number, are out of form."""
_HALF = re.compile("[\ud800-\udfff]")
"""Half a character (a lone surrogate), which could not be written anywhere."""
_CHUNK = 1 << 16


class _BadReply(Exception):
    """The server answered, but not with what was asked for; asking again would not help."""


def check_url(url: str) -> None:
    """Raise ``InputError`` for an address that no request could go to."""
    if not url.startswith(("http://", "https://")):
        raise InputError(f"a retriever's url begins with http:// or https://, got {url!r}")
    try:
        parts = urlsplit(url)
        usable = url.isascii() and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise InputError(f"cannot read the retriever's url {url!r}; write it like {EXAMPLE_URL}")


class HttpRetriever:
    """Asks ``POST {queries, topk, return_scores}`` and reads ``{"result": [[{"document", "score"}]]}``."""

    def __init__(self, url: str, *, timeout_s: float = 30.0, tries: int = 3, backoff_s: float = 0.5) -> None:
        """Set up, connect to nothing yet.

        ``url``: of the endpoint, such as http://127.0.0.1:8000/retrieve. ``timeout_s``: for one whole
        request. ``backoff_s``: pause before the second try, doubled before each further one. Raises
        ``InputError`` as ``check_url`` does.
        """
        check_url(url)
        self._url, self._timeout_s, self._tries, self._backoff_s = url, timeout_s, tries, backoff_s
        # A search server stands in the user's own network: a proxy for the internet must not come between.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def search(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        """See ``Retriever.search``; raises ``ToolError`` after the last try, or at once for a senseless reply."""
        body = json.dumps({"queries": list(queries), "topk": k, "return_scores": True}).encode()
        problem: Exception | None = None
        for attempt in range(self._tries):
            if attempt:
                time.sleep(self._backoff_s * 2 ** (attempt - 1))
            try:
                return _hits(self._ask(body), len(queries), k)
            except _BadReply as error:
                raise ToolError(f"the search server {self._url} answers out of form: {error}") from error
            except urllib.error.HTTPError as error:
                with error:
                    problem = error
                if error.code < 500:
                    break
            except (OSError, http.client.HTTPException) as error:
                problem = error
        raise ToolError(
            f"the search server {self._url} gave no answer ({type(problem).__name__}: {problem}); "
            "see that it runs and that the url is right"
        ) from problem

    def describe(self) -> Mapping[str, str]:
        """See ``Retriever.describe``. What the server searches is for the server to say."""
        return {"retriever": "http", "url": self._url}

    def _ask(self, body: bytes) -> bytes:
        """One request; raises ``OSError`` (also when the whole takes too long) or ``_BadReply``."""
        deadline = time.monotonic() + self._timeout_s
        request = urllib.request.Request(self._url, body, {"Content-Type": "application/json"})
        reply = bytearray()
        with self._opener.open(request, timeout=self._timeout_s) as response:
            while chunk := response.read1(_CHUNK):
                reply += chunk
                if len(reply) > LARGEST_REPLY:
                    raise _BadReply(f"more than {LARGEST_REPLY} bytes")
                if time.monotonic() > deadline:
                    raise TimeoutError(f"no whole reply within {self._timeout_s:g} s")
            if response.length:
                raise http.client.IncompleteRead(bytes(reply[:80]), response.length)
        return bytes(reply)


def _hits(reply: bytes, queries: int, k: int) -> list[list[Hit]]:
    try:
        body = json.loads(reply)
    except (ValueError, RecursionError) as error:
        raise _BadReply(f"no JSON, begins with {reply[:80]!r}") from error
    rows = body.get("result") if isinstance(body, dict) else None
    if not isinstance(rows, list) or len(rows) != queries:
        raise _BadReply(f"expected 'result' with one list for each of {queries} queries")
    return [_row(row, k) for row in rows]


def _row(row: object, k: int) -> list[Hit]:
    if not isinstance(row, list):
        raise _BadReply("expected a list of passages for every query")
    return [_hit(item) for item in row[:k]]


def _hit(item: object) -> Hit:
    document = item.get("document") if isinstance(item, dict) else None
    score = item.get("score") if isinstance(item, dict) else None
    contents = document.get("contents") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(contents, str) or not contents.strip():
        raise _BadReply(f"expected a document with contents, got {str(item)[:80]}")
    if isinstance(score, bool) or not isinstance(score, int | float) or not -LARGEST < score < LARGEST:
        raise _BadReply(f"expected a finite score, got {str(score)[:40]}")
    if _HALF.search(contents):
        raise _BadReply(f"the contents hold half a character: {contents[:80]!a}")
    title, _, text = contents.partition("\n")
    return Hit(str(document.get("id", "")), title.strip().strip('"'), text, float(score))
