"""Hugging Face's config.json: its contents for a model, and facts about the head.

model/config_files.py reads the encoder's sizes.
"""

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CLASSIFIER, HEAD_TYPES
from bert_cli.base.json_files import read_json_object
from bert_cli.model.config import BertConfig
from bert_cli.model.networks import HEAD_TYPES_OF_CLASSES

_ACTIVATIONS = {"gelu_erf": "gelu", "gelu_tanh": "gelu_new"}
# Google's code uses this dropout before a classifier and ignores the config's rates.
_CLASSIFIER_DROPOUT = 0.1


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
        config: the model's config.
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


def _head_type(values: dict) -> str | None:
    """Return the head type for the class in a config.json; None for an unknown class."""
    classes = values.get("architectures")
    class_name = classes[0] if isinstance(classes, list) and classes else None
    return HEAD_TYPES_OF_CLASSES.get(class_name) if isinstance(class_name, str) else None


def read_hugging_face_problem(path: str) -> tuple[str | None, str | None]:
    """Return transformers' name of the problem type in a config.json, and the class's head type.

    None: the file has no problem type, or names an unknown class.

    Raises:
        InputError: if the file is not a JSON object.
    """
    values = read_json_object(path)
    stored = values.get("problem_type")
    return stored if isinstance(stored, str) else None, _head_type(values)


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
        InputError: if the file is not a JSON object, or its label numbers have gaps.
    """
    values = read_json_object(path)
    head_type = _head_type(values)
    names = values.get("id2label")
    if not names:
        return None, head_type
    if not isinstance(names, dict) or sorted(names) != sorted(map(str, range(len(names)))):
        raise InputError(f"{path}: id2label does not number its labels 0, 1, …")
    labels = tuple(str(names[str(number)]) for number in range(len(names)))
    return (None if labels == generic_labels(len(labels)) else labels), head_type


def generic_labels(count: int) -> tuple[str, ...]:
    """Return the names that transformers gives to outputs without labels."""
    return tuple(f"LABEL_{number}" for number in range(count))
