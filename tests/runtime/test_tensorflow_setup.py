"""Import of TensorFlow: hidden packages, threads and forked children."""

import os
import subprocess
import sys

import pytest

from bert_cli.runtime import tensorflow_setup
from bert_cli.runtime.tensorflow_setup import hidden_packages
from tests.readme_blocks import ROOT


def test_a_package_is_hidden_in_the_block(tmp_path, monkeypatch):
    (tmp_path / "some_package.py").write_text("VALUE = 1\n")
    (tmp_path / "other_package.py").write_text("VALUE = 2\n")
    monkeypatch.syspath_prepend(tmp_path)
    import other_package

    with hidden_packages(["some_package", "other_package"]):
        with pytest.raises(ImportError, match="some_package"):
            import some_package
        assert sys.modules["other_package"] is other_package
    import some_package

    assert some_package.VALUE == 1
    for name in ("some_package", "other_package"):
        monkeypatch.delitem(sys.modules, name)


@pytest.mark.parametrize(
    ("is_there", "value", "expected"), [(True, None, "1"), (True, "0", "0"), (False, None, None), (False, "1", "1")]
)
def test_kernels_are_deterministic_on_a_gpu(is_there, value, expected, monkeypatch):
    monkeypatch.setattr(tensorflow_setup, "has_gpu", lambda: is_there)
    environment = {} if value is None else {"TF_DETERMINISTIC_OPS": value}
    monkeypatch.setattr(os, "environ", environment)
    tensorflow_setup._set_up_process()
    assert environment.get("TF_DETERMINISTIC_OPS") == expected


SLOW_PACKAGES = {
    "tensorflow": """
import __main__
with open("imports", "a") as file:
    file.write("tensorflow ")
__main__.is_importing.set()
assert __main__.is_forking.wait(20)
class config:
    def list_physical_devices():
        return []
""",
    "keras": """
with open("imports", "a") as file:
    file.write("keras ")
class config:
    def backend():
        return "tensorflow"
""",
}
THREADS = """
import os, threading
from bert_cli.runtime.tensorflow_setup import setup_tensorflow

is_importing, is_forking, begun = threading.Event(), threading.Event(), threading.Barrier(5)
# The last registered function is called first, so the import ends when the fork waits for it.
os.register_at_fork(before=is_forking.set)

def use(begin=lambda: None):
    begin()
    setup_tensorflow()
    import tensorflow
    os.write(1, b"imported\\n")
    assert tensorflow.config.list_physical_devices() == []

threads = [threading.Thread(target=use, args=(begun.wait,)) for _ in range(4)]
for thread in threads:
    thread.start()
begun.wait(20)
is_importing.wait(20)
if os.fork() == 0:
    threading.Timer(20, os._exit, (1,)).start()
    use()
    os._exit(0)
for thread in threads:
    thread.join()
os.wait()
"""


def test_threads_and_a_forked_child_share_one_import(tmp_path):
    """Fake packages are used because TensorFlow's import takes seconds."""
    for name, source in SLOW_PACKAGES.items():
        (tmp_path / f"{name}.py").write_text(source)
    command = [sys.executable, "-W", "ignore", "-c", THREADS]
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("imported\n" * 5, "")
    assert (tmp_path / "imports").read_text() == "tensorflow keras "
