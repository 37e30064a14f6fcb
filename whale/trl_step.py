"""One optimizer step on TRL's ``SFTTrainer``, with packs, weights and objective of our own.

Apart from the learners because importing TRL takes seconds and only training needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from datasets import Dataset
from torch import Tensor
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR
from transformers import PrinterCallback
from trl.trainer.sft_config import SFTConfig
from trl.trainer.sft_trainer import SFTTrainer

Objective = Callable[[Tensor, dict[str, Tensor]], Tensor]
"""(Log-probabilities of a pack's trained tokens, its tensors and what a learner added) -> its part of the loss."""


class _PackTrainer(SFTTrainer):
    """The sum of an objective over packs; all normalising is in the weights."""

    objective: Objective

    def compute_loss(
        self, model: Any, inputs: dict[str, Any], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """See the class; ``num_items_in_batch`` is ignored since weights count."""
        loss = self.objective(log_probabilities(model, inputs), inputs)
        return (loss, None) if return_outputs else loss


def log_probabilities(model: Any, inputs: dict[str, Any]) -> Tensor:
    """Of every trained token of a pack. Logits exist for trained tokens only.

    ``inputs``: see ``whale.packs.Pack.tensors``. Returns [trained tokens].
    """
    hidden = model.get_decoder()(
        input_ids=inputs["input_ids"],
        attention_mask=inputs["attention_mask"],
        position_ids=inputs["position_ids"],
        use_cache=False,
    ).last_hidden_state[0]
    logits = model.get_output_embeddings()(hidden[inputs["before"]]).float()
    nll: Tensor = torch.nn.functional.cross_entropy(logits, inputs["labels"], reduction="none")
    return -nll


def train_once(
    model: Any,
    tokenizer: Any,
    optimizer: Optimizer,
    packs: Sequence[dict[str, Tensor]],
    objective: Objective,
    *,
    clip: float,
    warmth: float = 1.0,
    scratch: str,
) -> float:
    """Accumulate the gradient over ``packs`` and step once; returns the mini-batch's loss before the step.

    ``packs``: what ``Pack.tensors`` gives, with what else the objective reads. ``warmth``: share of the optimizer's
    learning rate that counts.
    """
    cpu = next(model.parameters()).device.type == "cpu"
    config = SFTConfig(
        output_dir=scratch,
        per_device_train_batch_size=1,
        gradient_accumulation_steps=len(packs),
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
    dataset = Dataset.from_dict({"input_ids": [[index] for index in range(len(packs))]})
    trainer = _PackTrainer(
        model=model,
        args=config,
        train_dataset=dataset,
        data_collator=lambda items: packs[items[0]["input_ids"][0]],
        processing_class=tokenizer,
        optimizers=(optimizer, LambdaLR(optimizer, lambda _: warmth)),
    )
    trainer.remove_callback(PrinterCallback)
    trainer.objective = objective
    return float(trainer.train().training_loss)
