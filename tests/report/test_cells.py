"""Pages of grids with several runs per cell, and the columns, links and numbers of comparisons."""

import json

import pytest

from bert_cli.report.cells import page_link
from bert_cli.report.components import Link, number_formatter, settings_in_one_format
from bert_cli.report.page import compare_runs, comparison_page
from bert_cli.report.run_files import read_run
from bert_cli.report.sweeps import member_folders, read_sweep
from tests.report import folders
from tests.report.reader import Reader

RATES = {"grid-learning_rate-0.001": 1e-3, "grid-learning_rate-0.0003": 3e-4}


def write_run(folder, rate, seed, accuracy, digest="aaaa"):
    folders.one_label(folder, seed, accuracy)
    for path, more in (("run.json", {"learning_rate": rate}), ("run_report.json", {"eval_data_digest": digest})):
        folders.write(folder, path, json.loads((folder / path).read_text("utf-8")) | more)
    folders.write(folder, "report.html", "<html>")
    with open(folder / "eval_results.txt", "a", encoding="utf-8") as file:
        file.write("eval_examples = 20\nglobal_step = 90\n")


def write_grid(grid, kind, is_reported=True):
    """Write a grid with two runs per cell; without `is_reported` as an earlier version, without the cells' reports."""
    prefix = {"runs": "run", "folds": "fold"}[kind]
    for cell, (name, rate) in enumerate(RATES.items()):
        members = []
        for number in (1, 2):
            member = f"{prefix}-{number}"
            seed, digest = (number, "aaaa") if kind == "runs" else (1, "ab"[number - 1])
            write_run(grid / name / member, rate, seed, 0.5 + 0.1 * cell + 0.2 * number, digest)
            members.append({"folder": member, "eval": {}})
        folders.write(grid / name, "run.json", {"command": "bert-classify", "several": kind, "config": {}})
        if is_reported:
            folders.write(grid / name, "run_report.json", {"several": {"kind": kind, "members": members}})
    cells = [{"folder": name, "learning_rate": rate, "eval": {}} for name, rate in RATES.items()]
    best = [*RATES][1] if kind == "runs" else None
    several = {"kind": "grid", "members": cells, "best": best}
    folders.write(grid, "run_report.json", {"several": several, "command_line": "bert-classify --num_runs=2"})
    folders.write(grid, "run.json", {"command": "bert-classify", "several": "grid", "config": {}})


def compared(grid):
    runs = [read_run(folder) for folder in member_folders(str(grid))]
    return compare_runs(runs, read_sweep(str(grid)), str(grid))


@pytest.mark.parametrize("kind", ["runs", "folds"])
@pytest.mark.parametrize("is_reported", [True, False])
def test_a_grid_with_several_runs_per_cell(kind, is_reported, tmp_path):
    write_grid(tmp_path / "grid", kind, is_reported)
    comparison = compared(tmp_path / "grid")
    assert comparison.warning == ""  # folds are evaluated on different data, but all cells on the same
    assert comparison.title().startswith("4 runs · ")
    assert comparison.differences == [("learning_rate", ["1e-03", "3e-04"])]
    results, runs = (card.content for card in comparison.sections()[0].cards)
    assert results.head == (
        "run",
        "learning_rate",
        "eval_accuracy",
        "eval_mcc",
        "eval_loss",
        "eval_examples",
        "training",
    )
    assert results.rows[0][1:3] == ("1e-03", "0.8000 ± 0.1414")
    assert results.rows[1][1:3] == ("3e-04", "0.9000 ± 0.1414")
    assert results.best == {1}
    member = "run-2" if kind == "runs" else "fold-2"
    name = f"grid-learning_rate-0.0003/{member}"
    assert runs.rows[3][:2] == (Link(name, f"{name}/report.html"), "1.0000")
    assert comparison.tiles()[0].value == "0.9000 ± 0.1414"
    reader = Reader(comparison_page(comparison))
    assert {f"{cell}/{member}/report.html" for cell in RATES} <= set(reader.links)
    assert "bert-classify --num_runs=2" in reader.text
    assert ("with the best run" in reader.text) == (kind == "runs")  # folds have no model


def test_cells_on_different_data_are_not_ranked(tmp_path):
    write_grid(tmp_path / "grid", "folds")
    report = tmp_path / "grid" / next(iter(RATES)) / "fold-1" / "run_report.json"
    report.write_text(report.read_text("utf-8").replace('"eval_data_digest": "a"', '"eval_data_digest": "c"'), "utf-8")
    assert "different data" in compared(tmp_path / "grid").warning


def test_an_interrupted_sweep_has_its_runs(tmp_path):
    for number in (1, 2, 10):
        write_run(tmp_path / f"run-{number}", 1e-4, number, 0.5)
    folders.write(tmp_path, "run.json", {"command": "bert-classify", "several": "runs", "config": {}})
    names = [folder.rpartition("/")[2] for folder in member_folders(str(tmp_path))]
    assert names == ["run-1", "run-2", "run-10"]


def test_links_are_relative_and_only_to_pages_that_exist(tmp_path):
    page = tmp_path / "a #1" / "report.html"
    page.parent.mkdir()
    assert page_link("a", str(page.parent), str(tmp_path)) == "a"
    page.write_text("", encoding="utf-8")
    assert page_link("a", str(page.parent), str(tmp_path)) == Link("a", "a%20%231/report.html")
    assert page_link("a", str(page.parent), str(tmp_path / "pages")) == Link("a", "../a%20%231/report.html")
    assert page_link("a", str(page.parent), "") == "a"


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([0.001, 3e-4], ["1e-03", "3e-04"]),
        ([0.1, 0.25], ["0.1", "0.25"]),
        ([1e-5, 0.0], ["1e-05", "0"]),
        ([1.0000001e-4, 1e-4], ["0.00010000001", "0.0001"]),
        ([16, 32], ["16", "32"]),
        (["linear", True], ["linear", "true"]),
    ],
)
def test_settings_in_one_row_have_one_format(values, texts):
    assert settings_in_one_format(values) == texts


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([0.5, 0.25], ["0.5000", "0.2500"]),
        ([0.0007, 0.0015], ["7.00e-04", "1.50e-03"]),
        ([0.0007, 0.9], ["0.0007", "0.9000"]),
        ([20, 20], ["20", "20"]),
        ([0.0, 1.0], ["0.0000", "1.0000"]),
    ],
)
def test_numbers_in_one_column_have_one_format(values, texts):
    assert [number_formatter(values)(value) for value in values] == texts
