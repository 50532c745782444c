"""Remote files such as `gs://bucket/file`, through tf.io.gfile; all errors are InputErrors."""

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
_BLOCK = 1 << 18  # bytes per read


def is_remote(path: str) -> bool:
    """Return whether only tf.io.gfile can open a path, such as `gs://bucket/file`."""
    return "://" in path


def refuse_web_address(path: str) -> None:
    """Raise InputError for a web address, with the commands that download the file."""
    if path.startswith(_WEB):
        raise InputError(f"{path}: is a web address, and nothing is downloaded by itself; {_download_advice(path)}")


def _download_advice(url: str) -> str:
    # Reduce a file in an archive, as a command looks for it in --data_dir, to the archive.
    archive = _ARCHIVE.match(url)
    url = archive[0] if archive else url
    name = url.rstrip("/").rpartition("/")[2].partition("?")[0]
    # A page of the Hugging Face hub is a repository, which git downloads.
    if url.startswith(_HUB) and "/resolve/" not in url:
        return f"download it with `git lfs install` and `git clone {url}`, and give the folder {name}"
    if url.startswith(_MODULES):
        return (
            f"download it with `curl -L -o module.tar.gz '{url}?tf-hub-format=compressed'` and "
            "`mkdir module && tar -xzf module.tar.gz -C module`, and give --hub_module=module"
        )
    unpack = {".zip": "unzip", ".gz": "tar -xzf", ".tgz": "tar -xzf"}.get(os.path.splitext(name)[1])
    unpack_advice = f" and `{unpack} {name}`, and give the unpacked folder" if unpack else f", and give {name}"
    return f"download it with `curl -L -O {url}`{unpack_advice}"


def gfile(path: str) -> Any:
    """Return TensorFlow's module for remote files; raise InputError if it cannot open the path.

    The first call imports TensorFlow.
    """
    refuse_web_address(path)  # before the slow import, so that the error is immediate
    import tensorflow as tf  # heavy; only remote paths need it

    _check_scheme(path.partition("://")[0])
    return tf.io.gfile


@functools.cache
def _check_scheme(scheme: str) -> None:
    """Raise InputError unless TensorFlow or tensorflow-io supports a file system.

    Without this check, using the file system would report that every directory in it is missing.
    """
    import tensorflow as tf

    # TensorFlow itself supports some, such as gs://.
    if scheme in tf.io.gfile.get_registered_schemes():
        return
    version = None
    with contextlib.suppress(ImportError, NotImplementedError), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a release for another TensorFlow warns of missing symbols
        import tensorflow_io  # importing it registers s3, hdfs and others

        version = tensorflow_io.__version__
    if scheme in tf.io.gfile.get_registered_schemes():
        return
    schemes = ", ".join(
        f"{name}://" for name in sorted(tf.io.gfile.get_registered_schemes()) if name not in ("", "file")
    )
    if version:
        advice = f"tensorflow-io {version} brings none that works with it; install the release that was built for it"
    else:
        advice = "`pip install tensorflow-io` brings more, where there is a release for this TensorFlow"
    raise InputError(
        f"{scheme}://: TensorFlow {tf.__version__} has no such file system here ({schemes} are "
        f"there); {advice}, or mount it"
    )


@contextlib.contextmanager
def reporting_remote_errors(path: str, action: str = "reached") -> Iterator[None]:
    """Raise InputError `cannot be …` for errors with a remote path within a block.

    Args:
        path: local or remote file; nothing changes for a local one.
        action: past participle for the message, such as "read" or "written".
    """
    if not is_remote(path):
        yield
        return
    import tensorflow as tf

    try:
        yield
    except tf.errors.OpError as error:
        raise InputError(f"{path}: cannot be {action}: {first_line(error)}") from None


class _File(io.RawIOBase):
    """File of tf.io.gfile with Python's interface for reading blocks and lines."""

    _file: Any = None  # None until the file is opened, which may fail

    def __init__(self, path: str):
        super().__init__()
        self._path = path
        self._file = gfile(path).GFile(path, "rb")

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with reporting_remote_errors(self._path, "read"):
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        with reporting_remote_errors(self._path, "read"):
            self._file.seek(offset, whence)
            return self._file.tell()

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        super().close()


def open_remote(path: str) -> io.BufferedReader:
    """Open a remote file as a context for reading bytes piece by piece, using a buffer."""
    return io.BufferedReader(_File(path), _BLOCK)
