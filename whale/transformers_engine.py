"""The default engine: Hugging Face transformers on CPU or CUDA, sharing its model object with the learner.

Prompts are computed once for all their samples, and the start that all prompts of a group share (system
text, worked examples) once for all prompts. Rows leave the batch when they finish; new ones enter when the
batch has fallen to ``refill`` of its size (0 = whole waves, near 1 = continuous refill).
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
from whale.sampling import draw, stream

SHARED_PREFIX = 8
"""A start shared by all prompts of a group is computed apart from this many tokens on."""
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
        loaded: Any = AutoModelForCausalLM.from_pretrained(directory, dtype=dtype)
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
        self._prefix: tuple[tuple[int, ...], Rows] | None = None

    def use(self, weights_id: str | None) -> None:
        """Declare which weights the model object now holds; drops every cache computed with others.

        None (while the learner is at work) makes generating an error.
        """
        if self._active or self._waiting:
            raise EngineError(
                f"{len(self._active) + len(self._waiting)} requests are unfinished; poll them first"
            )
        self.weights_id = weights_id
        self._prefix = None

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
        """Fill the batch from the queue, prompts grouped so that equal ones are computed once."""
        group = [
            self._waiting.popleft() for _ in range(min(self.batch - len(self._active), len(self._waiting)))
        ]
        prompts = list(dict.fromkeys(request.prompt_ids for request in group))
        rows, logits = self._prefill(prompts)
        place = {prompt: index for index, prompt in enumerate(prompts)}
        index = torch.tensor([place[request.prompt_ids] for request in group], device=self.device)
        rows, logits = rows.select(index), logits[index]
        self._compact()
        if self._rows is None or self._logits is None:
            self._rows, self._logits = rows, logits
        else:
            self._rows, self._logits = self._rows.merge(rows), torch.cat([self._logits, logits])
        self._slots += [_Row(request, stream(request.seed, request.max_tokens)) for request in group]

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

    def _prefill(self, prompts: list[tuple[int, ...]]) -> tuple[Rows, Tensor]:
        """Caches and next-token logits [prompts, vocabulary] of distinct prompts."""
        shared = self._shared_start(prompts)
        rests = [prompt[len(shared) :] for prompt in prompts]
        width = max(len(rest) for rest in rests)
        pad = torch.tensor([width - len(rest) for rest in rests], device=self.device)
        # Padding sits between the shared start and the rest, so the rows are laid out rest-first:
        # the shared columns are moved behind the padding, which keeps one pad count a row.
        rows = Rows(self._layers, pad)
        ids = torch.tensor([[0] * (width - len(rest)) + list(rest) for rest in rests], device=self.device)
        mask, positions = rows.mask(width), rows.positions(width)
        if shared:
            rows, mask, positions = self._behind_prefix(shared, rows, width)
        logits = self._forward(ids, rows, mask, positions)
        return (_close_gap(rows, len(shared), pad) if shared else rows), logits

    def _behind_prefix(self, shared: tuple[int, ...], bare: Rows, width: int) -> tuple[Rows, Tensor, Tensor]:
        """Rows that start with the shared prefix, with the mask and positions of what follows it."""
        start = self._prefix_rows(shared)
        count = len(bare)
        rows = start.select(torch.zeros(count, dtype=torch.int64, device=self.device))
        ahead = torch.ones((count, 1, width, len(shared)), dtype=torch.bool, device=self.device)
        mask = torch.cat([ahead, bare.mask(width)], dim=-1)
        return rows, mask, bare.positions(width) + len(shared)

    def _prefix_rows(self, shared: tuple[int, ...]) -> Rows:
        if self._prefix is None or self._prefix[0] != shared:
            rows = Rows(self._layers, torch.zeros(1, dtype=torch.int64, device=self.device))
            ids = torch.tensor([shared], device=self.device)
            self._forward(ids, rows, rows.mask(len(shared)), rows.positions(len(shared)))
            self._prefix = (shared, rows)
        return self._prefix[1]

    def _shared_start(self, prompts: list[tuple[int, ...]]) -> tuple[int, ...]:
        """The longest start of all prompts that leaves each at least one token; empty when not worth it."""
        if self._prefix is not None:
            known = self._prefix[0]
            if all(prompt[: len(known)] == known and len(prompt) > len(known) for prompt in prompts):
                return known
        if len(prompts) < 2:
            return ()
        first, last = min(prompts), max(prompts)
        most = min(map(len, prompts)) - 1
        length = next((at for at in range(most) if first[at] != last[at]), most)
        return first[:length] if length >= SHARED_PREFIX else ()

    def _forward(self, ids: Tensor, rows: Rows, mask: Tensor, positions: Tensor) -> Tensor:
        """Run the model, extending ``rows`` in place; logits of the last column [rows, vocabulary]."""
        hidden = self._decoder(
            input_ids=ids, attention_mask=mask, position_ids=positions, cache=rows.cache, use_cache=True
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
            self._logits = self._forward(
                tokens[:, None], self._rows, self._rows.mask(1), self._rows.positions(1)
            )
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


def _close_gap(rows: Rows, prefix: int, pad: Tensor) -> Rows:
    """Move each row's prefix columns right, behind its padding, so that padding is on the left again."""
    closed = Rows(len(rows.layers), pad)
    column = torch.arange(rows.columns, device=pad.device)[None, :] - pad[:, None]
    inside = (column >= 0) & (column < prefix)
    source = torch.where(inside, column, torch.arange(rows.columns, device=pad.device)[None, :])
    for old, new in zip(rows.layers, closed.layers, strict=True):
        index = source[:, None, :, None].expand(-1, old.keys.shape[1], -1, old.keys.shape[3])
        new.put(old.keys.gather(2, index), old.values.gather(2, index))
    return closed


def _stop_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    """Every token that ends a turn: the tokenizer's and those of the generation config."""
    listed = getattr(model.generation_config, "eos_token_id", None)
    ids = set(listed if isinstance(listed, list) else [listed]) | {tokenizer.eos_token_id}
    return frozenset(int(token) for token in ids if token is not None)
