"""Config files: Google's bert_config.json and Hugging Face's config.json.

A model with a module for tensorflow-hub as its encoder has a bert_config.json with other keys.
"""

import dataclasses
import json
import os

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.head_types import CLASSIFIER, HEAD_TYPES
from bert_cli.base.json_files import PRESET_KEYS, read_json_object
from bert_cli.base.names import HUGGING_FACE_CONFIG, keras_hub_class
from bert_cli.base.writing import atomic_write
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.model.config_keys import CONFIG_KEYS, KERAS_HUB_KEYS, read_backbone_values, read_config_values
from bert_cli.model.networks import BERT, CONFIG_NEEDED, HEAD_TYPES_OF_CLASSES, NETWORKS, check_network

# Keys that only Hugging Face's files have.
_HUGGING_FACE_KEYS = ("model_type", "architectures", "transformers_version")
_SIZES = [field.name for field in dataclasses.fields(BertConfig) if field.type is int]
_RATES = [field.name for field in dataclasses.fields(BertConfig) if field.type is float]
_LARGEST = 2**31 - 1  # for any size
MODULE_KEY = "hub_module"  # only files for a ModuleConfig have this key
# Names in Hugging Face's files by BertConfig.activation, if they differ.
_ACTIVATIONS = {"gelu_erf": "gelu", "gelu_tanh": "gelu_new"}
# Google's code uses this dropout before a classifier and ignores the config's rates.
_CLASSIFIER_DROPOUT = 0.1


def read_config(path: str, gelu: str = "auto", vocab_size: int | None = None) -> BertConfig:
    """Read a bert_config.json or a Hugging Face config.json.

    model.config_keys has all keys; report_unknown_keys names the others.

    Args:
        path: the file.
        gelu: formula for `hidden_act: gelu`: erf, tanh or auto. With auto, the file's key `gelu`
            decides, which bert_cli writes. Without that key, Google's files use tanh and Hugging
            Face's use erf.
        vocab_size: used if the file has no vocab_size, for example to train a new model.

    Raises:
        InputError: names the file and the key.
    """
    values = read_config_values(path)
    if MODULE_KEY in values:
        raise InputError(
            f"{path}: this model's encoder is the module {values[MODULE_KEY]}, which is not a BERT; one is needed here"
        )
    if vocab_size is not None:
        values = {"vocab_size": vocab_size} | values
    hugging_face = os.path.basename(path) == HUGGING_FACE_CONFIG or any(key in values for key in _HUGGING_FACE_KEYS)
    network = NETWORKS[BERT]
    # Check the network first: the keys for its sizes depend on it.
    if hugging_face:
        check_network(path, values)
        network = NETWORKS[values.get("model_type", BERT)]
        if unsupported := network.find_unsupported(values):
            raise InputError(f"{path}: {unsupported}")
        values = {**network.defaults, **{network.keys.get(key, key): value for key, value in values.items()}}
    CONFIG_KEYS.check(path, values)
    values = {key: value for key, value in values.items() if key not in network.constants}
    _check_values(path, values)
    field_names = {field.name for field in dataclasses.fields(BertConfig)}
    chosen = {key: value for key, value in values.items() if key in field_names}
    # An empty name, or null, means linear, as in the original.
    chosen["hidden_act"] = chosen.get("hidden_act", "gelu") or "linear"
    chosen |= network.constants
    # "gelu" means two formulas: the tanh approximation in Google's files, and the exact form in
    # Hugging Face's.
    default_gelu = "erf" if hugging_face else "tanh"
    chosen["gelu"] = chosen.get("gelu", default_gelu) if gelu == "auto" else gelu
    try:
        return BertConfig(**chosen)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def report_unknown_keys(path: str, strict: bool = False) -> None:
    """Name a config file's unknown keys once, or raise InputError with `strict`."""
    values = read_json_object(path, needed=CONFIG_NEEDED)
    if keras_hub_class(values):
        PRESET_KEYS.name_unknown(path, values, strict)
        KERAS_HUB_KEYS.name_unknown(path, read_backbone_values(path, values), strict)
    else:
        CONFIG_KEYS.name_unknown(path, values, strict)


def has_vocab_size(path: str) -> bool:
    """Return whether a config file has its model's vocabulary size."""
    return "vocab_size" in read_config_values(path)


def read_module_config(path: str) -> ModuleConfig | None:
    """Read the bert_config.json of a model with a tensorflow-hub encoder; None for other models."""
    values = read_json_object(path, needed=CONFIG_NEEDED)
    if MODULE_KEY not in values:
        return None
    if set(values) != {field.name for field in dataclasses.fields(ModuleConfig)}:
        raise InputError(f"{path}: is damaged: it has the keys {', '.join(sorted(values))}")
    if not isinstance(values[MODULE_KEY], str):
        raise InputError(f"{path}: {MODULE_KEY} must be a text, found {values[MODULE_KEY]!r}")
    _check_sizes(path, values)
    return ModuleConfig(**values)


def _check_values(path: str, values: dict) -> None:
    if "vocab_size" not in values:
        raise InputError(f"{path}: has no vocab_size; is this a bert_config.json?")
    _check_sizes(path, values)
    for key in _RATES:
        value = values.get(key, 0.0)
        # Dropout scales the remaining values by 1/(1 - rate), so a rate of 1 would divide by 0.
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 0.99:
            raise InputError(f"{path}: {key} must be a number from 0 to 0.99, found {value!r}")
    if not isinstance(values.get("hidden_act", ""), str | None):
        raise InputError(f"{path}: hidden_act must be a name, found {values['hidden_act']!r}")


