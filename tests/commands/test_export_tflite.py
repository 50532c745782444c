"""bert-export --format=tflite: the interpreter gives the commands' numbers for batches of any shape."""

import numpy as np
import pytest

from bert_cli import Classifier, FeatureExtractor, Tagger
from bert_cli.export_model import main
from tests.commands.test_export_vectors import id_inputs

pytestmark = pytest.mark.filterwarnings("ignore:.*tf.lite.Interpreter is deprecated:UserWarning")
TEXTS = ["the old farmer likes a small dog .", "a cat"]


def make_runner(folder):
    import tensorflow as tf

    return tf.lite.Interpreter(str(folder / "model.tflite")).get_signature_runner("serving_default")


def test_a_classifier(trained, tmp_path):
    out = tmp_path / "out"
    assert main([f"--init_checkpoint={trained}", f"--export_dir={out}", "--format=tflite"]) == 0
    assert {path.name for path in out.iterdir()} == {
        "model.tflite", "vocab.txt", "labels.txt", "bert_config.json", "tokenizer_config.json",
    }  # fmt: skip
    run = make_runner(out)
    expected = Classifier.load(str(trained), precision="float32").predict(TEXTS).probabilities
    np.testing.assert_allclose(run(**id_inputs(out, TEXTS))["probabilities"], expected, atol=1e-5)
    np.testing.assert_allclose(run(**id_inputs(out, TEXTS[1:]))["probabilities"], expected[1:], atol=1e-5)


def test_vectors(trained, tmp_path):
    flags = ["--format=tflite", "--pooling=mean,cls,max,last", "--normalize"]
    assert main([f"--init_checkpoint={trained}", f"--export_dir={tmp_path / 'out'}", *flags]) == 0
    outputs = make_runner(tmp_path / "out")(**id_inputs(trained, TEXTS))
    assert outputs.keys() == {"sequence_output", "pooled_output", "sentence_embedding"}
    extractor = FeatureExtractor.load(str(trained), pooling="mean,cls,max,last", normalize=True, precision="float32")
    np.testing.assert_allclose(outputs["sentence_embedding"], extractor.extract(TEXTS), atol=1e-5)


@pytest.mark.slow
def test_a_tagger(tagger, tmp_path):
    assert main([f"--init_checkpoint={tagger}", f"--export_dir={tmp_path / 'out'}", "--format=tflite"]) == 0
    outputs = make_runner(tmp_path / "out")(**id_inputs(tagger, TEXTS))
    labels = np.array((tagger / "labels.txt").read_text().split())
    expected = Tagger.load(str(tagger), precision="float32").tag(TEXTS)
    assert labels[outputs["probabilities"][0, 1:9].argmax(axis=-1)].tolist() == list(expected[0].tags)
