"""Settings that Keras reads during its import: environment variables and keras.json."""

import contextlib
import os
import sys
from collections.abc import Iterator

from bert_cli.base.errors import InputError, first_line
from bert_cli.base.log import LOG
from bert_cli.runtime.process import PROCESS

_BACKEND = "tensorflow"
_VARIABLE = "KERAS_BACKEND"
_HOME = "KERAS_HOME"
_UNUSED_BY_COMMANDS = ("TF_USE_LEGACY_KERAS", "KERAS_MAX_EPOCHS", "KERAS_MAX_STEPS_PER_EPOCH", "KERAS_NNX_ENABLED")


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
