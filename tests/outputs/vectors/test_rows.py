"""Pooling over windows, combination of layers, and normalization."""

import numpy as np
import pytest

from bert_cli.examples.text_lines import split_line
from bert_cli.features.extraction import extraction_chunks
from bert_cli.outputs.vectors.rows import combine_layers, feature_rows, join_windows, normalize, word_means
from bert_cli.text.tokenization import FullTokenizer

TOKENIZER = FullTokenizer({token: i for i, token in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *"ab", "##b"])})


def features(lines, length=6, **options):
    texts = [split_line(line, number) for number, line in enumerate(lines)]
    return next(extraction_chunks(texts, TOKENIZER, length, **options))


def test_windows_are_joined():
    chunk = features(["a", "a b a b a b"], long_text=True)  # one and two windows, with 3 and 8 tokens
    vectors = np.float32([[[3]], [[10]], [[6]]])
    assert join_windows(vectors, chunk, "mean").ravel().tolist() == [1, 2]
    assert join_windows(vectors, chunk, "max").ravel().tolist() == [3, 10]
    assert join_windows(vectors, chunk, "cls").ravel().tolist() == [3, 8]


def test_weighted_sums_are_divided_by_their_totals():
    chunk = features(["a b"])  # [CLS] a b [SEP]
    vectors = np.float32([[[12]]])
    assert join_windows(vectors, chunk, "mean").item() == 3
    assert join_windows(vectors, chunk, "mean_sqrt_len").item() == 6
    assert join_windows(vectors, chunk, "weighted_mean").item() == pytest.approx(1.2)  # 1 + 2 + 3 + 4
    assert join_windows(vectors, chunk, "last").item() == 12


def test_poolings_are_joined_separately():
    chunk = features(["a b a b a b"], long_text=True)  # two windows, 8 tokens
    vectors = np.float32([[[4, 5]], [[12, 3]]])
    assert join_windows(vectors, chunk, "mean,max").ravel().tolist() == [2, 5]


@pytest.mark.parametrize(
    ("combine", "expected"),
    [("none", [[[1, 2], [3, 6]]]), ("concat", [[[1, 2, 3, 6]]]), ("sum", [[[4, 8]]]), ("mean", [[[2, 4]]])],
)
def test_layers_are_combined(combine, expected):
    assert combine_layers(np.float32([[[1, 2], [3, 6]]]), combine).tolist() == expected


def test_normalized_vectors_have_length_one():
    np.testing.assert_allclose(normalize(np.float32([[[3, 4]], [[0, 0]]])), [[[0.6, 0.8]], [[0, 0]]], rtol=1e-6)


def test_word_vectors_are_means_of_their_pieces():
    chunk = features(["ab a"], words=True)  # [CLS] a ##b a [SEP]
    vectors = np.float32([[[0]], [[2]], [[4]], [[7]], [[9]]])
    assert word_means(vectors, chunk).ravel().tolist() == [3, 7]
    rows = feature_rows(vectors, chunk, "none", "none", np.array, TOKENIZER.convert_ids_to_tokens)
    assert rows.columns["word"] == ["ab", "a"]
    assert [rows.columns[name].tolist() for name in ("start", "end")] == [[0, 3], [2, 4]]
    assert rows.offsets.tolist() == [0, 2]


def test_rows_of_tokens_know_their_lines():
    chunk = features(["a", ""])
    rows = feature_rows(
        np.zeros((5, 1, 2), np.float32), chunk, "none", "none", np.array, TOKENIZER.convert_ids_to_tokens
    )
    assert rows.columns["token"] == ["[CLS]", "a", "[SEP]", "[CLS]", "[SEP]"]
    assert rows.table()["linex_index"].tolist() == [0, 0, 0, 1, 1]
