"""The SearchQA environment: questions about countries, a search tool, and two named verifiers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Literal

from pydantic import Field, model_validator

from envs.base import SPLITS, InputError, Score, Split, Task, Verdict, digests
from envs.searchqa_env import hub
from envs.searchqa_env.canonical import canonical
from envs.searchqa_env.corpus import WORDS, Passage, corpus
from envs.searchqa_env.dense import DenseRetriever
from envs.searchqa_env.factbook import PACKAGE
from envs.searchqa_env.http_client import HttpRetriever, check_url
from envs.searchqa_env.retrieval import Bm25Retriever, Hit, Retriever
from envs.searchqa_env.robust import robust
from envs.searchqa_env.tasks import Family, build, read_golds
from envs.settings import DataSource, EnvSettings

VERIFIERS = {"canonical": canonical, "robust": robust}
RETRIEVERS: Mapping[str, Callable[[Sequence[Passage]], Retriever]] = {
    "bm25": Bm25Retriever,
    "dense": DenseRetriever,
}
"""Those that search in this process; ``http`` needs an address instead of passages."""
MOST_HITS = 10
LONGEST_QUERY = 2000
"""Characters; a longer query is refused."""


NOTHING = "No passage was found."
"""What the tool says when a server finds nothing for a query."""


class SearchQASettings(EnvSettings):
    """The ``[env]`` table of a SearchQA profile. ``data_seed`` decides which country belongs to which split."""

    verifier: Literal["canonical", "robust"]
    """``canonical``: SQuAD's exact match, the published rule; ``robust``: forgives spelling, never value."""
    families: list[Family]
    """Empty with ``source = "hub"``: there the sets are the families."""
    source: DataSource = "embedded"
    """``hub``: the seven sets of Search-R1; their corpus is a server's, so ``retriever = "http"``."""
    retriever: Literal["bm25", "dense", "http"] = "bm25"
    """``http``: a server in the protocol of Search-R1."""
    url: str = ""
    """Address of that server; empty for the others."""
    passage_words: int = Field(default=WORDS, gt=0)
    """Words of a passage's text that the tool shows; the rest is cut."""

    @model_validator(mode="after")
    def _url_goes_with_http(self) -> SearchQASettings:
        if (self.retriever == "http") != bool(self.url):
            raise ValueError(
                "url goes with retriever = 'http' and with no other; "
                f"got retriever = {self.retriever!r}, url = {self.url!r}"
            )
        if self.url:
            check_url(self.url)
        return self

    @model_validator(mode="after")
    def _hub_brings_its_families_and_no_corpus(self) -> SearchQASettings:
        if self.source == "embedded" and not self.families:
            raise ValueError(
                "source = 'embedded' needs one [[env.families]] entry or more, got families = []"
            )
        if self.source == "hub" and (self.families or self.retriever != "http"):
            names = [family.name for family in self.families]
            raise ValueError(
                "source = 'hub' goes with families = [] and retriever = 'http' (a server that has its corpus); "
                f"got families {names}, retriever = {self.retriever!r}"
            )
        return self


class _SearchEpisode:
    """One attempt at one question; see ``envs.base.Episode``."""

    def __init__(self, env: SearchQAEnvironment, task: Task) -> None:
        self._env, self._task = env, task

    def call(self, tool: str, arguments: Mapping[str, object]) -> str:
        """Only ``search`` exists; its arguments are ``query`` and, unless one passage is enough, ``k``."""
        query, k = arguments.get("query"), arguments.get("k", 1)
        if tool != "search" or not isinstance(query, str) or set(arguments) - {"query", "k"}:
            return f"error: call search with query (a text) and k (a number); got {tool} with {sorted(arguments)}"
        if not isinstance(k, int) or isinstance(k, bool) or not 1 <= k <= MOST_HITS:
            return f"error: k must be a whole number from 1 to {MOST_HITS}, got {str(k)[:20]}"
        if not query.strip() or len(query) > LONGEST_QUERY:
            return f"error: query must have 1 to {LONGEST_QUERY} characters, got {len(query.strip())}"
        return self._env.search(query, k)

    def verify(self, answer: str, *, truncated: bool) -> Score:
        """See ``envs.base.Episode.verify``."""
        return self._env.grade(self._task.gold, answer, truncated=truncated)


