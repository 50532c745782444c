"""Reader for encoder weights in a tensorflow-hub module.

The module comes from bert-export, or is a published BERT in the format of TF1 or TF2. Only its
variables are read. Its graph is never loaded, so an untrusted module is safe.
"""

import os
import re

import numpy as np
import tensorflow as tf

from bert_cli.base import files
from bert_cli.base.errors import InputError, first_line
from bert_cli.model.config import BertConfig
from bert_cli.tf_internals.checkpoint_objects import OBJECT_GRAPH, checkpoint_objects
from bert_cli.weights.formats.checkpoint_index import read_index
from bert_cli.weights.model_garden import flat_shape
from bert_cli.weights.variables import Reader

# Boolean variable in published modules, and in modules from bert-export (see opening.tokenizer).
_CASING = "do_lower_case"
# A variable that tf.train.Checkpoint adds.
_BOOKKEEPING = "save_counter"
# Width of an attention head in all of Google's models.
_HEAD_WIDTH = 64
# Google's names for the ends of published names. Modules from 2019 use the second alternative.
_LAYER, _GOOGLE_LAYER = r"(?:transformer|encoder)/layer_(\d+)/", r"bert/encoder/layer_\1/"
_PUBLISHED = {
    r"word_embeddings/embeddings": r"bert/embeddings/word_embeddings",
    r"(?:type_embeddings/embeddings|embedding_postprocessor/type_embeddings)": r"bert/embeddings/token_type_embeddings",
    r"(?:position_embedding/embeddings|embedding_postprocessor/position_embeddings)": r"bert/embeddings/position_embeddings",
    r"(?:embeddings|embedding_postprocessor)/layer_norm/(gamma|beta)": r"bert/embeddings/LayerNorm/\1",
    _LAYER + r"self_attention/(query|key|value)/(kernel|bias)": _GOOGLE_LAYER + r"attention/self/\2/\3",
    _LAYER + r"self_attention(?:/attention)?_output/(kernel|bias)": _GOOGLE_LAYER + r"attention/output/dense/\2",
    _LAYER + r"self_attention_layer_norm/(gamma|beta)": _GOOGLE_LAYER + r"attention/output/LayerNorm/\2",
    _LAYER + r"intermediate/(kernel|bias)": _GOOGLE_LAYER + r"intermediate/dense/\2",
    _LAYER + r"output/(kernel|bias)": _GOOGLE_LAYER + r"output/dense/\2",
    _LAYER + r"output_layer_norm/(gamma|beta)": _GOOGLE_LAYER + r"output/LayerNorm/\2",
    r"pooler_transform/(kernel|bias)": r"bert/pooler/dense/\1",
    r"(bert/(?:embeddings|embeddings_project|encoder|pooler)/.+)": r"\1",
}


def hub_to_google_name(name: str) -> str | None:
    """Return Google's name for a module's variable, or None if BERT has no such variable.

    Args:
        name: name in the module, such as transformer/layer_0/output/kernel.
    """
    for pattern, replacement in _PUBLISHED.items():
        match = re.fullmatch(f"(?:.*/)?{pattern}", name.removesuffix(":0"))
        if match:
            return match.expand(replacement)
    return None


class HubReader(Reader):
    """Reader for the variables in a tensorflow-hub module.

    Attributes:
        heads: number of attention heads; None if the variables do not determine it.
    """

    def __init__(self, folder: str, description: str | None = None):
        """Open a module; raise InputError if it is damaged.

        Args:
            folder: the module's directory.
            description: name for messages; None for the directory.
        """
        prefix = os.path.join(folder, "variables", "variables")
        self.description = description or folder
        if not files.exists(prefix + ".index"):
            raise InputError(f"{self.description}: holds no module for tensorflow-hub (no variables/variables.index)")
        self._casing_key: str | None = None
        try:
            # Check the index first: TensorFlow's reader
            # allocates any size that a damaged one claims.
            read_index(prefix)
            self._reader = tf.train.load_checkpoint(prefix)
            shapes = {name: tuple(shape) for name, shape in self._reader.get_variable_to_shape_map().items()}
            keys_by_name = self._keys_by_name() if OBJECT_GRAPH in shapes else {name: name for name in shapes}
        except (tf.errors.OpError, ValueError, RuntimeError, IndexError) as error:
            raise InputError(_damaged_problem(self.description, error)) from None
        self._keys: dict[str, str] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.unused: list[str] = []
        self.heads: int | None = None
        for name, key in sorted(keys_by_name.items()):
            google = hub_to_google_name(name)
            if google is None or google in self._keys:
                self.unused += [name] if name != _BOOKKEEPING and key != self._casing_key else []
                continue
            self._keys[google] = key
            self.shapes[google] = flat_shape(google, shapes[key])
            if google.endswith("query/kernel") and len(shapes[key]) == 3:
                self.heads = shapes[key][1]

    def _keys_by_name(self) -> dict[str, str]:
        """Return each variable's key in a TF2 checkpoint."""
        objects = checkpoint_objects(self._reader.get_tensor(OBJECT_GRAPH))
        roots = objects[0].children
        if _CASING in roots:
            self._casing_key = objects[roots[_CASING]].key
        # bert-export stores a dict from Google's names.
        if "weights" in roots:
            items = {name: objects[number] for name, number in objects[roots["weights"]].children.items()}
        else:
            items = {item.name: item for item in objects if item.name is not None}
        return {name: item.key for name, item in items.items() if item.key is not None}

    def read(self, name: str) -> np.ndarray:
        """Return a variable's values; raise InputError if the module is damaged."""
        try:
            return self._reader.get_tensor(self._keys[name]).reshape(self.shapes[name])
        except (tf.errors.OpError, ValueError, RuntimeError, IndexError) as error:
            raise InputError(_damaged_problem(self.description, error)) from None

    def config(self) -> BertConfig | None:
        """Return the config of a BERT with these variables; None if they are another model."""
        shapes = self.shapes
        words, positions, types, kernel = (
            shapes.get(f"bert/{name}", ())
            for name in ("embeddings/word_embeddings", "embeddings/position_embeddings", "embeddings/token_type_embeddings",
                         "encoder/layer_0/intermediate/dense/kernel")
        )  # fmt: skip
        widths = {shape[-1] for shape in (words, positions, types) if shape} | {kernel[0] if kernel else None}
        layers = {int(match[1]) for name in shapes if (match := re.match(r"bert/encoder/layer_(\d+)/", name))}
        without_pooler = [name for name in shapes if not name.startswith("bert/pooler/")]
        # There are three embedding tables, two LayerNorm variables, and 16 variables per layer.
        complete = layers == set(range(len(layers))) and len(without_pooler) == 5 + 16 * len(layers)
        # A model with another table, such as an embedding projection, is not a BERT.
        other_tables = [name for name in self.unused if "embedding" in name]
        if not all((words, positions, types, kernel)) or len(widths) > 1 or not complete or other_tables:
            return None
        hidden = words[1]
        # Fall back to Google's head width: only kernels with a head axis give the number of heads.
        heads = self.heads or hidden // _HEAD_WIDTH
        if not heads or hidden % heads:
            raise InputError(f"{self.description}: does not say its number of attention heads; give --bert_config_file")
        return BertConfig(
            words[0], hidden, len(layers), heads, intermediate_size=kernel[1], max_position_embeddings=positions[0],
            type_vocab_size=types[0],
        )  # fmt: skip


def _damaged_problem(description: str, error: Exception) -> str:
    return f"{description}: this module is damaged: {first_line(error)}"
