"""Pages of several runs: which have a mean, which a best run, and what is not compared."""

import json

import pytest

from bert_cli.base.errors import InputError
from bert_cli.report.page import compare, comparison_page, is_our_page, write_page
from bert_cli.report.run_files import read_run
from bert_cli.report.sweeps import read_sweep
from tests.report import folders
from tests.report.reader import Reader


def test_several_runs_side_by_side(tmp_path):
    made = [
        folders.one_label(tmp_path / name, seed, accuracy) for name, seed, accuracy in (("a", 1, 0.5), ("b", 2, 0.7))
    ]
    page = comparison_page(compare([read_run(str(folder)) for folder in made]))
    found = Reader(page)
    assert {"card-compared", "card-loss", "card-metric", "card-differences"} <= set(found.ids)
    assert "accuracy 0.6000 ± 0.1414" in found.text
    assert "mean ± sd of 2 seeds" in found.text
    assert "random_seed" in found.text
    assert "learning_rate" not in found.text  # it is the same
    write_page(str(tmp_path / "page.html"), page)
    assert is_our_page(str(tmp_path / "page.html"))
    (tmp_path / "other.html").write_text("<html>", encoding="utf-8")
    assert not is_our_page(str(tmp_path / "other.html"))


def _two_runs(tmp_path, first=None, second=None, settings=({}, {})):
    """Two runs of one command; first, second: what their run_report.json says besides; settings: their run.json."""
    made = []
    for name, report, changed in zip("ab", (first, second), settings, strict=True):
        folder = folders.one_label(tmp_path / name, accuracy=0.5 if name == "a" else 0.7)
        for path, more in (("run_report.json", report or {}), ("run.json", changed)):
            folders.write(folder, path, json.loads((folder / path).read_text("utf-8")) | more)
        made.append(read_run(str(folder)))
    return compare(made)


def test_runs_on_different_data_are_not_ranked(tmp_path):
    compared = _two_runs(tmp_path, {"eval_data_digest": "aaaa"}, {"eval_data_digest": "bbbb"})
    found = Reader(comparison_page(compared))
    assert compared.warning in found.text
    assert "different data" in compared.warning
    assert "evaluation data" in found.text  # among the settings that differ
    assert "aaaa" in found.text
    assert "best accuracy" not in found.text
    assert "mean ± sd" not in found.text


def test_only_runs_that_repeat_one_another_have_a_mean(tmp_path):
    changed = {"learning_rate": 1e-4}, {"learning_rate": 2e-4, "random_seed": 2}
    found = Reader(comparison_page(_two_runs(tmp_path, settings=changed)))
    assert "mean" not in found.text.partition("Held-out data")[2]
    assert "best accuracy" in found.text


def _sweep(tmp_path, kind, best):
    """Two runs that one command made; for folds with a suspected label error."""
    outer = tmp_path / "sweep"
    made = [folders.one_label(outer / f"fold-{fold}", 1, 0.5 + 0.2 * fold) for fold in range(2)]
    members = [{"folder": folder.name, "eval": {"eval_accuracy": 0.5 + 0.2 * n}} for n, folder in enumerate(made)]
    folders.write(outer, "run_report.json", {"several": {"kind": kind, "members": members, "best": best}})
    header = "id\tlabel\ttext\tgiven\tpredicted\tprobability\n"
    if kind == "folds":
        folders.write(outer, "suspects.tsv", f"{header}row-7\t\ta doubtful text\tgood\tbad\t0.02\n")
    return compare([read_run(str(folder)) for folder in made], read_sweep(str(outer)))


def test_a_cross_validation_has_its_mean_as_headline_and_links_the_suspected_label_errors(tmp_path):
    found = Reader(comparison_page(_sweep(tmp_path, "folds", None)))
    assert "accuracy 0.6000 ± 0.1414" in found.text.partition(":root")[0]
    assert "mean ± sd of 2 folds" in found.text
    assert "#suspects" in found.links
    assert "good · 2.0 %" in found.text
    assert "a doubtful text" in found.text
    assert "best accuracy" not in found.text


def test_a_grid_has_a_best_cell_and_no_mean(tmp_path):
    found = Reader(comparison_page(_sweep(tmp_path, "grid", "fold-1")))
    assert "best accuracy" in found.text
    assert "±" not in found.text


def test_counts_have_no_decimals(tmp_path):
    made = [folders.one_label(tmp_path / name) for name in "ab"]
    for folder in made:
        with open(folder / "eval_results.txt", "a", encoding="utf-8") as file:
            file.write("eval_examples = 1234\nglobal_step = 90\n")
    text = Reader(comparison_page(compare([read_run(str(folder)) for folder in made]))).text
    assert "1,234" in text
    assert not any(wrong in text for wrong in ("90.0", "1234.0", "1,234.0"))


def test_runs_of_two_commands_are_not_compared(tmp_path):
    made = [folders.one_label(tmp_path / "a"), folders.tagging(tmp_path / "b")]
    with pytest.raises(InputError, match="runs of bert-classify and bert-tag cannot be compared"):
        comparison_page(compare([read_run(str(folder)) for folder in made]))
