"""Reader and writer for peft's adapters: the changes that a LoRA makes to a base model."""

import math
import os
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.json_files import FETCH, KeyTable, Requirement, expect, read_json_object
from bert_cli.base.names import ADAPTER_CONFIG, ADAPTER_WEIGHTS
from bert_cli.base.writing import write_json
from bert_cli.weights.formats.safetensors_files import SafetensorsFiles, write_tensors

_PREFIX = "base_model.model."
_LORA = re.compile(r"(?P<module>.+)\.lora_(?P<matrix>[AB])(?:\.default)?\.weight")
_USED = dict.fromkeys(("r", "lora_alpha", "use_rslora"), "the scale of the changes")
_STORED = dict.fromkeys(
    ("target_modules", "exclude_modules", "modules_to_save", "bias", "layers_to_transform", "layers_pattern"),
    "the weights have it",
)
_TRAINING = dict.fromkeys(
    ("lora_dropout", "inference_mode", "task_type", "auto_mapping", "revision", "megatron_core", "loftq_config",
     "eva_config", "corda_config", "qalora_group_size", "runtime_config", "ensure_weight_tying", "peft_version"),
    "for training in other programs, or a version",
)  # fmt: skip
ADAPTER_KEYS = KeyTable(
    {**_USED, "base_model_name_or_path": "the directory of the base model"},
    {**_STORED, **_TRAINING},
    {
        "peft_type": Requirement(("LORA",)),
        "use_dora": Requirement((False, None)),
        "fan_in_fan_out": Requirement((False, None)),
        "rank_pattern": Requirement(({}, None)),
        "alpha_pattern": Requirement(({}, None)),
        "lora_bias": Requirement((False, None)),
        "layer_replication": Requirement((None,)),
        "megatron_config": Requirement((None,)),
        "trainable_token_indices": Requirement((None,)),
        "target_parameters": Requirement((None, [])),
        # Other initializations, such as pissa, olora and loftq, also change the base model.
        "init_lora_weights": Requirement((True, False, None, "gaussian", "eva", "orthogonal")),
        "use_qalora": Requirement((False, None)),
        "arrow_config": Requirement((None,)),
        "alora_invocation_tokens": Requirement((None, [])),
    },
    "only a plain LoRA can be merged here; merge it with peft's merge_and_unload",
)


def write_adapter(
    folder: str,
    options: Mapping[str, Any],
    pairs: Mapping[str, tuple[np.ndarray, np.ndarray]],
    tensors: Mapping[str, np.ndarray],
) -> None:
    """Write an adapter as peft does.

    Args:
        folder: the directory.
        options: the keys base_model_name_or_path, task_type, r and lora_alpha in the config.
        pairs: base module -> A [in, r] and B [r, out], float32.
        tensors: weights that replace the base model's, such as a classifier, by its names.

    Raises:
        InputError: if a file cannot be written.
    """
    modules = {name.rpartition(".")[0] for name in tensors}
    config = {
        **options,
        "bias": "none",
        "fan_in_fan_out": False,
        "inference_mode": True,
        "init_lora_weights": True,
        "lora_dropout": 0.0,
        "modules_to_save": sorted(modules),
        "peft_type": "LORA",
        "target_modules": sorted(pairs),
    }
    stored = {f"{_PREFIX}{name}": values for name, values in tensors.items()}
    for module, (a, b) in pairs.items():
        stored |= {f"{_PREFIX}{module}.lora_A.weight": a.T, f"{_PREFIX}{module}.lora_B.weight": b.T}
    write_tensors(os.path.join(folder, ADAPTER_WEIGHTS), stored)
    write_json(os.path.join(folder, ADAPTER_CONFIG), dict(sorted(config.items())))


class LowRankChange(NamedTuple):
    """A low-rank change of one weight: scale · b @ a.

    Attributes:
        a: float32 [r, in].
        b: float32 [out, r].
        scale: factor.
    """

    a: np.ndarray
    b: np.ndarray
    scale: float

    @property
    def values(self) -> np.ndarray:
        """Return the change in PyTorch's orientation, float32 [out, in]."""
        return np.float32(self.scale) * (self.b @ self.a)


class Adapter(NamedTuple):
    """An adapter's contents, by the base model's stored names.

    Attributes:
        path: path of its config, for messages.
        changes: weights to change.
        tensors: weights that replace the base model's, such as a classifier.
    """

    path: str
    changes: dict[str, LowRankChange]
    tensors: dict[str, np.ndarray]


def find_base(folder: str) -> str:
    """Return the directory of an adapter's base model.

    Raises:
        InputError: if it is not on this machine.
    """
    path = os.path.join(folder, ADAPTER_CONFIG)
    name = expect(
        read_json_object(path, FETCH).get("base_model_name_or_path"), str, f"{path}: base_model_name_or_path", FETCH
    )
    for candidate in (name, os.path.join(folder, name)):
        if name and files.is_directory(candidate):
            return candidate
    raise InputError(
        f"{folder}: has an adapter of peft for {name}, which is not a directory here; download that model and write its "
        f"directory as base_model_name_or_path into {ADAPTER_CONFIG}, or merge the two with peft's merge_and_unload"
    )


def read_adapter(folder: str, strict: bool = False) -> Adapter:
    """Return an adapter's contents; raise InputError if it is damaged, or not a plain LoRA.

    Args:
        folder: the adapter's directory.
        strict: whether an unknown key is an error.
    """
    path = os.path.join(folder, ADAPTER_CONFIG)
    config = read_json_object(path, FETCH)
    ADAPTER_KEYS.check(path, config)
    ADAPTER_KEYS.name_unknown(path, config, strict)
    rank = expect(config.get("r"), int, f"{path}: r", FETCH)
    alpha = config.get("lora_alpha", rank)
    refuse_if(
        not isinstance(alpha, int | float) or rank < 1, f"{path}: r and lora_alpha must be numbers above 0; {FETCH}"
    )
    scale = alpha / (math.sqrt(rank) if config.get("use_rslora") else rank)
    weights_path = os.path.join(folder, ADAPTER_WEIGHTS)
    refuse_if(
        not files.exists(weights_path),
        f"{folder}: has {ADAPTER_CONFIG} but no {ADAPTER_WEIGHTS}; other formats are not read",
    )
    stored = SafetensorsFiles(weights_path)
    matrices: dict[str, dict[str, np.ndarray]] = {}
    tensors: dict[str, np.ndarray] = {}
    for name in stored.shapes:
        plain_name = name.removeprefix(_PREFIX)
        tensor = np.array(stored.read(name), np.float32)
        if match := _LORA.fullmatch(plain_name):
            matrices.setdefault(match["module"], {})[match["matrix"]] = tensor
        else:
            refuse_if("lora_" in name, f"{weights_path}: {name} is not a part of a plain LoRA; merge it with peft")
            tensors[plain_name.replace(".modules_to_save.default", "")] = tensor
    for module, pair in matrices.items():
        refuse_if(set(pair) != {"A", "B"}, f"{weights_path}: {module} lacks lora_A or lora_B; {FETCH}")
    changes = {f"{module}.weight": LowRankChange(pair["A"], pair["B"], scale) for module, pair in matrices.items()}
    return Adapter(path, changes, tensors)
