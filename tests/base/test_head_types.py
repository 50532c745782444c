"""Parameter counts as in the papers and model cards, in all places that report them."""

import pytest

from bert_cli.base.head_types import count_parameters, parameters_line
from bert_cli.model.config import BertConfig, encoder_shapes


@pytest.mark.parametrize(
    ("sizes", "total", "pooler"),
    [
        ({}, 109_482_240, 590_592),  # BERT-Base: 110M
        (
            {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096},
            335_141_888,  # BERT-Large: 340M
            1_049_600,
        ),
    ],
)
def test_parameter_counts_of_published_models(sizes, total, pooler):
    config = BertConfig(30522, type_vocab_size=2, **sizes)
    counts = count_parameters(encoder_shapes(config))
    assert counts["total"] == total
    assert counts["pooler"] == pooler
    assert counts["embeddings"] == (30522 + 512 + 2 + 2) * config.hidden_size
    assert counts["layers"] == total - pooler - counts["embeddings"]
    assert "heads" not in counts


def test_heads_and_modules_have_separate_counts():
    shapes = {"hub/a": (3, 4), "output_weights": (2, 4), "output_bias": (2,), "cls/predictions/output_bias": (5,)}
    counts = count_parameters(shapes)
    assert counts == {"total": 27, "module": 12, "heads": 15}
    assert parameters_line(counts) == "27 parameters: module 12, heads 15"
