"""The tiny model of the ``smoke`` profile: a 0.1 M parameter Qwen3, trained on the spot in well under a minute.

It learns one-digit sums from a teacher that is wrong most of the time, so that rejection sampling has something
to sharpen. It is real in every mechanism and says nothing about real language models.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from envs.cache import made_once
from whale.contract import Message, assistant, user
from whale.models import ModelSource

VERSION = "2"
"""Raise it when anything here changes, so that cached models are made anew."""
STEPS = 450
ROWS = 24
RATE = 8e-3
CLEAN = 0.85
"""Share of the steps in which the teacher is always right; then it spoils the model."""
RIGHT = 0.5
"""Share of the late teacher's answers that are right in form and value."""
HINT = "Put the final answer in \\boxed{}."
ASK = "State the final answer to the following arithmetic problem: {} ="
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_FILLER = (
    "Answer with the box only.", "Think step by step.", "You are a careful assistant.", "Reply briefly.",
    "Write the expression first, then the result.", "Your last reply had no box. Try again.",
    "Give one number.", "Example:", "Check the result.", "Write Python code.",
)  # fmt: skip


def tiny_model(cache: Path) -> ModelSource:
    """The tiny model's directory, trained at the first call and cached."""
    target = made_once(cache / f"tiny-qwen3-v{VERSION}", _make)
    return ModelSource(target, "tiny Qwen3 (made on the spot)", f"tiny-v{VERSION}")


def _make(target: Path) -> None:
    import torch

    rng = random.Random(0)
    talks = [_conversation(rng, RIGHT) for _ in range(400)]
    tokenizer = _tokenizer([f"{message.role}\n{message.content}" for talk in talks for message in talk])
    model = _network(len(tokenizer))
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=STEPS)
    for step in range(STEPS):
        ids, labels = _batch(tokenizer, rng, 1.0 if step < CLEAN * STEPS else RIGHT)
        loss = model(input_ids=ids, labels=labels).loss
        loss.backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
    model.save_pretrained(target)
    tokenizer.save_pretrained(target)


def _network(vocabulary: int) -> Any:
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(0)
    config = Qwen3Config(
        vocab_size=vocabulary,
        hidden_size=64,
        intermediate_size=192,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=2048,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=0,
        pad_token_id=0,
    )
    return Qwen3ForCausalLM(config)


def _tokenizer(texts: list[str]) -> Any:
    """A byte-level BPE of some 400 tokens with single digits; the end-of-turn token is also the padding."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\d"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
        ]
    )
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=512,
        special_tokens=["<|im_end|>", "<|im_start|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    core.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=core, eos_token="<|im_end|>", pad_token="<|im_end|>", chat_template=TEMPLATE
    )


def _problem(rng: random.Random) -> tuple[str, int]:
    a, b, sign = rng.randrange(10), rng.randrange(10), rng.choice("+-")
    return f"{a} {sign} {b}", a + b if sign == "+" else a - b


def _conversation(rng: random.Random, right: float) -> list[Message]:
    """A conversation in one of the manners a harness may have, with the teacher's replies."""
    messages: list[Message] = []
    if rng.random() < 0.1:
        messages.append(Message("system", rng.choice(_FILLER)))
    for _ in range(rng.choice((1, 2, 2))):
        text, value = _problem(rng)
        messages += [user(_question(text, rng)), assistant(_teacher(text, value, rng, right))]
    return messages


def _question(text: str, rng: random.Random) -> str:
    lines = [ASK.format(text), HINT]
    if rng.random() < 0.1:
        lines.insert(rng.choice((0, 2)), rng.choice(_FILLER))
    return "\n".join(lines)


def _teacher(text: str, value: int, rng: random.Random, right: float) -> str:
    if rng.random() < right:
        return f"{text} = \\boxed{{{value}}}"
    wrong = value + rng.choice((-3, -2, -1, 1, 2, 3))
    return rng.choice((f"{text} = \\boxed{{{wrong}}}", f"It is {wrong}.", f"{text} = {value}"))


def _batch(tokenizer: Any, rng: random.Random, right: float) -> tuple[Any, Any]:
    """Token ids and labels [rows, tokens]; only replies and their end-of-turn tokens carry loss."""
    import torch

    rows = [_row(tokenizer, _conversation(rng, right)) for _ in range(ROWS)]
    width = max(len(ids) for ids, _ in rows)
    ids = torch.tensor([ids + [0] * (width - len(ids)) for ids, _ in rows])
    labels = torch.tensor([labels + [-100] * (width - len(labels)) for _, labels in rows])
    return ids, labels


def _row(tokenizer: Any, messages: list[Message]) -> tuple[list[int], list[int]]:
    ids: list[int] = []
    labels: list[int] = []
    for message in messages:
        start = tokenizer.encode(f"<|im_start|>{message.role}\n", add_special_tokens=False)
        body = tokenizer.encode(f"{message.content}<|im_end|>", add_special_tokens=False)
        end = tokenizer.encode("\n", add_special_tokens=False)
        ids += start + body + end
        labels += (
            [-100] * len(start)
            + (body if message.role == "assistant" else [-100] * len(body))
            + [-100] * len(end)
        )
    return ids, labels
