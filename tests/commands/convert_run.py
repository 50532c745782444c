"""Sources for bert-convert, and what its tests read of its results."""

import json
import pathlib

import numpy as np
from safetensors.numpy import load_file

from bert_cli.convert_checkpoint import main, run
from bert_cli.flags.option import build
from bert_cli.settings.tools import ConvertSettings
from tests.commands import helpers

ALL = ("masked_lm", "next_sentence", "classifier", "spans")
VOCABULARY = "[PAD] [UNK] [CLS] [SEP] [MASK] all work and no play makes jack a dull boy , ."
TOKENS = VOCABULARY.split()


def make_source(
    parent: pathlib.Path, heads=ALL, labels=(), name="google", pooler=True, tokens=TOKENS, **changes
) -> tuple[pathlib.Path, dict[str, np.ndarray]]:
    """A TF1 folder with these heads, whose weights are drawn, and its tensors; `changes` are keys of the config."""
    from bert_cli.heads.all_heads import BertWithHeads
    from bert_cli.model.config import BertConfig
    from bert_cli.model.config_files import write_config
    from bert_cli.model.layers import named_weights
    from bert_cli.weights.checkpoint import write_tf1

    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    config = BertConfig(len(tokens), **(sizes | {"max_position_embeddings": 12, "type_vocab_size": 2} | changes))
    folder, rng = parent / name, np.random.default_rng(3)
    folder.mkdir()
    weights = named_weights(BertWithHeads(config, heads, (3, 16)))
    tensors = {name: rng.normal(0, 0.5, weights[name].shape).astype(np.float32) for name in weights}
    if not pooler:
        tensors = {name: values for name, values in tensors.items() if "pooler" not in name}
    left = {"global_step": np.int64(7), "bert/pooler/dense/bias/adam_m": np.ones(16, np.float32)}
    write_tf1(str(folder / "bert_model.ckpt"), tensors | left)
    write_config(str(folder / "bert_config.json"), config)
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n")
    if labels:
        (folder / "labels.txt").write_text("".join(f"{label}\n" for label in labels))
    return folder, tensors


def convert(source, target, **settings) -> dict:
    return run(build(ConvertSettings, {"from": str(source), "to": str(target)} | settings))


def tensors_of(prefix) -> dict[str, bytes]:
    import tensorflow as tf

    reader = tf.train.load_checkpoint(str(prefix))
    return {name: reader.get_tensor(name).tobytes() for name in reader.get_variable_to_shape_map()}


def assert_holds(prefix, tensors: dict) -> None:
    assert tensors_of(prefix) == {name: values.tobytes() for name, values in tensors.items()}


def there_and_back(path, parent, tensors, between) -> dict:
    """The config.json of a Hugging Face folder that went to parent / between and back: its tensors are the same bits."""
    report = convert(path, parent / between, check=True)
    assert set(report["differences"].values()) == {0.0}
    convert(parent / between, parent / "back", check=True)
    written = load_file(parent / "back" / "model.safetensors")
    assert {name: values.tobytes() for name, values in written.items()} == {
        name: values.tobytes() for name, values in tensors.items()
    }
    return json.loads((parent / "back" / "config.json").read_text())


def assert_same_outputs(theirs: list[np.ndarray], ours: list[np.ndarray], mask: np.ndarray) -> None:
    """mask: [B, S], which tokens count, where an output has a row for each."""
    real = mask > 0
    for one, other in zip(theirs, ours, strict=True):
        rows = ... if one.shape[:2] != real.shape else real
        np.testing.assert_allclose(one[rows], other[rows], atol=1e-5)


def refused(capfd, *flags) -> str:
    """The command's one line of error."""
    outcome = helpers.call(capfd, "bert-convert", main, *flags)
    outcome.assert_refused()
    return outcome.last_line
