"""Imports between rooms, modules without TensorFlow, and limits for files and functions.

A room is a directory in the package. Its name is the dotted path, such as runs.engine. ARROWS
contains exactly the imports between rooms that exist, in room order: a room only imports rooms
above it. So neither rooms nor files form a cycle.
"""

import ast
import functools
import json
import re
import subprocess
import sys

import pytest

from tests.house_figures import ENTRIES, HOUSE, MAX_METHODS, ROOT, imports, lines_of, nodes_of, public_methods

# Rooms that every room may import.
GROUND = {"base", "runtime", "package"}
DATA = {"problem_types", "flags", "settings", "text", "examples", "features", "records"}
DATA |= {"examples.annotations", "examples.labels", "examples.squad", "examples.table_files", "examples.token_files"}
ANSWERS = {"metrics", "outputs.answers", "outputs", "outputs.vectors"}
# Room -> rooms that it imports, except the ground; a room only imports rooms above it. model and
# training do not know text and tasks. outputs knows features (windows, positions), but never the
# model.
_ARROWS = """
base:
runtime:
tf_internals:
metrics:
problem_types: metrics
flags:
model: tf_internals
onnx: model
settings: problem_types flags
text:
examples.labels: problem_types
examples.table_files: settings
examples: problem_types settings text examples.labels examples.table_files
examples.annotations: settings text examples.labels examples.table_files examples
examples.squad: settings text examples.table_files
examples.token_files: settings examples.labels examples.table_files examples
features: problem_types text examples examples.squad
records:
corpus: settings text features records
weights.formats:
weights: tf_internals model weights.formats
heads: tf_internals problem_types model weights
training.optimizers: tf_internals model
training: tf_internals model weights.formats weights training.optimizers
outputs.answers: settings text examples examples.squad features
outputs: metrics problem_types settings text examples examples.annotations examples.squad
    examples.token_files features outputs.answers
outputs.vectors: flags features records outputs
report: metrics problem_types flags settings examples outputs
inference: tf_internals model onnx settings features weights heads training outputs
runs.run_directory: flags model weights
runs.loading: problem_types flags model settings text examples.labels features weights.formats
    weights runs.run_directory
predicting: metrics problem_types flags model settings text examples examples.squad features weights
    heads outputs.answers outputs.vectors inference runs.loading
runs.engine: flags model settings features corpus weights.formats weights heads training.optimizers
    training outputs inference runs.run_directory runs.loading
runs.preparation: problem_types settings text examples.labels examples.table_files examples
    records corpus outputs runs.loading
runs.tasks: metrics problem_types flags model settings text examples.labels examples.table_files
    examples examples.annotations examples.squad examples.token_files features records corpus
    weights heads training.optimizers outputs.answers outputs inference runs.run_directory
    runs.loading predicting runs.engine runs.preparation
runs.tasks.classification: metrics problem_types flags settings text examples.labels
    examples.table_files examples features weights heads outputs inference runs.run_directory
    runs.loading predicting runs.engine runs.tasks
runs.extraction: flags model settings text examples.table_files examples features outputs
    outputs.vectors report runs.loading predicting runs.engine
runs.callbacks: metrics settings weights training.optimizers training outputs inference runs.run_directory
runs.sweep: flags settings examples weights outputs runs.run_directory runs.loading runs.tasks
    runs.callbacks
runs: metrics flags settings text features weights training.optimizers training outputs report
    inference runs.run_directory runs.loading runs.engine runs.tasks runs.sweep runs.callbacks
exports: problem_types flags model onnx settings text examples features weights.formats weights heads
    runs.loading
api.inputs: problem_types settings examples.table_files runs.loading
api.results: problem_types flags outputs outputs.vectors report api.inputs
api: problem_types flags model settings text examples.table_files examples examples.squad
    examples.token_files features weights heads outputs.answers outputs.vectors inference
    runs.run_directory runs.loading predicting runs.tasks runs.tasks.classification runs.extraction
    runs.callbacks runs exports api.inputs api.results
serving: flags settings examples.squad features weights outputs.answers runs.loading predicting
keras: tf_internals model settings text features weights runs.loading exports api.inputs api
sklearn: problem_types api.inputs api.results api
builtin:
bert_cli:
commands: flags model settings text examples.table_files examples features corpus weights training
    outputs outputs.vectors report inference runs.run_directory runs.loading predicting
    runs.preparation runs.tasks runs.tasks.classification runs.extraction runs exports serving
package:
"""
ARROWS = {
    room: set(imported.split())
    for room, _, imported in (line.partition(":") for line in _ARROWS.replace("\n    ", " ").split("\n") if line)
}
ROOMS = [room for room in ARROWS if room not in ("commands", "package")]
LIGHT = {"base", "runtime", "onnx", "corpus", "report"} | DATA | ANSWERS
TENSORFLOW = {"tensorflow", "keras", "tf_keras", "tensorflow_text", "tensorflow_hub"}
IMPORT_IT_LATER = {"bert_cli.base.remote", "bert_cli.runtime.tensorflow_setup"}
SLOW_TO_IMPORT = TENSORFLOW | {"pandas", "sklearn", "scipy", "matplotlib"}
MAX_FILE_LINES = 300
MAX_COMMAND_LINES = 150
MAX_FUNCTION_LINES = 60
MAX_MODULES = 15
# Entry in house_figures -> number of modules that it may reach. `python -m tests.house_figures`
# prints the present numbers. Lower a limit when its number falls, and raise it only for a module
# with a new feature.
MAX_REACH = {
    "import bert_cli": 2,
    "keras.Encoder": 49,
    "text.tokenization": 13,
    "vocab.txt": 17,
    "api.Tokenizer": 33,
    "bert-tokenize": 52,
    "bert-serve": 155,
}


