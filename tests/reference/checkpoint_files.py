"""Checkpoints in the 2018 format, read and written by TensorFlow alone."""

import numpy as np


def read_checkpoint(prefix) -> dict[str, np.ndarray]:
    import tensorflow as tf  # takes seconds: only the tests that read a checkpoint pay for it

    reader = tf.train.load_checkpoint(str(prefix))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def write_checkpoint(prefix, tensors: dict[str, np.ndarray]) -> None:
    """The files `<prefix>.index` and `<prefix>.data-00000-of-00001`, and `checkpoint` beside them, which names them."""
    import tensorflow as tf

    names = sorted(tensors)
    tf.raw_ops.SaveV2(
        prefix=str(prefix), tensor_names=names, shape_and_slices=[""] * len(names), tensors=[tensors[n] for n in names]
    )
    line = f'model_checkpoint_path: "{prefix.name}"\nall_model_checkpoint_paths: "{prefix.name}"\n'
    (prefix.parent / "checkpoint").write_text(line, encoding="utf-8")
