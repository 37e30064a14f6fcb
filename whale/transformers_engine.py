"""The default engine: Hugging Face transformers on CPU or CUDA, sharing its model object with the learner.

A prompt is computed once for all its samples. The start that all prompts share (system text, worked examples)
is computed, kept and read once for all. Rows leave the batch when they finish; new ones enter when it has
fallen to ``refill`` of its size (0 = whole waves, near 1 = continuous refill).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer

from whale.contract import Message
from whale.engine import Completion, EngineError, Request, Sampling
from whale.kv import Rows
from whale.prefix_attention import NAME, Prefix
from whale.sampling import draw, stream

SHARED_PREFIX = 8
"""A start shared by all waiting prompts is kept apart from this many tokens on."""
DEAD_SHARE = 0.25
"""Finished rows stay in the batch until they are this share of it: removing them copies every cache."""


@dataclass(slots=True)
class _Row:
    """A completion in the making."""

    request: Request
    uniform: np.ndarray
    ids: list[int] = field(default_factory=list)


class TransformersEngine:
    """See ``whale.engine.Engine``. ``model`` is public because the learner trains the same object."""

    def __init__(
        self,
        directory: Path,
        sampling: Sampling,
        *,
        batch: int = 64,
        refill: float = 0.5,
        device: str = "auto",
    ) -> None:
        """Load tokenizer and model from ``directory``; weights stay unusable until ``use`` names them."""
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
        self.weights_id: str | None = None
        self._decoder, self._head = self.model.get_decoder(), self.model.get_output_embeddings()
        self._plain_head = self.device.type == "cpu" and self._head.bias is None
        self._layers = int(self.model.config.num_hidden_layers)
        self._stop = _stop_ids(self.model, self.tokenizer)
        self._limit = int(self.model.config.max_position_embeddings)
        self._waiting: deque[Request] = deque()
        self._slots: list[_Row | None] = []
        self._rows: Rows | None = None
        self._logits: Tensor | None = None
        empty = torch.zeros((1, 1, 0, 1), device=self.device)
        self._nothing: Prefix = [(empty, empty)]
        self._start: tuple[int, ...] = ()
        self._shared: Prefix = self._nothing

    def use(self, weights_id: str | None) -> None:
        """Declare which weights the model object now holds; drops every cache computed with others.

        None (while the learner is at work) makes generating an error.
        """
        if self._active or self._waiting:
            raise EngineError(
                f"{len(self._active) + len(self._waiting)} requests are unfinished; poll them first"
            )
        self.weights_id = weights_id
        self._start, self._shared = (), self._nothing

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
    def _active(self) -> list[_Row]:
        return [row for row in self._slots if row is not None]

    @torch.inference_mode()
    def poll(self) -> list[Completion]:
        """See ``Engine.poll``."""
        while self._waiting or self._active:
            if self._waiting and len(self._active) <= min(self.refill * self.batch, self.batch - 1):
                self._admit()
            finished = self._step()
            if finished:
                return finished
        return []

    def _admit(self) -> None:
        """Fill the batch from the queue, prompts grouped so that equal ones are computed once.

        All rows of a batch have the same shared start; requests without it wait until the batch is empty.
        """
        if not self._active:
            self._slots, self._rows, self._logits = [], None, None
            self._choose_start()
        group = self._fitting(self.batch - len(self._active))
        if not group:
            return
        prompts = list(dict.fromkeys(request.prompt_ids for request in group))
        rows, logits = self._prefill([prompt[len(self._start) :] for prompt in prompts])
        place = {prompt: index for index, prompt in enumerate(prompts)}
        index = torch.tensor([place[request.prompt_ids] for request in group], device=self.device)
        rows, logits = rows.select(index), logits[index]
        self._compact()
        if self._rows is None or self._logits is None:
            self._rows, self._logits = rows, logits
        else:
            self._rows, self._logits = self._rows.merge(rows), torch.cat([self._logits, logits])
        self._slots += [_Row(request, stream(request.seed, request.max_tokens)) for request in group]

    def _choose_start(self) -> None:
        """Settle the shared start of the next batch: what all waiting prompts begin with, if it is worth it."""
        prompts = {request.prompt_ids for request in self._waiting}
        first, last = min(prompts), max(prompts)
        most = min(map(len, prompts)) - 1
        length = next((at for at in range(most) if first[at] != last[at]), most)
        if self._start == first[: len(self._start)] and length >= len(self._start) >= length / 2:
            return
        self._start, self._shared = (), self._nothing
        if length >= SHARED_PREFIX:
            rows, _ = self._prefill([first[:length]])
            self._start = first[:length]
            self._shared = [(layer.keys, layer.values) for layer in rows.layers]

    def _fitting(self, room: int) -> list[Request]:
        """Up to ``room`` waiting requests that have the shared start, taken out of the queue in order."""
        size = len(self._start)
        taken: list[Request] = []
        left: deque[Request] = deque()
        for request in self._waiting:
            fits = len(request.prompt_ids) > size and request.prompt_ids[:size] == self._start
            (taken if fits and len(taken) < room else left).append(request)
        self._waiting = left
        return taken

    def _compact(self) -> None:
        """Remove finished rows from the batch."""
        kept = [index for index, row in enumerate(self._slots) if row is not None]
        if len(kept) == len(self._slots):
            return
        self._slots = [self._slots[index] for index in kept]
        if not kept or self._rows is None or self._logits is None:
            self._rows, self._logits = None, None
            return
        index = torch.tensor(kept, device=self.device)
        self._rows, self._logits = self._rows.select(index), self._logits[index]

    def _prefill(self, rests: list[tuple[int, ...]]) -> tuple[Rows, Tensor]:
        """Caches and next-token logits [prompts, vocabulary] of what follows the shared start."""
        width = max(len(rest) for rest in rests)
        rows = Rows(self._layers, torch.tensor([width - len(rest) for rest in rests], device=self.device))
        ids = torch.tensor([[0] * (width - len(rest)) + list(rest) for rest in rests], device=self.device)
        return rows, self._forward(ids, rows)

    def _forward(self, ids: Tensor, rows: Rows) -> Tensor:
        """Run the model, extending ``rows`` in place; logits of the last column [rows, vocabulary]."""
        seen, positions = rows.mask(ids.shape[1]), rows.positions(ids.shape[1])
        mask = torch.zeros(seen.shape, dtype=self.model.dtype, device=self.device).masked_fill(
            ~seen, -torch.inf
        )
        hidden = self._decoder(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions + len(self._start),
            cache=rows.cache,
            use_cache=True,
            shared=self._shared,
        ).last_hidden_state[:, -1]
        # On CPU the vocabulary's matrix is multiplied from the left: 1.4 times faster than torch's linear.
        return torch.mm(self._head.weight, hidden.t()).t() if self._plain_head else self._head(hidden)

    def _step(self) -> list[Completion]:
        """Draw one token for every active row, release the finished, run the model for the others."""
        assert self._rows is not None
        assert self._logits is not None
        uniform = [row.uniform[len(row.ids)] if row else 0.0 for row in self._slots]
        tokens = draw(self._logits, torch.tensor(uniform, device=self.device), self.sampling)
        finished: list[Completion] = []
        for slot, (row, token) in enumerate(zip(self._slots, tokens.tolist(), strict=True)):
            if row is None:
                continue
            row.ids.append(token)
            if token in self._stop or len(row.ids) == row.request.max_tokens:
                finished.append(self._complete(row, token))
                self._slots[slot] = None
        dead = len(self._slots) - len(self._active)
        if dead >= DEAD_SHARE * len(self._slots):
            tokens = tokens[[row is not None for row in self._slots]]
            self._compact()
        if self._rows is not None:
            self._logits = self._forward(tokens[:, None], self._rows)
        return finished

    def _complete(self, row: _Row, token: int) -> Completion:
        assert self.weights_id is not None
        return Completion(
            key=row.request.key,
            text=str(self.tokenizer.decode(row.ids, skip_special_tokens=True)),
            token_ids=tuple(row.ids),
            finish="stop" if token in self._stop else "length",
            weights_id=self.weights_id,
            prompt_tokens=len(row.request.prompt_ids),
        )


def _stop_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    """Every token that ends a turn: the tokenizer's and those of the generation config."""
    listed = getattr(model.generation_config, "eos_token_id", None)
    ids = set(listed if isinstance(listed, list) else [listed]) | {tokenizer.eos_token_id}
    return frozenset(int(token) for token in ids if token is not None)
