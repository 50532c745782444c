"""Numbers and lines in features.jsonl."""

import io
import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from bert_cli.outputs.vectors.json_lines import JsonLinesWriter, format_vectors
from bert_cli.outputs.vectors.rows import FeatureRows, VectorFormat


def plain(values):
    return [json.dumps([round(float(value), 6) for value in row])[1:-1] for row in values]


@given(
    arrays(
        np.float32,
        array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=6),
        elements=st.one_of(st.floats(-1000, 1000, width=32), st.floats(-(2.0**-10), 2.0**-10, width=32)),
    )
)
def test_numbers_are_formatted_as_by_json(values):
    assert format_vectors(values) == plain(values)


def test_difficult_numbers():
    halves = (np.arange(-1000, 1000) + 0.5) / 1e6  # not exact, unlike the values below
    values = np.concatenate([halves, np.arange(-300, 300) / 1e6, np.arange(-128, 128) / 2**7, [0.0, -0.0, -1e-9, 1.0]])
    values = values.astype(np.float32)[:, None]
    assert format_vectors(values) == plain(values)
    assert format_vectors(np.float32([[1, -0.0, 5e-6, -0.00012, 12.5]])) == ["1.0, -0.0, 5e-06, -0.00012, 12.5"]
    assert format_vectors(np.float32([[1234.5, np.nan, -np.inf]])) == ["1234.5, NaN, -Infinity"]


def write_lines(layers, first_line, counts, values, **columns):
    """Return the text that a writer makes from lines with `counts` vectors each."""
    file = io.StringIO()
    form = VectorFormat("token", layers or (-1,), not layers, 2)
    JsonLinesWriter(file, form).write(FeatureRows(first_line, np.cumsum([0, *counts]), np.float32(values), columns))
    return file.getvalue()


def test_line_of_tokens_has_the_layout_of_the_original():
    values = [[[1, 2], [3, 4]], [[5, 6], [7, 8]]]
    assert write_lines((-1, "embedding"), 3, [2], values, token=['"', "é"]) == (
        '{"linex_index": 3, "features": [{"token": "\\"", "layers": [{"index": -1, "values": [1.0, 2.0]}, '
        '{"index": "embedding", "values": [3.0, 4.0]}]}, {"token": "\\u00e9", "layers": [{"index": -1, "values": '
        '[5.0, 6.0]}, {"index": "embedding", "values": [7.0, 8.0]}]}]}\n'
    )


def test_lines_of_texts_and_words():
    values = [[[0.5, 1]]]
    assert write_lines((), 0, [1], values) == '{"linex_index": 0, "values": [0.5, 1.0]}\n'
    assert write_lines((-1,), 0, [1], values) == (
        '{"linex_index": 0, "layers": [{"index": -1, "values": [0.5, 1.0]}]}\n'
    )
    assert write_lines((), 1, [0, 1], values, word=["a"], start=np.array([4]), end=np.array([5])) == (
        '{"linex_index": 1, "words": []}\n'
        '{"linex_index": 2, "words": [{"word": "a", "start": 4, "end": 5, "values": [0.5, 1.0]}]}\n'
    )
    nothing = np.zeros(0, np.int64)
    without = write_lines((-1,), 1, [0], np.zeros((0, 1, 2)), word=[], start=nothing, end=nothing)
    assert without == '{"linex_index": 1, "words": []}\n'
