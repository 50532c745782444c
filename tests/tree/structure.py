"""Imports between rooms, modules without TensorFlow, and limits for files and functions.

A room is a directory in the package. Its name is the dotted path, such as runs.engine. ARROWS
contains exactly the imports between rooms that exist, in room order: a room only imports rooms
above it. So neither rooms nor files form a cycle.
"""

import ast
import functools
import re
from collections.abc import Callable, Iterator

from tests.house_figures import (
    ENTRIES,
    MAX_METHODS,
    Checkout,
    capability_places,
    imports,
    lines_of,
    nodes_of,
    public_methods,
)

# Rooms that every room may import.
GROUND = {"base", "runtime", "package"}
DATA = {
    "problem_types",
    "flags",
    "settings",
    "text",
    "reading",
    "reading.columns",
    "reading.exports",
    "examples",
    "features",
    "records",
}
DATA |= {"examples.annotations", "examples.labels", "examples.squad", "examples.token_files"}
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
flags.foreign:
flags: flags.foreign
model: tf_internals
weights.formats:
sentence: weights.formats
onnx: model sentence
settings: problem_types flags model
text:
reading.exports:
reading: settings reading.exports
reading.columns: settings reading reading.exports
examples.labels: problem_types reading reading.columns
examples: problem_types settings text reading reading.columns reading.exports examples.labels
examples.annotations: settings text reading reading.columns reading.exports examples
examples.squad: settings text reading reading.columns reading.exports
examples.token_files: settings reading reading.columns examples.labels examples
features: problem_types text examples examples.squad
records:
corpus: settings text reading examples features records
weights: tf_internals model weights.formats
heads: tf_internals problem_types model sentence weights
training.optimizers: tf_internals model
training: tf_internals model weights.formats weights training.optimizers
outputs.answers: settings text examples examples.squad features
outputs: metrics problem_types settings text examples examples.annotations examples.squad
    examples.token_files features outputs.answers
outputs.vectors: flags features records outputs
report: metrics problem_types flags settings examples outputs
inference: tf_internals model onnx settings features weights heads training outputs
run_directory: flags model weights
opening: problem_types flags model settings text examples.labels features weights.formats weights
    run_directory
predicting: metrics problem_types flags model settings text examples examples.squad features
    sentence weights heads outputs.answers outputs.vectors inference opening
runs.engine: problem_types flags model settings features weights.formats weights heads training.optimizers
    training outputs inference run_directory opening
runs.preparation: problem_types settings text reading reading.columns examples.labels examples records corpus
    outputs opening
runs.tasks: metrics problem_types flags model settings text reading reading.columns examples.labels examples
    examples.annotations examples.squad examples.token_files features records corpus weights heads
    training.optimizers outputs.answers outputs inference run_directory opening predicting
    runs.engine runs.preparation
runs.tasks.classification: metrics problem_types flags settings text reading reading.columns
    examples.labels
    examples features weights heads outputs inference run_directory opening predicting runs.engine
    runs.tasks
runs.tasks.vectors: metrics problem_types model settings reading reading.columns examples features
    weights heads sentence inference run_directory opening outputs predicting runs.engine runs.tasks
runs.extraction: flags model settings text reading examples features inference outputs outputs.vectors report
    opening predicting runs.engine
runs.callbacks: metrics settings weights training.optimizers training outputs inference
    run_directory
runs.sweep: flags settings weights outputs run_directory opening runs.tasks runs.callbacks
runs: metrics flags settings text features weights training.optimizers training outputs report
    inference run_directory opening runs.engine runs.tasks runs.callbacks runs.sweep
exports: metrics problem_types flags model onnx settings text reading features weights.formats sentence
    weights heads opening predicting
exports.signatures: metrics model onnx settings text features sentence weights heads exports
api.inputs: problem_types flags model settings text reading reading.exports examples examples.squad
    examples.token_files corpus weights opening runs.preparation runs.tasks
api.results: metrics problem_types flags text outputs outputs.vectors report api.inputs
api: metrics problem_types flags.foreign flags model settings text reading examples examples.squad examples.token_files
    corpus outputs report features sentence weights outputs.answers outputs.vectors inference run_directory opening
    predicting runs.tasks runs.tasks.classification runs.tasks.vectors runs.extraction runs.callbacks runs exports
    api.inputs api.results
serving: problem_types flags settings text examples.squad features sentence weights outputs.answers opening
    predicting
