"""Files of a training's checkpoint without the optimizer's state, for copies of a model."""

import functools
import os
import tempfile

from bert_cli.base.files import read_bytes
from bert_cli.weights.checkpoint import Tf1Reader, data_files
from bert_cli.weights.formats.checkpoint_writer import LazyArrays, write_tf1
from bert_cli.weights.variables import has_moments, without_training_state


def read_weights_only(prefix: str) -> dict[str, bytes] | None:
    """Return the files of a TF1 checkpoint with its weights and its step, or None without moments.

    Two moments per weight make a checkpoint three times as large as its weights.

    Args:
        prefix: the checkpoint's path without ".index".

    Raises:
        InputError: if the checkpoint is damaged.
    """
    reader = Tf1Reader(prefix)
    if not has_moments(reader.shapes):
        return None
    names = without_training_state(reader.shapes)
    with tempfile.TemporaryDirectory(prefix="bert_cli-") as folder:
        copy = os.path.join(folder, os.path.basename(prefix))
        write_tf1(copy, LazyArrays({name: functools.partial(reader.read, name) for name in names}))
        return {os.path.basename(path): read_bytes(path) for path in data_files(copy)}
