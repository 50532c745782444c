"""Import of TensorFlow and Keras, with their settings and a filter for the lines that they print."""

import contextlib
import ctypes
import functools
import gc
import logging
import os
import platform
import re
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator

from bert_cli.base.errors import InputError, first_line
from bert_cli.base.log import LOG, LogStream, print_line
from bert_cli.runtime.machine import check_address_space, has_gpu
from bert_cli.runtime.process import PROCESS, refuse_lost_tensorflow
from bert_cli.runtime.streams import reserve_descriptor

# glibc's mallopt parameters (malloc.h).
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3

# Packages that Keras imports if they are installed, for wrappers, plots and files that no command
# uses. They take a third of TensorFlow's import time. A command that needs one imports it later.
_KERAS_ONLY = ("h5py", "matplotlib", "pandas", "scipy", "sklearn")

# Environment variables that scikit-learn sets during its import. A thread imports it (see
# background_import) while TensorFlow's C++ reads the environment without a lock. This has caused a
# segmentation fault, so set them in advance.
_SCIKIT_LEARN_VARIABLES = {"KMP_DUPLICATE_LIB_OK": "True", "KMP_INIT_AT_FORK": "FALSE"}

# New objects between two garbage collections. Python's default of 700 makes it scan the objects
# from TensorFlow's import and graph tracing, which are rarely garbage: a sixth of the import time,
# a twentieth of the whole start.
_GC_THRESHOLD = 50_000

# Bytes of address space for a small training on two cores, measured with TensorFlow 2.21: it
# crashed with 2.0e9 and ran with 2.4e9.
_ADDRESS_SPACE = 2_300_000_000

# Values and variables that Keras reads during its import.
_BACKEND = "tensorflow"
_VARIABLE = "KERAS_BACKEND"
_HOME = "KERAS_HOME"
_UNUSED_BY_COMMANDS = ("TF_USE_LEGACY_KERAS", "KERAS_MAX_EPOCHS", "KERAS_MAX_STEPS_PER_EPOCH", "KERAS_NNX_ENABLED")

# Lines that TensorFlow 2.21 prints on each start without a GPU, before its log level takes effect.
_NOISE = re.compile(
    r"^(WARNING: All log messages before absl::InitializeLog|I0000 .*(cudart_stub|cuda drivers|oneDNN|cpu_feature_guard)"
    r"|E0000 .*(cuInit|cuda_platform)|I0000 .*port\.cc|To enable the following instructions|$)"
)

# The import is not thread-safe: a second thread would use partly imported modules.
_IMPORT_LOCK = threading.RLock()
# A fork waits for imports in other threads, otherwise the child would have half of TensorFlow.
os.register_at_fork(
    before=_IMPORT_LOCK.acquire, after_in_parent=_IMPORT_LOCK.release, after_in_child=_IMPORT_LOCK.release
)


def setup_tensorflow() -> None:
    """Prepare the process and import TensorFlow; call this before importing modules that need it.

    Threads may call it concurrently. It keeps the user's environment variables, except those for
    Keras (see `keras_import`).

    Raises:
        InputError: if TensorFlow cannot run in this process (see `refuse_lost_tensorflow` and
            `keras_import`).
    """
    refuse_lost_tensorflow()
    with _IMPORT_LOCK:
        _set_up_process()
        if "tensorflow" in sys.modules and "keras" in sys.modules:
            _import()  # waits if another thread is importing them
        else:
            _import_quietly()
        if PROCESS.is_command:
            _freeze_modules()


def _set_up_process() -> None:
    # If one of several processes is lost, the others log the same error in many lines before they
    # raise it.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3" if os.environ.get("TF_CONFIG") else "2")
    # The default turns oneDNN on only with AVX-512, but its products are faster with AVX2 too.
    os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "1")
    # Some kernels for GPUs add in any order, so a resumed training
    # would end with other weights than an uninterrupted one (measured
    # on an H100: by 0.02 after 100 steps; 0 with this variable).
    if has_gpu():
        os.environ.setdefault("TF_DETERMINISTIC_OPS", "1")
    for name, value in _SCIKIT_LEARN_VARIABLES.items():
        os.environ.setdefault(name, value)
    if platform.libc_ver()[0] == "glibc":
        # C libraries in Alpine or macOS have no mallopt, or use other numbers for its parameters.
        libc = ctypes.CDLL(None)
        # By default, glibc returns each freed buffer above 32 MiB to the system. Gradients for an
        # embedding table are larger, so each step would get the same pages zeroed again: half of
        # the optimizer's time, as measured.
        libc.mallopt(_MMAP_THRESHOLD, 1 << 30)
        libc.mallopt(_TRIM_THRESHOLD, (1 << 31) - 1)
    # A user's program has its own garbage-collector settings; change only a command's process.
    if PROCESS.is_command:
        gc.set_threshold(_GC_THRESHOLD)


