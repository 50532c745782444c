"""Output files of bert-extract-features, and the partial file that --resume continues."""

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import IO

import numpy as np

from bert_cli.base import files
from bert_cli.base.errors import DISK_FULL, InputError, explain_write_error, refuse_if
from bert_cli.base.names import STANDARD
from bert_cli.base.writing import atomic_write
from bert_cli.flags.run_flags import first_difference, read_flags
from bert_cli.flags.saved import write_flags
from bert_cli.outputs.vectors.arrays import NpyWriter, NpzWriter
from bert_cli.outputs.vectors.json_lines import JsonLinesWriter
from bert_cli.outputs.vectors.rows import FeatureRows, VectorFormat, Writer
from bert_cli.records.example_proto import encode_examples
from bert_cli.records.tfrecord import pack_records
from bert_cli.runtime.installing import require_packages
from bert_cli.runtime.streams import StandardOutput

_RECORD_BYTES = 1 << 22  # bytes of records to encode together


class TfRecordWriter(Writer):
    """Writer that uses one tf.train.Example per line, token or word.

    Columns are int64 features, and each vector is a float list.
    """

    def __init__(self, file: IO[bytes], form: VectorFormat):
        self._file = file
        self._names = form.names

    def write(self, rows: FeatureRows) -> None:
        texts = ("id", "token", "word")
        columns = {name: values[:, None] for name, values in rows.table().items() if name not in texts}
        columns |= {name: rows.values[:, layer] for layer, name in enumerate(self._names)}
        # Encode in blocks, because encoding copies records several times. 64 bytes cover everything
        # except vectors.
        size = max(1, _RECORD_BYTES // (4 * rows.values[:1].size + 64)) if len(rows.values) else 1
        for start in range(0, len(rows.values), size):
            block = {name: values[start : start + size] for name, values in columns.items()}
            self._file.write(pack_records(encode_examples(block)))


class ParquetWriter(Writer):
    """Writer that uses one Parquet row per line, token or word.

    It has the rows' columns, `token` or `word`, and a list of numbers per vector.
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
    """Raise InputError if the format needs a package that is not installed."""
    if output_format == "parquet":
        require_packages(["pyarrow"], "--output_format=parquet", "parquet")


def finished_lines(path: str) -> int:
    """Return the number of complete lines in a partial output, and cut off an incomplete last line."""
    with open(path, "r+b") as file:
        count = end = 0
        for line in file:
            # A kill may have left an incomplete last line.
            if line.endswith(b"\n"):
                count += 1
                end += len(line)
        file.truncate(end)
    return count


def partial_name(path: str) -> str:
    return f"{path}.partial"


def has_finished_output(path: str) -> bool:
    """Return whether an earlier run's finished output exists."""
    return os.path.exists(path) and not os.path.exists(partial_name(path))


def lines_to_skip(path: str, facts: dict[str, str]) -> int:
    """Return the number of lines that an earlier, stopped run has finished.

    Args:
        path: output file.
        facts: flag values that must equal the earlier run's.

    Raises:
        InputError: the earlier run had other flag values.
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
    """Open the partial output after its `done` lines; rename it to `path` if the block succeeds."""
    partial = partial_name(path)
    try:
        if not done:
            files.remove(partial)
            write_flags(f"{partial}.flags", facts)
        with open(partial, "a" if done else "w", encoding="utf-8", newline="\n") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        # Sync the data before renaming: after a power cut, the file is complete or still partial.
        os.replace(partial, path)
        files.remove(f"{partial}.flags")
    except OSError as error:
        # A closed standard output is not an error about a file.
        if isinstance(error, BrokenPipeError):
            raise
        reason = explain_write_error(error, os.path.dirname(path) or ".", files.file_size(partial), is_all=False)
        raise InputError(f"{path}: cannot be written: {reason}") from None


@contextlib.contextmanager
def open_writer(
    path: str, output_format: str, form: VectorFormat, done: int = 0, facts: dict[str, str] | None = None
) -> Iterator[Writer]:
    """Open a writer for this format; the file appears when the block ends.

    Args:
        path: output file, or the sign for standard output.
        output_format: format name.
        form: description of the vectors.
        done: lines in the partial JSON lines file.
        facts: flag values that a resuming run must share.
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
            reason = explain_write_error(error, os.path.dirname(path) or ".", writer.size_bytes, is_all=False)
            raise InputError(f"{path}: cannot be written: {reason}") from None
