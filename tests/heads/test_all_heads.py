"""Encoders with several heads."""

import pytest

from bert_cli.base.head_types import CLASSIFIER, MASKED_LM, NEXT_SENTENCE, REPLACED_TOKENS, SPANS
from bert_cli.heads.all_heads import BertWithHeads
from bert_cli.model.layers import named_weights
from tests.configs import small_config


@pytest.mark.parametrize(
    ("heads", "outputs"),
    [
        ((), {}),
        ((MASKED_LM, NEXT_SENTENCE), {"masked_lm_logits": (2, 4, 30), "next_sentence_logits": (2, 2)}),
        ((REPLACED_TOKENS,), {"replaced_tokens_logits": (2, 4)}),
    ],
)
def test_every_head_has_outputs(batch_of, heads, outputs):
    model = BertWithHeads(small_config(), heads)
    results = model(batch_of([4, 2], 4, vocab_size=30))
    expected = {"sequence_output": (2, 4, 8), "pooled_output": (2, 8)} | outputs
    assert {name: tuple(values.shape) for name, values in results.items()} == expected


def test_heads_have_the_names_of_checkpoints():
    names = set(named_weights(BertWithHeads(small_config(), (CLASSIFIER, SPANS), {"output_weights": (3, 8)})))
    assert {"output_weights", "output_bias", "cls/squad/output_weights", "cls/squad/output_bias"} <= names


def test_a_single_head_is_named_like_that_of_a_task():
    assert BertWithHeads(small_config(), (SPANS,)).head.scope == "cls/squad"
    assert BertWithHeads(small_config(), (CLASSIFIER,), {"output_weights": (3, 8)}).head.output_weights.shape == (3, 8)