serving.http: settings features serving
keras: flags tf_internals model settings text features weights training.optimizers opening exports api.inputs
sklearn: problem_types features api.inputs api.results api
builtin:
bert_cli:
commands: flags model settings text reading reading.columns examples features corpus sentence weights training
    outputs outputs.vectors report run_directory opening predicting runs.preparation
    runs.tasks runs.tasks.classification runs.tasks.vectors runs.extraction runs exports exports.signatures serving serving.http
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
MAX_FILE_LINES = 400
MAX_COMMAND_LINES = 150
MAX_FUNCTION_LINES = 60
MAX_MODULES = 15
MAX_COMMANDS = 16
TABLE = "tests/tree/structure.py"
# Entry in house_figures -> number of modules that it may reach. `python -m tests.house_figures`
# prints the present numbers. Lower a limit when its number falls, and raise it only for a module
# with a new feature.
MAX_REACH = {
    "import bert_cli": 2,
    "keras.Encoder": 58,
    "text.tokenization": 15,
    "vocab.txt": 18,
    "api.Tokenizer": 47,
    "bert-tokenize": 68,
    "bert-serve": 215,
    "bert-classify": 315,
    "api.Classifier": 345,
}

# Places outside problem_types/ that ask for a problem type's kind. Lower it with each one less.
MAX_QUESTIONS = 18

# (line, message) per problem
Found = list[tuple[int, str]]


def layer_of(name: str, checkout: Checkout) -> str | None:
    """Return the room for a dotted name in bert_cli, or None if there is no such room.

    Modules at the top are in "commands", and bert_cli itself is "package".
    """
    names = name.split(".")
    if len(names) == 1 or names[1].startswith("__"):
        return "package"
    rooms = [".".join(names[1:end]) for end in range(len(names), 1, -1)]
    room = next((room for room in rooms if room in ROOMS), None)
    return room or ("commands" if f"bert_cli.{names[1]}" in checkout.modules else None)


def wrong_layer(module: str, checkout: Checkout) -> Found:
    """Return imports that are no arrow: of rooms below, or of other commands."""
    layer = layer_of(module, checkout)
    # Commands do not import each other.
    allowed = GROUND | ARROWS.get(layer or "", set()) | ({layer} - {"commands"})
    if layer == "base":
        allowed -= {"runtime"}
    return [
        (line, f"{layer} imports {name}: move the code to a room above, or add the arrow to _ARROWS in {TABLE}")
        for line, name, _ in imports(module, checkout.read(module))
        if name.split(".")[0] == "bert_cli" and layer_of(name, checkout) not in allowed
    ]


def unused_arrows(checkout: Checkout) -> Iterator[str]:
    """Yield the arrows that no import needs."""
    used: dict[str | None, set[str | None]] = {}
    for module in checkout.modules:
        names = {name for _, name, _ in imports(module, checkout.read(module)) if name.startswith("bert_cli.")}
        used.setdefault(layer_of(module, checkout), set()).update(layer_of(name, checkout) for name in names)
    for room, arrows in ARROWS.items():
        for imported in sorted(arrows - used.get(room, set())):
            yield f"{checkout.place(TABLE, f'{room}:')}: {room} does not import {imported}: remove the arrow"


def wrong_tensorflow(module: str, checkout: Checkout) -> Found:
    """Return imports of TensorFlow in a light module, such as the other engines.

    Two functions in the ground may import it: for remote paths and to set it up.
    """
    room = layer_of(module, checkout)
    if room not in LIGHT and not (room == "inference" and module != "bert_cli.inference.tensorflow"):
        return []
    return [
        (line, f"{room} imports {name}, but imports no TensorFlow: move the code to another room")
        for line, name, inside in imports(module, checkout.read(module))
        if name.split(".")[0] in TENSORFLOW and not (module in IMPORT_IT_LATER and inside)
    ]


def long_functions(module: str, checkout: Checkout) -> Found:
    """Return the functions with too many lines, without counting docstrings."""
    functions = checkout.functions([module])
    return [
        (node.lineno, f"{node.name} has {lines_of(node)} lines, more than {MAX_FUNCTION_LINES}: split it")
        for node in functions
        if lines_of(node) > MAX_FUNCTION_LINES
    ]


