"""A public name means one thing in the whole package.

Two concepts need two names, and one concept needs one class. An import under another name would give
a class a second one.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator

from tests.house_figures import PACKAGE, Checkout

Places = dict[str, list[tuple[str, int]]]


def definitions(checkout: Checkout, kinds: type | tuple[type, ...]) -> Places:
    """Return the modules and lines that define each public name outside classes and functions.

    Args:
        checkout: the checkout.
        kinds: classes of the definitions' syntax nodes.
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
    """Return the public name of a class or function, or the names of type aliases, such as `Row = dict`."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        is_variable = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "TypeVar"
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [] if is_variable else [ast.unparse(target) for target in targets]
        return [name for name in names if re.fullmatch(r"[A-Z]\w*[a-z]\w*", name)]
    return [node.name] if not node.name.startswith("_") else []


def shared_class_names(checkout: Checkout) -> Iterator[str]:
    """Yield the classes and type aliases with the name of another one."""
    for name, places in definitions(checkout, (ast.ClassDef, ast.Assign, ast.AnnAssign)).items():
        modules = sorted({module for module, _ in places})
        for module, line in places if len(modules) > 1 else ():
            others = ", ".join(checkout.path_of(other) for other in modules if other != module)
            yield f"{checkout.path_of(module)}:{line}: {name} is also a type in {others}: say what only this one is"


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


CHECKS = (shared_class_names, renamed_classes)
