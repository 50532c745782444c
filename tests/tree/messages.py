"""Each stored message in tests/messages/ belongs to a test."""

import ast
from collections.abc import Iterator

from tests.house_figures import Checkout, nodes_of


def lost_messages(checkout: Checkout) -> Iterator[str]:
    """Yield the tests with stored messages that their file no longer has."""
    for path in checkout.paths("tests/messages/**/*.txt"):
        test_file = path.replace("messages/", "", 1).removesuffix(".txt") + ".py"
        if not (checkout.root / test_file).is_file():
            yield f"{path}:1: {test_file} does not exist: move the messages with the tests, or remove them"
            continue
        functions = {node.name for node in nodes_of(checkout.text(test_file)) if isinstance(node, ast.FunctionDef)}
        for number, line in enumerate(checkout.text(path).split("\n"), 1):
            if line and not line.startswith(" ") and line.partition("[")[0] not in functions:
                yield f"{path}:{number}: {test_file} has no such test: `make messages TESTS={test_file}`, or remove it"


CHECKS = (lost_messages,)
