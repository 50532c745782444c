"""A public name means one thing in the whole package.

Two concepts need two names, and one concept needs one class. An import under another name would give
a class a second one.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator

from tests.house_figures import PACKAGE, Checkout


def definitions(checkout: Checkout, kind: type) -> dict[str, list[tuple[str, int]]]:
    """Return the modules and lines that define each public name outside classes and functions.

    Args:
        checkout: the checkout.
        kind: class of the definitions' syntax nodes.
    """
    places: dict[str, list[tuple[str, int]]] = defaultdict(list)
    for module in checkout.modules:
        statements = list(checkout.tree(module).body)
        for node in statements:  # the list grows in the loop
            if isinstance(node, ast.If | ast.Try):
                statements += [*node.body, *node.orelse]
            elif isinstance(node, kind) and not node.name.startswith("_"):
                places[node.name].append((module, node.lineno))
    return places


def shared_class_names(checkout: Checkout) -> Iterator[str]:
    """Yield the classes with the name of another one."""
    for name, places in definitions(checkout, ast.ClassDef).items():
        modules = sorted({module for module, _ in places})
        for module, line in places if len(modules) > 1 else ():
            others = ", ".join(checkout.path_of(other) for other in modules if other != module)
            yield f"{checkout.path_of(module)}:{line}: {name} is also a class in {others}: say what only this one is"


def renamed_classes(checkout: Checkout) -> Iterator[str]:
    """Yield the imports that give a class of the package another name."""
    classes = definitions(checkout, ast.ClassDef)
    for module in checkout.modules:
        for node in checkout.nodes(ast.ImportFrom, [module]):
            is_inside = isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PACKAGE
            for alias in node.names if isinstance(node, ast.ImportFrom) and is_inside else ():
                if alias.name in classes and alias.asname not in (None, alias.name):
                    place = f"{checkout.path_of(module)}:{node.lineno}"
                    yield f"{place}: {alias.name} is imported as {alias.asname}: use its name, or rename the class"


CHECKS = (shared_class_names, renamed_classes)
