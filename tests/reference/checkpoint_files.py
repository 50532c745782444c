"""Checkpoints in the 2018 format, read and written with TensorFlow's own functions."""

import numpy as np


def read_checkpoint(prefix) -> dict[str, np.ndarray]:
    import tensorflow as tf  # imported late, because it takes seconds and few tests read checkpoints

    reader = tf.train.load_checkpoint(str(prefix))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


def write_checkpoint(prefix, tensors: dict[str, np.ndarray]) -> None:
    """Write `<prefix>.index`, `<prefix>.data-00000-of-00001` and the file `checkpoint`."""
    import tensorflow as tf

    names = sorted(tensors)
    tf.raw_ops.SaveV2(
        prefix=str(prefix), tensor_names=names, shape_and_slices=[""] * len(names), tensors=[tensors[n] for n in names]
    )
    line = f'model_checkpoint_path: "{prefix.name}"\nall_model_checkpoint_paths: "{prefix.name}"\n'
    (prefix.parent / "checkpoint").write_text(line, encoding="utf-8")
