"""Config files: Google's bert_config.json, Hugging Face's config.json, and the config of a model whose
encoder is a module for tensorflow-hub.
"""

import dataclasses
import json
import os

from bert_cli.base.errors import InputError
from bert_cli.base.json_files import read_json_object
from bert_cli.base.names import HUGGING_FACE_CONFIG
from bert_cli.base.writing import atomic_write
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.model.networks import BERT, NETWORKS

# What to take instead of a network that is none of BERT's.
_ANY_BERT = "take a BERT, such as bert-base-uncased"
_INSTEAD = {
    "xlm-roberta": "take the BERT of 104 languages instead, bert-base-multilingual-cased",
    "roberta": "take bert-base-cased instead, or bert-large-cased",
}
# Keys that only Hugging Face's files have.
_HUGGING_FACE_KEYS = ("model_type", "architectures", "transformers_version")
_SIZES = [field.name for field in dataclasses.fields(BertConfig) if field.type is int]
_RATES = [field.name for field in dataclasses.fields(BertConfig) if field.type is float]
_LARGEST = 2**31 - 1  # of a dimension
_NEEDED = "a bert_config.json is needed"
MODULE_KEY = "hub_module"  # the key by which a ModuleConfig's file is recognised


def read_config(path: str, gelu: str = "auto", vocab_size: int | None = None) -> BertConfig:
    """Read a bert_config.json or a Hugging Face config.json; unknown keys are ignored, as the
    original does.

    `gelu` is auto, erf or tanh. Auto computes `hidden_act: gelu` as the file's home does: tanh for
    Google's file, erf for Hugging Face's; a file of our own records its form in the key `gelu`.
    `vocab_size` is used where the file has none, as for a model that is to be trained from
    nothing. Raises InputError naming file and key.
    """
    values = read_json_object(path, needed=_NEEDED)
    if MODULE_KEY in values:
        raise InputError(
            f"{path}: this model's encoder is the module {values[MODULE_KEY]}, which is not a BERT; one is needed here"
        )
    if vocab_size is not None:
        values = {"vocab_size": vocab_size} | values
    hugging_face = os.path.basename(path) == HUGGING_FACE_CONFIG or any(key in values for key in _HUGGING_FACE_KEYS)
    network = NETWORKS[BERT]
    # Other networks have other sizes, so this error comes first.
    if hugging_face:
        _check_network(path, values)
        network = NETWORKS[values.get("model_type", BERT)]
        if unsupported := network.unsupported(values):
            raise InputError(f"{path}: {unsupported}")
        values = {**network.defaults, **{network.keys.get(key, key): value for key, value in values.items()}}
    values = {key: value for key, value in values.items() if key not in network.constants}
    _check_values(path, values)
    known = {field.name for field in dataclasses.fields(BertConfig)}
    chosen = {key: value for key, value in values.items() if key in known}
    # An empty name, or null, is no activation at all, as in the original.
    chosen["hidden_act"] = chosen.get("hidden_act", "gelu") or "linear"
    chosen |= network.constants
    # The same word means two formulas: Google's "gelu" is the tanh approximation, Hugging Face's
    # the exact form.
    home = "erf" if hugging_face else "tanh"
    chosen["gelu"] = chosen.get("gelu", home) if gelu == "auto" else gelu
    try:
        return BertConfig(**chosen)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def read_module_config(path: str) -> ModuleConfig | None:
    """Read the bert_config.json of a run with an encoder that is a module for tensorflow-hub; None
    for another model's.
    """
    values = read_json_object(path, needed=_NEEDED)
    if MODULE_KEY not in values:
        return None
    if set(values) != {field.name for field in dataclasses.fields(ModuleConfig)}:
        raise InputError(f"{path}: is damaged: it has the keys {', '.join(sorted(values))}")
    if not isinstance(values[MODULE_KEY], str):
        raise InputError(f"{path}: {MODULE_KEY} must be a text, found {values[MODULE_KEY]!r}")
    _check_sizes(path, values)
    return ModuleConfig(**values)


def refuse_other_network(path: str) -> None:
    """InputError for the config.json of another network than BERT, such as RoBERTa."""
    if os.path.basename(path) == HUGGING_FACE_CONFIG:
        _check_network(path, read_json_object(path, needed=_NEEDED))


def _check_network(path: str, values: dict) -> None:
    if str(values.get("model_type", BERT)) not in NETWORKS:
        raise InputError(
            f"{path}: model_type is {values['model_type']!r}, which is another network than BERT "
            f"and cannot be loaded; {_INSTEAD.get(str(values['model_type']), _ANY_BERT)}; "
            "docs/models.md says where to get it"
        )


def _check_values(path: str, values: dict) -> None:
    if "vocab_size" not in values:
        raise InputError(f"{path}: has no vocab_size; is this a bert_config.json?")
    _check_sizes(path, values)
    for key in _RATES:
        value = values.get(key, 0.0)
        # Dropout with a rate of 1 would divide by 0: the kept values are scaled by 1/(1 - rate).
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 0.99:
            raise InputError(f"{path}: {key} must be a number from 0 to 0.99, found {value!r}")
    if not isinstance(values.get("hidden_act", ""), str | None):
        raise InputError(f"{path}: hidden_act must be a name, found {values['hidden_act']!r}")
    if values.get("gelu", "tanh") not in ("erf", "tanh"):
        raise InputError(f"{path}: gelu must be erf or tanh, found {values['gelu']!r}")
    if values.get("position_embedding_type", "absolute") != "absolute":
        raise InputError(f"{path}: position_embedding_type {values['position_embedding_type']!r} is not supported")


def _check_sizes(path: str, values: dict) -> None:
    for key in _SIZES:
        value = values.get(key, 1)
        # Python counts true as the integer 1.
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise InputError(f"{path}: {key} must be a whole number above 0, found {value!r}")
        if value > _LARGEST:
            raise InputError(f"{path}: {key} must be at most {_LARGEST}, found {str(value)[:20]}")


def write_config(path: str, config: BertConfig | ModuleConfig) -> None:
    """Write Google's bert_config.json (sorted keys, indent 2), atomically.

    The keys `gelu` and `layer_norm_eps`, which the original ignores, are added only where they
    differ from what the original computes, and `model_type` where the network is not BERT, so that
    a config of Google's comes out as it went in.
    """
    values = config.values()
    # A file with a model_type is read as one of Hugging Face's, where "gelu" is the erf form.
    if values.get("gelu") == "tanh" and "model_type" not in values:
        del values["gelu"]
    if values.get("layer_norm_eps") == 1e-12:
        del values["layer_norm_eps"]
    with atomic_write(path) as file:
        file.write(json.dumps(values, indent=2, sort_keys=True) + "\n")
