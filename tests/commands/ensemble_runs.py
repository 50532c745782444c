"""Runs that differ in their output layer, for ensembles, and the predictions of ensembles."""

import json
import shutil

from tests.commands.conftest import SENTENCES
from tests.rows import write_rows

TEXTS = [text for text, _ in SENTENCES[:6]]


def mean_records(classify, folder, *members):
    """Return the records of bert-classify --ensemble for TEXTS; `folder` gets their file."""
    path = write_rows(folder / "texts.txt", [(text,) for text in TEXTS])
    done = classify(f"--ensemble={','.join(map(str, members))}", f"--input_file={path}", "--precision=float32")
    assert done.code == 0, done.err
    return [json.loads(line) for line in done.out.splitlines()]


def variant(trained, folder, scale=1.0, labels=("0", "1"), problem_type="single_label", thresholds=None):
    """Copy a two-label run, and change its output layer.

    Args:
        trained: the run.
        folder: the copy's directory.
        scale: factor for the output layer's weights.
        labels: output names; reversed names also reverse the outputs.
        problem_type: the copy's problem type.
        thresholds: thresholds by label, or None.
    """
    import tensorflow as tf

    from bert_cli.weights.formats.checkpoint_writer import write_tf1

    reader = tf.train.load_checkpoint(str(trained))
    names = [name for name in reader.get_variable_to_shape_map() if "adam" not in name and name != "global_step"]
    tensors = {name: reader.get_tensor(name) for name in names}
    for name in ("output_weights", "output_bias"):
        tensors[name] = tensors[name][: 1 if problem_type == "regression" else 2][:: -1 if labels == ("1", "0") else 1]
        tensors[name] = tensors[name] * scale
    folder.mkdir()
    flags = (trained / "flags.txt").read_text(encoding="utf-8").replace("--task_name=cola\n", "")
    flags = flags.replace("=single_label", f"={problem_type}")
    flags += "--threshold=tuned\n" if thresholds else ""
    (folder / "flags.txt").write_text(flags, encoding="utf-8")
    for name in ("vocab.txt", "bert_config.json"):
        shutil.copy(trained / name, folder / name)
    if problem_type != "regression":
        (folder / "labels.txt").write_text("".join(f"{label}\n" for label in labels), encoding="utf-8")
    if thresholds:
        (folder / "thresholds.json").write_text(json.dumps(thresholds), encoding="utf-8")
    write_tf1(str(folder / "model.ckpt-30"), tensors)
    return folder
