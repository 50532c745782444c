"""Configs of small models for tests."""

from bert_cli.model.config import BertConfig

SMALL = {
    "vocab_size": 30,
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 12,
    "max_position_embeddings": 8,
    "type_vocab_size": 2,
}
WITHOUT_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def small_config(**changes) -> BertConfig:
    """Return SMALL as a BertConfig, with changes."""
    return BertConfig(**(SMALL | changes))
