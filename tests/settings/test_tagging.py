"""Windows and notations for tags."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.flags.option import build
from bert_cli.settings.tagging import TagSettings, read_tag_form, window_stride, with_stride
from tests.snapshots import raises


@pytest.mark.parametrize(("doc_stride", "length", "expected"), [(None, 128, 64), (None, 1, 1), (16, 128, 16)])
def test_half_a_window_is_the_default_stride(doc_stride, length, expected):
    assert window_stride(doc_stride, length) == expected
    settings = with_stride(build(TagSettings, {"doc_stride": doc_stride, "max_seq_length": length}))
    assert settings.task.doc_stride == expected


def test_forms_for_tags():
    for text in ("auto", "B-PER", "b_PER", "BPER", "PER-B", "PER|b"):
        assert read_tag_form(text) == text
    for text in ("I-PER", "PERB", "B-LOC", ""):
        with raises(InputError):
            read_tag_form(text)
