"""Differences between BERT and other networks."""

from bert_cli.base.head_types import (
    CHOICE,
    CLASSIFIER,
    ENCODER,
    HEAD_TYPES,
    NEXT_SENTENCE,
    PRETRAINING,
    REPLACED_TOKENS,
)
from bert_cli.model.networks import HEAD_TYPES_OF_CLASSES, NETWORKS


def test_distilberts_classes():
    network = NETWORKS["distilbert"]
    assert network.architecture(CLASSIFIER) == "DistilBertForSequenceClassification"
    assert {name for name in HEAD_TYPES if network.needs_pooler(name) and network.has_class(name)} == {
        CLASSIFIER,
        CHOICE,
    }
    assert not network.has_class(PRETRAINING)


def test_berts_classes():
    network = NETWORKS["bert"]
    assert network.architecture(ENCODER) == "BertModel"
    assert network.needs_pooler(ENCODER)
    assert [name for name in HEAD_TYPES if not network.has_class(name)] == [REPLACED_TOKENS]


def test_electras_classes():
    network = NETWORKS["electra"]
    assert network.architecture(REPLACED_TOKENS) == "ElectraForPreTraining"
    assert {name for name in HEAD_TYPES if not network.has_class(name)} == {PRETRAINING, NEXT_SENTENCE}
    assert not network.needs_pooler(ENCODER)


def test_classes_have_one_head_type():
    assert HEAD_TYPES_OF_CLASSES["BertForPreTraining"] == PRETRAINING
    assert HEAD_TYPES_OF_CLASSES["ElectraForPreTraining"] == REPLACED_TOKENS
    assert "DistilBertForPreTraining" not in HEAD_TYPES_OF_CLASSES
