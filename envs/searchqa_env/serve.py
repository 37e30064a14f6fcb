"""A search server in the protocol of Search-R1: ``python -m envs.searchqa_env.serve --port 8000``.

Serves this environment's own passages, to this machine unless ``--host`` says otherwise; it has no access
control.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Annotated

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel, Field

from envs.searchqa_env.corpus import corpus
from envs.searchqa_env.env import RETRIEVERS
from envs.searchqa_env.retrieval import Hit, Retriever

MOST_QUERIES = 1024
MOST_HITS = 100
HITS = 3
"""Passages a query where a request does not say."""


class Request(BaseModel):
    """The body of ``POST /retrieve``."""

    queries: Annotated[list[str], Field(max_length=MOST_QUERIES)]
    topk: Annotated[int, Field(ge=1, le=MOST_HITS)] | None = None
    """Passages a query; none is ``HITS``."""
    return_scores: bool = False
    """Whether each document comes with its score; without, the documents stand alone."""


def app_for(retriever: Retriever) -> FastAPI:
    """The web application around a retriever."""
    app = FastAPI(title="SearchQA retrieval")

    @app.post("/retrieve")
    def retrieve(request: Request) -> dict[str, object]:
        found = retriever.search(request.queries, request.topk or HITS)
        return {"result": [[_entry(hit, request.return_scores) for hit in hits] for hits in found]}

    @app.get("/")
    def about() -> dict[str, str]:
        return dict(retriever.describe())

    return app


def _entry(hit: Hit, with_score: bool) -> dict[str, object]:
    document: dict[str, object] = {"id": hit.id, "contents": f'"{hit.title}"\n{hit.text}'}
    return {"document": document, "score": hit.score} if with_score else document


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m envs.searchqa_env.serve", description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: this machine only)"
    )
    parser.add_argument("--retriever", choices=sorted(RETRIEVERS), default="bm25")
    chosen = parser.parse_args(arguments)
    retriever = RETRIEVERS[chosen.retriever](corpus())
    uvicorn.run(app_for(retriever), host=chosen.host, port=chosen.port, log_level="warning")


if __name__ == "__main__":
    main()
