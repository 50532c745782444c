"""Imports between rooms, modules that never import TensorFlow, and the length of files, functions and directories.

A room is a directory of the package. Its name is the path with dots, such as runs.engine. ARROWS has exactly the imports
between rooms that exist, in the order of the rooms: a room imports only rooms above it. So rooms form no cycle, and
files form none either.
"""

import ast
import functools
import json
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
# What every room may use.
GROUND = {"base", "runtime", "package"}
DATA = {"problem_types", "flags", "settings", "text", "examples", "features", "records"}
DATA |= {"examples.annotations", "examples.labels", "examples.squad", "examples.table_files", "examples.token_files"}
ANSWERS = {"metrics", "outputs", "outputs.vectors"}
# Every arrow between rooms: the rooms that a room imports, without the ground. No room imports one that stands below it.
# model and training know nothing of text and tasks. outputs knows features (windows, positions), never the model.
_ARROWS = """
base:
runtime:
tf_internals:
metrics:
problem_types: metrics
flags:
model: tf_internals
onnx: model
engines: model onnx
settings: problem_types flags engines
text:
examples.labels: problem_types
examples.table_files: settings
examples: problem_types settings text examples.labels examples.table_files
examples.annotations: settings examples.table_files examples
examples.squad: settings
examples.token_files: settings examples.labels examples.table_files examples
features: problem_types settings text examples examples.squad
records:
corpus: settings text features records
weights.formats:
weights: tf_internals problem_types model weights.formats
heads: tf_internals problem_types model weights
training.optimizers: tf_internals model
training: tf_internals model weights.formats weights training.optimizers
outputs: metrics problem_types settings text examples examples.annotations examples.squad
    examples.token_files features
outputs.vectors: flags features records outputs
report: metrics problem_types flags settings examples outputs
runs.output_dir: flags model settings corpus weights
runs.loading: problem_types flags model settings text examples features weights runs.output_dir
runs.engine: tf_internals model onnx engines settings features weights heads training.optimizers
    training outputs runs.output_dir runs.loading
runs.preparation: problem_types settings text examples.labels examples.table_files examples records
    corpus outputs runs.loading
runs.tasks: metrics problem_types flags model settings text examples.labels examples.table_files
    examples examples.annotations examples.squad examples.token_files features records corpus
    weights heads training.optimizers training outputs runs.output_dir runs.loading runs.engine
    runs.preparation
runs.tasks.classification: metrics problem_types flags settings text examples.labels
    examples.table_files examples features weights heads outputs runs.output_dir runs.loading
    runs.engine runs.tasks
runs.extraction: flags model onnx engines settings text examples.table_files examples features
    weights heads outputs outputs.vectors report runs.output_dir runs.loading runs.engine
runs.sweep: flags settings examples weights outputs runs.output_dir runs.loading runs.tasks
runs.callbacks: metrics settings weights training outputs runs.output_dir runs.engine
runs: metrics flags engines settings text features weights training.optimizers training outputs
    report runs.output_dir runs.loading runs.engine runs.tasks runs.sweep runs.callbacks
exports: problem_types flags model onnx settings text examples features weights heads runs.loading
api: problem_types flags model settings text examples.table_files examples examples.squad features
    weights outputs outputs.vectors runs.loading runs.engine runs.tasks runs.tasks.classification
    runs.extraction runs
serving: settings features weights runs.loading api
keras: tf_internals model settings text features weights runs.loading exports api
builtin:
bert_cli:
commands: flags model settings text examples.table_files examples features corpus weights training
    outputs outputs.vectors report runs.output_dir runs.loading runs.preparation runs.tasks
    runs.tasks.classification runs.extraction runs exports serving
package: api
"""
ARROWS = {
    room: set(imported.split())
    for room, _, imported in (line.partition(":") for line in _ARROWS.replace("\n    ", " ").split("\n") if line)
}
ROOMS = [room for room in ARROWS if room not in ("commands", "package")]
LIGHT = {"base", "runtime", "onnx", "engines", "corpus", "report"} | DATA | ANSWERS
TENSORFLOW = {"tensorflow", "keras", "tf_keras", "tensorflow_text", "tensorflow_hub"}
IMPORT_IT_LATER = {"bert_cli.base.remote", "bert_cli.runtime.tensorflow_setup"}
SLOW_TO_IMPORT = TENSORFLOW | {"pandas", "sklearn", "scipy", "matplotlib"}
MAX_FILE_LINES = 300
MAX_COMMAND_LINES = 150
MAX_FUNCTION_LINES = 60
MAX_MODULES = 15


