"""One optimizer step on TRL's ``SFTTrainer``, with rows, weights and denominator of our own.

Apart from ``rsft`` because importing TRL takes seconds and only training needs it.
"""

from __future__ import annotations

from typing import Any

import torch
from datasets import Dataset
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR
from transformers import PrinterCallback
from trl.trainer.sft_config import SFTConfig
from trl.trainer.sft_trainer import SFTTrainer

from whale.rows import Row


class _WeightedTrainer(SFTTrainer):
    """Loss = sum over trained tokens of multiplicity x NLL, divided by the tokens of the whole mini-batch."""

    total_tokens: int = 1

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """See the class; ``num_items_in_batch`` is ignored since multiplicities count."""
        loss = token_loss(model, inputs) / self.total_tokens
        return (loss, None) if return_outputs else loss


def token_loss(model: Any, inputs: dict[str, Any]) -> Tensor:
    """Sum over trained tokens of ``weight`` x NLL. Logits exist for trained positions only.

    ``inputs``: ``input_ids``, ``attention_mask``, ``labels`` [rows, tokens] (-100 = no loss), ``weight`` [rows].
    """
    labels = inputs["labels"][:, 1:]
    hidden = model.get_decoder()(
        input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"], use_cache=False
    ).last_hidden_state[:, :-1]
    live = labels != -100
    logits = model.get_output_embeddings()(hidden[live]).float()
    nll: Tensor = torch.nn.functional.cross_entropy(logits, labels[live], reduction="none")
    weight = inputs["weight"][:, None].expand_as(labels)[live]
    total: Tensor = (nll * weight).sum()
    return total


def collate(batch: list[tuple[Row, int]], pad_id: int) -> dict[str, Tensor]:
    """Pad on the right to the longest row; padding has no loss because of its place, not its token."""
    width = max(len(row.ids) for row, _ in batch)
    ids = [list(row.ids) + [pad_id] * (width - len(row.ids)) for row, _ in batch]
    labels = [
        [token if own else -100 for token, own in zip(row.ids, row.mask, strict=True)]
        + [-100] * (width - len(row.ids))
        for row, _ in batch
    ]
    real = [[1] * len(row.ids) + [0] * (width - len(row.ids)) for row, _ in batch]
    return {
        "input_ids": torch.tensor(ids),
        "labels": torch.tensor(labels),
        "attention_mask": torch.tensor(real),
        "weight": torch.tensor([float(count) for _, count in batch]),
    }


def train_once(
    model: Any,
    tokenizer: Any,
    optimizer: Optimizer,
    batches: list[list[tuple[Row, int]]],
    *,
    total_tokens: int,
    pad_id: int,
    clip: float,
    scratch: str,
) -> float:
    """Accumulate the gradient over ``batches`` and step once; returns the mini-batch's loss before the step."""
    cpu = next(model.parameters()).device.type == "cpu"
    config = SFTConfig(
        output_dir=scratch,
        per_device_train_batch_size=1,
        gradient_accumulation_steps=len(batches),
        num_train_epochs=1,
        max_grad_norm=clip,
        max_length=None,
        bf16=False,
        use_cpu=cpu,
        gradient_checkpointing=False,
        report_to="none",
        save_strategy="no",
        logging_strategy="no",
        disable_tqdm=True,
        remove_unused_columns=False,
        dataset_kwargs={"skip_prepare_dataset": True},
        dataloader_pin_memory=False,
        average_tokens_across_devices=False,
        accelerator_config={"even_batches": False},
    )
    dataset = Dataset.from_dict({"input_ids": [[index] for index in range(len(batches))]})
    trainer = _WeightedTrainer(
        model=model,
        args=config,
        train_dataset=dataset,
        data_collator=lambda items: collate(batches[items[0]["input_ids"][0]], pad_id),
        processing_class=tokenizer,
        optimizers=(optimizer, LambdaLR(optimizer, lambda _: 1.0)),
    )
    trainer.remove_callback(PrinterCallback)
    trainer.total_tokens = total_tokens
    return float(trainer.train().training_loss)
