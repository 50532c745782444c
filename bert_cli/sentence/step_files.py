"""Reader for the directories of modules after pooling, such as 2_Dense."""

import os
from collections.abc import Callable
from typing import Any

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.json_files import FETCH, JsonObject, expect, read_json_object
from bert_cli.base.names import SAFETENSORS
from bert_cli.sentence.keys import DENSE_KEYS, NORMALIZE_KEYS
from bert_cli.sentence.steps import ACTIVATIONS, Dense, LayerNorm, Normalize, Step
from bert_cli.weights.formats.safetensors_files import SafetensorsFiles


def read_optional(path: str) -> JsonObject:
    """Return the JSON object in a file; {} without the file."""
    return read_json_object(path, FETCH) if files.exists(path) else {}


def _read_dense(folder: str, strict: bool) -> Dense:
    path = os.path.join(folder, "config.json")
    config = read_json_object(path, FETCH)
    DENSE_KEYS.check(path, config)
    DENSE_KEYS.name_unknown(path, config, strict)
    type_name = expect(config.get("activation_function", "torch.nn.Tanh"), str, f"{path}: activation_function", FETCH)
    activation = type_name.rpartition(".")[2]
    refuse_if(
        not type_name.startswith("torch.") or activation not in ACTIVATIONS,
        f"{path}: activation_function {type_name!r} cannot be computed here, only {', '.join(ACTIVATIONS)} of torch.nn",
    )
    tensors = _open_tensors(folder)
    has_residual = expect(config.get("use_residual", False), bool, f"{path}: use_residual", FETCH)
    has_bias = expect(config.get("bias", True), bool, f"{path}: bias", FETCH)
    kernel = _read(tensors, "linear.weight").T
    in_out = tuple(config.get(key) for key in ("in_features", "out_features"))
    refuse_if(
        in_out != kernel.shape,
        f"{path}: says {in_out[0]} and {in_out[1]} features, but its weights have {kernel.shape[0]} and "
        f"{kernel.shape[1]}; they belong to different models",
    )
    residual_kernel = _read(tensors, "residual.weight").T if has_residual and in_out[0] != in_out[1] else None
    return Dense(kernel, _read(tensors, "linear.bias") if has_bias else None, activation, has_residual, residual_kernel)


def _read_layer_norm(folder: str, strict: bool) -> LayerNorm:
    tensors = _open_tensors(folder)
    return LayerNorm(_read(tensors, "norm.weight"), _read(tensors, "norm.bias"))


def _read_normalize(folder: str, strict: bool) -> Normalize:
    path = os.path.join(folder, "config.json")
    config = read_optional(path)
    NORMALIZE_KEYS.check(path, config)
    NORMALIZE_KEYS.name_unknown(path, config, strict)
    return Normalize()


# Each takes a module's directory, and whether an unknown key is an error.
STEP_READERS: dict[str, Callable[[str, bool], Step]] = {
    "Dense": _read_dense,
    "LayerNorm": _read_layer_norm,
    "Normalize": _read_normalize,
}


def _open_tensors(folder: str) -> SafetensorsFiles:
    path = os.path.join(folder, SAFETENSORS)
    if not files.exists(path):
        pickle = next((name for name in files.list_directory(folder) if name.endswith(".bin")), None)
        problem = (
            f"has {pickle}, a pickle, which could run code, and is not read" if pickle else f"has no {SAFETENSORS}"
        )
        raise InputError(
            f"{folder}: {problem}; make {SAFETENSORS} of all modules once where the model is trusted: "
            "python -c 'from sentence_transformers import SentenceTransformer as Model; "
            'Model("FOLDER").save("NEW_FOLDER")\''
        )
    return SafetensorsFiles(path)


def _read(tensors: SafetensorsFiles, name: str) -> Any:
    refuse_if(name not in tensors.shapes, f"{tensors.description}: lacks {name}; {FETCH}")
    return tensors.read(name).astype("float32")