def _check_sizes(path: str, values: dict) -> None:
    for key in _SIZES:
        value = values.get(key, 1)
        # A bool is an int in Python.
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise InputError(f"{path}: {key} must be a whole number above 0, found {value!r}")
        if value > _LARGEST:
            raise InputError(f"{path}: {key} must be at most {_LARGEST}, found {str(value)[:20]}")


def read_hugging_face_problem(path: str) -> tuple[str | None, str | None]:
    """Return transformers' name of the problem type in a config.json, and the class's head type.

    None: the file has no problem type, or names an unknown class.

    Raises:
        InputError: if the file is not a JSON object.
    """
    values = read_json_object(path)
    stored = values.get("problem_type")
    return stored if isinstance(stored, str) else None, _head_type(values)


def _head_type(values: dict) -> str | None:
    """Return the head type for the class in a config.json; None for an unknown class."""
    classes = values.get("architectures")
    class_name = classes[0] if isinstance(classes, list) and classes else None
    return HEAD_TYPES_OF_CLASSES.get(class_name) if isinstance(class_name, str) else None


def read_cross_encoder_activation(path: str) -> str | None:
    """Return the activation that sentence-transformers applies to a cross-encoder's logit.

    Args:
        path: path to a config.json.

    Returns:
        A class name, such as "Sigmoid"; None if there is no activation, or only the identity.
    """
    values = read_json_object(path)
    section = values.get("sentence_transformers")
    function = section.get("activation_fn") if isinstance(section, dict) else None
    function = function or values.get("sbert_ce_default_activation_function")
    name = function.rpartition(".")[2] if isinstance(function, str) else ""
    return name if name not in ("", "Identity") else None


def read_hugging_face_labels(path: str) -> tuple[tuple[str, ...] | None, str | None]:
    """Return the label names and the head type in a config.json.

    Returns:
        The label names, or None if there are only generic ones (LABEL_0, LABEL_1, …). A key of
        HEAD_TYPES, or None for an unknown class.

    Raises:
        InputError: if the file is not a JSON object, its label numbers have gaps, or two outputs have
            one name.
    """
    values = read_json_object(path)
    head_type = _head_type(values)
    names = values.get("id2label")
    if not names:
        return None, head_type
    if not isinstance(names, dict) or sorted(names) != sorted(map(str, range(len(names)))):
        raise InputError(f"{path}: id2label does not number its labels 0, 1, …")
    labels = tuple(str(names[str(number)]) for number in range(len(names)))
    for number, label in enumerate(labels):
        first = labels.index(label)
        refuse_if(
            first != number,
            f"{path}: id2label names both output {first} and output {number} {label!r}; give each a name of its own",
        )
    return (None if labels == generic_labels(len(labels)) else labels), head_type


def generic_labels(count: int) -> tuple[str, ...]:
    """Return the names that transformers gives to outputs without labels."""
    return tuple(f"LABEL_{number}" for number in range(count))


def write_config(path: str, config: BertConfig | ModuleConfig) -> None:
    """Write Google's bert_config.json (sorted keys, indent 2), atomically.

    The original ignores the keys `gelu`, `layer_norm_eps` and `model_type`. They are written only
    if the model differs from the original, so one of Google's configs is written unchanged.
    """
    values = config.values()
    # A file with a model_type is read as a Hugging Face file, in which "gelu" is the erf form.
    if values.get("gelu") == "tanh" and "model_type" not in values:
        del values["gelu"]
    if values.get("layer_norm_eps") == 1e-12:
        del values["layer_norm_eps"]
    with atomic_write(path) as file:
        file.write(json.dumps(values, indent=2, sort_keys=True) + "\n")


def hugging_face_config(
    config: BertConfig,
    head_type: str,
    labels: tuple[str, ...] | None,
    pad_token_id: int = 0,
    dtype: str = "float32",
    problem_type: str | None = None,
) -> dict:
    """Return the contents of config.json.

    Args:
        head_type: a key of HEAD_TYPES.
        labels: label names in the order of the classifier's outputs; None if the head has no labels.
        pad_token_id: id of [PAD].
        dtype: type for storing weights.
        problem_type: transformers' name of a text classifier's problem type, or None.
    """
    network = config.network
    values = config.values() | {
        "architectures": [network.architecture(head_type)],
        "hidden_act": _ACTIVATIONS.get(config.activation, config.activation),
        "model_type": config.model_type,
        "pad_token_id": pad_token_id,
        "torch_dtype": dtype,
        **network.additional_keys,
    }
    # Remove our own key: hidden_act has the form of gelu in Hugging Face's names.
    del values["gelu"]
    if CLASSIFIER in HEAD_TYPES[head_type].heads:
        values[network.classifier_dropout] = _CLASSIFIER_DROPOUT
    if labels is not None:
        # Use strings, because JSON has no integer keys.
        values["id2label"] = {str(number): label for number, label in enumerate(labels)}
        values["label2id"] = {label: number for number, label in enumerate(labels)}
    if head_type == CLASSIFIER and problem_type:
        values["problem_type"] = problem_type
    stored_keys = {field: key for key, field in network.keys.items()}
    values = {stored_keys.get(key, key): value for key, value in values.items() if key not in network.constants}
    # Sort the keys, like transformers.
    return dict(sorted(values.items()))
