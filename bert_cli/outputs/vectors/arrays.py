"""Writers of vectors and attention in NumPy formats, which never hold a whole array in memory."""

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

_HEADER_SIZE = 128  # header bytes that NumPy writes for any shape with at most three axes


class NpyFile:
    """A .npy file (format 1.0) that grows by rows; `finish` writes its header."""

    def __init__(self, file: IO[bytes], dtype: str, row_shape: tuple[int, ...]):
        self._file = file
        self._dtype = np.dtype(dtype)
        self._row_shape = row_shape
        self._count = 0
        # Reserve bytes for the header, because the shape is known only at the end.
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
    """Writer for one vector per line as a .npy file, [n, width]."""

    def __init__(self, file: IO[bytes], form: VectorFormat):
        super().__init__(file, form.dtype, (form.width,))

    def write(self, rows: FeatureRows) -> None:
        self.append(rows.values[:, 0])


class NpzWriter:
    """Writer for .npz files without compression.

    With one vector per line, the file has `vectors` [n, width]. With tokens or words, `vectors` is
    [r, width], or [r, L, H] if layers are not combined. `offsets` int64 [n + 1] gives line i the
    rows offsets[i] to offsets[i + 1]. Tokens have `token_ids` int32 [r]; words have `starts` and
    `ends` int64 [r], character offsets in their lines. `layers` has the layer names as text, and
    `ids` the line ids if the table has ids.

    Members use unnamed temporary files in `folder`, and are assembled at the end.
    """

    def __init__(self, file: IO[bytes], form: VectorFormat, folder: str | None):
        """Prepare an empty file; without `folder`, temporary files use the system's directory."""
        self._file = file
        self._form = form
        self._folder = folder
        self._members: dict[str, tuple[IO[bytes], NpyFile]] = {}
        self._rows = 0
        self._ids: list[str] = []

    def _append(self, name: str, rows: np.ndarray, dtype: str) -> None:
        if name not in self._members:
            # Use the output directory, because /tmp is often small or in memory. An unnamed file
            # leaves nothing after a kill.
            file = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115 (closed by close)
            self._members[name] = file, NpyFile(file, dtype, rows.shape[1:])
        self._members[name][1].append(rows)

    def write(self, rows: FeatureRows) -> None:
        self._append("vectors", rows.values.reshape(-1, *self._form.row_shape), self._form.dtype)
        for name, dtype in (("token_id", "<i4"), ("start", "<i8"), ("end", "<i8")):
            if name in rows.columns:
                self._append(f"{name}s", rows.columns[name], dtype)
        if rows.columns:
            # A later chunk's first offset repeats the previous chunk's last one.
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
                # Use force_zip64: the size is unknown when the member opens, and may exceed 2 GiB.
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
    """Write an array `values` into the .npz file `archive` under `name`."""
    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
        np.lib.format.write_array(member, values, allow_pickle=False)


@contextlib.contextmanager
def open_archive(path: str) -> Iterator[zipfile.ZipFile]:
    """Open an empty .npz file for write_member; it appears when the block ends."""
    with atomic_write(path, "wb") as file, zipfile.ZipFile(file, "w") as archive:
        yield archive


def write_attention(
    archive: zipfile.ZipFile,
    first_line: int,
    tokens: Sequence[Sequence[str]],
    attention: Sequence[np.ndarray],
    dtype: str,
) -> None:
    """Write `attention_<line>` and `tokens_<line>` into a .npz file, for each line.

    Args:
        archive: the .npz file.
        first_line: number of the first line.
        tokens: tokens per line.
        attention: attention per line, [layers, heads, length, length]. In the last two axes, row i
            is token i's attention to all tokens, which adds up to 1.
        dtype: dtype to use in the file.
    """
    for number, (names, values) in enumerate(zip(tokens, attention, strict=True), first_line):
        write_member(archive, f"tokens_{number}", np.array(names))
        write_member(archive, f"attention_{number}", values.astype(dtype))