def swallowed_exceptions(module: str, checkout: Checkout) -> Found:
    """Return handlers that hide every exception: `except:`, `except Exception:` and suppress."""

    def everything(node: ast.expr) -> bool:
        names = node.elts if isinstance(node, ast.Tuple) else [node]
        return any(ast.unparse(name).split(".")[-1] in ("Exception", "BaseException") for name in names if name)

    def nothing(node: ast.stmt) -> bool:
        return isinstance(node, ast.Pass | ast.Continue) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        )

    lines = []
    for node in checkout.nodes((ast.ExceptHandler, ast.Call), [module]):
        if isinstance(node, ast.ExceptHandler):
            is_hiding = (node.type is None or everything(node.type)) and all(map(nothing, node.body))
        else:
            is_hiding = ast.unparse(node.func).endswith("suppress") and any(map(everything, node.args))
        if is_hiding:
            lines.append(node.lineno)
    return [(line, "this hides every exception: name those that it expects") for line in lines]


# Names in TensorFlow and Keras that may change in any release, although some have no leading
# underscore.
PRIVATE_MODULES = ("tensorflow.python", "tensorflow.core", "keras.src", "tensorflow.__internal__")
PRIVATE_TEXT = re.compile(r"_Mkl|_OBJECT_GRAPH|tf\.__internal__|raw_ops\.\w*(Resource|Variable)")
# Documented although they look private: methods of NamedTuple, and os._exit.
PUBLIC_UNDERSCORES = {"_replace", "_asdict", "_fields", "_exit"}


def private_api(module: str, checkout: Checkout) -> Found:
    """Return private names of TensorFlow and Keras outside tf_internals.

    Private names that the package defines are allowed.
    """
    if layer_of(module, checkout) == "tf_internals":
        return []
    source = checkout.read(module)
    names = [
        (line, name)
        for line, name, _ in imports(module, source)
        if f"{name}.".startswith(tuple(f"{private}." for private in PRIVATE_MODULES))
    ]
    own_names = _private_names(source) | PUBLIC_UNDERSCORES
    for node in checkout.nodes(ast.Attribute, [module]):
        is_private = node.attr.startswith("_") and not node.attr.startswith("__")
        # Methods are inherited.
        is_own = node.attr in own_names or (
            _is_name(node.value, "self", "cls") and node.attr in _all_private_names(checkout)
        )
        sets_built = node.attr == "built" and isinstance(node.ctx, ast.Store)
        if (is_private and not is_own) or sets_built:
            names.append((node.lineno, ast.unparse(node)))
    texts = enumerate(source.splitlines(), start=1)
    names += [(number, text.strip()) for number, text in texts if PRIVATE_TEXT.search(text)]
    return [(line, f"{name} is private: use it in a function of tf_internals/ only") for line, name in names]


def _is_name(node: ast.expr, *names: str) -> bool:
    """Return whether an expression is one of the variables; ast.unparse would be slow."""
    return isinstance(node, ast.Name) and node.id in names


