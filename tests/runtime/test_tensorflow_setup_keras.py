"""Keras settings: a command ignores the user's; a program keeps all of them except the backend."""

import os
import sys
import types

import pytest

from bert_cli.base.errors import InputError
from bert_cli.runtime.process import PROCESS
from bert_cli.runtime.tensorflow_setup import check_keras_backend, keras_import
from tests.snapshots import check_message, raises

SETTINGS = {
    "KERAS_BACKEND": "jax",
    "KERAS_HOME": "settings",
    "KERAS_MAX_EPOCHS": "many",
    "KERAS_NNX_ENABLED": "true",
    "TF_USE_LEGACY_KERAS": "1",
}


@pytest.fixture
def process(monkeypatch):
    """Return a function that turns this process, without Keras, into a command or a program."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "keras"]:
        monkeypatch.delitem(sys.modules, name)
    # monkeypatch restores these variables at the end.
    for name in ("KERAS_MAX_STEPS_PER_EPOCH", *SETTINGS):
        monkeypatch.setenv(name, SETTINGS.get(name, "1"))
    return lambda is_command: monkeypatch.setattr(PROCESS, "is_command", is_command)


def test_a_command_ignores_the_settings_of_the_user(process, caplog):
    process(is_command=True)
    with keras_import():
        pass
    assert {name: os.environ.get(name) for name in SETTINGS} == {
        "KERAS_BACKEND": "tensorflow",
        "KERAS_HOME": os.devnull,
        "KERAS_MAX_EPOCHS": None,
        "KERAS_NNX_ENABLED": None,
        "TF_USE_LEGACY_KERAS": None,
    }
    assert caplog.text == ""


@pytest.mark.parametrize("backend", ["jax", "torch", "Tensorflow"])
def test_a_program_is_warned_that_another_backend_is_ignored(process, monkeypatch, caplog, backend):
    process(is_command=False)
    monkeypatch.setenv("KERAS_BACKEND", backend)
    with keras_import():
        pass
    check_message(caplog)
    assert {name: os.environ[name] for name in SETTINGS} == SETTINGS | {"KERAS_BACKEND": "tensorflow"}


@pytest.mark.parametrize("backend", ["", "tensorflow"])
def test_a_program_without_another_backend_is_not_warned(process, monkeypatch, caplog, backend):
    process(is_command=False)
    monkeypatch.setenv("KERAS_BACKEND", backend)
    with keras_import():
        pass
    assert (caplog.text, os.environ["KERAS_BACKEND"]) == ("", "tensorflow")


@pytest.mark.parametrize("backend", ["jax", "torch", "numpy"])
def test_keras_that_was_imported_with_another_backend_is_refused(backend):
    with raises(InputError, backend):
        check_keras_backend(backend)
    check_keras_backend("tensorflow")


def test_an_earlier_import_with_a_missing_backend_is_explained(process, monkeypatch):
    process(is_command=False)
    monkeypatch.setitem(sys.modules, "keras.activations", types.ModuleType("keras.activations"))
    with raises(InputError, "'jax'"), keras_import():
        raise ModuleNotFoundError("No module named 'jax'")
    assert os.environ["KERAS_BACKEND"] == "jax"


@pytest.mark.parametrize(
    "error", [ValueError("Invalid `floatx` configuration."), AttributeError("'list' object has no attribute 'get'")]
)
def test_settings_that_keras_refuses_are_reported(process, error):
    process(is_command=False)
    message = rf"Keras refuses its settings \({error.args[0]}\): correct settings/keras.json, or the variable KERAS_…"
    with pytest.raises(InputError, match=message.replace("[", r"\[")), keras_import():
        raise error


def test_a_broken_installation_keeps_its_traceback(process):
    process(is_command=False)
    with pytest.raises(ImportError, match="libcudart"), keras_import():
        raise ImportError("libcudart.so: cannot open shared object file")
