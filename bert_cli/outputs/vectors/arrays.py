"""Vectors and attention in NumPy's files, written piece by piece: no array is held whole."""

import contextlib
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from typing import IO

import numpy as np

from bert_cli.base.writing import atomic_write
from bert_cli.outputs.vectors.rows import FeatureRows, VectorFormat

_HEADER_SIZE = 128  # bytes of the header that NumPy writes for any shape of at most three axes


class NpyFile:
    """A .npy file (format 1.0) that grows by rows; its header gets the final shape when the block
    ends.
    """

    def __init__(self, file: IO[bytes], dtype: str, row_shape: tuple[int, ...]):
        self._file = file
        self._dtype = np.dtype(dtype)
        self._row_shape = row_shape
        self._count = 0
        # The shape is known at the end only; the header is written over these bytes then.
        self._file.write(b"\0" * _HEADER_SIZE)

    def append(self, rows: np.ndarray) -> None:
        self._count += len(rows)
        self._file.write(np.ascontiguousarray(rows, self._dtype).tobytes())

    def finish(self) -> None:
        """Write the header."""
        self._file.seek(0)
        header = {"descr": self._dtype.str, "fortran_order": False, "shape": (self._count, *self._row_shape)}
        np.lib.format.write_array_header_1_0(self._file, header)
        self._file.seek(0, os.SEEK_END)


class NpyWriter(NpyFile):
    """One vector a line as a .npy file, [n, width]."""

    def __init__(self, file: IO[bytes], form: VectorFormat):
        super().__init__(file, form.dtype, (form.width,))

    def write(self, rows: FeatureRows) -> None:
        self.append(rows.values[:, 0])


class NpzWriter:
    """A .npz file.

    Of one vector a line: `vectors` [n, width]. Of tokens or words: `vectors` [r, width], or [r, L,
    H] where layers were not combined, `offsets` int64 [n + 1] (the rows of line i are offsets[i] to
    offsets[i + 1]), and `token_ids` int32 [r], or `starts` and `ends` int64 [r], the places of
    words in their lines, in characters. `layers` names the layers, as text; `ids`, of a table with
    ids, names the lines. Members grow in nameless files in `folder` until they are put together; they are not compressed.
    """

    def __init__(self, file: IO[bytes], form: VectorFormat, folder: str | None):
        """folder: None for the system's temporary directory."""
        self._file = file
        self._form = form
        self._folder = folder
        self._members: dict[str, tuple[IO[bytes], NpyFile]] = {}
        self._rows = 0
        self._ids: list[str] = []

    def _append(self, name: str, rows: np.ndarray, dtype: str) -> None:
        if name not in self._members:
            # In the folder of the output, as /tmp is often small or in memory; nameless, so that a
            # kill leaves nothing.
            file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 (closed by close)
            self._members[name] = file, NpyFile(file, dtype, rows.shape[1:])
        self._members[name][1].append(rows)

    def write(self, rows: FeatureRows) -> None:
        self._append("vectors", rows.values.reshape(-1, *self._form.row_shape), self._form.dtype)
        for name, dtype in (("token_id", "<i4"), ("start", "<i8"), ("end", "<i8")):
            if name in rows.columns:
                self._append(f"{name}s", rows.columns[name], dtype)
        if rows.columns:
            # The first offset of a later chunk is the last one of the chunk before.
            first = 0 if rows.first_line == 0 else 1
            self._append("offsets", self._rows + rows.offsets[first:], "<i8")
        self._rows += len(rows.values)
        self._ids.extend(rows.identifiers)

    def finish(self) -> None:
        if not self._members:
            self._append("vectors", np.zeros((0, *self._form.row_shape)), self._form.dtype)
        with zipfile.ZipFile(self._file, "w") as archive:
            for name, (file, array) in self._members.items():
                array.finish()
                file.seek(0)
                # force_zip64: the size is not known when the member is opened, and may be above 2
                # GiB.
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    shutil.copyfileobj(file, member)
            write_member(archive, "layers", np.array([str(layer) for layer in self._form.layers]))
            if self._form.has_ids:
                write_member(archive, "ids", np.array(self._ids))

    @property
    def size_bytes(self) -> int:
        """The size of the nameless files."""
        return sum(os.fstat(file.fileno()).st_size for file, _ in self._members.values())

    def close(self) -> None:
        """Close the nameless files, which removes them."""
        for file, _ in self._members.values():
            file.close()


def write_member(archive: zipfile.ZipFile, name: str, values: np.ndarray) -> None:
    """Write an array into a .npz file."""
    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
        np.lib.format.write_array(member, values, allow_pickle=False)


@contextlib.contextmanager
def open_archive(path: str) -> Iterator[zipfile.ZipFile]:
    """An empty .npz file for write_member; it appears when the block ends."""
    with atomic_write(path, "wb") as file, zipfile.ZipFile(file, "w") as archive:
        yield archive


def write_attention(
    archive: zipfile.ZipFile,
    first_line: int,
    tokens: Sequence[Sequence[str]],
    attention: Sequence[np.ndarray],
    dtype: str,
) -> None:
    """Write `attention_<line>` [layers, heads, length, length] and `tokens_<line>` [length] of each
    line.

    Row i of the last two axes holds how token i spreads its attention; it adds up to 1.
    """
    for number, (names, values) in enumerate(zip(tokens, attention, strict=True), first_line):
        write_member(archive, f"tokens_{number}", np.array(names))
        write_member(archive, f"attention_{number}", values.astype(dtype))
