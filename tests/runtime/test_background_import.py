"""Background imports run once in a thread, and leave failures to the code that needs a package."""

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


def test_modules_are_imported_in_another_thread(packages):
    imports = BackgroundImports(["bert_later_one", "bert_later_absent", "bert_later_two"])
    assert "bert_later_one" not in sys.modules
    thread = imports.start()
    thread.join(10)
    assert sys.modules["bert_later_one"].NAME == sys.modules["bert_later_two"].NAME == thread.name
    assert "bert_later_absent" not in sys.modules


def test_no_thread_starts_without_new_modules(packages):
    assert BackgroundImports([]).start() is None
    imports = BackgroundImports(["bert_later_one"])
    imports.start().join(10)
    assert imports.start() is None


_CHANGES = """
import os, sys, types
from bert_cli.report import page
from bert_cli.runs.tasks.classification.task import ClassificationTask
from bert_cli.runtime.background_import import BackgroundImports
from bert_cli.runtime.tensorflow_setup import setup_tensorflow
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.groups import Phases

sys.modules["tensorflow"] = types.ModuleType("tensorflow")  # a stand-in: to import it takes seconds
sys.modules["keras"] = types.ModuleType("keras")
sys.modules["keras"].config = types.SimpleNamespace(backend=lambda: "tensorflow")
setup_tensorflow()
changes = []
for name in ("putenv", "unsetenv"):
    setattr(os, name, lambda *values, before=getattr(os, name): (changes.append(values), before(*values)))
settings = ClassifySettings(phases=Phases(do_eval=True))
BackgroundImports([*ClassificationTask(settings).slow_packages, *page.slow_packages()]).start().join()
assert "sklearn.metrics" in sys.modules and "matplotlib.figure" in sys.modules
print(changes)
"""


@pytest.mark.slow
def test_the_imports_do_not_change_the_environment():
    """TensorFlow reads it in other threads without a lock, so a change could crash the process."""
    completed = subprocess.run(
        [sys.executable, "-c", _CHANGES], check=False, capture_output=True, text=True, timeout=120
    )
    assert (completed.stdout.strip(), completed.stderr) == ("[]", "")


def test_a_broken_package_is_left_to_the_code_that_needs_it(packages, tmp_path):
    (tmp_path / "bert_later_broken.py").write_text("raise TypeError('Descriptors cannot be created directly')\n")
    BackgroundImports(["bert_later_broken", "bert_later_one"]).start().join(10)
    assert "bert_later_one" in sys.modules
