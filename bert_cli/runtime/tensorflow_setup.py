"""The import of TensorFlow: settings of the process before it, and the lines that it prints."""

import contextlib
import ctypes
import functools
import gc
import os
import platform
import re
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator

from bert_cli.base.log import LogStream
from bert_cli.runtime.forks import refuse_lost_tensorflow
from bert_cli.runtime.keras_settings import check_keras_backend, keras_import
from bert_cli.runtime.memory import check_address_space
from bert_cli.runtime.process import PROCESS
from bert_cli.runtime.streams import reserve_descriptor

# glibc's mallopt parameters (malloc.h).
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3

# What Keras imports where it is there, for wrappers, plots and files that no command has a use for:
# a third of the time that the import of TensorFlow takes. Where a command needs one of them itself,
# it is imported then.
_KERAS_ONLY = ("h5py", "matplotlib", "pandas", "scipy", "sklearn")

# What scikit-learn sets in the environment when it is imported. It is imported in a thread (see background_import) while
# TensorFlow reads the environment in C++, which has no lock: the process would end with a segmentation fault, as it did.
_OF_SCIKIT_LEARN = {"KMP_DUPLICATE_LIB_OK": "True", "KMP_INIT_AT_FORK": "FALSE"}

# New objects between two collections of the garbage collector; Python's default, 700, has it walk
# over what TensorFlow's import and the tracing of a graph make, hardly any of it garbage: a sixth
# of the import, a twentieth of a start.
_COLLECTED_AFTER = 50_000

# Bytes of address space that a small training takes on two cores, as measured with TensorFlow 2.21: with 2.0e9 it
# crashed, with 2.4e9 it ran.
_ADDRESS_SPACE = 2_300_000_000

# Lines that TensorFlow 2.21 prints on every start on a machine without a GPU, before its log level
# takes effect.
_NOISE = re.compile(
    r"^(WARNING: All log messages before absl::InitializeLog|I0000 .*(cudart_stub|cuda drivers|oneDNN|cpu_feature_guard)"
    r"|E0000 .*(cuInit|cuda_platform)|I0000 .*port\.cc|To enable the following instructions|$)"
)


# The import is not safe in threads: a second one would use modules that are half imported.
_IMPORT_LOCK = threading.RLock()
# A fork waits for an import in another thread: the child would have half of TensorFlow.
os.register_at_fork(
    before=_IMPORT_LOCK.acquire, after_in_parent=_IMPORT_LOCK.release, after_in_child=_IMPORT_LOCK.release
)


def setup_tensorflow() -> None:
    """Set up the process and import TensorFlow; call it before importing a module that needs it.

    Threads may call it at the same time. Environment variables of the user are kept, except those
    of Keras (see keras_settings).

    Raises:
        InputError: TensorFlow cannot compute in this process (see forks and keras_settings).
    """
    refuse_lost_tensorflow()
    with _IMPORT_LOCK:
        _set_up_process()
        if "tensorflow" in sys.modules and "keras" in sys.modules:
            _import()  # waits if a thread of the user's program is importing them
        else:
            _import_quietly()
        if PROCESS.is_command:
            _freeze_modules()


def _set_up_process() -> None:
    # If one of several processes is lost, the layers of the others log the error that they also
    # raise, in many lines each.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3" if os.environ.get("TF_CONFIG") else "2")
    # On by default only for processors with AVX-512; its products are faster with AVX2 too.
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    for name, value in _OF_SCIKIT_LEARN.items():
        os.environ.setdefault(name, value)
    if platform.libc_ver()[0] == "glibc":
        # Other C libraries, as of Alpine or macOS, have no mallopt, or other numbers for its
        # parameters.
        libc = ctypes.CDLL(None)
        # By default glibc gives each buffer above 32 MiB back to the system when it is freed.
        # Gradients of an embedding table are larger, so each step would have the same pages zeroed
        # again: half of the optimizer's time, as measured.
        libc.mallopt(_MMAP_THRESHOLD, 1 << 30)
        libc.mallopt(_TRIM_THRESHOLD, (1 << 31) - 1)
    # A program that imports the package has its own garbage collector settings; only a command's
    # process is ours.
    if PROCESS.is_command:
        gc.set_threshold(_COLLECTED_AFTER)


@functools.cache
def _freeze_modules() -> None:
    """Keep the garbage collector from the objects that exist now, once in a process."""
    # TensorFlow's modules hold some hundred thousand objects that live as long as the process:
    # without this, each full collection walks over them all, 0.3 s at a time, in the middle of
    # training or of an evaluation. Once is enough: what an earlier command of the same process
    # left, such as its model, is to be freed.
    gc.freeze()


@contextlib.contextmanager
def left_out(names: Iterable[str]) -> Iterator[None]:
    """Hide packages from imports inside the block; packages that are already imported stay visible."""
    absent = [name for name in names if name not in sys.modules]
    for name in absent:
        sys.modules[name] = None  # type: ignore[assignment]  # a name with None cannot be imported
    try:
        yield
    finally:
        for name in absent:
            # Another thread may have hidden the same package and removed the name first.
            sys.modules.pop(name, None)


def _import_quietly() -> None:
    """Import TensorFlow, look for devices, and print its lines except the known noise."""
    # Within a smaller limit, TensorFlow ends the process with a segmentation fault.
    check_address_space(_ADDRESS_SPACE, "start TensorFlow")
    log = LogStream()
    log.flush()
    # TensorFlow's C++ prints there, whatever file has the number.
    reserve_descriptor(2, os.O_WRONLY)
    # The file descriptor, not sys.stderr: TensorFlow's C++ writes to it, and its log level takes
    # effect only later.
    original = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            with left_out(_KERAS_ONLY) if PROCESS.is_command else contextlib.nullcontext():
                _import()
            import tensorflow as tf

            tf.config.list_physical_devices()
        finally:
            os.dup2(original, 2)
            os.close(original)
            held.seek(0)
            for line in held.read().decode("utf-8", "replace").splitlines():
                if not _NOISE.match(line):
                    log.print(line)


def _import() -> None:
    with keras_import():
        import tensorflow  # noqa: F401

        # isort: split
        # After TensorFlow, which registers the optimizers of a Keras that is complete. It ignores
        # an error of that import, and every model needs Keras.
        import keras
    check_keras_backend(keras.config.backend())
