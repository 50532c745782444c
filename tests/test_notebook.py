"""The notebooks of docs/tutorials are valid, have outputs, use names that exist, and run from top to bottom."""

import ast
import builtins
import importlib
import inspect
import os
import re

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager

from bert_cli import Classifier, FeatureExtractor, MaskFiller, Tokenizer
from bert_cli.api.results.attention import Attention
from bert_cli.flags.option import every_flag
from bert_cli.keras import Encoder
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.pretraining import PretrainSettings
from tests import notebook
from tests.readme_blocks import README

MOST_BYTES = 60_000
TRAININGS = {
    "Classifier.fit": (Classifier.fit, ClassifySettings),
    "MaskFiller.train": (MaskFiller.train, PretrainSettings),
}
OWNERS = {
    "classifier": Classifier,
    "loaded": Classifier,
    "stopped": Classifier,
    "filler": MaskFiller,
    "small": MaskFiller,
}
OWNERS |= {"tokenizer": Tokenizer, "extractor": FeatureExtractor, "attention": Attention, "encoder": Encoder}


@pytest.fixture(scope="module", params=notebook.NOTEBOOKS)
def path(request):
    return notebook.NOTEBOOKS[request.param]


@pytest.fixture(scope="module")
def stored(path):
    return nbformat.read(path, as_version=4)


@pytest.fixture(scope="module")
def code(stored):
    return code_cells(stored)


@pytest.fixture(scope="module")
def tree(code):
    """The program, with a call of get_ipython() for each magic command."""
    transform = TransformerManager().transform_cell
    return ast.parse("\n".join(transform(cell.source) for cell in code))


def code_cells(notebook_node):
    return [cell for cell in notebook_node.cells if cell.cell_type == "code"]


def output_forms(cell) -> list[tuple[str, ...]]:
    """Return the kind of each output, with the forms of its data."""
    return [(output.output_type, *sorted(output.get("data", {}))) for output in cell.outputs]


def test_the_notebook_is_valid_and_has_outputs(path, stored, code):
    """`python -m tests.notebook` stores them."""
    nbformat.validate(stored)
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert [cell.source for cell in code if not cell.outputs] == []
    assert "error" not in {form[0] for cell in code for form in output_forms(cell)}
    assert path.stat().st_size < MOST_BYTES


def test_outputs_are_the_same_for_everyone(stored, code):
    """No paths or names of a computer, no times of an execution, and no log."""
    outputs = [text for cell in code for text in notebook.text_outputs(cell)]
    assert [text for text in outputs if notebook.absolute_paths(text)] == []
    host = re.compile(rf"\b{re.escape(os.uname().nodename)}\b")
    assert [text for text in outputs if host.search(text)] == []
    assert [cell.metadata for cell in stored.cells if cell.metadata] == []
    assert [output for cell in code for output in cell.outputs if output.get("name") == "stderr"] == []


def test_names_in_the_notebook_exist(tree):
    imported: dict[str, object] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            module = importlib.import_module(node.module)
            imported |= {alias.asname or alias.name: getattr(module, alias.name) for alias in node.names}
        elif isinstance(node, ast.Import):
            imported |= {alias.asname or alias.name: importlib.import_module(alias.name) for alias in node.names}
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    stored = {node.id for node in nodes if isinstance(node.ctx, ast.Store)}
    stored |= {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    stored |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    assert {node.id for node in nodes} <= stored | set(imported) | set(dir(builtins)) | {"get_ipython"}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = OWNERS.get(node.value.id, imported.get(node.value.id))
            assert owner is None or hasattr(owner, node.attr), ast.unparse(node)


def test_arguments_in_the_notebook_exist(tree):
    calls = [(ast.unparse(node.func), node) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    trainings = [(name, node) for name, node in calls if name in TRAININGS]
    assert len(trainings) == 2
    for name, node in trainings:
        method, settings = TRAININGS[name]
        known = {flag.name for flag in every_flag(settings)} | set(inspect.signature(method).parameters)
        assert {keyword.arg for keyword in node.keywords} <= known


def test_links_lead_to_files(path, stored):
    assert f"](docs/tutorials/{path.name})" in README
    text = "".join(cell.source for cell in stored.cells if cell.cell_type == "markdown")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert "../python.md" in links
    assert [link for link in links if not (path.parent / link).exists()] == []


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_notebook_runs_from_top_to_bottom(path, stored, code, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(notebook.ROOT))
    executed = notebook.execute(stored, tmp_path)  # raises for a cell with an error
    cells = code_cells(executed)
    assert [output_forms(cell) for cell in cells] == [output_forms(cell) for cell in code]
    assert [text for cell in cells for text in notebook.text_outputs(cell) if notebook.absolute_paths(text)] == []
    if path.stem == "notebook":
        # The last cell compares predictions of the saved and the original model.
        assert notebook.text_outputs(cells[-1]) == ["True"]