MODULES = HOUSE.modules
read = HOUSE.read


def layer_of(name):
    """Return the room for a dotted name in bert_cli, or None if there is no such room.

    Modules at the top are in "commands", and bert_cli itself is "package".
    """
    names = name.split(".")
    if len(names) == 1 or names[1].startswith("__"):
        return "package"
    rooms = [".".join(names[1:end]) for end in range(len(names), 1, -1)]
    room = next((room for room in rooms if room in ROOMS), None)
    is_command = f"bert_cli.{names[1]}" in MODULES and (ROOT / "bert_cli" / f"{names[1]}.py").is_file()
    return room or ("commands" if is_command else None)


def problems(check):
    """Return the problems that a check finds, by module, without modules that have no problems."""
    return {module: module_problems for module in MODULES if (module_problems := check(module, read(module)))}


def wrong_layer(module, source):
    layer = layer_of(module)
    # Commands do not import each other.
    allowed = GROUND | ARROWS.get(layer, set()) | ({layer} - {"commands"})
    if layer == "base":
        allowed -= {"runtime"}
    return [
        f"line {line}: {layer} imports {name}"
        for line, name, _ in imports(module, source)
        if name.split(".")[0] == "bert_cli" and layer_of(name) not in allowed
    ]


def test_every_arrow_is_used():
    names = {layer_of(module): set() for module in MODULES}
    for module in MODULES:
        names[layer_of(module)] |= {
            name for _, name, _ in imports(module, read(module)) if name.startswith("bert_cli.")
        }
    used = {room: {layer_of(name) for name in names[room]} for room in names}
    assert {room: sorted(arrows - used[room]) for room, arrows in ARROWS.items() if arrows - used[room]} == {}


def wrong_tensorflow(module, source):
    """Return imports of TensorFlow in a light module, such as the other engines.

    Two functions in the ground may import it: for remote paths and to set it up.
    """
    room = layer_of(module)
    if room not in LIGHT and not (room == "inference" and module != "bert_cli.inference.tensorflow"):
        return []
    return [
        f"line {line}: imports {name}"
        for line, name, inside in imports(module, source)
        if name.split(".")[0] in TENSORFLOW and not (module in IMPORT_IT_LATER and inside)
    ]


def long_functions(module, source):
    messages = []
    for node in nodes_of(source):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and lines_of(node) > MAX_FUNCTION_LINES:
            messages.append(f"line {node.lineno}: {node.name} has {lines_of(node)} lines")
    return messages


def swallowed_exceptions(module, source):
    """Return handlers that hide every exception: `except:`, `except Exception:` and suppress."""

    def everything(node):
        names = node.elts if isinstance(node, ast.Tuple) else [node]
        return any(ast.unparse(name).split(".")[-1] in ("Exception", "BaseException") for name in names if name)

    def nothing(node):
        return isinstance(node, ast.Pass | ast.Continue) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        )

    messages = []
    for node in nodes_of(source):
        if isinstance(node, ast.ExceptHandler):
            is_hiding = (node.type is None or everything(node.type)) and all(map(nothing, node.body))
        else:
            suppress = isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress")
            is_hiding = suppress and any(map(everything, node.args))
        if is_hiding:
            messages.append(f"line {node.lineno}: hides every exception")
    return messages


