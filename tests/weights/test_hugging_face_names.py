"""Names of weights in Hugging Face's folders, of BERT and DistilBERT."""

import pytest

from bert_cli.weights.hugging_face_names import google_name, hugging_face_name
from bert_cli.weights.names import WEIGHT_NAMES


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("distilbert.transformer.layer.11.attention.out_lin.weight",
         ("bert/encoder/layer_11/attention/output/dense/kernel", True)),
        ("transformer.layer.3.sa_layer_norm.weight", ("bert/encoder/layer_3/attention/output/LayerNorm/gamma", False)),
        ("distilbert.transformer.layer.0.ffn.lin2.bias", ("bert/encoder/layer_0/output/dense/bias", False)),
        ("pre_classifier.weight", ("bert/pooler/dense/kernel", True)),
        ("vocab_projector.bias", ("cls/predictions/output_bias", False)),
        ("vocab_projector.weight", None),
        ("distilbert.transformer.layer.x.ffn.lin2.bias", None),
    ],
)  # fmt: skip
def test_google_name_of_distilbert(name, wanted):
    assert google_name(name) == wanted


@pytest.mark.parametrize("model_type", ["bert", "distilbert"])
def test_every_name_there_and_back(model_type):
    for name in WEIGHT_NAMES:
        theirs, transposed = hugging_face_name(name, model_type)
        assert google_name(theirs) == (name, transposed)
        assert not theirs.startswith("bert.") or model_type == "bert"
