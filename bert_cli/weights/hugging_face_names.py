"""Names of weights in Hugging Face's folders, for each network, and Google's names of them."""

from bert_cli.base.head_types import CHOICE, CLASSIFIER, HEAD_TYPES, TAGGER
from bert_cli.model.networks import BERT, NETWORKS
from bert_cli.weights.names import WEIGHT_NAMES, of_any_layer

# Scopes of Google's output_weights and output_bias; all other names differ by their punctuation
# alone.
_HEADS = {
    "": "classifier",
    "cls/predictions/": "cls.predictions",
    "cls/seq_relationship/": "cls.seq_relationship",
    "cls/squad/": "qa_outputs",
}
# By model_type: parts of the names of Hugging Face's BERT -> of another network, in the order in
# which they are replaced.
_PARTS = {
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
# After them, of the class with this head alone.
_PARTS_OF_HEADS = {
    ("electra", TAGGER): {"classifier.out_proj.": "classifier."},
    ("electra", CHOICE): {"classifier.out_proj.": "classifier.", "classifier.dense.": "sequence_summary.summary."},
}


def _renamed(name: str, model_type: str, head_type: str) -> str:
    """Hugging Face's name of a weight that Google calls `name`, with the leading "bert.",
    "distilbert." or "electra.".
    """
    renamed = _bert_name(name)
    for part, replacement in (_PARTS[model_type] | _PARTS_OF_HEADS.get((model_type, head_type), {})).items():
        renamed = renamed.replace(part, replacement)
    return f"{model_type}.{renamed.removeprefix('bert.')}" if renamed.startswith("bert.") else renamed


def _bert_name(name: str) -> str:
    scope, _, weight = name.rpartition("output_")
    if scope in _HEADS and weight in ("weights", "bias"):
        return f"{_HEADS[scope]}.{weight.replace('weights', 'weight')}"
    renamed = _with_their_norms(name.replace("/", ".").replace("encoder.layer_", "encoder.layer."))
    renamed = renamed.removesuffix(".kernel")
    return renamed if renamed.endswith((".bias", ".weight")) else f"{renamed}.weight"


def _with_their_norms(name: str) -> str:
    """The name with PyTorch's words for the weights of a LayerNorm in place of TensorFlow's."""
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")


# Names of all networks, without the leading "bert." -> Google's.
_GOOGLE_NAMES = {
    _renamed(name, model_type, head_type).removeprefix(f"{model_type}."): name
    for model_type in NETWORKS
    for head_type in HEAD_TYPES
    for name in WEIGHT_NAMES
}


def google_name(name: str) -> str | None:
    """Google's name for a weight; None for one that Google's BERT does not have.

    The tied `cls.predictions.decoder.*`, `vocab_projector.weight` and `generator_lm_head.weight`,
    and the buffer `embeddings.position_ids` are such.
    """
    # The first files kept TensorFlow's words for the weights of a LayerNorm.
    renamed = _with_their_norms(name)
    for network in NETWORKS:
        renamed = renamed.removeprefix(f"{network}.")
    return of_any_layer(renamed, _GOOGLE_NAMES)


def is_transposed(name: str) -> bool:
    """Whether Hugging Face stores the weight that Google calls `name` transposed."""
    # PyTorch keeps a kernel as [out, in], Google as [in, out].
    return name.endswith("/kernel")


def hugging_face_name(name: str, model_type: str = BERT, head_type: str = CLASSIFIER) -> str | None:
    """The inverse of google_name, with the leading "bert.", "distilbert." or "electra."; None for a
    name that no such network of Hugging Face's has. head_type: a key of HEAD_TYPES, of the class.
    """
    renamed = _renamed(name, model_type, head_type)
    return renamed if google_name(renamed) == name else None
