"""Reader for BERT checkpoints from TensorFlow's Model Garden and from Google's TF2 releases.

Their keys are paths of Python attributes, such as model/layer_with_weights-4/_intermediate_dense/kernel.
Source: official/nlp/modeling of https://github.com/tensorflow/models.
"""

import math
import re
from collections.abc import Iterable

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.formats import list_some
from bert_cli.weights.variables import Reader

_ENDING = "/.ATTRIBUTES/VARIABLE_VALUE"
_OF_TRAINING = re.compile(r"save_counter|global_step|(.*/)?_?optimizer/.*|.*/\.OPTIMIZER_SLOT/.*")
# A weight in an encoder layer. The number counts all layers with weights, or only encoder layers.
_LAYER = re.compile(
    r"(?P<root>.*?)/?(?P<list>layer_with_weights-|_?transformer_layers/)(?P<number>\d+)/"
    r"(?P<weight>_(?:attention_layer|attention_layer_norm|attention_output_dense|intermediate_dense|output_dense|"
    r"output_layer_norm)/.+)"
)
_WEIGHTS = {
    r"_attention_layer/_(query|key|value)_dense/(kernel|bias)": r"attention/self/\1/\2",
    r"(?:_attention_layer/_output_dense|_attention_output_dense)/(kernel|bias)": r"attention/output/dense/\1",
    r"_attention_layer_norm/(gamma|beta)": r"attention/output/LayerNorm/\1",
    r"_intermediate_dense/(kernel|bias)": r"intermediate/dense/\1",
    r"_output_dense/(kernel|bias)": r"output/dense/\1",
    r"_output_layer_norm/(gamma|beta)": r"output/LayerNorm/\1",
}
_TABLE = "_?(?:position_)?embeddings"
# Paths relative to the encoder. The embeddings may form a network of their own within it.
_NUMBERED = {
    rf"(?:layer_with_weights-0/)?layer_with_weights-0/{_TABLE}": "bert/embeddings/word_embeddings",
    rf"(?:layer_with_weights-0/)?layer_with_weights-1/{_TABLE}": "bert/embeddings/position_embeddings",
    rf"(?:layer_with_weights-0/)?layer_with_weights-2/{_TABLE}": "bert/embeddings/token_type_embeddings",
    r"(?:layer_with_weights-0/)?layer_with_weights-3/(gamma|beta)": r"bert/embeddings/LayerNorm/\1",
    # Newer releases use these attributes.
    rf"_embedding_layer/{_TABLE}": "bert/embeddings/word_embeddings",
    rf"_position_embedding_layer/{_TABLE}": "bert/embeddings/position_embeddings",
    rf"_type_embedding_layer/{_TABLE}": "bert/embeddings/token_type_embeddings",
    r"_embedding_norm_layer/(gamma|beta)": r"bert/embeddings/LayerNorm/\1",
    r"_pooler_layer/(kernel|bias)": r"bert/pooler/dense/\1",
}
# A pretrainer's head, at any path. TensorFlow stores the shared word embeddings under the shorter
# path, which may be the head's.
_MASKED_LM = {
    r"(?:.*/)?masked_lm/embedding_table": "bert/embeddings/word_embeddings",
    r"(?:.*/)?masked_lm/dense/(kernel|bias)": r"cls/predictions/transform/dense/\1",
    r"(?:.*/)?masked_lm/layer_norm/(gamma|beta)": r"cls/predictions/transform/LayerNorm/\1",
    r"(?:.*/)?masked_lm/(?:output_bias\.S)?bias": "cls/predictions/output_bias",
    # The dense layer of the next-sentence head; a point in a name is stored as two.
    r"(?:.*/)?next_sentence\.\.pooler_dense/(kernel|bias)": r"bert/pooler/dense/\1",
}


def is_object_checkpoint(names: Iterable[str]) -> bool:
    """Return whether a checkpoint's names are Python attribute paths, as in TensorFlow 2."""
    return any(name.endswith(_ENDING) for name in names)


