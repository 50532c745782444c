"""bert_config.json as Google wrote it, config.json as Hugging Face does, and the config of a tensorflow-hub module."""

import dataclasses
import json
import os

from bert_cli.base.errors import InputError
from bert_cli.base.json_files import read_json_object
from bert_cli.base.names import HUGGING_FACE_CONFIG
from bert_cli.base.writing import atomic_write
from bert_cli.model.config import GELU_FORMS, BertConfig, ModuleConfig

# Keys that only Hugging Face's files have.
_HUGGING_FACE_KEYS = ("model_type", "architectures", "transformers_version")
_SIZES = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "max_position_embeddings",
    "type_vocab_size",
)
_LARGEST = 2**31 - 1  # of a dimension
_NEEDED = "a bert_config.json is needed"
_MODULE = "hub_module"  # the key that tells a ModuleConfig's file
_RATES = ("hidden_dropout_prob", "attention_probs_dropout_prob", "initializer_range", "layer_norm_eps")


def read_config(path: str, gelu: str = "auto", vocab_size: int | None = None) -> BertConfig:
    """Read a bert_config.json or a Hugging Face config.json; unknown keys are ignored, as the original does.

    `gelu` is auto, erf or tanh. Auto computes `hidden_act: gelu` as the file's home does: tanh for Google's file, erf
    for Hugging Face's; a file of our own records its form in the key `gelu`. `vocab_size` stands in where the file has
    none, as for a model that is to be trained from nothing. Raises InputError naming file and key.
    """
    values = read_json_object(path, needed=_NEEDED)
    if _MODULE in values:
        raise InputError(
            f"{path}: this model's encoder is the module {values[_MODULE]}, which is no BERT; one is needed here"
        )
    if vocab_size is not None:
        values = {"vocab_size": vocab_size} | values
    hugging_face = os.path.basename(path) == HUGGING_FACE_CONFIG or any(key in values for key in _HUGGING_FACE_KEYS)
    _check_values(path, values, hugging_face)
    known = {field.name for field in dataclasses.fields(BertConfig)}
    chosen = {key: value for key, value in values.items() if key in known}
    chosen["hidden_act"] = chosen.get("hidden_act", "gelu") or "linear"
    # The same word means two formulas: Google's "gelu" is the tanh approximation, Hugging Face's the exact form.
    if hugging_face:
        chosen.setdefault("type_vocab_size", 2)  # the default of Hugging Face's BertConfig
    home = "erf" if hugging_face else "tanh"
    chosen["gelu"] = chosen.get("gelu", home) if gelu == "auto" else gelu
    try:
        return BertConfig(**chosen)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def read_module_config(path: str) -> ModuleConfig | None:
    """Read the bert_config.json of a run whose encoder is a module for tensorflow-hub; None for another model's."""
    values = read_json_object(path, needed=_NEEDED)
    if _MODULE not in values:
        return None
    if set(values) != {field.name for field in dataclasses.fields(ModuleConfig)}:
        raise InputError(f"{path}: is damaged: it has the keys {', '.join(sorted(values))}")
    if not isinstance(values[_MODULE], str):
        raise InputError(f"{path}: {_MODULE} must be a text, found {values[_MODULE]!r}")
    _check_sizes(path, values)
    return ModuleConfig(**values)


def _check_values(path: str, values: dict, hugging_face: bool) -> None:
    if "vocab_size" not in values:
        raise InputError(f"{path}: has no vocab_size; is this a bert_config.json?")
    _check_sizes(path, values)
    for key in _RATES:
        value = values.get(key, 0.0)
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 0.99:
            raise InputError(f"{path}: {key} must be a number from 0 to 0.99, found {value!r}")
    if not isinstance(values.get("hidden_act", ""), str | None):
        raise InputError(f"{path}: hidden_act must be a name, found {values['hidden_act']!r}")
    if values.get("gelu", "tanh") not in GELU_FORMS:
        raise InputError(f"{path}: gelu must be erf or tanh, found {values['gelu']!r}")
    if hugging_face and values.get("model_type", "bert") != "bert":
        raise InputError(f"{path}: model_type is {values['model_type']!r}; only bert can be loaded")
    if values.get("position_embedding_type", "absolute") != "absolute":
        raise InputError(f"{path}: position_embedding_type {values['position_embedding_type']!r} is not supported")


def _check_sizes(path: str, values: dict) -> None:
    for key in _SIZES:
        value = values.get(key, 1)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise InputError(f"{path}: {key} must be a whole number above 0, found {value!r}")
        if value > _LARGEST:
            raise InputError(f"{path}: {key} must be at most {_LARGEST}, found {str(value)[:20]}")


def write_config(path: str, config: BertConfig | ModuleConfig) -> None:
    """Write Google's bert_config.json (sorted keys, indent 2), atomically.

    The keys `gelu` and `layer_norm_eps`, which the original ignores, are added only where they differ from what the
    original computes, so that a config of Google's comes out as it went in.
    """
    values = dataclasses.asdict(config)
    if values.get("gelu") == "tanh":
        del values["gelu"]
    if values.get("layer_norm_eps") == 1e-12:
        del values["layer_norm_eps"]
    with atomic_write(path) as file:
        file.write(json.dumps(values, indent=2, sort_keys=True) + "\n")
