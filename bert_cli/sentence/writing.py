"""Writer of the files that make a model's directory one of sentence-transformers."""

import json
from typing import Any

import numpy as np
from safetensors.numpy import save

from bert_cli.base.names import MODULES, SAFETENSORS, SENTENCE_BERT, SENTENCE_CONFIG
from bert_cli.base.pooling import modes_of
from bert_cli.sentence.modules import LEGACY_MODES, MODE_NAMES, SentenceModules
from bert_cli.sentence.steps import Dense, LayerNorm, Normalize, Step, Truncate

# Classes have these names since sentence-transformers 2, and later releases still read them.
_PACKAGE = "sentence_transformers.models"
_ACTIVATIONS = {"Identity": "torch.nn.modules.linear.Identity"}


def module_files(modules: SentenceModules) -> dict[str, bytes]:
    """Return the contents of all files besides the encoder's, by their path in the directory."""
    names = ["Transformer", "Pooling"]
    contents = {f"1_Pooling/{name}": text for name, text in _pooling_files(modules).items()}
    for step in modules.steps:
        if not isinstance(step, Truncate):
            names.append(type(step).__name__)
            folder = f"{len(names) - 1}_{names[-1]}"
            contents |= {f"{folder}/{name}": content for name, content in _step_files(step).items()}
    listed = [
        {
            "idx": number,
            "name": str(number),
            "path": f"{number}_{name}" if number else "",
            "type": f"{_PACKAGE}.{name}",
        }
        for number, name in enumerate(names)
    ]
    texts: dict[str, Any] = {"prompts": dict(modules.prompts), "default_prompt_name": modules.default_prompt_name}
    size = next((step.output_width for step in modules.steps if isinstance(step, Truncate)), None)
    if size is not None:
        texts["truncate_dim"] = size
    return contents | {
        SENTENCE_BERT: _to_bytes({"max_seq_length": modules.max_seq_length, "do_lower_case": modules.lower_cases}),
        SENTENCE_CONFIG: _to_bytes(texts),
        MODULES: _to_bytes(listed),
    }


def _to_bytes(value: Any) -> bytes:
    return f"{json.dumps(value, indent=2, ensure_ascii=False)}\n".encode()


def _pooling_files(modules: SentenceModules) -> dict[str, bytes]:
    modes = modes_of(modules.pooling)
    values: dict[str, Any] = {"word_embedding_dimension": modules.encoder_width}
    legacy_order = [mode for mode in LEGACY_MODES.values() if mode in modes]
    if modes == legacy_order:
        # All releases read these keys, but they have a fixed order.
        values |= {key: mode in modes for key, mode in LEGACY_MODES.items()}
    else:
        names = {mode: name for name, mode in MODE_NAMES.items()}
        values = {"embedding_dimension": modules.encoder_width, "pooling_mode": [names[mode] for mode in modes]}
    return {"config.json": _to_bytes(values | {"include_prompt": modules.includes_prompt})}


def _step_files(step: Step) -> dict[str, bytes]:
    tensors: dict[str, np.ndarray] = {}
    values: dict[str, Any] = {}
    if isinstance(step, Dense):
        activation = _ACTIVATIONS.get(step.activation, f"torch.nn.modules.activation.{step.activation}")
        values = {
            "in_features": step.input_width,
            "out_features": step.output_width,
            "bias": step.bias is not None,
            "activation_function": activation,
        }
        tensors["linear.weight"] = step.kernel.T
        if step.bias is not None:
            tensors["linear.bias"] = step.bias
        if step.has_residual:
            values["use_residual"] = True
        if step.residual_kernel is not None:
            tensors["residual.weight"] = step.residual_kernel.T
    elif isinstance(step, LayerNorm):
        values = {"dimension": step.input_width}
        tensors = {"norm.weight": step.gamma, "norm.bias": step.beta}
    else:
        assert isinstance(step, Normalize), step
    contents = {"config.json": _to_bytes(values)}
    if tensors:
        # safetensors ignores strides.
        contents[SAFETENSORS] = save({name: np.ascontiguousarray(values) for name, values in tensors.items()})
    return contents
