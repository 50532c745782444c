"""Conversion between Google's and Hugging Face's weight names, for each network."""

from bert_cli.base.head_types import CHOICE, CLASSIFIER, HEAD_TYPES, TAGGER
from bert_cli.model.networks import BERT, NETWORKS
from bert_cli.model.shapes import WEIGHT_NAMES
from bert_cli.weights.names import find_google_name

# Hugging Face's prefix for each scope of Google's output_weights and output_bias. All other names
# differ only in punctuation.
_HEADS = {
    "": "classifier",
    "cls/predictions/": "cls.predictions",
    "cls/seq_relationship/": "cls.seq_relationship",
    "cls/squad/": "qa_outputs",
}
# By model_type: substrings of BERT's names in Hugging Face's format, and their replacements in
# another network. They apply in this order.
_REPLACEMENTS = {
    BERT: {},
    "distilbert": {
        "attention.self.query.": "attention.q_lin.",
        "attention.self.key.": "attention.k_lin.",
        "attention.self.value.": "attention.v_lin.",
        "attention.output.dense.": "attention.out_lin.",
        "attention.output.LayerNorm.": "sa_layer_norm.",
        "intermediate.dense.": "ffn.lin1.",
        "output.dense.": "ffn.lin2.",
        "output.LayerNorm.": "output_layer_norm.",
        "encoder.layer.": "transformer.layer.",
        "bert.pooler.dense.": "pre_classifier.",
        "cls.predictions.transform.dense.": "vocab_transform.",
        "cls.predictions.transform.LayerNorm.": "vocab_layer_norm.",
        "cls.predictions.bias": "vocab_projector.bias",
    },
    "electra": {
        "classifier.": "classifier.out_proj.",
        "bert.pooler.dense.": "classifier.dense.",
        "cls.predictions.transform.": "generator_predictions.",
        "cls.predictions.bias": "generator_lm_head.bias",
        "predictions.dense_1.": "predictions.dense_prediction.",
    },
}
# By model_type and head type: replacements that apply afterwards.
_HEAD_REPLACEMENTS = {
    ("electra", TAGGER): {"classifier.out_proj.": "classifier."},
    ("electra", CHOICE): {"classifier.out_proj.": "classifier.", "classifier.dense.": "sequence_summary.summary."},
}


def _network_name(name: str, model_type: str, head_type: str) -> str:
    """Return Hugging Face's name, including the leading "bert.", "distilbert." or "electra.".

    The weight need not exist in this network.

    Args:
        name: Google's name.
        model_type: a key of NETWORKS.
        head_type: a key of HEAD_TYPES.
    """
    renamed = _bert_name(name)
    for old, new in (_REPLACEMENTS[model_type] | _HEAD_REPLACEMENTS.get((model_type, head_type), {})).items():
        renamed = renamed.replace(old, new)
    return f"{model_type}.{renamed.removeprefix('bert.')}" if renamed.startswith("bert.") else renamed


def _bert_name(name: str) -> str:
    scope, _, weight = name.rpartition("output_")
    if scope in _HEADS and weight in ("weights", "bias"):
        return f"{_HEADS[scope]}.{weight.replace('weights', 'weight')}"
    renamed = _with_pytorch_norms(name.replace("/", ".").replace("encoder.layer_", "encoder.layer."))
    renamed = renamed.removesuffix(".kernel")
    return renamed if renamed.endswith((".bias", ".weight")) else f"{renamed}.weight"


def _with_pytorch_norms(name: str) -> str:
    """Return a name with PyTorch's terms for LayerNorm weights."""
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")


# Google's name by Hugging Face's name without the leading network, for all networks.
_GOOGLE_NAMES = {
    _network_name(name, model_type, head_type).removeprefix(f"{model_type}."): name
    for model_type in NETWORKS
    for head_type in HEAD_TYPES
    for name in WEIGHT_NAMES
}


def google_name(name: str) -> str | None:
    """Return Google's name for a weight, or None if Google's BERT has no such weight.

    This includes the tied `cls.predictions.decoder.*`, `vocab_projector.weight` and
    `generator_lm_head.weight`, and the buffer `embeddings.position_ids`.
    """
    # The oldest files still use TensorFlow's terms for LayerNorm weights.
    renamed = _with_pytorch_norms(name)
    for network in NETWORKS:
        renamed = renamed.removeprefix(f"{network}.")
    return find_google_name(renamed, _GOOGLE_NAMES)


def is_transposed(name: str) -> bool:
    """Return whether Hugging Face stores the weight with Google's name `name` transposed."""
    # PyTorch stores a kernel as [out, in], Google as [in, out].
    return name.endswith("/kernel")


def hugging_face_name(name: str, model_type: str = BERT, head_type: str = CLASSIFIER) -> str | None:
    """Return Hugging Face's name for a weight, or None if the network has no such weight.

    Args:
        name: Google's name.
        model_type: a key of NETWORKS.
        head_type: a key of HEAD_TYPES, because names depend on the class.

    Returns:
        A name with the leading "bert.", "distilbert." or "electra.".
    """
    renamed = _network_name(name, model_type, head_type)
    return renamed if google_name(renamed) == name else None
