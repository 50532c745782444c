"""Vectors of tokens, words or lines as JSON lines, in the layout of the original's
extract_features.py.
"""

import functools
import itertools
import json
from collections.abc import Iterable, Iterator
from typing import IO

import numpy as np

from bert_cli.outputs.vectors.rows import FeatureRows, VectorFormat, Writer
from bert_cli.runtime.streams import StandardOutput

_LIMIT = 999.0  # numbers below it have at most three digits before the point, rounded too
_SCALE = 1_000_000  # six decimals
_SMALLEST = 100  # below 0.0001, in millionths, Python writes 5.2e-05


def _packed(texts: Iterable[bytes]) -> np.ndarray:
    """Texts of at most four bytes as uint32, filled up with NUL."""
    return np.frombuffer(b"".join(text.ljust(4, b"\0") for text in texts), "<u4")


@functools.cache
def _tables() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Parts of numbers, four bytes each: by the whole part (+ 1000 for a minus sign), by the first
    three decimals (+ 1000 where they are the last), by the next three; and all three parts of -100
    to 100 millionths, [201, 3].
    """
    whole = _packed([b"%d" % n for n in range(1000)] + [b"-%d" % n for n in range(1000)])
    shortened = [(b"%03d" % n).rstrip(b"0") for n in range(1000)]
    first = _packed([b".%03d" % n for n in range(1000)] + [b"." + (text or b"0") for text in shortened])
    small = b"".join(repr(k / _SCALE).encode().ljust(12, b"\0") for k in range(-_SMALLEST, _SMALLEST + 1))
    return whole, first, _packed(shortened), np.frombuffer(small, "<u4").reshape(-1, 3)


def format_vectors(values: np.ndarray) -> list[str]:
    """float32 [n, width] -> n texts, each json.dumps([round(float(x), 6) for x in row]) without its
    brackets.

    A float32 times a million is exact in float64, so rounding it there is rounding the number
    itself.
    """
    rows, width = values.shape
    if not values.size:
        return [""] * rows
    values = np.asarray(values, np.float32).astype(np.float64)
    if not np.abs(values).max() < _LIMIT:  # NaN too
        return [json.dumps([round(value, 6) for value in row])[1:-1] for row in values.tolist()]
    # Each number is put together from looked-up parts. orjson is faster still, but writes 0.000052
    # and 1e-6 where Python writes 5.2e-05 and 1e-06, and no space after a comma: files would differ
    # from the original's.
    whole_table, first_table, second_table, small_table = _tables()
    values = values.reshape(-1)
    millionths = np.rint(values * _SCALE).astype(np.int32)
    whole, decimals = np.divmod(np.abs(millionths), np.int32(_SCALE))
    first, second = np.divmod(decimals, np.int32(1000))
    cells = np.empty((len(values), 4), "<u4")  # sixteen bytes a number
    cells[:, 0] = whole_table.take(whole + 1000 * np.signbit(values))
    cells[:, 1] = first_table.take(first + 1000 * (second == 0))
    cells[:, 2] = second_table.take(second)
    small = np.flatnonzero((np.abs(millionths) < _SMALLEST) & (millionths != 0))
    cells[small, :3] = small_table[millionths[small] + _SMALLEST]
    cells[:, 3] = _packed([b", "])
    cells[width - 1 :: width, 3] = _packed([b"\n"])
    return cells.tobytes().translate(None, b"\0").decode("ascii").split("\n")[:rows]


class JsonLinesWriter(Writer):
    """A line for each line of text: its tokens or words with their vectors, or its vectors alone."""

    def __init__(self, file: IO[str] | StandardOutput, form: VectorFormat):
        self._file = file
        self._indices = None if form.combined else form.layers

    def write(self, rows: FeatureRows) -> None:
        ids = rows.identifiers
        key = "words" if "word" in rows.columns else "features"
        heads = [f'"token": {json.dumps(token)}' for token in rows.columns.get("token", ())]
        if "word" in rows.columns:
            words, *ends = (rows.columns[name] for name in ("word", "start", "end"))
            triples = zip(words, *(each.tolist() for each in ends), strict=True)
            heads = [f'"word": {json.dumps(text)}, "start": {start}, "end": {end}' for text, start, end in triples]
        for line, (start, end) in enumerate(itertools.pairwise(rows.offsets.tolist()), rows.first_line):
            vectors = self._vectors(rows.values[start:end])
            if not rows.columns:
                content = next(vectors)
            else:
                entries = (f"{{{head}, {numbers}}}" for head, numbers in zip(heads[start:end], vectors, strict=True))
                content = f'"{key}": [{", ".join(entries)}]'
            identifier = f'"id": {json.dumps(ids[line - rows.first_line])}, ' if ids else ""
            self._file.write(f'{{"linex_index": {line}, {identifier}{content}}}\n')
        self._file.flush()  # after a kill, whole lines are what --resume goes on from

    def _vectors(self, values: np.ndarray) -> Iterator[str]:
        """The numbers of each token, word or line as members of a JSON object; values: float32 [n, L, width]."""
        count, layers, width = values.shape
        texts = format_vectors(values.reshape(count * layers, width))
        if self._indices is None:
            yield from (f'"values": [{text}]' for text in texts)
            return
        for first in range(0, len(texts), layers):
            pairs = zip(self._indices, texts[first : first + layers], strict=True)
            parts = (f'{{"index": {json.dumps(index)}, "values": [{text}]}}' for index, text in pairs)
            yield f'"layers": [{", ".join(parts)}]'
