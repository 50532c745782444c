"""One-line messages for errors in packages and in the system."""

import importlib
import os
import subprocess
import sys

import pytest

from bert_cli.base.errors import InputError, explain_failure, failed_import, is_out_of_memory
from bert_cli.flags.command import Command
from bert_cli.settings.tools import DoctorSettings
from tests.snapshots import check_message

PACKAGES = {
    # Source code of the package's __init__.py -> reason.
    'raise ImportError("libcudart.so.12: cannot open shared object file")': (
        "libcudart.so.12: cannot open shared object file"
    ),
    'raise TypeError("Descriptors cannot be created directly.\\nDowngrade protobuf.")': (
        "TypeError: Descriptors cannot be created directly."
    ),
    'import ctypes\nctypes.CDLL("libnone.so")': (
        "OSError: libnone.so: cannot open shared object file: No such file or directory"
    ),
    "import no_such_package_of_it": "No module named 'no_such_package_of_it'",
    "import traceback\ntry:\n    import no_runtime\nexcept ImportError:\n    raise ImportError(traceback.format_exc())": (
        "No module named 'no_runtime'"
    ),
    "raise RuntimeError": "RuntimeError: RuntimeError",
}


def error_of(action) -> Exception:
    try:
        action()
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize("number", range(len(PACKAGES)))
def test_a_package_that_cannot_be_imported(number, tmp_path, monkeypatch):
    source, reason = list(PACKAGES.items())[number]
    package = tmp_path / f"broken_package_{number}"
    package.mkdir()
    (package / "__init__.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    error = error_of(lambda: importlib.import_module(package.name))
    assert failed_import(error) == (package.name, reason)
    line = f"the package {package.name} cannot be imported: {reason}; bert-doctor looks at all packages"
    assert explain_failure(error, {}) == line


def test_a_package_that_is_not_installed():
    error = error_of(lambda: importlib.import_module("no_such_package.submodule"))
    assert failed_import(error) == ("no_such_package", "it is not installed")


def test_mistakes_in_the_program_are_not_explained():
    for error in (KeyError("a"), TypeError("b"), ImportError("c"), ModuleNotFoundError(name="bert_cli.none")):
        assert explain_failure(error, {"output_dir": "out"}) is None


def test_failures_to_start_threads_or_allocate_memory():
    line = explain_failure(RuntimeError("can't start new thread"), {})
    check_message(line)
    exhausted = type("ResourceExhaustedError", (Exception,), {})
    assert is_out_of_memory(MemoryError())
    assert is_out_of_memory(exhausted("OOM when allocating tensor"))
    assert not is_out_of_memory(ValueError())


@pytest.mark.parametrize(
    ("path", "values", "line"),
    [
        ("m", {"output_dir": "m"}, "m: permission denied; check --output_dir"),
        ("m", {"data_dir": "other", "output_dir": "./m/"}, "m: permission denied; check --output_dir"),
        ("m/best", {"init_checkpoint": "", "output_dir": "m"}, "m/best: permission denied; check --output_dir"),
        ("d", {"train_file": "d/train.csv"}, "d: permission denied; check --train_file"),
        ("d/s", {"input_file": "d/*/a.txt", "output_file": "o"}, "d/s: permission denied; check --input_file"),
        ("d/s", {"data_dir": "d", "dev_file": "d/s/dev.csv"}, "d/s: permission denied; check --dev_file"),
        (b"m", {}, "m: permission denied"),
        ("mm", {"output_dir": "m"}, "mm: permission denied"),
    ],
)
def test_the_message_names_the_flag_for_a_path(path, values, line):
    assert explain_failure(PermissionError(13, "Permission denied", path), values) == line


def test_system_errors_without_a_path():
    assert explain_failure(OSError(28, "No space left on device"), {"output_dir": "m"}) == "no space left on device"
    assert explain_failure(OSError("the device is gone"), {}) == "the device is gone"


def test_a_command_with_a_broken_package(tmp_path):
    (tmp_path / "onnxruntime.py").write_text('raise ImportError("GLIBC_2.99 not found")', encoding="utf-8")
    paths = os.pathsep.join([str(tmp_path), os.getcwd()])
    command = [sys.executable, "-m", "bert_cli.fill_mask", "a [MASK] ."]
    environment = os.environ | {"PYTHONPATH": paths}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == (
        "bert-fill-mask: error: the package onnxruntime cannot be imported: GLIBC_2.99 not found; "
        "bert-doctor looks at all packages"
    )
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("error", [OSError("the device is gone"), InputError("out of memory"), MemoryError("too much")])
def test_a_command_ends_its_line_with_the_notes_of_an_error(error, capsys):
    def fail(settings):
        error.add_note("in the evaluation at step 20")
        error.add_note("the same command goes on from model.ckpt-20")
        raise error

    assert Command("bert-doctor", "Doc.", DoctorSettings, fail)([]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert str(error) in line
    assert line.endswith("; in the evaluation at step 20; the same command goes on from model.ckpt-20")