@functools.cache
def _freeze_modules() -> None:
    """Exclude all current objects from garbage collection; only the first call has an effect."""
    # TensorFlow's modules hold hundreds of thousands of objects that live until the process ends.
    # Otherwise each full collection scans them, for 0.3 s, in the middle of training or evaluation.
    # Do it only once, so that objects from earlier commands in the process, such as a model, can be
    # freed.
    gc.freeze()


@contextlib.contextmanager
def hidden_packages(names: Iterable[str]) -> Iterator[None]:
    """Hide packages from imports in the block, unless they are already imported."""
    hidden_names = [name for name in names if name not in sys.modules]
    for name in hidden_names:
        sys.modules[name] = None  # type: ignore[assignment]  # None makes the import fail
    try:
        yield
    finally:
        for name in hidden_names:
            # Another thread may have hidden the same package and removed the name first.
            sys.modules.pop(name, None)


def _import_quietly() -> None:
    """Import TensorFlow, detect devices, and print its output without the known noise."""
    # With a smaller limit, TensorFlow ends with a segmentation fault.
    check_address_space(_ADDRESS_SPACE, "start TensorFlow")
    LogStream().flush()
    # TensorFlow's C++ writes to descriptor 2, even if it belongs to another file.
    reserve_descriptor(2, os.O_WRONLY)
    # Redirect the descriptor and not sys.stderr: C++ writes to it, before its log level takes
    # effect.
    original = os.dup(2)
    with tempfile.TemporaryFile() as captured:
        os.dup2(captured.fileno(), 2)
        try:
            with hidden_packages(_KERAS_ONLY) if PROCESS.is_command else contextlib.nullcontext():
                _import()
            import tensorflow as tf

            tf.config.list_physical_devices()
        finally:
            os.dup2(original, 2)
            os.close(original)
            captured.seek(0)
            for line in captured.read().decode("utf-8", "replace").splitlines():
                if not _NOISE.match(line):
                    print_line(logging.INFO, line)


def _import() -> None:
    with keras_import():
        import tensorflow  # noqa: F401

        # isort: split
        # Import Keras after TensorFlow, which registers Keras's optimizers and ignores an error
        # there. Every model needs Keras.
        import keras
    check_keras_backend(keras.config.backend())


@contextlib.contextmanager
def keras_import() -> Iterator[None]:
    """Choose Keras's settings for an import in the block, and explain errors that they cause.

    A command ignores all user settings. In a user's program only the backend is replaced, with a
    warning.

    Raises:
        InputError: if the program has imported Keras with another backend, or if Keras refuses the
            user's settings.
    """
    # An import with a missing backend fails, but leaves Keras's submodules imported.
    is_broken = "keras" not in sys.modules and any(name.startswith("keras.") for name in sys.modules)
    if "keras" not in sys.modules and not is_broken:
        _choose_settings()
    try:
        yield
    except (ImportError, AttributeError, ValueError) as error:
        if is_broken:
            raise _other_backend(first_line(error)) from None
        # A broken installation is not a mistake in the settings, so show its traceback.
        if PROCESS.is_command or isinstance(error, ImportError):
            raise
        path = os.path.join(os.environ.get(_HOME) or os.path.join("~", ".keras"), "keras.json")
        raise InputError(
            f"Keras refuses its settings ({first_line(error)}): correct {path}, or the variable KERAS_… in the "
            "environment that has this value"
        ) from None


def check_keras_backend(backend: str) -> None:
    """Raise InputError unless the imported Keras computes with TensorFlow."""
    if backend != _BACKEND:
        raise _other_backend(backend)


def _other_backend(backend: str) -> InputError:
    return InputError(
        f"this program imported Keras with another backend before ({backend}), and bert_cli computes with "
        f"TensorFlow: set {_VARIABLE}={_BACKEND} in the environment before the program starts"
    )


def _choose_settings() -> None:
    backend = os.environ.get(_VARIABLE, "")
    settings = {_VARIABLE: _BACKEND}
    if PROCESS.is_command:
        # This path has no keras.json; its floatx and epsilon would change numbers.
        settings[_HOME] = os.devnull
        for name in _UNUSED_BY_COMMANDS:
            os.environ.pop(name, None)
    elif backend not in ("", _BACKEND):
        effect = "bert_cli computes with TensorFlow, and so does Keras in this process"
        LOG.warning("warning: %s=%s is ignored: %s", _VARIABLE, backend, effect)
    os.environ.update(settings)
