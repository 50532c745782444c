"""Substitute that a script of the package's own folder imports in place of the package.

`python bert_cli/run_classifier.py` puts that folder first on sys.path. Our keras/ and onnx/ would
then hide the libraries of these names, and `import bert_cli` would find no package.
"""

import importlib
import os
import sys

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _import_package() -> None:
    """Replace this module by the package, and take the package's folder off sys.path."""
    parent = os.path.dirname(_PACKAGE)
    is_listed = parent in sys.path
    sys.path[:] = [parent, *(path for path in sys.path if os.path.realpath(path) != os.path.realpath(_PACKAGE))]
    del sys.modules[__name__]
    importlib.import_module(__name__)
    if is_listed:
        # At its end of the list again: nothing else there may hide other packages.
        sys.path.remove(parent)


# Not when a program imports all modules of the package, this one among them.
if __name__ == os.path.basename(_PACKAGE):
    _import_package()