# Names in TensorFlow and Keras that may change in any release, although some have no leading
# underscore.
PRIVATE_MODULES = ("tensorflow.python", "tensorflow.core", "keras.src", "tensorflow.__internal__")
PRIVATE_TEXT = re.compile(r"_Mkl|_OBJECT_GRAPH|tf\.__internal__|raw_ops\.\w*(Resource|Variable)")
# Documented although they look private: methods of NamedTuple, and os._exit.
PUBLIC_UNDERSCORES = {"_replace", "_asdict", "_fields", "_exit"}


def private_api(module, source):
    """Return private names of TensorFlow and Keras outside tf_internals.

    Private names that the package defines are allowed.
    """
    if layer_of(module) == "tf_internals":
        return []
    messages = [
        f"line {line}: {name}"
        for line, name, _ in imports(module, source)
        if f"{name}.".startswith(tuple(f"{private}." for private in PRIVATE_MODULES))
    ]
    own_names = _private_names(source) | PUBLIC_UNDERSCORES
    for node in nodes_of(source):
        if isinstance(node, ast.Attribute):
            is_private = node.attr.startswith("_") and not node.attr.startswith("__")
            # Methods are inherited.
            is_own = node.attr in own_names or (
                _is_name(node.value, "self", "cls") and node.attr in all_private_names()
            )
            is_foreign = is_private and not is_own
            sets_built = node.attr == "built" and isinstance(node.ctx, ast.Store)
            if is_foreign or sets_built:
                messages.append(f"line {node.lineno}: {ast.unparse(node)}")
    texts = enumerate(source.splitlines(), start=1)
    return messages + [f"line {number}: {text.strip()}" for number, text in texts if PRIVATE_TEXT.search(text)]


def _is_name(node, *names):
    """Return whether an expression is one of the variables; ast.unparse would be slow."""
    return isinstance(node, ast.Name) and node.id in names


