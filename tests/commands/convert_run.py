"""Sources for bert-convert, and checks of its results."""

import json
import pathlib

import numpy as np
from safetensors.numpy import load_file

from bert_cli.convert_checkpoint import main, run
from bert_cli.flags.option import build
from bert_cli.settings.tools import ConvertSettings
from tests.commands import helpers
from tests.rows import write_rows

ALL = ("masked_lm", "next_sentence", "classifier", "spans")
VOCABULARY = "[PAD] [UNK] [CLS] [SEP] [MASK] all work and no play makes jack a dull boy , ."
TOKENS = VOCABULARY.split()


def make_source(
    parent: pathlib.Path, heads=ALL, labels=(), name="google", pooler=True, tokens=TOKENS, **changes
) -> tuple[pathlib.Path, dict[str, np.ndarray]]:
    """Return a TF1 directory with these heads and random weights, and its tensors.

    `changes` are keys of the config.
    """
    from bert_cli.heads.all_heads import BertWithHeads
    from bert_cli.model.config import BertConfig
    from bert_cli.model.config_files import write_config
    from bert_cli.model.layers import named_weights
    from bert_cli.weights.formats.checkpoint_writer import write_tf1

    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    config = BertConfig(len(tokens), **(sizes | {"max_position_embeddings": 12, "type_vocab_size": 2} | changes))
    folder, rng = parent / name, np.random.default_rng(3)
    folder.mkdir()
    weights = named_weights(BertWithHeads(config, heads, {"output_weights": (3, 16)}))
    tensors = {name: rng.normal(0, 0.5, weights[name].shape).astype(np.float32) for name in weights}
    if not pooler:
        tensors = {name: values for name, values in tensors.items() if "pooler" not in name}
    left = {"global_step": np.int64(7), "bert/pooler/dense/bias/adam_m": np.ones(16, np.float32)}
    write_tf1(str(folder / "bert_model.ckpt"), tensors | left)
    write_config(str(folder / "bert_config.json"), config)
    write_rows(folder / "vocab.txt", tokens)
    if labels:
        write_rows(folder / "labels.txt", labels)
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
    """Convert to parent / between and back, and return the config.json of the result.

    The tensors must be the same, bit for bit.
    """
    report = convert(path, parent / between, check=True)
    assert set(report["differences"].values()) == {0.0}
    convert(parent / between, parent / "back", check=True)
    written = load_file(parent / "back" / "model.safetensors")
    assert {name: values.tobytes() for name, values in written.items()} == {
        name: values.tobytes() for name, values in tensors.items()
    }
    return json.loads((parent / "back" / "config.json").read_text())


def assert_same_outputs(theirs: list[np.ndarray], ours: list[np.ndarray], mask: np.ndarray) -> None:
    """Compare outputs; those with a row per token are compared where the mask [B, S] is 1."""
    is_token = mask > 0
    for their_output, our_output in zip(theirs, ours, strict=True):
        rows = ... if their_output.shape[:2] != is_token.shape else is_token
        np.testing.assert_allclose(their_output[rows], our_output[rows], atol=1e-5)


def refused(capfd, *flags) -> str:
    """Return the command's one-line error."""
    outcome = helpers.call(capfd, "bert-convert", main, *flags)
    outcome.assert_refused()
    return outcome.last_line
