"""Encoder weights from a tensorflow-hub module: one that bert-export wrote, or a published BERT in
TF2's or TF1's format.

Only the variables are read, by name. The module's graph is neither loaded nor run, so nothing in it
is trusted.
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
from bert_cli.weights.reader import Reader

_CASING = "do_lower_case"  # a boolean variable of the published modules, and of ours
_BOOKKEEPING = "save_counter"  # tf.train.Checkpoint's own
_HEAD_WIDTH = 64  # in all of Google's models
# The end of a published name -> Google's name. The modules of 2019 have the second form of each.
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


def google_name(name: str) -> str | None:
    """Google's name of a variable that a module calls `name`, such as
    transformer/layer_0/output/kernel; None for others.
    """
    for pattern, replacement in _PUBLISHED.items():
        found = re.fullmatch(f"(?:.*/)?{pattern}", name.removesuffix(":0"))
        if found:
            return found.expand(replacement)
    return None


class HubReader(Reader):
    """Variables of a module's folder, as model.checkpoint's readers have them.

    `shapes`: Google's name -> shape; `unused`: names that no encoder has; `heads`: number of
    attention heads, None where the module does not say.
    """

    def __init__(self, folder: str, description: str | None = None):
        prefix = os.path.join(folder, "variables", "variables")
        self.description = description or folder
        if not files.exists(prefix + ".index"):
            raise InputError(f"{self.description}: holds no module for tensorflow-hub (no variables/variables.index)")
        self._casing_key: str | None = None
        try:
            # First, as TensorFlow's reader allocates whatever size a damaged index claims.
            read_index(prefix)
            self._reader = tf.train.load_checkpoint(prefix)
            shapes = {name: tuple(shape) for name, shape in self._reader.get_variable_to_shape_map().items()}
            named = self._named() if OBJECT_GRAPH in shapes else {name: name for name in shapes}
        except (tf.errors.OpError, ValueError, RuntimeError, IndexError) as error:
            raise InputError(_damaged(self.description, error)) from None
        self._keys: dict[str, str] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.unused: list[str] = []
        self.heads: int | None = None
        for name, key in sorted(named.items()):
            known = google_name(name)
            if known is None or known in self._keys:
                self.unused += [name] if name != _BOOKKEEPING and key != self._casing_key else []
                continue
            self._keys[known] = key
            self.shapes[known] = flat_shape(known, shapes[key])
            if known.endswith("query/kernel") and len(shapes[key]) == 3:
                self.heads = shapes[key][1]

    def _named(self) -> dict[str, str]:
        """Variable's name -> its key in the checkpoint, for a checkpoint of objects (TF2)."""
        objects = checkpoint_objects(self._reader.get_tensor(OBJECT_GRAPH))
        roots = objects[0].children
        if _CASING in roots:
            self._casing_key = objects[roots[_CASING]].key
        if "weights" in roots:  # bert-export's: a dict from Google's names
            chosen = {name: objects[number] for name, number in objects[roots["weights"]].children.items()}
        else:
            chosen = {each.name: each for each in objects if each.name is not None}
        return {name: each.key for name, each in chosen.items() if each.key is not None}

    def read(self, name: str) -> np.ndarray:
        try:
            return self._reader.get_tensor(self._keys[name]).reshape(self.shapes[name])
        except (tf.errors.OpError, ValueError, RuntimeError, IndexError) as error:
            raise InputError(_damaged(self.description, error)) from None

    def do_lower_case(self) -> bool | None:
        """What the module says of its texts; None where it says nothing, as those in TF1's format."""
        return None if self._casing_key is None else bool(self._reader.get_tensor(self._casing_key))

    def config(self) -> BertConfig | None:
        """The sizes of the BERT that these variables make up; None where they make up none."""
        shapes = self.shapes
        words, positions, types, kernel = (
            shapes.get(f"bert/{name}", ())
            for name in ("embeddings/word_embeddings", "embeddings/position_embeddings", "embeddings/token_type_embeddings",
                         "encoder/layer_0/intermediate/dense/kernel")
        )  # fmt: skip
        widths = {shape[-1] for shape in (words, positions, types) if shape} | {kernel[0] if kernel else None}
        layers = {int(found[1]) for name in shapes if (found := re.match(r"bert/encoder/layer_(\d+)/", name))}
        without_pooler = [name for name in shapes if not name.startswith("bert/pooler/")]
        # A table for each of words, positions and types, a LayerNorm of two variables, and 16
        # variables in each layer.
        complete = layers == set(range(len(layers))) and len(without_pooler) == 5 + 16 * len(layers)
        # Another table in addition, such as a projection of the embeddings, makes another model.
        others = [name for name in self.unused if "embedding" in name]
        if not all((words, positions, types, kernel)) or len(widths) > 1 or not complete or others:
            return None
        hidden = words[1]
        # Only kernels that keep their heads separate show the number of heads.
        heads = self.heads or hidden // _HEAD_WIDTH
        if not heads or hidden % heads:
            raise InputError(f"{self.description}: does not say its number of attention heads; give --bert_config_file")
        return BertConfig(
            words[0], hidden, len(layers), heads, intermediate_size=kernel[1], max_position_embeddings=positions[0],
            type_vocab_size=types[0],
        )  # fmt: skip


def _damaged(description: str, error: Exception) -> str:
    return f"{description}: this module is damaged: {first_line(error)}"