def _private_names(source):
    """Return names with a leading underscore that a module's classes define."""
    names = {node.name for node in nodes_of(source) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    stored = [node for node in nodes_of(source) if isinstance(getattr(node, "ctx", None), ast.Store)]
    names |= {node.attr for node in stored if isinstance(node, ast.Attribute) and _is_name(node.value, "self")}
    return {name for name in names | {node.id for node in stored if isinstance(node, ast.Name)} if name.startswith("_")}


@functools.cache
def all_private_names():
    """Return the names with a leading underscore that the package's classes define."""
    return set().union(*(_private_names(read(module)) for module in MODULES))


def traced_with_autograph(module, source):
    """Return every tf.function without autograph=False.

    The package's graphs do not branch on tensors in Python. AutoGraph costs time, and on Python
    3.13 it fails in programs that turn warnings into errors.
    """
    without = {
        node.func
        for node in nodes_of(source)
        if isinstance(node, ast.Call)
        and any(word.arg == "autograph" and ast.unparse(word.value) == "False" for word in node.keywords)
    }
    return [
        f"line {node.lineno}: tf.function without autograph=False"
        for node in nodes_of(source)
        if isinstance(node, ast.Attribute)
        and node.attr == "function"
        and _is_name(node.value, "tf")
        and node not in without
    ]


def too_long(module, source):
    longest = MAX_COMMAND_LINES if layer_of(module) == "commands" else MAX_FILE_LINES
    lines = len(source.splitlines())
    return [f"{lines} lines, at most {longest} are allowed"] if lines > longest else []


def module_counts():
    """Return the number of modules in each room."""
    counts = {}
    for path in MODULES.values():
        room = ".".join(path.parent.relative_to(ROOT / "bert_cli").parts) or "commands"
        counts[room] = counts.get(room, 0) + (not path.name.startswith("__"))
    return counts


def test_no_class_has_too_many_public_methods():
    """Inherited methods and properties count too."""
    assert {name: len(methods) for name, methods in public_methods(HOUSE).items() if len(methods) > MAX_METHODS} == {}


def test_rooms_exist_on_disk():
    """A new directory needs a place in ARROWS, and so in the picture."""
    assert set(module_counts()) - {"commands"} == set(ROOMS)
    assert [module for module in MODULES if layer_of(module) is None] == []


def test_arrows_have_no_cycle():
    order = list(ARROWS)
    assert [
        (room, imported) for room in order for imported in ARROWS[room] if order.index(imported) >= order.index(room)
    ] == []


def test_no_folder_has_too_many_modules():
    assert {room: count for room, count in module_counts().items() if count > MAX_MODULES} == {}


def test_no_files_import_each_other():
    """Imports in functions and imports only for types count too."""
    remaining = {}
    for module in MODULES:
        name = module.removesuffix(".__init__")
        imported = {dotted for _, dotted, _ in imports(module, read(module))}
        imported |= {dotted.rpartition(".")[0] for dotted in imported}
        remaining[name] = {
            target for target in imported if target != name and (target in MODULES or f"{target}.__init__" in MODULES)
        }
    while free := [name for name, needed in remaining.items() if not needed & set(remaining)]:
        for name in free:
            del remaining[name]
    assert {name: sorted(needed & set(remaining)) for name, needed in remaining.items()} == {}


@pytest.mark.parametrize("name", MAX_REACH)
def test_no_entry_reaches_too_many_modules(name):
    """Imports in functions and imports only for types count too. Packages without code do not."""
    reached = HOUSE.reach(ENTRIES[name])
    assert len(reached) <= MAX_REACH[name], sorted(reached)


@pytest.mark.parametrize(
    "check",
    [wrong_layer, wrong_tensorflow, private_api, traced_with_autograph, too_long, long_functions, swallowed_exceptions],
    ids=lambda check: check.__name__,
)
def test_every_module_passes(check):
    assert problems(check) == {}


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


LIGHT_MODULES = [name for name in MODULES if layer_of(name) in {*LIGHT, "commands", "package"}]


def slow_imports(names, folder):
    text = json.dumps([names, sorted(SLOW_TO_IMPORT)])
    command = [sys.executable, "-c", RECORDER]
    done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_importing_loads_nothing_slow():
    """A wrong flag must fail in under a second, so commands import TensorFlow only when they start."""
    slow_packages = slow_imports(LIGHT_MODULES, ROOT)
    assert set(slow_packages) == set(LIGHT_MODULES)
    assert {module: packages for module, packages in slow_packages.items() if packages} == {}


def test_the_recorder_finds_the_module_that_imports(tmp_path):
    (tmp_path / "guilty.py").write_text("try:\n    import scipy.stats\nexcept ImportError:\n    scipy = None\n")
    (tmp_path / "innocent.py").write_text("import json\n\ndef later():\n    import pandas\n")
    (tmp_path / "by_proxy.py").write_text("import keras\n")
    slow_packages = slow_imports(["guilty", "innocent", "by_proxy"], tmp_path)
    assert slow_packages == {"guilty": ["scipy"], "innocent": [], "by_proxy": ["keras"]}


@pytest.mark.parametrize(
    ("check", "module", "source"),
    [
        (wrong_layer, "bert_cli.text.a", "from bert_cli.examples import tables"),
        (wrong_layer, "bert_cli.text.a", "from bert_cli import features"),
        (wrong_layer, "bert_cli.features.a", "def f():\n    import bert_cli.records.tfrecord"),
        (wrong_layer, "bert_cli.features.a", "from ..model import config"),
        (wrong_layer, "bert_cli.features.__init__", "from ..outputs import metrics"),
        (wrong_layer, "bert_cli.features.a", "import importlib\nimportlib.import_module('bert_cli.outputs.files')"),
        (wrong_layer, "bert_cli.model.a", "from bert_cli.training.step import f"),
        (wrong_layer, "bert_cli.model.a", "from bert_cli.text.vocabulary import Vocabulary"),
        (wrong_layer, "bert_cli.training.a", "from bert_cli.features import stream"),
        (wrong_layer, "bert_cli.heads.a", "from bert_cli.features.ragged import Features"),
        (wrong_layer, "bert_cli.records.a", "from bert_cli.features.ragged import Features"),
        (wrong_layer, "bert_cli.run_squad", "from bert_cli.run_tagging import Settings"),
        (wrong_layer, "bert_cli.runs.a", "from bert_cli import leftovers"),
        (wrong_layer, "bert_cli.outputs.a", "from bert_cli.runs import session"),
        (wrong_layer, "bert_cli.outputs.a", "from bert_cli.model import config"),
        (wrong_layer, "bert_cli.outputs.a", "from bert_cli.run_squad import Settings"),
        (wrong_layer, "bert_cli.api.a", "from bert_cli.run_tagging import Settings"),
        (wrong_layer, "bert_cli.settings.a", "from bert_cli.model import config"),
        (wrong_tensorflow, "bert_cli.text.a", "def f():\n    import tensorflow as tf"),
        (wrong_tensorflow, "bert_cli.outputs.a", "from tensorflow.io import gfile"),
        (wrong_tensorflow, "bert_cli.settings.a", "import keras"),
        (wrong_tensorflow, "bert_cli.base.remote", "import tensorflow"),
        (private_api, "bert_cli.model.a", "from tensorflow.python.eager import context"),
        (private_api, "bert_cli.model.a", "def f():\n    import keras.src.layers"),
        (private_api, "bert_cli.model.a", "layer.built = True"),
        (private_api, "bert_cli.model.a", "layers = list(model._flatten_layers())"),
        (private_api, "bert_cli.model.a", "tf.raw_ops.ResourceApplyAdam(var=handle)"),
        (private_api, "bert_cli.model.a", "NAME = '_MklLayerNorm'"),
        (private_api, "bert_cli.model.a", "tf.__internal__.tracking.f()"),
        (traced_with_autograph, "bert_cli.model.a", "@tf.function\ndef f():\n    pass"),
        (traced_with_autograph, "bert_cli.model.a", "@tf.function(reduce_retracing=True)\ndef f():\n    pass"),
        (traced_with_autograph, "bert_cli.model.a", "f = tf.function(g, autograph=True)"),
        (traced_with_autograph, "bert_cli.model.a", "trace = functools.partial(tf.function)"),
        (too_long, "bert_cli.text.a", "print()\n" * 301),
        (too_long, "bert_cli.run_squad", "print()\n" * 151),
        (long_functions, "bert_cli.text.a", "def f():\n" + "    print()\n" * 61),
        (long_functions, "bert_cli.run_squad", "def run(settings):\n" + "    print()\n" * 61),
        (swallowed_exceptions, "bert_cli.text.a", "try:\n    f()\nexcept:\n    pass"),
        (swallowed_exceptions, "bert_cli.text.a", "try:\n    f()\nexcept (ValueError, Exception):\n    ..."),
        (swallowed_exceptions, "bert_cli.text.a", "with contextlib.suppress(Exception):\n    f()"),
    ],
)
def test_rules_catch(check, module, source):
    assert len(check(module, source)) == 1


@pytest.mark.parametrize(
    ("check", "module", "source"),
    [
        (wrong_layer, "bert_cli.features.a", "from bert_cli.text import tokenization\nfrom . import packing"),
        (wrong_layer, "bert_cli.features.__init__", "from .packing import pack"),
        (wrong_layer, "bert_cli.run_squad", "from bert_cli.model import encoder\nfrom bert_cli import __version__"),
        (
            wrong_layer,
            "bert_cli.model.a",
            "from bert_cli.base import files\nfrom bert_cli.base.errors import InputError",
        ),
        (wrong_layer, "bert_cli.heads.a", "from bert_cli.base.spec import INPUTS"),
        (wrong_tensorflow, "bert_cli.base.remote", "def f():\n    import tensorflow as tf"),
        (wrong_tensorflow, "bert_cli.runs.a", "import tensorflow as tf"),
        (private_api, "bert_cli.tf_internals.a", "from tensorflow.python.eager import context\nlayer.built = True"),
        (private_api, "bert_cli.model.a", "class A:\n    def _f(self):\n        return other._f()\n\nos._exit(1)"),
        (private_api, "bert_cli.model.a", "tf.raw_ops.SaveV2(prefix=prefix)\nif layer.built:\n    pass"),
        (traced_with_autograph, "bert_cli.model.a", "@tf.function(autograph=False)\ndef f():\n    pass"),
        (traced_with_autograph, "bert_cli.model.a", "f = tf.function(g, [SPEC], autograph=False)"),
        (too_long, "bert_cli.text.a", "print()\n" * 300),
        (too_long, "bert_cli.run_squad", "print()\n" * 150),
        (long_functions, "bert_cli.text.a", 'def f():\n    """A\n\n    B."""\n' + "    print()\n" * 60),
        (swallowed_exceptions, "bert_cli.text.a", "try:\n    f()\nexcept ValueError:\n    pass"),
        (swallowed_exceptions, "bert_cli.text.a", "try:\n    f()\nexcept Exception:\n    log()\n    raise"),
    ],
)
def test_rules_allow(check, module, source):
    assert check(module, source) == []
