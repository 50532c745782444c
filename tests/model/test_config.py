"""Invalid configs, with sizes from any source."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.model.config import BertConfig
from bert_cli.runtime.machine import machine_memory
from tests.snapshots import raises


def test_invalid_head_count_is_refused_without_a_file():
    with raises(InputError):
        BertConfig(vocab_size=5, hidden_size=10, num_attention_heads=3)


def test_sizes_from_arguments_are_refused():
    with pytest.raises(
        InputError, match=r"^vocab_size 1\d{12} cannot be right: the weights .* need [\d,]+ GB of memory"
    ):
        BertConfig(vocab_size=10**12)


def test_sizes_that_exceed_free_memory_are_refused():
    """One damaged digit caused an error in TensorFlow."""
    size = machine_memory() * 99 // 100 // (4 * 64)  # the weights need 99 % of the machine's memory
    with pytest.raises(InputError, match=rf"^vocab_size {size} is too large, or damaged: .* GB of them free$"):
        BertConfig(vocab_size=size, hidden_size=64, num_hidden_layers=1, num_attention_heads=1)
