"""The default engine: Hugging Face transformers on CPU or CUDA, sharing its model object with the learner.

What texts have in common is computed once. Samples of one prompt share a row of the batch until they draw
different tokens; then the row branches. Starts that prompts share (system text, worked examples, earlier turns)
are computed, kept and read once for all. Samples leave when they finish; new ones enter when they are enough:
``refill`` 0 waits until the batch is empty (whole waves), near 1 lets every one in (continuous refill).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer

from whale.batch import Branch, Sample, fitting_count, pieces
from whale.contract import Message
from whale.engine import Completion, EngineError, Request, Sampling
from whale.kv import Rows
from whale.left_linear import multiply_from_left
from whale.prefix_attention import NAME
from whale.sampling import draw, stream
from whale.start_cache import StartCache
from whale.starts import Ids, choose_starts, last_of

DEAD_SHARE = 0.25
"""Finished rows stay in the batch until they are this share of it: removing them copies every cache."""


class TransformersEngine:
    """See ``whale.engine.Engine``. ``model`` is public because the learner trains the same object."""

    def __init__(
        self,
        directory: Path,
        sampling: Sampling,
        *,
        batch: int = 64,
        refill: float = 0.5,
        columns: int = 40_000,
        device: str = "auto",
    ) -> None:
        """Load tokenizer and model from ``directory``; weights stay unusable until ``use`` names them.

        ``batch``: samples under way at once; the rows computed are fewer as long as samples agree.
        ``refill``: new samples enter when the older ones are at most this share of the batch that they make.
        ``columns``: columns of keys and values that samples and their starts may come to need. Starts that wait
        for later prompts may take half as many again.
        """
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        self.device = torch.device(device)
        self.tokenizer: Any = AutoTokenizer.from_pretrained(directory)
        dtype = torch.bfloat16 if self.device.type == "cuda" else torch.float32
        loaded: Any = AutoModelForCausalLM.from_pretrained(directory, dtype=dtype, attn_implementation=NAME)
        self.model: Any = loaded.to(self.device).eval()
        self.sampling = sampling
        self.batch = batch
        self.refill = refill
        self.columns = columns
        self._full = batch
        """Samples that the batch has room for, as far as is known."""
        self.weights_id: str | None = None
        if self.device.type == "cpu":
            multiply_from_left(self.model)
        self._decoder, self._head = self.model.get_decoder(), self.model.get_output_embeddings()
        self._layers = int(self.model.config.num_hidden_layers)
        self._stop = _stop_ids(self.model, self.tokenizer)
        self._limit = int(self.model.config.max_position_embeddings)
        self._waiting: deque[Request] = deque()
        self._paths: list[Branch | None] = []
        self._rows: Rows | None = None
        self._logits: Tensor | None = None
        self._starts = StartCache(self._prefill, columns // 2)

    def use(self, weights_id: str | None) -> None:
        """Declare which weights the model object now holds; drops every cache computed with others.

        None (while the learner is at work) makes generating an error.
        """
        if unfinished := self._active + len(self._waiting):
            raise EngineError(f"{unfinished} requests are unfinished; poll them first")
        self.weights_id = weights_id
        self.forget()

    def forget(self) -> None:
        """See ``Engine.forget``."""
        self._starts.forget()

    def encode(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """See ``Engine.encode``."""
        turns = [{"role": message.role, "content": message.content} for message in messages]
        text = self.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        return tuple(self.tokenizer.encode(text, add_special_tokens=False))

    def decode(self, token_ids: Sequence[int]) -> str:
        """See ``Engine.decode``."""
        return str(self.tokenizer.decode(list(token_ids)))

    def submit(self, request: Request) -> None:
        """See ``Engine.submit``."""
        if self.weights_id is None:
            raise EngineError("no weights are loaded; load a checkpoint before generating")
        if request.max_tokens < 1 or not request.prompt_ids:
            raise EngineError(f"request {request.key}: needs a prompt and at least one token to make")
        if len(request.prompt_ids) + request.max_tokens > self._limit:
            raise EngineError(
                f"request {request.key}: {len(request.prompt_ids)} prompt + {request.max_tokens} new tokens "
                f"exceed the model's {self._limit}"
            )
        self._waiting.append(request)

    @property
    def _active(self) -> int:
        """Samples under way."""
        return sum(len(path.samples) for path in self._paths if path)

    @torch.inference_mode()
    def poll(self) -> list[Completion]:
        """See ``Engine.poll``."""
        while self._waiting or self._active:
            if self._enough_wait():
                self._admit()
            finished = self._step()
            if finished:
                return finished
        return []

    def _enough_wait(self) -> bool:
        """Whether those that wait and fit are worth the work of letting them in."""
        entering = min(len(self._waiting), self._full - self._active)
        if not self._active:
            return bool(self._waiting)
        return entering > 0 and self._active <= self.refill * (self._active + entering)

    def _admit(self) -> None:
        """Fill the batch from the queue, as far as its columns allow; equal prompts become one row."""
        room = min(self.batch - self._active, len(self._waiting))
        taken = [self._waiting.popleft() for _ in range(room)]
        chains = choose_starts(Counter(request.prompt_ids for request in taken), self._starts.known)
        fitting = fitting_count(taken, chains, self._paths, self.columns)
        self._waiting.extendleft(reversed(taken[fitting:]))
        self._full = self.batch if fitting == len(taken) else self._active + fitting
        group: dict[Ids, list[Sample]] = {}
        for request in taken[:fitting]:
            sample = Sample(request, stream(request.seed, request.max_tokens))
            group.setdefault(request.prompt_ids, []).append(sample)
        if not group:
            return
        entering = [(last_of(chains[prompt]), prompt) for prompt in group]
        used = {path.start for path in self._paths if path}
        self._starts.keep([chains[prompt] for prompt in group], used)
        self._compact()
        parts = [(self._rows, self._logits)] if self._rows is not None and self._logits is not None else []
        for piece in pieces(entering):
            parts.append(self._prefill(piece))
            self._paths += [Branch(chains[prompt], (), group[prompt]) for _, prompt in piece]
            self._starts.offer(piece, parts[-1][0], used.union(start for start, _ in entering))
        self._rows = Rows.join([rows for rows, _ in parts])
        self._logits = torch.cat([logits for _, logits in parts])

    def _compact(self) -> None:
        """Remove finished rows from the batch."""
        kept = [slot for slot, path in enumerate(self._paths) if path]
        if len(kept) == len(self._paths):
            return
        if self._logits is not None:
            self._logits = self._logits[kept] if kept else None
        self._rebuild(kept, [])

    def _prefill(self, prompts: Sequence[tuple[Ids, Ids]]) -> tuple[Rows, Tensor]:
        """Caches and next-token logits [prompts, vocabulary] of what follows each prompt's start.

        ``prompts``: (start, whole prompt).
        """
        rests = [list(prompt[len(start) :]) for start, prompt in prompts]
        width = max(map(len, rests))
        rows = Rows(self._layers, torch.tensor([width - len(rest) for rest in rests], device=self.device))
        ids = torch.tensor([[0] * (width - len(rest)) + rest for rest in rests], device=self.device)
        return rows, self._forward(ids, rows, [start for start, _ in prompts])

    def _forward(self, ids: Tensor, rows: Rows, starts: Sequence[Ids]) -> Tensor:
        """Run the model, extending ``rows`` (which have these starts) in place; the last column's logits.

        ``ids`` [rows, columns]; returns [rows, vocabulary].
        """
        seen, positions = rows.mask(ids.shape[1]), rows.positions(ids.shape[1])
        mask = torch.zeros(seen.shape, dtype=self.model.dtype, device=self.device).masked_fill(
            ~seen, -torch.inf
        )
        hidden = self._decoder(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions + torch.tensor(list(map(len, starts)), device=self.device)[:, None],
            cache=rows.cache,
            use_cache=True,
            shared=self._starts.shared(starts, self.device),
        ).last_hidden_state[:, -1]
        return torch.as_tensor(self._head(hidden))

    def _step(self) -> list[Completion]:
        """Draw one token for every sample, release the finished, branch, and run the model for the others."""
        assert self._logits is not None
        drawn = self._draw(self._logits)
        finished: list[Completion] = []
        branches: list[tuple[int, Branch]] = []
        for slot, path in enumerate(self._paths):
            if path is None:
                continue
            going: dict[int, list[Sample]] = {}
            for sample in path.samples:
                token = next(drawn)
                if token in self._stop or len(path.ids) + 1 == sample.request.max_tokens:
                    finished.append(self._complete(sample.request, (*path.ids, token)))
                else:
                    going.setdefault(token, []).append(sample)
            following = [Branch(path.chain, (*path.ids, token), samples) for token, samples in going.items()]
            self._paths[slot] = following[0] if following else None
            branches += [(slot, other) for other in following[1:]]
        self._branch(branches)
        if self._rows is not None:
            ids = [[path.ids[-1] if path else 0] for path in self._paths]
            starts = [path.start if path else () for path in self._paths]
            self._logits = self._forward(torch.tensor(ids, device=self.device), self._rows, starts)
        return finished

    def _draw(self, logits: Tensor) -> Iterator[int]:
        """The next token of every sample, path after path."""
        owner = [slot for slot, path in enumerate(self._paths) if path for _ in path.samples]
        paths = [path for path in self._paths if path]
        uniform = [sample.uniform[len(path.ids)] for path in paths for sample in path.samples]
        place = torch.tensor(owner, device=self.device)
        return iter(draw(logits, place, torch.tensor(uniform, device=self.device), self.sampling).tolist())

    def _branch(self, branches: list[tuple[int, Branch]]) -> None:
        """Give every path that has split off from the row at a slot a row of its own."""
        free = [slot for slot, path in enumerate(self._paths) if path is None]
        dead = len(free) - len(branches)
        if not 0 <= dead < DEAD_SHARE * len(self._paths):
            self._rebuild([slot for slot, path in enumerate(self._paths) if path], branches)
        elif branches:
            assert self._rows is not None
            targets = free[: len(branches)]
            sources = [source for source, _ in branches]
            self._rows.copy(
                torch.tensor(sources, device=self.device), torch.tensor(targets, device=self.device)
            )
            for target, (_, path) in zip(targets, branches, strict=True):
                self._paths[target] = path

    def _rebuild(self, kept: list[int], branches: list[tuple[int, Branch]]) -> None:
        """Make the batch anew of the rows ``kept`` and of copies for ``branches``."""
        self._paths = [self._paths[slot] for slot in kept] + [path for _, path in branches]
        if not self._paths or self._rows is None:
            self._rows = None
            return
        index = kept + [source for source, _ in branches]
        self._rows = self._rows.select(torch.tensor(index, device=self.device))

    def _complete(self, request: Request, ids: tuple[int, ...]) -> Completion:
        assert self.weights_id is not None
        return Completion(
            key=request.key,
            text=str(self.tokenizer.decode(ids, skip_special_tokens=True)),
            token_ids=ids,
            finish="stop" if ids[-1] in self._stop else "length",
            weights_id=self.weights_id,
            prompt_tokens=len(request.prompt_ids),
        )


def _stop_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    """Every token that ends a turn: the tokenizer's and those of the generation config."""
    listed = getattr(model.generation_config, "eos_token_id", None)
    ids = set(listed if isinstance(listed, list) else [listed]) | {tokenizer.eos_token_id}
    return frozenset(int(token) for token in ids if token is not None)
