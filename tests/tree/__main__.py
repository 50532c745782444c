"""Facts about the tree, as part of `make lint`: `python -m tests.tree` prints every problem.

A line names file, line, problem and remedy. The exit code is 1 if there are problems. Nothing here
imports TensorFlow. The tests in tests/tree/ show on small trees that each check finds its problems.
"""

import gc
import pathlib
import sys
from collections.abc import Callable, Iterable

from tests.house_figures import HOUSE, Checkout
from tests.tree import build, deploy, messages, mirror, names, pages, prose, requirements, structure, words

Check = Callable[[Checkout], Iterable[str]]
CHECKS: tuple[Check, ...] = tuple(
    check
    for module in (structure, mirror, names, messages, prose, words, pages, build, requirements, deploy)
    for check in module.CHECKS
)


def problems(checkout: Checkout) -> list[str]:
    """Return the problems in a checkout, as "path:line: problem: remedy"."""
    return [problem for check in CHECKS for problem in check(checkout)]


def main(arguments: list[str]) -> int:
    """Print the problems in this checkout, or in another one, and return the exit code."""
    gc.disable()  # the syntax trees live as long as the process
    checkout = Checkout(pathlib.Path(arguments[0]).resolve()) if arguments else HOUSE
    lines = problems(checkout)
    print("\n".join(lines or [f"{len(CHECKS)} checks of the tree passed"]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
