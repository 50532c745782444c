"""Importing the commands, and the rooms without TensorFlow, loads no slow package."""

import json
import subprocess
import sys

from tests.house_figures import HOUSE
from tests.tree.structure import LIGHT, TENSORFLOW, layer_of

# Import each module named on standard input in a process without the slow packages, and print
# {module: slow packages that it tried to import}. Python drops a module that fails, so each module
# counts separately.
RECORDER = """
import importlib, json, sys
names, slow = json.load(sys.stdin)
asked = []
class Recorder:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in slow:
            asked.append(name)
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Recorder())
result = {}
for name in names:
    asked.clear()
    try:
        importlib.import_module(name.removesuffix(".__init__"))
    except ModuleNotFoundError:
        if not asked:
            raise
    result[name] = sorted(set(asked))
print(json.dumps(result))
"""


SLOW_TO_IMPORT = TENSORFLOW | {"pandas", "sklearn", "scipy", "matplotlib"}
LIGHT_MODULES = [name for name in HOUSE.modules if layer_of(name, HOUSE) in {*LIGHT, "commands", "package"}]


def slow_imports(names, folder):
    text = json.dumps([names, sorted(SLOW_TO_IMPORT)])
    command = [sys.executable, "-c", RECORDER]
    done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_importing_loads_nothing_slow():
    """A wrong flag must fail in under a second, so commands import TensorFlow only when they start."""
    slow_packages = slow_imports(LIGHT_MODULES, HOUSE.root)
    assert set(slow_packages) == set(LIGHT_MODULES)
    assert {module: packages for module, packages in slow_packages.items() if packages} == {}


def test_the_recorder_finds_the_module_that_imports(tmp_path):
    (tmp_path / "guilty.py").write_text("try:\n    import scipy.stats\nexcept ImportError:\n    scipy = None\n")
    (tmp_path / "innocent.py").write_text("import json\n\ndef later():\n    import pandas\n")
    (tmp_path / "by_proxy.py").write_text("import keras\n")
    slow_packages = slow_imports(["guilty", "innocent", "by_proxy"], tmp_path)
    assert slow_packages == {"guilty": ["scipy"], "innocent": [], "by_proxy": ["keras"]}