class SearchQAEnvironment:
    """See ``envs.base.Environment``."""

    Settings = SearchQASettings
    name = "searchqa"
    tools: tuple[str, ...] = ("search",)
    chance = 0.0

    def __init__(self, settings: SearchQASettings) -> None:
        """Build the tasks and check that every accepted answer passes its own verifier.

        Raises ``InputError`` naming the first that does not. The index is loaded at the first search.
        """
        self.settings = settings
        self._built = hub.tasks(settings.sizes, settings.data_seed) if settings.source == "hub" else None
        self._tasks = (
            self._built.tasks if self._built else build(settings.families, settings.sizes, settings.data_seed)
        )
        self._retriever: Retriever | None = None
        self._check_golds()

    def tasks(self, split: Split) -> Sequence[Task]:
        """See ``envs.base.Environment.tasks``."""
        return self._tasks[split]

    def open(self, task: Task) -> _SearchEpisode:
        """See ``envs.base.Environment.open``."""
        return _SearchEpisode(self, task)

    @property
    def retriever(self) -> Retriever:
        """What ``search`` asks."""
        if self._retriever is None:
            kind = self.settings.retriever
            self._retriever = (
                HttpRetriever(self.settings.url) if kind == "http" else RETRIEVERS[kind](corpus())
            )
        return self._retriever

    def search(self, query: str, k: int) -> str:
        """The ``k`` best passages as numbered text; raises ``ToolError`` when the retriever fails."""
        hits = self.retriever.search([query], k)[0]
        shown = (_shown(number, hit, self.settings.passage_words) for number, hit in enumerate(hits, 1))
        return "\n\n".join(shown) or NOTHING

    def grade(self, gold: str, answer: str, *, truncated: bool) -> Score:
        """Judge a text against a gold as stored with the verifier in force; never raises.

        Whatever fails here is the verifier's fault, so it becomes ``verifier_error`` and is never "wrong".
        """
        try:
            return VERIFIERS[self.settings.verifier](read_golds(gold), answer, truncated=truncated)
        except Exception as error:
            return Score.of(Verdict.VERIFIER_ERROR, detail=f"{type(error).__name__}: {error}"[:200])

    def describe(self) -> Mapping[str, object]:
        """See ``envs.base.Environment.describe``."""
        return {
            "env": self.name,
            "verifier": self.settings.verifier,
            "tasks": digests(self._tasks),
            PACKAGE: version(PACKAGE),
            "passage_words": self.settings.passage_words,
            **self.retriever.describe(),
            **({"hub": self._built.manifest} if self._built else {}),
        }

    def close(self) -> None:
        """Let the index go; there are no processes to end."""
        self._retriever = None

    def _check_golds(self) -> None:
        every = [task for split in SPLITS for task in self._tasks[split]]
        for task, gold in [(one, gold) for one in every for gold in read_golds(one.gold)]:
            score = self.grade(task.gold, f"<answer>{gold}</answer>", truncated=False)
            if score.verdict is not Verdict.CORRECT:
                raise InputError(
                    f"the gold {gold!r} of task {task.id} ({task.meta.get('family')}, {task.split}) does not pass "
                    f"its own verifier ({self.settings.verifier}): {score.verdict} {score.detail}; "
                    "drop that family or use the other verifier"
                )


def _shown(number: int, hit: Hit, words: int) -> str:
    """A hit as a harness sees it: number, title, and the text up to a number of words, lines kept."""
    lines, left = [], words
    for line in hit.text.split("\n"):
        kept = line.split()[:left]
        left -= len(kept)
        if kept:
            lines.append(" ".join(kept))
    return "\n".join([f"[{number}] {hit.title}", *lines])
