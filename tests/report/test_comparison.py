"""Pages that compare runs: means, best runs, and runs that are not comparable."""

import json

from bert_cli.base.errors import InputError
from bert_cli.report.page import compare_runs, comparison_page, is_our_page, write_page
from bert_cli.report.run_files import read_run
from bert_cli.report.sweeps import read_sweep
from tests.report import folders
from tests.report.reader import Reader
from tests.snapshots import raises


def test_several_runs_side_by_side(tmp_path):
    run_folders = [
        folders.one_label(tmp_path / name, seed, accuracy) for name, seed, accuracy in (("a", 1, 0.5), ("b", 2, 0.7))
    ]
    page = comparison_page(compare_runs([read_run(str(folder)) for folder in run_folders]))
    reader = Reader(page)
    assert {"card-compared", "card-loss", "card-metric", "card-differences"} <= set(reader.ids)
    assert "accuracy 0.6000 ± 0.1414" in reader.text
    assert "mean ± sd of 2 seeds" in reader.text
    assert "random_seed" in reader.text
    assert "learning_rate" not in reader.text  # not listed, because all runs have the same value
    write_page(str(tmp_path / "page.html"), page)
    assert is_our_page(str(tmp_path / "page.html"))
    (tmp_path / "other.html").write_text("<html>", encoding="utf-8")
    assert not is_our_page(str(tmp_path / "other.html"))


def _two_runs(tmp_path, first=None, second=None, settings=({}, {}), metric="eval_accuracy"):
    """Return the comparison of two runs.

    Args:
        tmp_path: directory for the runs.
        first, second: additional values for their run_report.json.
        settings: additional values for their run.json.
        metric: name of their main metric.
    """
    runs = []
    for name, report, run_settings in zip("ab", (first, second), settings, strict=True):
        folder = folders.one_label(tmp_path / name, accuracy=0.5 if name == "a" else 0.7)
        for path, more in (("run_report.json", report or {}), ("run.json", run_settings)):
            folders.write(folder, path, json.loads((folder / path).read_text("utf-8")) | more)
        results = (folder / "eval_results.txt").read_text("utf-8")
        folders.write(folder, "eval_results.txt", results.replace("eval_accuracy", metric))
        runs.append(read_run(str(folder)))
    return compare_runs(runs)


def test_runs_on_different_data_are_not_ranked(tmp_path):
    compared = _two_runs(tmp_path, {"eval_data_digest": "aaaa"}, {"eval_data_digest": "bbbb"})
    reader = Reader(comparison_page(compared))
    assert compared.warning in reader.text
    assert "different data" in compared.warning
    assert "evaluation data" in reader.text  # one of the settings that differ
    assert "aaaa" in reader.text
    assert "best accuracy" not in reader.text
    assert "mean ± sd" not in reader.text


def test_runs_with_the_f1_of_different_labels_are_not_ranked(tmp_path):
    reports = {"positive_label": "spam"}, {"positive_label": "ham"}
    compared = _two_runs(tmp_path, *reports, settings=({"metric_for_best": "eval_f1"},) * 2, metric="eval_f1")
    assert "F1 of different labels (spam, ham)" in compared.warning
    assert "best F1" not in Reader(comparison_page(compared)).text


def test_the_f1_of_runs_names_its_label(tmp_path):
    report = {"positive_label": "spam"}
    settings = ({"metric_for_best": "f1"}, {"metric_for_best": "f1", "random_seed": 2})
    compared = _two_runs(tmp_path, report, report, settings, "eval_f1")
    assert compared.warning == ""
    assert "F1 of spam 0.6000 ± 0.1414" in compared.title()


def test_only_repeated_runs_have_a_mean(tmp_path):
    settings = {"learning_rate": 1e-4}, {"learning_rate": 2e-4, "random_seed": 2}
    reader = Reader(comparison_page(_two_runs(tmp_path, settings=settings)))
    assert "mean" not in reader.text.partition("Held-out data")[2]
    assert "best accuracy" in reader.text


def _sweep(tmp_path, sweep_type, best):
    """Return the comparison of two runs by one command; for folds with a suspected label error."""
    outer = tmp_path / "sweep"
    run_folders = [folders.one_label(outer / f"fold-{fold}", 1, 0.5 + 0.2 * fold) for fold in range(2)]
    members = [
        {"folder": folder.name, "eval": {"eval_accuracy": 0.5 + 0.2 * n}} for n, folder in enumerate(run_folders)
    ]
    folders.write(outer, "run_report.json", {"several": {"kind": sweep_type, "members": members, "best": best}})
    header = "id\tlabel\ttext\tgiven\tpredicted\tprobability\n"
    if sweep_type == "folds":
        folders.write(outer, "suspects.tsv", f"{header}row-7\t\ta doubtful text\tgood\tbad\t0.02\n")
    return compare_runs([read_run(str(folder)) for folder in run_folders], read_sweep(str(outer)))


def test_a_cross_validation_shows_its_mean_and_links_label_errors(tmp_path):
    reader = Reader(comparison_page(_sweep(tmp_path, "folds", None)))
    assert "accuracy 0.6000 ± 0.1414" in reader.text.partition(":root")[0]
    assert "mean ± sd of 2 folds" in reader.text
    assert "#suspects" in reader.links
    assert "good · 2.0 %" in reader.text
    assert "a doubtful text" in reader.text
    assert "best accuracy" not in reader.text


def test_a_grid_has_a_best_cell_and_no_mean(tmp_path):
    reader = Reader(comparison_page(_sweep(tmp_path, "grid", "fold-1")))
    assert "best accuracy" in reader.text
    assert "±" not in reader.text


def test_counts_have_no_decimals(tmp_path):
    run_folders = [folders.one_label(tmp_path / name) for name in "ab"]
    for folder in run_folders:
        with open(folder / "eval_results.txt", "a", encoding="utf-8") as file:
            file.write("eval_examples = 1234\nglobal_step = 90\n")
    text = Reader(comparison_page(compare_runs([read_run(str(folder)) for folder in run_folders]))).text
    assert "1,234" in text
    assert not any(wrong in text for wrong in ("90.0", "1234.0", "1,234.0"))


def test_runs_of_two_commands_are_not_compared(tmp_path):
    run_folders = [folders.one_label(tmp_path / "a"), folders.tagging(tmp_path / "b")]
    with raises(InputError):
        comparison_page(compare_runs([read_run(str(folder)) for folder in run_folders]))
