"""JSON lines with vectors, in the layout of the original's extract_features.py."""

import functools
import itertools
import json
from collections.abc import Iterable, Iterator
from typing import IO

import numpy as np

from bert_cli.outputs.vectors.rows import FeatureRows, VectorFormat, Writer
from bert_cli.runtime.streams import StandardOutput

_LIMIT = 999.0  # smaller numbers have at most three digits before the point, even after rounding
_SCALE = 1_000_000  # six decimals
_SMALLEST = 100  # millionths; Python writes smaller numbers as 5.2e-05


def _pack(texts: Iterable[bytes]) -> np.ndarray:
    """Return texts with at most four bytes as uint32, padded with NUL."""
    return np.frombuffer(b"".join(text.ljust(4, b"\0") for text in texts), "<u4")


@functools.cache
def _tables() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return tables with parts of decimal numbers, four bytes each.

    The tables are indexed by:

    1. the integer part (+ 1000 for a minus sign),
    2. the first three decimals (+ 1000 if the others are 0),
    3. the next three decimals,
    4. -100 to 100 millionths, as all three parts, [201, 3].
    """
    integers = _pack([b"%d" % n for n in range(1000)] + [b"-%d" % n for n in range(1000)])
    shortened = [(b"%03d" % n).rstrip(b"0") for n in range(1000)]
    first = _pack([b".%03d" % n for n in range(1000)] + [b"." + (text or b"0") for text in shortened])
    small = b"".join(repr(k / _SCALE).encode().ljust(12, b"\0") for k in range(-_SMALLEST, _SMALLEST + 1))
    return integers, first, _pack(shortened), np.frombuffer(small, "<u4").reshape(-1, 3)


def format_vectors(values: np.ndarray) -> list[str]:
    """Return json.dumps([round(float(x), 6) for x in row]) without brackets for each row.

    A float32 times a million is exact in float64, so rounding there is the same as rounding the
    number itself.

    Args:
        values: float32 [n, width].
    """
    rows, width = values.shape
    if not values.size:
        return [""] * rows
    values = np.asarray(values, np.float32).astype(np.float64)
    if not np.abs(values).max() < _LIMIT:  # also catches NaN
        return [json.dumps([round(value, 6) for value in row])[1:-1] for row in values.tolist()]
    # Look up the digits by parts. orjson is faster, but it writes 0.000052 and 1e-6 instead of
    # Python's 5.2e-05 and 1e-06, and no space after a comma. So files would differ from the
    # original's.
    integer_table, first_table, second_table, small_table = _tables()
    values = values.reshape(-1)
    millionths = np.rint(values * _SCALE).astype(np.int32)
    integers, decimals = np.divmod(np.abs(millionths), np.int32(_SCALE))
    first, second = np.divmod(decimals, np.int32(1000))
    cells = np.empty((len(values), 4), "<u4")  # sixteen bytes per number
    cells[:, 0] = integer_table.take(integers + 1000 * np.signbit(values))
    cells[:, 1] = first_table.take(first + 1000 * (second == 0))
    cells[:, 2] = second_table.take(second)
    small = np.flatnonzero((np.abs(millionths) < _SMALLEST) & (millionths != 0))
    cells[small, :3] = small_table[millionths[small] + _SMALLEST]
    cells[:, 3] = _pack([b", "])
    cells[width - 1 :: width, 3] = _pack([b"\n"])
    return cells.tobytes().translate(None, b"\0").decode("ascii").split("\n")[:rows]


class JsonLinesWriter(Writer):
    """Writer that uses one JSON line per text line, with vectors for tokens, words or the line."""

    def __init__(self, file: IO[str] | StandardOutput, form: VectorFormat):
        self._file = file
        self._indices = None if form.combined else form.layers

    def write(self, rows: FeatureRows) -> None:
        ids = rows.identifiers
        key = "words" if "word" in rows.columns else "features"
        heads = [f'"token": {json.dumps(token)}' for token in rows.columns.get("token", ())]
        if "word" in rows.columns:
            words, *ends = (rows.columns[name] for name in ("word", "start", "end"))
            triples = zip(words, *(values.tolist() for values in ends), strict=True)
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
        self._file.flush()  # --resume continues after complete lines, even after a kill

    def _vectors(self, values: np.ndarray) -> Iterator[str]:
        """Yield each row of float32 [n, L, width] as members of a JSON object."""
        count, layers, width = values.shape
        texts = format_vectors(values.reshape(count * layers, width))
        if self._indices is None:
            yield from (f'"values": [{text}]' for text in texts)
            return
        for first in range(0, len(texts), layers):
            pairs = zip(self._indices, texts[first : first + layers], strict=True)
            layers_json = (f'{{"index": {json.dumps(index)}, "values": [{text}]}}' for index, text in pairs)
            yield f'"layers": [{", ".join(layers_json)}]'
