"""Hugging Face's weight names for BERT, DistilBERT and ELECTRA."""

import pytest

from bert_cli.base.head_types import CHOICE, CLASSIFIER, MASKED_LM, REPLACED_TOKENS, TAGGER
from bert_cli.model.config import all_weight_names
from bert_cli.weights.hugging_face import hugging_face_name, hugging_face_to_google_name, is_transposed


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("distilbert.transformer.layer.11.attention.out_lin.weight", "bert/encoder/layer_11/attention/output/dense/kernel"),
        ("transformer.layer.3.sa_layer_norm.weight", "bert/encoder/layer_3/attention/output/LayerNorm/gamma"),
        ("distilbert.transformer.layer.0.ffn.lin2.bias", "bert/encoder/layer_0/output/dense/bias"),
        ("pre_classifier.weight", "bert/pooler/dense/kernel"),
        ("vocab_projector.bias", "cls/predictions/output_bias"),
        ("vocab_projector.weight", None),
        ("distilbert.transformer.layer.x.ffn.lin2.bias", None),
    ],
)  # fmt: skip
def test_google_name_of_distilbert(name, expected):
    assert hugging_face_to_google_name(name) == expected


@pytest.mark.parametrize(
    ("name", "head_type", "expected"),
    [
        ("bert/pooler/dense/kernel", CLASSIFIER, "classifier.dense.weight"),
        ("bert/pooler/dense/kernel", CHOICE, "sequence_summary.summary.weight"),
        ("output_weights", CLASSIFIER, "classifier.out_proj.weight"),
        ("output_weights", CHOICE, "classifier.weight"),
        ("output_bias", TAGGER, "classifier.bias"),
        ("bert/embeddings_project/kernel", TAGGER, "electra.embeddings_project.weight"),
        ("cls/predictions/transform/LayerNorm/gamma", MASKED_LM, "generator_predictions.LayerNorm.weight"),
        ("cls/predictions/output_bias", MASKED_LM, "generator_lm_head.bias"),
        ("discriminator_predictions/dense/kernel", REPLACED_TOKENS, "discriminator_predictions.dense.weight"),
        ("discriminator_predictions/dense_1/bias", REPLACED_TOKENS,
         "discriminator_predictions.dense_prediction.bias"),
    ],
)  # fmt: skip
def test_names_for_electra_depend_on_the_class(name, head_type, expected):
    assert hugging_face_name(name, "electra", head_type) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("bert/pooler/dense/kernel", True),
        ("discriminator_predictions/dense_1/kernel", True),
        ("bert/pooler/dense/bias", False),
        ("bert/embeddings/word_embeddings", False),
        ("output_weights", False),
        ("cls/seq_relationship/output_weights", False),
    ],
)
def test_only_kernels_are_transposed(name, expected):
    assert is_transposed(name) == expected


@pytest.mark.parametrize("model_type", ["bert", "distilbert", "electra"])
@pytest.mark.parametrize("head_type", [CLASSIFIER, CHOICE, TAGGER])
def test_names_are_inverted_exactly(model_type, head_type):
    for name in all_weight_names():
        stored_name = hugging_face_name(name, model_type, head_type)
        assert hugging_face_to_google_name(stored_name) == name
        assert not stored_name.startswith("bert.") or model_type == "bert"
