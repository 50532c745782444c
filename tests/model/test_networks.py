"""The facts in which networks differ from BERT."""

from bert_cli.base.head_types import CHOICE, CLASSIFIER, ENCODER, HEAD_TYPES, PRETRAINING
from bert_cli.model.networks import NETWORKS


def test_distilberts_classes():
    network = NETWORKS["distilbert"]
    assert network.architecture(CLASSIFIER) == "DistilBertForSequenceClassification"
    assert {name for name in HEAD_TYPES if network.needs_pooler(name) and network.has_class(name)} == {
        CLASSIFIER,
        CHOICE,
    }
    assert not network.has_class(PRETRAINING)


def test_berts_classes():
    assert all(NETWORKS["bert"].architecture(name) == kind.architecture for name, kind in HEAD_TYPES.items())
    assert NETWORKS["bert"].needs_pooler(ENCODER)
