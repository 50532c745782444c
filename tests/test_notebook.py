"""The notebook of docs/tutorials is valid, has outputs, uses names that exist, and runs from top to bottom."""

import ast
import builtins
import importlib
import inspect
import os
import re

import nbformat
import pytest

from bert_cli import Classifier
from bert_cli.flags.option import every_flag
from bert_cli.settings.classification import ClassifySettings
from tests import notebook
from tests.readme_blocks import README

STORED = nbformat.read(notebook.NOTEBOOK, as_version=4)
CODE = [cell for cell in STORED.cells if cell.cell_type == "code"]
TREE = ast.parse("\n".join(cell.source for cell in CODE))
MOST_BYTES = 60_000


def output_forms(cell) -> list[tuple[str, ...]]:
    """Return the kind of each output, with the forms of its data."""
    return [(output.output_type, *sorted(output.get("data", {}))) for output in cell.outputs]


def test_the_notebook_is_valid_and_has_outputs():
    """`python -m tests.notebook` stores them."""
    nbformat.validate(STORED)
    assert [cell.execution_count for cell in CODE] == list(range(1, len(CODE) + 1))
    assert [cell.source for cell in CODE if not cell.outputs] == []
    assert "error" not in {form[0] for cell in CODE for form in output_forms(cell)}
    assert notebook.NOTEBOOK.stat().st_size < MOST_BYTES


def test_outputs_are_the_same_for_everyone():
    """No paths or names of a computer, no times of an execution, and no log."""
    outputs = [text for cell in CODE for text in notebook.text_outputs(cell)]
    assert any("<progress" in text for text in outputs)
    assert [text for text in outputs if notebook.absolute_paths(text)] == []
    host = re.compile(rf"\b{re.escape(os.uname().nodename)}\b")
    assert [text for text in outputs if host.search(text)] == []
    assert [cell.metadata for cell in STORED.cells if cell.metadata] == []
    assert [output for cell in CODE for output in cell.outputs if output.get("name") == "stderr"] == []


def test_names_in_the_notebook_exist():
    imported: dict[str, object] = {}
    for node in ast.walk(TREE):
        if isinstance(node, ast.ImportFrom):
            module = importlib.import_module(node.module)
            imported |= {alias.asname or alias.name: getattr(module, alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            imported |= {alias.asname or alias.name: importlib.import_module(alias.name) for alias in node.names}
    nodes = [node for node in ast.walk(TREE) if isinstance(node, ast.Name)]
    stored = {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
    stored |= {node.name for node in ast.walk(TREE) if isinstance(node, ast.ClassDef)}
    stored |= {node.arg for node in ast.walk(TREE) if isinstance(node, ast.arg)}
    assert {node.id for node in nodes} <= stored | set(imported) | set(dir(builtins))
    for node in ast.walk(TREE):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = Classifier if node.value.id in ("classifier", "loaded", "stopped") else imported.get(node.value.id)
            assert owner is None or hasattr(owner, node.attr), ast.unparse(node)


def test_arguments_in_the_notebook_exist():
    flags = {flag.name for flag in every_flag(ClassifySettings)} | set(inspect.signature(Classifier.fit).parameters)
    calls = [
        node for node in ast.walk(TREE) if isinstance(node, ast.Call) and ast.unparse(node.func) == "Classifier.fit"
    ]
    assert len(calls) == 2
    assert {keyword.arg for call in calls for keyword in call.keywords} <= flags


def test_links_lead_to_files():
    assert "](docs/tutorials/notebook.ipynb)" in README
    assert "](../python.md)" in "".join(cell.source for cell in STORED.cells)
    assert (notebook.NOTEBOOK.parent / "../python.md").exists()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_notebook_runs_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(notebook.ROOT))
    executed = notebook.execute(STORED, tmp_path)  # raises for a cell with an error
    cells = [cell for cell in executed.cells if cell.cell_type == "code"]
    assert [output_forms(cell) for cell in cells] == [output_forms(cell) for cell in CODE]
    assert [text for cell in cells for text in notebook.text_outputs(cell) if notebook.absolute_paths(text)] == []
    # The last cell compares predictions of the saved and the original model.
    assert notebook.text_outputs(cells[-1]) == ["True"]
