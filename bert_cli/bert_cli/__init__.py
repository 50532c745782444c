"""Substitute for the package, imported when a script in the package's directory is run directly.

`python bert_cli/run_classifier.py` puts this directory first on sys.path. bert_cli's
keras/ and onnx/ would then hide the libraries with these names, and `import bert_cli`
would not find the package.
"""

import importlib
import os
import sys

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def _import_package() -> None:
    """Replace this module by the package, and remove the package's directory from sys.path."""
    parent = os.path.dirname(_PACKAGE)
    is_listed = parent in sys.path
    sys.path[:] = [parent, *(path for path in sys.path if os.path.realpath(path) != os.path.realpath(_PACKAGE))]
    del sys.modules[__name__]
    importlib.import_module(__name__)
    if is_listed:
        # Keep only the original entry: at the front, `parent` could hide other packages.
        sys.path.remove(parent)


# Skip this if a program imports all modules in the package, including this one.
if __name__ == os.path.basename(_PACKAGE):
    _import_package()
