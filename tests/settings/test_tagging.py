"""Flags of bert-tag."""

import pytest

from bert_cli.flags.option import build
from bert_cli.settings.answering import window_stride
from bert_cli.settings.tagging import TagSettings, with_stride


@pytest.mark.parametrize(("doc_stride", "length", "expected"), [(None, 128, 64), (None, 1, 1), (16, 128, 16)])
def test_half_a_window_is_the_default_stride(doc_stride, length, expected):
    assert window_stride(doc_stride, length) == expected
    settings = with_stride(build(TagSettings, {"doc_stride": doc_stride, "max_seq_length": length}))
    assert settings.task.doc_stride == expected
