"""Remote files, such as `gs://bucket/file`, through tf.io.gfile; what goes wrong with one is an
InputError.
"""

import contextlib
import functools
import io
import os
import re
import warnings
from collections.abc import Iterator
from typing import Any

from bert_cli.base.errors import InputError, first_line

_WEB = ("http://", "https://", "ftp://")
_HUB = "https://huggingface.co/"
_MODULES = "https://tfhub.dev/"
_ARCHIVE = re.compile(r".*?\.(zip|tar\.gz|tgz)(?=/)")
_BLOCK = 1 << 18  # bytes that are read at once


def is_remote(path: str) -> bool:
    """True for a path that only tf.io.gfile can open, such as `gs://bucket/file`."""
    return "://" in path


def refuse_web_address(path: str) -> None:
    """InputError for an address such as https://…, with the two commands that bring the file to
    this machine.
    """
    if path.startswith(_WEB):
        raise InputError(f"{path}: is a web address, and nothing is downloaded by itself; {_download(path)}")


def _download(url: str) -> str:
    # A file of a folder, as a command looks for it in --data_dir.
    archive = _ARCHIVE.match(url)
    url = archive[0] if archive else url
    name = url.rstrip("/").rpartition("/")[2].partition("?")[0]
    # A page of the hub is a folder of files, which git fetches.
    if url.startswith(_HUB) and "/resolve/" not in url:
        return f"download it with `git lfs install` and `git clone {url}`, and give the folder {name}"
    if url.startswith(_MODULES):
        return (
            f"download it with `curl -L -o module.tar.gz '{url}?tf-hub-format=compressed'` and "
            "`mkdir module && tar -xzf module.tar.gz -C module`, and give --hub_module=module"
        )
    unpack = {".zip": "unzip", ".gz": "tar -xzf", ".tgz": "tar -xzf"}.get(os.path.splitext(name)[1])
    second = f" and `{unpack} {name}`, and give the unpacked folder" if unpack else f", and give {name}"
    return f"download it with `curl -L -O {url}`{second}"


def gfile(path: str) -> Any:
    """TensorFlow's module for remote files, which is imported by the first call. InputError where
    it has none like `path`.
    """
    refuse_web_address(path)  # before the import, so that it is answered at once
    import tensorflow as tf  # heavy; only remote paths need it

    _check_scheme(path.partition("://")[0])
    return tf.io.gfile


@functools.cache
def _check_scheme(scheme: str) -> None:
    """InputError unless TensorFlow has this kind of file system, if need be from tensorflow-io.

    Without, it takes each folder for one that is not there.
    """
    import tensorflow as tf

    # What TensorFlow has by itself, such as gs://.
    if scheme in tf.io.gfile.get_registered_schemes():
        return
    version = None
    with contextlib.suppress(ImportError, NotImplementedError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a release for another TensorFlow says which symbols it lacks
        import tensorflow_io  # brings s3, hdfs and others, and needs no call

        version = tensorflow_io.__version__
    if scheme in tf.io.gfile.get_registered_schemes():
        return
    known = ", ".join(f"{name}://" for name in sorted(tf.io.gfile.get_registered_schemes()) if name not in ("", "file"))
    if version:
        advice = f"tensorflow-io {version} brings none that works with it; install the release that was built for it"
    else:
        advice = "`pip install tensorflow-io` brings more, where there is a release for this TensorFlow"
    raise InputError(
        f"{scheme}://: TensorFlow {tf.__version__} has no such file system here ({known} are "
        f"there); {advice}, or mount it"
    )


@contextlib.contextmanager
def report_errors(path: str, what: str = "reached") -> Iterator[None]:
    """Within it, what goes wrong with a remote path is an InputError; `what` it cannot be."""
    if not is_remote(path):
        yield
        return
    import tensorflow as tf

    try:
        yield
    except tf.errors.OpError as error:
        raise InputError(f"{path}: cannot be {what}: {first_line(error)}") from None


class _File(io.RawIOBase):
    """A file of tf.io.gfile with the interface of Python's files, to be read in blocks and lines."""

    _file: Any = None  # until it is opened, which may fail

    def __init__(self, path: str):
        super().__init__()
        self._path = path
        self._file = gfile(path).GFile(path, "rb")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with report_errors(self._path, "read"):
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        with report_errors(self._path, "read"):
            self._file.seek(offset, whence)
            return self._file.tell()

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        super().close()


def open_remote(path: str) -> io.BufferedReader:
    """The file, opened for reading bytes piece by piece; a context."""
    return io.BufferedReader(_File(path), _BLOCK)
