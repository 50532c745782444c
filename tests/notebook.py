"""The notebooks of docs/tutorials, executed in a kernel of this Python.

`python -m tests.notebook lecture` executes one in place and stores its outputs.
"""

import copy
import pathlib
import re
import shutil
import sys
import tempfile

import nbformat
from nbconvert.preprocessors import ExecutePreprocessor

ROOT = pathlib.Path(__file__).resolve().parents[1]
NOTEBOOKS = {name: ROOT / "docs" / "tutorials" / f"{name}.ipynb" for name in ("notebook", "lecture")}
DATA = ("reviews.csv", "pretraining/corpus.txt")
_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def execute(notebook: nbformat.NotebookNode, folder: pathlib.Path) -> nbformat.NotebookNode:
    """Return an executed copy of a notebook, without times and identifiers of this execution.

    Args:
        notebook: the notebook.
        folder: an empty directory, which gets the notebook's data in a clone's layout.
    """
    for name in DATA:
        (folder / "data" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "data" / name, folder / "data" / name)
    working_directory = folder / "docs" / "tutorials"
    working_directory.mkdir(parents=True)
    executed = copy.deepcopy(notebook)
    processor = ExecutePreprocessor(timeout=600, kernel_name=_KERNEL["name"])
    processor.preprocess(executed, {"metadata": {"path": str(working_directory)}})
    executed.metadata = nbformat.from_dict({"kernelspec": _KERNEL, "language_info": {"name": "python"}})
    for cell in executed.cells:
        cell.metadata = nbformat.from_dict({})
    return executed


def text_outputs(cell: nbformat.NotebookNode) -> list[str]:
    """Return the texts in a code cell's outputs: streams, and each form of each result."""
    texts = [output.text for output in cell.outputs if output.output_type == "stream"]
    return texts + [text for output in cell.outputs for text in output.get("data", {}).values()]


def absolute_paths(text: str) -> list[str]:
    """Return the absolute paths in an output."""
    return re.findall(r"(?<![\w.<)/])/\w+/[^\s<]*", text)


if __name__ == "__main__":
    for name in sys.argv[1:] or NOTEBOOKS:
        with tempfile.TemporaryDirectory() as temporary:
            result = execute(nbformat.read(NOTEBOOKS[name], as_version=4), pathlib.Path(temporary))
        nbformat.write(result, NOTEBOOKS[name])
        print(f"wrote {NOTEBOOKS[name]}")
