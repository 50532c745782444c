"""Encoder weights from a tensorflow-hub module: one that bert-export wrote, or a published BERT in TF2's or TF1's format.

Only the variables are read, by name. The module's graph is neither loaded nor run, so nothing in it is trusted.
"""

import contextlib
import math
import os
import re
import tarfile
import tempfile
import warnings
from collections.abc import Iterator

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import trackable_object_graph_pb2

from bert_cli import files
from bert_cli.errors import InputError
from bert_cli.model.checkpoint import LoadReport, load_weights

_OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH"
_VALUE = "VARIABLE_VALUE"
_BOOKKEEPING = "save_counter"  # tf.train.Checkpoint's own
# What stands at the end of a published name -> Google's name. The second form of each is that of the modules of 2019.
_LAYER = r"(?:transformer|encoder)/layer_(\d+)/"
_PUBLISHED = tuple(
    (re.compile(f"(?:^|.*/){pattern}$"), name)
    for pattern, name in (
        (r"word_embeddings/embeddings", r"bert/embeddings/word_embeddings"),
        (
            r"(?:type_embeddings/embeddings|embedding_postprocessor/type_embeddings)",
            r"bert/embeddings/token_type_embeddings",
        ),
        (
            r"(?:position_embedding/embeddings|embedding_postprocessor/position_embeddings)",
            r"bert/embeddings/position_embeddings",
        ),
        (r"(?:embeddings|embedding_postprocessor)/layer_norm/(gamma|beta)", r"bert/embeddings/LayerNorm/\1"),
        (_LAYER + r"self_attention/(query|key|value)/(kernel|bias)", r"bert/encoder/layer_\1/attention/self/\2/\3"),
        (
            _LAYER + r"self_attention(?:/attention)?_output/(kernel|bias)",
            r"bert/encoder/layer_\1/attention/output/dense/\2",
        ),
        (_LAYER + r"self_attention_layer_norm/(gamma|beta)", r"bert/encoder/layer_\1/attention/output/LayerNorm/\2"),
        (_LAYER + r"intermediate/(kernel|bias)", r"bert/encoder/layer_\1/intermediate/dense/\2"),
        (_LAYER + r"output/(kernel|bias)", r"bert/encoder/layer_\1/output/dense/\2"),
        (_LAYER + r"output_layer_norm/(gamma|beta)", r"bert/encoder/layer_\1/output/LayerNorm/\2"),
        (r"pooler_transform/(kernel|bias)", r"bert/pooler/dense/\1"),
        (r"(bert/(?:embeddings|encoder|pooler)/.+)", r"\1"),
    )
)


def google_name(name: str) -> str | None:
    """Google's name of a variable that a module calls `name`, such as transformer/layer_0/output/kernel; None for others."""
    for pattern, replacement in _PUBLISHED:
        found = pattern.match(name.removesuffix(":0"))
        if found:
            return found.expand(replacement)
    return None


def _flat_shape(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Google's shape of a variable that a module may keep with its heads apart: [H, N, D], [N, D] or [N, D, H]."""
    if name.endswith("attention/output/dense/kernel"):
        return (math.prod(shape[:-1]), shape[-1])
    if "/attention/self/" in name:
        return (shape[0], math.prod(shape[1:])) if name.endswith("/kernel") else (math.prod(shape),)
    return shape


class HubReader:
    """Variables of a module's folder, as model.checkpoint's readers have them.

    `shapes`: Google's name -> shape; `unused`: names that no encoder has; `heads`: number of attention heads, None where
    the module does not tell.
    """

    def __init__(self, folder: str):
        prefix = os.path.join(folder, "variables", "variables")
        self.description = folder
        if not files.exists(prefix + ".index"):
            raise InputError(f"{folder}: holds no module for tensorflow-hub (no variables/variables.index)")
        try:
            self._reader = tf.train.load_checkpoint(prefix)
            shapes = {name: tuple(shape) for name, shape in self._reader.get_variable_to_shape_map().items()}
            named = self._named() if _OBJECTS in shapes else {name: name for name in shapes}
        except (tf.errors.OpError, ValueError, RuntimeError, IndexError) as error:
            raise InputError(f"{folder}: this module is damaged: {str(error).splitlines()[0][:160]}") from None
        self._keys: dict[str, str] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.unused: list[str] = []
        self.heads: int | None = None
        for name, key in sorted(named.items()):
            known = google_name(name)
            if known is None or known in self._keys:
                self.unused += [name] if name != _BOOKKEEPING else []
                continue
            self._keys[known] = key
            self.shapes[known] = _flat_shape(known, shapes[key])
            if known.endswith("query/kernel") and len(shapes[key]) == 3:
                self.heads = shapes[key][1]

    def _named(self) -> dict[str, str]:
        """Variable's name -> its key in the checkpoint, for a checkpoint of objects (TF2)."""
        graph = trackable_object_graph_pb2.TrackableObjectGraph()
        graph.ParseFromString(self._reader.get_tensor(_OBJECTS))
        ours = {child.local_name: child.node_id for child in graph.nodes[0].children}.get("weights")
        if ours is not None:  # bert-export's: a dict from Google's names
            chosen = {child.local_name: graph.nodes[child.node_id] for child in graph.nodes[ours].children}
        else:
            nodes = [node for node in graph.nodes if node.attributes]
            chosen = {node.attributes[0].full_name: node for node in nodes}
        return {
            name: attribute.checkpoint_key
            for name, node in chosen.items()
            for attribute in node.attributes
            if attribute.name == _VALUE
        }

    def read(self, name: str) -> np.ndarray:
        return self._reader.get_tensor(self._keys[name]).reshape(self.shapes[name])


@contextlib.contextmanager
def resolved(handle: str) -> Iterator[str]:
    """The folder of a module: `handle` is a folder, a .tar.gz, or a URL, which tensorflow-hub downloads and keeps.

    InputError where there is none.
    """
    if handle.startswith(("http://", "https://")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its import of pkg_resources
            import tensorflow_hub as hub
        try:
            folder = hub.resolve(handle)
        except (OSError, ValueError, RuntimeError, tf.errors.OpError) as error:
            raise InputError(f"{handle}: cannot be downloaded: {str(error).splitlines()[0][:160]}") from None
        yield folder
    elif files.is_directory(handle):
        yield handle
    elif not files.exists(handle):
        raise InputError(f"{handle}: no such module; give a folder, a .tar.gz, or a URL")
    else:
        with tempfile.TemporaryDirectory(prefix="hub-") as folder:
            try:
                with files.open_binary(handle) as file, tarfile.open(fileobj=file, mode="r:gz") as archive:
                    archive.extractall(folder, filter="data")  # nothing outside of the folder, no devices
            except (OSError, EOFError, tarfile.TarError) as error:
                raise InputError(f"{handle}: is no whole .tar.gz of a module: {error}") from None
            yield folder


def load_hub_weights(handle: str, variables: dict) -> tuple[LoadReport, int | None]:
    """Assign the variables (Google's name -> variable) that a module has; the report, and its attention heads if known.

    Raises InputError as model.checkpoint.load_weights does, and where there is no module.
    """
    with resolved(handle) as folder:
        reader = HubReader(folder)
        reader.description = handle
        return load_weights(variables, reader), reader.heads
