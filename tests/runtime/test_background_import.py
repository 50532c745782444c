"""What is needed later is imported in a thread, once, and what is missing there is told where it is needed."""

import subprocess
import sys

import pytest

from bert_cli.runtime.background_import import BackgroundImports


@pytest.fixture
def packages(tmp_path, monkeypatch):
    for name in ("bert_later_one", "bert_later_two"):
        (tmp_path / f"{name}.py").write_text("import threading\nNAME = threading.current_thread().name\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for name in ("bert_later_one", "bert_later_two"):
        sys.modules.pop(name, None)


def test_all_that_was_put_down_is_imported_in_another_thread(packages):
    imports = BackgroundImports()
    imports.need("bert_later_one")
    imports.need("bert_later_absent", "bert_later_two")
    assert "bert_later_one" not in sys.modules
    thread = imports.start()
    thread.join(10)
    assert sys.modules["bert_later_one"].NAME == sys.modules["bert_later_two"].NAME == thread.name
    assert "bert_later_absent" not in sys.modules


def test_nothing_is_imported_twice_and_nothing_starts_for_nothing(packages):
    imports = BackgroundImports()
    assert imports.start() is None
    imports.need("bert_later_one")
    imports.start().join(10)
    assert imports.start() is None


_CHANGES = """
import os, sys, types
from bert_cli.metrics import classification
from bert_cli.report import page
from bert_cli.runtime.background_import import BACKGROUND_IMPORTS
from bert_cli.runtime.tensorflow_setup import setup_tensorflow

sys.modules["tensorflow"] = types.ModuleType("tensorflow")  # a stand-in: to import it takes seconds
sys.modules["keras"] = types.ModuleType("keras")
sys.modules["keras"].config = types.SimpleNamespace(backend=lambda: "tensorflow")
setup_tensorflow()
changes = []
for name in ("putenv", "unsetenv"):
    setattr(os, name, lambda *values, before=getattr(os, name): (changes.append(values), before(*values)))
classification.preload()
page.preload()
BACKGROUND_IMPORTS.start().join()
assert "sklearn.metrics" in sys.modules and "matplotlib.figure" in sys.modules
print(changes)
"""


def test_the_environment_stays_as_it_is():
    """TensorFlow reads it in other threads meanwhile, without a lock: a change would end the process with a signal."""
    found = subprocess.run([sys.executable, "-c", _CHANGES], check=False, capture_output=True, text=True, timeout=120)
    assert (found.stdout.strip(), found.stderr) == ("[]", "")


def test_a_broken_package_is_left_to_the_code_that_needs_it(packages, tmp_path):
    (tmp_path / "bert_later_broken.py").write_text("raise TypeError('Descriptors cannot be created directly')\n")
    imports = BackgroundImports()
    imports.need("bert_later_broken", "bert_later_one")
    imports.start().join(10)
    assert "bert_later_one" in sys.modules
