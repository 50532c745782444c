"""The output of bert-extract-features in each of its formats, and the partial file that --resume
goes on from.
"""

import contextlib
import importlib.util
import os
from collections.abc import Callable, Iterator
from typing import IO

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import DISK_FULL, InputError, refuse_if, why_not_written
from bert_cli.base.names import STANDARD
from bert_cli.base.writing import atomic_write
from bert_cli.flags.saved import first_difference, read_flags, write_flags
from bert_cli.outputs.vectors.arrays import NpyWriter, NpzWriter
from bert_cli.outputs.vectors.json_lines import JsonLinesWriter
from bert_cli.outputs.vectors.rows import FeatureRows, VectorFormat, Writer
from bert_cli.records.example_proto import encode_examples
from bert_cli.records.tfrecord import pack_records
from bert_cli.runtime.streams import StandardOutput

_RECORD_BYTES = 1 << 22  # of records that are encoded at once


class TfRecordWriter(Writer):
    """A tf.train.Example for each line, token or word: int64 features of its columns, and a float
    list for each vector.
    """

    def __init__(self, file: IO[bytes], form: VectorFormat):
        self._file = file
        self._names = form.names

    def write(self, rows: FeatureRows) -> None:
        texts = ("id", "token", "word")
        columns = {name: values[:, None] for name, values in rows.table().items() if name not in texts}
        columns |= {name: rows.values[:, layer] for layer, name in enumerate(self._names)}
        # Encoding takes a few copies of its records, so a chunk is encoded in blocks; 64 bytes for
        # all but the vectors.
        size = max(1, _RECORD_BYTES // (4 * rows.values[:1].size + 64)) if len(rows.values) else 1
        for start in range(0, len(rows.values), size):
            block = {name: values[start : start + size] for name, values in columns.items()}
            self._file.write(pack_records(encode_examples(block)))


class ParquetWriter(Writer):
    """A Parquet table with a row for each line, token or word: its columns, `token` or `word`, and
    a list of numbers for each vector.
    """

    def __init__(self, file: IO[bytes], form: VectorFormat):
        import pyarrow
        import pyarrow.parquet

        self._arrow = pyarrow
        self._form = form
        texts = {"line": [], "token": [("token_id", "int32"), ("token", "string")]}
        fields = texts.get(form.unit, [("start", "int64"), ("end", "int64"), ("word", "string")])
        vector = pyarrow.list_(pyarrow.from_numpy_dtype(np.dtype(form.dtype)), form.width)
        ids = [("id", "string")] if form.has_ids else []
        vectors = [(name, vector) for name in form.names]
        self._schema = pyarrow.schema([("linex_index", "int64"), *ids, *fields, *vectors])
        self._writer = pyarrow.parquet.ParquetWriter(file, self._schema)

    def write(self, rows: FeatureRows) -> None:
        columns = rows.table()
        for layer, name in enumerate(self._form.names):
            flat = self._arrow.array(np.ascontiguousarray(rows.values[:, layer], self._form.dtype).reshape(-1))
            columns[name] = self._arrow.FixedSizeListArray.from_arrays(flat, self._form.width)
        self._writer.write_table(self._arrow.table(columns, self._schema))

    def finish(self) -> None:
        self._writer.close()


_WRITERS: dict[str, Callable[[IO, VectorFormat], Writer]] = {
    "npy": NpyWriter,
    "parquet": ParquetWriter,
    "tfrecord": TfRecordWriter,
}


def check_format(output_format: str) -> None:
    """InputError where a package that the format needs is not installed."""
    if output_format == "parquet" and importlib.util.find_spec("pyarrow") is None:
        raise InputError(
            "--output_format=parquet needs the package pyarrow, which is not installed: pip install pyarrow"
        )


def finished_lines(path: str) -> int:
    """The number of whole lines of a partial output; a rest after the last of them is cut off."""
    with open(path, "r+b") as file:
        count = end = 0
        for line in file:
            # A kill may have torn the last line.
            if line.endswith(b"\n"):
                count += 1
                end += len(line)
        file.truncate(end)
    return count


def partial_name(path: str) -> str:
    return f"{path}.partial"


def is_whole(path: str) -> bool:
    """Whether a finished output of an earlier run exists."""
    return os.path.exists(path) and not os.path.exists(partial_name(path))


def lines_to_skip(path: str, facts: dict[str, str]) -> int:
    """How many lines an earlier run, that was stopped, has done. InputError where it ran with other
    `facts`, by flag.
    """
    partial = partial_name(path)
    if not os.path.exists(partial):
        return 0
    saved = read_flags(f"{partial}.flags")
    difference = first_difference(saved, facts)
    refuse_if(
        difference,
        f"{partial}: was begun with {difference}: give the same flags, or leave --resume out to start over",
    )
    return finished_lines(partial)


@contextlib.contextmanager
def _partial_file(path: str, done: int, facts: dict[str, str]) -> Iterator:
    """The partial output, opened after its `done` lines; it takes its name when the block ends, and
    else stays.
    """
    partial = partial_name(path)
    try:
        if not done:
            files.remove(partial)
            write_flags(f"{partial}.flags", facts)
        with open(partial, "a" if done else "w", encoding="utf-8", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        # The data first, then the name: after a power cut the file is whole or still partial.
        os.replace(partial, path)
        files.remove(f"{partial}.flags")
    except OSError as error:
        # The reader of standard output has gone, which is about no file.
        if isinstance(error, BrokenPipeError):
            raise
        reason = why_not_written(error, os.path.dirname(path) or ".", files.file_size(partial), is_all=False)
        raise InputError(f"{path}: cannot be written: {reason}") from None


@contextlib.contextmanager
def open_writer(
    path: str, output_format: str, form: VectorFormat, done: int = 0, facts: dict[str, str] | None = None
) -> Iterator[Writer]:
    """A writer of that format; the file appears when the block ends.

    For JSON lines: a partial file has `done` lines already, and `facts` are those that a later run
    must share.
    """
    with contextlib.ExitStack() as stack:
        if output_format == "jsonl":
            if path == STANDARD:
                file: IO | StandardOutput = StandardOutput()
            elif files.is_remote(path):
                file = stack.enter_context(atomic_write(path))
            else:
                file = stack.enter_context(_partial_file(path, done, facts or {}))
            writer: Writer | NpzWriter = JsonLinesWriter(file, form)
        else:
            file = stack.enter_context(atomic_write(path, "wb"))
            if output_format == "npz":
                folder = None if files.is_remote(path) else os.path.dirname(path) or "."
                writer = NpzWriter(file, form, folder)
                stack.callback(writer.close)
            else:
                writer = _WRITERS[output_format](file, form)
        try:
            yield writer
            writer.finish()
        except OSError as error:
            if error.errno not in DISK_FULL or not isinstance(writer, NpzWriter):
                raise
            # Now, as its files are gone when the stack has ended.
            reason = why_not_written(error, os.path.dirname(path) or ".", writer.size_bytes, is_all=False)
            raise InputError(f"{path}: cannot be written: {reason}") from None