def _private_names(source: str) -> set[str]:
    """Return names with a leading underscore that a module's classes define."""
    names = {node.name for node in nodes_of(source) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    stored = [node for node in nodes_of(source) if isinstance(getattr(node, "ctx", None), ast.Store)]
    names |= {node.attr for node in stored if isinstance(node, ast.Attribute) and _is_name(node.value, "self")}
    return {name for name in names | {node.id for node in stored if isinstance(node, ast.Name)} if name.startswith("_")}


@functools.cache
def _all_private_names(checkout: Checkout) -> set[str]:
    """Return the names with a leading underscore that the package's classes define."""
    return set().union(*(_private_names(checkout.read(module)) for module in checkout.modules))


def traced_with_autograph(module: str, checkout: Checkout) -> Found:
    """Return every tf.function without autograph=False.

    The package's graphs do not branch on tensors in Python. AutoGraph costs time, and on Python
    3.13 it fails in programs that turn warnings into errors.
    """
    without = {
        node.func
        for node in checkout.nodes(ast.Call, [module])
        if any(word.arg == "autograph" and ast.unparse(word.value) == "False" for word in node.keywords)
    }
    return [
        (node.lineno, "tf.function without autograph=False: add it")
        for node in checkout.nodes(ast.Attribute, [module])
        if node.attr == "function" and _is_name(node.value, "tf") and node not in without
    ]


def too_long(module: str, checkout: Checkout) -> Found:
    """Return the module if it has too many lines."""
    longest = MAX_COMMAND_LINES if layer_of(module, checkout) == "commands" else MAX_FILE_LINES
    lines = checkout.lines([module])
    return [(longest + 1, f"{lines} lines, more than {longest}: split the module")] if lines > longest else []


MODULE_CHECKS: tuple[Callable[[str, Checkout], Found], ...] = (
    wrong_layer, wrong_tensorflow, private_api, traced_with_autograph, too_long, long_functions, swallowed_exceptions,
)  # fmt: skip


def faulty_modules(checkout: Checkout) -> Iterator[str]:
    """Yield the problems that MODULE_CHECKS find."""
    for module in checkout.modules:
        for check in MODULE_CHECKS:
            for line, message in check(module, checkout):
                yield f"{checkout.path_of(module)}:{line}: {message}"


def module_counts(checkout: Checkout) -> dict[str, int]:
    """Return the number of modules in each room."""
    counts: dict[str, int] = {}
    for path in checkout.modules.values():
        room = ".".join(path.parent.relative_to(checkout.root / "bert_cli").parts) or "commands"
        counts[room] = counts.get(room, 0) + (not path.name.startswith("__"))
    return counts


def large_classes(checkout: Checkout) -> Iterator[str]:
    """Yield classes with too many public methods; inherited methods and properties count too."""
    for name, methods in public_methods(checkout).items():
        if len(methods) > MAX_METHODS:
            module, _, class_name = name.rpartition(".")
            place = checkout.place(checkout.path_of(module), f"class {class_name}")
            yield f"{place}: {class_name} has {len(methods)} public methods, more than {MAX_METHODS}: split it"


def wrong_rooms(checkout: Checkout) -> Iterator[str]:
    """Yield directories without a row in ARROWS, rows without a directory, and rooms with too many modules.

    A new directory needs a place in ARROWS, and so in the picture.
    """
    counts = module_counts(checkout)
    for room in sorted(set(counts) - {"commands"} - set(ROOMS)):
        yield f"bert_cli/{room.replace('.', '/')}/__init__.py:1: a room without a row: add it to _ARROWS in {TABLE}"
    for room in ROOMS:
        if room not in counts:
            yield f"{checkout.place(TABLE, f'{room}:')}: there is no directory for {room}: remove the row"
    for room, count in counts.items():
        most = MAX_COMMANDS if room == "commands" else MAX_MODULES
        if count > most:
            path = f"bert_cli/{'' if room == 'commands' else room.replace('.', '/') + '/'}__init__.py"
            yield f"{path}:1: {room} has {count} modules, more than {most}: split the room"


def cycles_of_arrows(checkout: Checkout) -> Iterator[str]:
    """Yield arrows to a room that is not above."""
    order = list(ARROWS)
    for room in order:
        for imported in sorted(ARROWS[room]):
            if imported not in order or order.index(imported) >= order.index(room):
                yield f"{checkout.place(TABLE, f'{room}:')}: {imported} is not above {room}: remove the arrow"


def cycles_of_files(checkout: Checkout) -> Iterator[str]:
    """Yield modules that import each other; imports in functions and only for types count too."""
    remaining = {}
    for module in checkout.modules:
        name = module.removesuffix(".__init__")
        imported = {dotted for _, dotted, _ in imports(module, checkout.read(module))}
        imported |= {dotted.rpartition(".")[0] for dotted in imported}
        remaining[name] = {
            target
            for target in imported
            if target != name and (target in checkout.modules or f"{target}.__init__" in checkout.modules)
        }
    while free := [name for name, needed in remaining.items() if not needed & set(remaining)]:
        for name in free:
            del remaining[name]
    for name, needed in remaining.items():
        path = checkout.path_of(name if name in checkout.modules else f"{name}.__init__")
        yield f"{path}:1: a cycle through {', '.join(sorted(needed & set(remaining)))}: move the shared code"


def far_reaches(checkout: Checkout) -> Iterator[str]:
    """Yield entries that reach too many modules.

    Imports in functions and imports only for types count too. Packages without code do not.
    """
    for name, limit in MAX_REACH.items():
        if ENTRIES[name] in checkout.modules and len(reached := checkout.reach(ENTRIES[name])) > limit:
            yield f"{checkout.path_of(ENTRIES[name])}:1: {name} reaches {len(reached)} modules, more than {limit}: import fewer"


def kind_questions(checkout: Checkout) -> Iterator[str]:
    """Yield the places where code asks for a problem type's kind, if there are too many."""
    places = capability_places(checkout)
    if len(places) > MAX_QUESTIONS:
        for place, question in places:
            yield f"{place}: {question} asks for a problem type's kind: give the type a method or a part"


CHECKS = (
    faulty_modules, unused_arrows, cycles_of_arrows, cycles_of_files, wrong_rooms, large_classes, far_reaches,
    kind_questions,
)  # fmt: skip
