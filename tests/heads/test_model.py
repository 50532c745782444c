"""Training rules of heads: loss and dropout rates."""

import pytest

from bert_cli.heads.choice import BertChoice
from bert_cli.heads.classification import BertTextClassifier, BertWindowsClassifier
from bert_cli.heads.losses import PLAIN, LossRule
from bert_cli.heads.model import TrainingRule
from bert_cli.heads.pretraining import BertPretrainer
from bert_cli.heads.squad import BertSpanModel
from bert_cli.heads.tagging import BertTagger
from bert_cli.model.config import BertConfig

CONFIG = BertConfig(
    vocab_size=9, hidden_size=4, num_hidden_layers=2, num_attention_heads=1, intermediate_size=4,
    max_position_embeddings=4, type_vocab_size=2, hidden_dropout_prob=0.3, attention_probs_dropout_prob=0.4,
)  # fmt: skip
# Additional arguments and default dropout rate per head.
HEADS = {
    BertTextClassifier: ({"label_count": 3}, 0.1),
    BertWindowsClassifier: ({"label_count": 3}, 0.1),
    BertChoice: ({"label_count": 1, "problem_type": "multiple_choice"}, 0.1),
    BertTagger: ({"label_count": 3}, 0.1),
    BertSpanModel: ({}, 0.0),
    BertPretrainer: ({}, 0.0),
}
every_head = pytest.mark.parametrize("head", HEADS, ids=lambda head: head.__name__)


def rates(model):
    layers = model.encoder.transformer_layers
    hidden = {model.encoder.embeddings.rate, *(layer.rate for layer in layers)}
    return model.head_dropout, hidden, {layer.attention.rate for layer in layers}


@every_head
def test_defaults_are_plain_loss_and_dropout_rates_from_head_and_config(head):
    arguments, own_rate = HEADS[head]
    model = head(CONFIG, **arguments)
    assert model.loss_rule == PLAIN
    assert rates(model) == (own_rate, {0.3}, {0.4})
    assert model.built


@every_head
def test_a_training_rule_sets_loss_and_rates(head):
    arguments, own_rate = HEADS[head]
    rule = TrainingRule(LossRule(smoothing=0.2), 0.5, 0.6, 0.0)
    model = head(CONFIG, **arguments, rule=rule)
    assert model.loss_rule == LossRule(smoothing=0.2)
    assert rates(model) == (0.5, {0.6}, {0.0})
    assert not model.encoder.recomputes
    assert head(CONFIG, **arguments, rule=TrainingRule(recomputes=True)).encoder.recomputes
    attention_only = head(CONFIG, **arguments, rule=TrainingRule(attention_dropout=0.7))
    assert rates(attention_only) == (own_rate, {0.3}, {0.7})
