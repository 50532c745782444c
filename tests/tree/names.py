"""A public name means one thing in the whole package.

Two concepts need two names, and one concept needs one class. An import under another name would give
a class a second one.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from tests.house_figures import PACKAGE, Checkout, Function
from tests.tree.structure import layer_of

# Room -> functions that several of its modules define, because the modules are rows of one table or
# kinds of one task, and callers name the module: `squad.bootstrap_scores`.
FAMILIES = {
    "commands": {"check", "run"},  # the interface of every command
    "examples.annotations": {"is_record", "read_texts", "replace_entities"},  # rows of TOOLS, and their writers
    "features": {"format_features"},  # log lines in the original's format, per task
    "metrics": {"bootstrap_scores", "undefined_scores"},  # one per task, and one per problem type
}
LIST = "tests/tree/names.py"
Places = dict[str, list[tuple[str, int]]]


def definitions(checkout: Checkout, kinds: type | tuple[type, ...]) -> Places:
    """Return the modules and lines that define each public name outside classes and functions.

    Args:
        checkout: the checkout.
        kinds: syntax nodes that define the names.
    """
    places: Places = defaultdict(list)
    for module in checkout.modules:
        statements = list(checkout.tree(module).body)
        for node in statements:  # the list grows in the loop
            if isinstance(node, ast.If | ast.Try):
                statements += [*node.body, *node.orelse]
            elif isinstance(node, kinds):
                for name in _defined_names(node):
                    places[name].append((module, node.lineno))
    return places


def _defined_names(node: ast.stmt) -> list[str]:
    """Return the public names that a statement defines: class, function, or type alias (`Row = dict`)."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        is_variable = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "TypeVar"
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [] if is_variable else [ast.unparse(target) for target in targets]
        return [name for name in names if re.fullmatch(r"[A-Z]\w*[a-z]\w*", name)]
    return [node.name] if not node.name.startswith("_") else []


def shared_class_names(checkout: Checkout) -> Iterator[str]:
    """Yield classes and type aliases that share a name."""
    for name, places in definitions(checkout, (ast.ClassDef, ast.Assign, ast.AnnAssign)).items():
        modules = sorted({module for module, _ in places})
        for module, line in places if len(modules) > 1 else ():
            others = ", ".join(checkout.path_of(other) for other in modules if other != module)
            yield f"{checkout.path_of(module)}:{line}: {name} is also a type in {others}: say what only this one is"


def shared_function_names(checkout: Checkout) -> Iterator[str]:
    """Yield functions that share a name, unless they are a family."""
    for name, places in definitions(checkout, Function).items():
        modules = sorted({module for module, _ in places})
        rooms = {layer_of(module, checkout) or "" for module in modules}
        is_family = len(rooms) == 1 and name in FAMILIES.get(*rooms, set())
        for module, line in places if len(modules) > 1 and not is_family else ():
            others = ", ".join(checkout.path_of(other) for other in modules if other != module)
            yield f"{checkout.path_of(module)}:{line}: {name} is also a function in {others}: say what only this one does"


def small_families(checkout: Checkout) -> Iterator[str]:
    """Yield the entries in FAMILIES that fewer than two modules need."""
    functions = definitions(checkout, Function)
    for room, names in FAMILIES.items():
        for name in sorted(names):
            modules = {module for module, _ in functions[name] if layer_of(module, checkout) == room}
            if len(modules) < 2:
                yield f"{checkout.place(LIST, name)}: {room} has {len(modules)} {name}: remove the entry"


def renamed_classes(checkout: Checkout) -> Iterator[str]:
    """Yield the imports that give a class of the package another name."""
    classes = definitions(checkout, (ast.ClassDef, ast.Assign, ast.AnnAssign))
    for module in checkout.modules:
        for node in checkout.nodes(ast.ImportFrom, [module]):
            is_inside = isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE
            for alias in node.names if isinstance(node, ast.ImportFrom) and is_inside else ():
                if alias.name in classes and alias.asname not in (None, alias.name):
                    place = f"{checkout.path_of(module)}:{node.lineno}"
                    yield f"{place}: {alias.name} is imported as {alias.asname}: use its name, or rename the class"


CHECKS = (shared_class_names, renamed_classes, shared_function_names, small_families)