def flat_shape(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return Google's shape for a variable with separate attention heads.

    Args:
        name: Google's name.
        shape: [H, N, D], [N, D] or [N, D, H]; other shapes are unchanged.
    """
    if name.endswith("attention/output/dense/kernel"):
        return (math.prod(shape[:-1]), shape[-1])
    if "/attention/self/" in name:
        return (shape[0], math.prod(shape[1:])) if name.endswith("/kernel") else (math.prod(shape),)
    return shape


def google_names(paths: Iterable[str]) -> dict[str, str]:
    """Return the paths of an encoder and its masked LM by Google's name.

    Raises:
        ValueError: if there are layers from several encoders.
    """
    paths = list(paths)
    layers = {path: match for path in paths if (match := _LAYER.fullmatch(path))}
    lists = {(match["root"], match["list"]) for match in layers.values()}
    if len(lists) > 1:
        raise ValueError(f"has layers of several encoders ({list_some(sorted(root or '.' for root, _ in lists))})")
    numbers = [int(match["number"]) for match in layers.values()]
    root, is_numbered = "", False
    if lists:
        root, list_name = lists.pop()
        is_numbered = list_name.startswith("layer_with_weights")
    # Subtract the lowest number: embeddings have the first numbers. Keep gaps between layers.
    first = min(numbers, default=0) if is_numbered else 0
    patterns = {(f"{re.escape(root)}/" if root else "") + below: name for below, name in _NUMBERED.items()}
    if not lists and not layers:
        patterns = {f"(?:[^/]+/)*?{below}": name for below, name in _NUMBERED.items()}
    if is_numbered:
        after_layers = f"layer_with_weights-{max(numbers) + 1}/(kernel|bias)"
        patterns[(f"{re.escape(root)}/" if root else "") + after_layers] = r"bert/pooler/dense/\1"
    names: dict[str, str] = {}
    for path in paths:
        if path in layers:
            name = _expand(_WEIGHTS, layers[path]["weight"])
            name = name and f"bert/encoder/layer_{int(layers[path]['number']) - first}/{name}"
        else:
            name = _expand(patterns | _MASKED_LM, path)
        if name:
            names.setdefault(name, path)
    return names


def _expand(patterns: dict[str, str], text: str) -> str | None:
    """Return the replacement for the first pattern that matches the whole text."""
    matches = ((re.fullmatch(pattern, text), replacement) for pattern, replacement in patterns.items())
    return next((match.expand(replacement) for match, replacement in matches if match), None)


class ModelGardenReader(Reader):
    """Reader for an encoder from the Model Garden, under Google's names.

    Attributes:
        heads: number of attention heads; None if no kernel has a separate axis for them.
    """

    def __init__(self, reader: Reader):
        """Find the variables; raise InputError if they are not exactly one BERT.

        Args:
            reader: reader for the checkpoint under its stored names.
        """
        keys = {key.removesuffix(_ENDING): key for key in reader.shapes if key.endswith(_ENDING)}
        paths = [path for path in keys if not _OF_TRAINING.fullmatch(path)]
        try:
            names = google_names(paths)
        except ValueError as error:
            raise InputError(
                f"{reader.description}: is a TensorFlow 2 checkpoint that {error}; one is needed"
            ) from None
        if not any(name.startswith("bert/encoder/") for name in names):
            problem = "without the layers of a BERT" if names else "of another network"
            raise InputError(
                f"{reader.description}: is a TensorFlow 2 checkpoint {problem} (it has {list_some(paths, 3)}); "
                "BertEncoder of TensorFlow's Model Garden is read, and a module for tensorflow-hub by the path of its "
                "folder; or take Google's release for TensorFlow 1 (bert_model.ckpt) of the same model"
            )
        self.description = f"{reader.description} (TensorFlow Model Garden)"
        self._reader = reader
        self._keys = {name: keys[path] for name, path in names.items()}
        stored_shapes = {name: reader.shapes[key] for name, key in self._keys.items()}
        self.shapes = {name: flat_shape(name, shape) for name, shape in stored_shapes.items()}
        self.unused = sorted(set(paths) - set(names.values()))
        kernels = [shape for name, shape in stored_shapes.items() if name.endswith("query/kernel")]
        self.heads = next((shape[1] for shape in kernels if len(shape) == 3), None)

    def read(self, name: str) -> np.ndarray:
        """Return a variable's values."""
        return self._reader.read(self._keys[name]).reshape(self.shapes[name])

    def check_heads(self, heads: int, config_name: str) -> None:
        """Raise InputError if a config has another number of attention heads.

        Google's shapes do not contain this number.

        Args:
            heads: number in the config.
            config_name: the config's name for messages.
        """
        if self.heads not in (None, heads):
            raise InputError(
                f"{config_name}: says num_attention_heads {heads}, but {self.description} has {self.heads}; "
                "they belong to different models"
            )
