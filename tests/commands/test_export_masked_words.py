"""bert-export: a pre-trained model as a SavedModel fills masks like bert-fill-mask."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from bert_cli import MaskFiller
from bert_cli.export_model import main
from tests.commands.test_export import SERVE
from tests.commands.test_export_vectors import serve

TEXTS = ["the [MASK] dog sees a [MASK] .", "[MASK]", "a cat[MASK] the old farmer"]


@pytest.fixture(scope="module")
def pretrained(two_layer_model, tmp_path_factory):
    """A model with random weights and both heads."""
    from bert_cli.heads.pretraining import BertPretrainer
    from bert_cli.model.config_files import read_config
    from bert_cli.model.layers import named_weights
    from bert_cli.weights.formats.checkpoint_writer import write_tf1

    folder = tmp_path_factory.mktemp("pretrained")
    for name in ("vocab.txt", "bert_config.json"):
        shutil.copy(two_layer_model / name, folder / name)
    variables = named_weights(BertPretrainer(read_config(str(folder / "bert_config.json")), seed=4))
    write_tf1(str(folder / "bert_model.ckpt"), {name: variable.numpy() for name, variable in variables.items()})
    return folder


@pytest.fixture(scope="module")
def exported(pretrained, tmp_path_factory):
    out = tmp_path_factory.mktemp("masks") / "1"
    assert main([f"--init_checkpoint={pretrained}", f"--export_dir={out}", "--top_k=3", "--pairs=yes"]) == 0
    return out


def check_outputs(outputs, folder, texts):
    filled = MaskFiller.load(str(folder), precision="float32").fill(texts, top_k=3)
    for row, text in enumerate(filled):
        for mask, candidates in enumerate(text.masks):
            words = [word if isinstance(word, str) else word.decode() for word in outputs["words"][row][mask]]
            assert words == [word for word, _ in candidates]
            expected = [probability for _, probability in candidates]
            np.testing.assert_allclose(outputs["probabilities"][row][mask], expected, atol=1e-5)
        assert set(np.ravel(outputs["probabilities"][row][len(text.masks) :])) <= {0.0}


def test_words(pretrained, exported):
    """Texts with several masks, a mask alone, a mask without spaces, and pairs."""
    check_outputs(serve(exported, text=TEXTS, text_b=[""] * 3), pretrained, TEXTS)
    outputs = serve(exported, text=["the [MASK] dog", "a cat"], text_b=["a [MASK] ?", "the [MASK]"])
    check_outputs(outputs, pretrained, ["the [MASK] dog ||| a [MASK] ?", "a cat ||| the [MASK]"])
    assert serve(exported, text=["a cat", ""], text_b=["", ""])["words"].shape == (2, 0, 3)


def test_a_long_text_is_an_error(exported):
    import tensorflow as tf

    with pytest.raises(tf.errors.InvalidArgumentError, match="up to 64 tokens"):
        serve(exported, text=["cat " * 62 + "[MASK]"], text_b=[""])


@pytest.mark.slow
def test_without_this_package(pretrained, exported, tmp_path):
    process = subprocess.run(
        [sys.executable, "-c", SERVE, str(exported)],
        input=json.dumps({"text": TEXTS, "text_b": [""] * 3}),
        capture_output=True,
        check=True,
        text=True,
        cwd=tmp_path,
    )
    check_outputs(json.loads(process.stdout)[0], pretrained, TEXTS)