def dotted_name(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


MODULES = {dotted_name(path): path for path in sorted((ROOT / "bert_cli").rglob("*.py"))}


def layer_of(name):
    """Return the room of a dotted name inside bert_cli, "commands", "package" for bert_cli itself, or None."""
    parts = name.split(".")
    if len(parts) == 1 or parts[1].startswith("__"):
        return "package"
    rooms = [".".join(parts[1:end]) for end in range(len(parts), 1, -1)]
    room = next((room for room in rooms if room in ROOMS), None)
    is_command = f"bert_cli.{parts[1]}" in MODULES and (ROOT / "bert_cli" / f"{parts[1]}.py").is_file()
    return room or ("commands" if is_command else None)


def problems(check):
    """{module: what check(module, source) finds}, where it finds something."""
    return {module: found for module in MODULES if (found := check(module, read(module)))}


@functools.cache
def read(module):
    return MODULES[module].read_text(encoding="utf-8")


@functools.cache
def parsed(source):
    """The tree of a source text, which every check reads: made once."""
    return ast.parse(source)


@functools.cache
def imports(module, source):
    """(line, dotted name, inside a function) of each import; for `from a import b` the name is a.b."""
    found = []

    def visit(node, inside):
        if isinstance(node, ast.Import):
            found.extend((node.lineno, alias.name, inside) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            package = module.split(".")[: -node.level] if node.level else []
            base = ".".join(package + ([node.module] if node.module else []))
            found.extend((node.lineno, f"{base}.{alias.name}", inside) for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            found.extend((node.lineno, str(a.value), inside) for a in node.args[:1] if isinstance(a, ast.Constant))
        inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for child in ast.iter_child_nodes(node):
            visit(child, inside)

    visit(parsed(source), False)
    return found


def wrong_layer(module, source):
    layer = layer_of(module)
    # No command imports another one.
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
    """Imports of TensorFlow in a light module; two functions of the ground import it, for remote paths and to set it up."""
    if layer_of(module) not in LIGHT:
        return []
    return [
        f"line {line}: imports {name}"
        for line, name, inside in imports(module, source)
        if name.split(".")[0] in TENSORFLOW and not (module in IMPORT_IT_LATER and inside)
    ]


def long_functions(module, source):
    found = []
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = node.end_lineno - node.lineno
            if ast.get_docstring(node) is not None:
                lines -= node.body[0].end_lineno - node.body[0].lineno + 1
            if lines > MAX_FUNCTION_LINES:
                found.append(f"line {node.lineno}: {node.name} has {lines} lines")
    return found


def swallowed_exceptions(module, source):
    """`except:` or `except Exception:` that does nothing, and its other spelling, suppress(Exception)."""

    def everything(node):
        names = node.elts if isinstance(node, ast.Tuple) else [node]
        return any(ast.unparse(name).split(".")[-1] in ("Exception", "BaseException") for name in names if name)

    def nothing(node):
        return isinstance(node, ast.Pass | ast.Continue) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        )

    found = []
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.ExceptHandler):
            guilty = (node.type is None or everything(node.type)) and all(map(nothing, node.body))
        else:
            suppress = isinstance(node, ast.Call) and ast.unparse(node.func).endswith("suppress")
            guilty = suppress and any(map(everything, node.args))
        if guilty:
            found.append(f"line {node.lineno}: hides every exception")
    return found


# Names of TensorFlow and Keras that no release promises to keep, though one or two have no leading underscore.
PRIVATE_MODULES = ("tensorflow.python", "tensorflow.core", "keras.src", "tensorflow.__internal__")
PRIVATE_TEXT = re.compile(r"_Mkl|_OBJECT_GRAPH|tf\.__internal__|raw_ops\.\w*(Resource|Variable)")
# Private by their form, but documented: of a NamedTuple, and of the module os.
PUBLIC_UNDERSCORES = {"_replace", "_asdict", "_fields", "_exit"}


def private_api(module, source):
    """Private names of TensorFlow and Keras outside of tf_internals; a private name that the package defines itself is none."""
    if layer_of(module) == "tf_internals":
        return []
    found = [
        f"line {line}: {name}"
        for line, name, _ in imports(module, source)
        if f"{name}.".startswith(tuple(f"{private}." for private in PRIVATE_MODULES))
    ]
    tree = parsed(source)
    own = _private_names(tree) | PUBLIC_UNDERSCORES
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            known = own | OWN_PRIVATE if ast.unparse(node.value) in ("self", "cls") else own  # methods are inherited
            is_foreign = node.attr.startswith("_") and not node.attr.startswith("__") and node.attr not in known
            sets_built = node.attr == "built" and isinstance(node.ctx, ast.Store)
            if is_foreign or sets_built:
                found.append(f"line {node.lineno}: {ast.unparse(node)}")
    texts = enumerate(source.splitlines(), start=1)
    return found + [f"line {number}: {text.strip()}" for number, text in texts if PRIVATE_TEXT.search(text)]


def _private_names(tree):
    """Attributes with a leading underscore that a module's classes define, as methods, fields or on self."""
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    stored = [node for node in ast.walk(tree) if isinstance(getattr(node, "ctx", None), ast.Store)]
    names |= {node.attr for node in stored if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self"}
    return {name for name in names | {node.id for node in stored if isinstance(node, ast.Name)} if name.startswith("_")}


OWN_PRIVATE = set().union(*(_private_names(parsed(read(module))) for module in MODULES))


def traced_with_autograph(module, source):
    """Return each tf.function without autograph=False.

    No graph of the package branches on tensors in Python. AutoGraph costs time, and on Python 3.13 it fails in
    programs that turn warnings into errors.
    """
    tree = parsed(source)
    without = {
        node.func
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and any(word.arg == "autograph" and ast.unparse(word.value) == "False" for word in node.keywords)
    }
    return [
        f"line {node.lineno}: tf.function without autograph=False"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "tf.function" and node not in without
    ]


def too_long(module, source):
    longest = MAX_COMMAND_LINES if layer_of(module) == "commands" else MAX_FILE_LINES
    lines = len(source.splitlines())
    return [f"{lines} lines, at most {longest} are allowed"] if lines > longest else []


def folders():
    """{room: number of its modules} of every folder of the package that holds Python files."""
    found = {}
    for path in MODULES.values():
        room = ".".join(path.parent.relative_to(ROOT / "bert_cli").parts) or "commands"
        found[room] = found.get(room, 0) + (not path.name.startswith("__"))
    return found


def test_rooms_are_those_on_disk():
    """A folder or a file at the top that this test does not know has no place in the picture yet."""
    assert set(folders()) - {"commands"} == set(ROOMS)
    assert [module for module in MODULES if layer_of(module) is None] == []


def test_arrows_have_no_cycle():
    order = list(ARROWS)
    assert [(room, other) for room in order for other in ARROWS[room] if order.index(other) >= order.index(room)] == []


def test_no_folder_has_too_many_modules():
    assert {room: count for room, count in folders().items() if count > MAX_MODULES} == {}


def test_no_files_import_each_other():
    """Imports inside functions and for types alone count."""
    left = {}
    for module in MODULES:
        name = module.removesuffix(".__init__")
        own = {part for _, part, _ in imports(module, read(module))}
        own |= {part.rpartition(".")[0] for part in own}
        left[name] = {other for other in own if other != name and (other in MODULES or f"{other}.__init__" in MODULES)}
    while free := [name for name, needed in left.items() if not needed & set(left)]:
        for name in free:
            del left[name]
    assert {name: sorted(needed & set(left)) for name, needed in left.items()} == {}


@pytest.mark.parametrize(
    "check",
    [wrong_layer, wrong_tensorflow, private_api, traced_with_autograph, too_long, long_functions, swallowed_exceptions],
    ids=lambda check: check.__name__,
)
def test_every_module_keeps(check):
    assert problems(check) == {}


# Imports each module named on standard input in a process where the slow packages cannot be found, and prints
# {module: the slow packages that were asked for}. A module that fails is dropped by Python, so each stands for itself.
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


def slow_packages_asked_for(names, folder):
    given = json.dumps([names, sorted(SLOW_TO_IMPORT)])
    command = [sys.executable, "-c", RECORDER]
    done = subprocess.run(command, input=given, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_importing_loads_nothing_slow():
    """A wrong flag is answered in under a second: commands, too, import TensorFlow only when they start to work."""
    asked_for = slow_packages_asked_for(LIGHT_MODULES, ROOT)
    assert set(asked_for) == set(LIGHT_MODULES)
    assert {module: packages for module, packages in asked_for.items() if packages} == {}


def test_recorder_tells_the_guilty_module(tmp_path):
    (tmp_path / "guilty.py").write_text("try:\n    import scipy.stats\nexcept ImportError:\n    scipy = None\n")
    (tmp_path / "innocent.py").write_text("import json\n\ndef later():\n    import pandas\n")
    (tmp_path / "by_proxy.py").write_text("import keras\n")
    found = slow_packages_asked_for(["guilty", "innocent", "by_proxy"], tmp_path)
    assert found == {"guilty": ["scipy"], "innocent": [], "by_proxy": ["keras"]}


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
