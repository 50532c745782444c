"""Several runs by one command (seeds, grids, folds): kept files, predictions and refusals."""

import json

import numpy as np
import pandas as pd
import pytest

from bert_cli.metrics.tagging import eval_results
from bert_cli.outputs.tagging import score_tags
from tests.commands.helpers import assert_same_tensors, interrupted_after
from tests.commands.tag_run import SPLITS, columns
from tests.report.reader import Reader
from tests.snapshots import check_message

SHORT = ["--num_train_epochs=2", "--save_checkpoints_steps=100"]


def table(path) -> pd.DataFrame:
    return pd.read_csv(path, sep="\t", keep_default_na=False)


@pytest.fixture
def without_predictions(trained_flags):
    return [flag for flag in trained_flags if flag != "--do_predict"]


def test_seeds(trained_flags, tmp_path, classify, run_folder):
    """The best run predicts, now and later."""
    out, flags = tmp_path / "out", [*trained_flags, "--num_train_epochs=1", "--num_runs=2"]
    outcome = classify(*flags, f"--output_dir={out}", "--metric_for_best=loss")
    assert outcome.code == 0, outcome.err
    [following] = [line for line in outcome.lines if line.startswith("next: ")]
    assert following.startswith(f"next: bert-classify --output_dir={out} --text")
    runs = table(out / "runs.tsv")
    assert list(runs["folder"]) == ["run-1", "run-2", "mean", "std"]
    best = runs["folder"][runs["loss"][:2].astype(float).idxmin()]
    assert json.loads((out / "best.json").read_text())["folder"] == best
    assert run_folder(out).report()["several"]["best"] == best
    expected = (out / "predictions.tsv").read_bytes()
    assert classify("--do_predict", f"--output_dir={out}", "--precision=float32").code == 0
    assert (out / "predictions.tsv").read_bytes() == expected
    classify(*trained_flags, f"--output_dir={out}").assert_refused(f"{out}: holds several runs")
    classify(*flags, f"--output_dir={out}", "--learning_rate=1,2").assert_refused(f"{out}: holds another run")


@pytest.mark.slow
def test_stopped_seeds(trained_flags, tmp_path, classify, run_folder, snapshot):
    """After a stop in the second run, the first is kept, and all equal runs with these seeds."""
    out, flags = tmp_path / "out", [*trained_flags, *SHORT, "--num_runs=2"]
    with interrupted_after(f"saved {out / 'run-2'}"):
        assert classify(*flags, f"--output_dir={out}").code == 130
    before = {name: stat for name, stat in snapshot(out / "run-1").items() if "ckpt" in name}
    outcome = classify(*flags, f"--output_dir={out}")
    assert outcome.code == 0, outcome.err
    check_message(outcome.err, f"{out / 'run-1'}: ", "12 steps")
    assert {name: stat for name, stat in snapshot(out / "run-1").items() if "ckpt" in name} == before

    assert classify(*trained_flags, *SHORT, f"--output_dir={tmp_path / 'one'}", "--random_seed=12346").code == 0
    assert_same_tensors(run_folder(out / "run-2").tensors(12), run_folder(tmp_path / "one").tensors(12))
    runs = table(out / "runs.tsv")
    assert list(runs["folder"]) == ["run-1", "run-2", "mean", "std"]
    assert list(runs["random_seed"]) == ["12345", "12346", "", ""]
    for place, name in enumerate(("run-1", "run-2")):
        results = run_folder(out / name).eval_results()
        assert runs["eval_loss"][place] == pytest.approx(results["eval_loss"], rel=1e-6)
    losses = runs["eval_loss"][:2]
    assert runs["eval_loss"][2:].tolist() == pytest.approx([losses.mean(), losses.std(ddof=1)], rel=1e-4, abs=1e-6)

    best = json.loads((out / "best.json").read_text())["folder"]
    expected = (out / "predictions.tsv").read_bytes()
    other_folder = out / {"run-1": "run-2", "run-2": "run-1"}[best]
    assert (
        classify("--do_predict", f"--output_dir={out}", f"--init_checkpoint={other_folder}", "--precision=float32").code
        == 0
    )
    assert (out / "predictions.tsv").read_bytes() != expected

    classify(*flags, f"--output_dir={out}", "--max_seq_length=31").assert_refused("run-1: ")


@pytest.mark.slow
def test_a_grid_of_taggers(tagger_once, tmp_path, tag, run_folder):
    """One cell is clearly better: with the small rate the tagger learns nothing."""
    out, flags = tmp_path / "out", [*tagger_once[1], "--save_checkpoints_steps=100", "--num_train_epochs=8"]
    outcome = tag(*flags, f"--output_dir={out}", "--learning_rate=1e-7,0.01")
    assert outcome.code == 0, outcome.err
    cells = table(out / "grid.tsv")
    assert list(cells["folder"]) == ["grid-learning_rate-1e-07", "grid-learning_rate-0.01"]
    assert list(cells["learning_rate"]) == [1e-7, 0.01]
    assert cells["eval_f1"][0] < cells["eval_f1"][1]
    assert json.loads((out / "best.json").read_text())["folder"] == "grid-learning_rate-0.01"
    assert "--learning_rate=0.01" in (out / "grid-learning_rate-0.01" / "flags.txt").read_text().split("\n")
    assert run_folder(out).eval_results()["eval_f1"] == pytest.approx(cells["eval_f1"][1])
    second_outcome = tag(*flags, f"--output_dir={out}", "--learning_rate=1e-7,0.01", "--report")
    for shown in (outcome.err, second_outcome.err):
        assert shown.count(", of the best run, grid-learning_rate-0.01\n") == 1
    assert second_outcome.err.count(f"wrote {out / 'report.html'}, a page to look at") == 1
    expected = (out / "test_predictions.txt").read_bytes()
    assert tag("--do_predict", f"--output_dir={out}", "--precision=float32").code == 0
    assert (out / "test_predictions.txt").read_bytes() == expected


def test_diverging_cell_does_not_end_the_grid(without_predictions, tmp_path, classify, run_folder):
    out = tmp_path / "out"
    flags = [*without_predictions, *SHORT, "--num_train_epochs=1", f"--output_dir={out}", "--optimizer=nadam"]
    outcome = classify(*flags, "--learning_rate=1e38,0.003")
    assert outcome.code == 0, outcome.err
    assert "the other runs go on without it" in outcome.err
    assert [line.split("  ")[0] for line in outcome.lines if "diverged" in line] == ["grid-learning_rate-1e+38"]
    cells = table(out / "grid.tsv")
    assert (cells["eval_loss"] == "").tolist() == [True, False]
    assert run_folder(out).report()["several"]["best"] == cells["folder"][1]
    assert not run_folder(out / cells["folder"][0]).checkpoints()

    nothing = classify(*flags[:-2], f"--output_dir={tmp_path / 'none'}", flags[-1], "--learning_rate=1e38,2e38")
    nothing.assert_refused(f"{tmp_path / 'none'}: ")


@pytest.mark.slow  # tests/report/test_cells.py has pages of handmade directories
@pytest.mark.parametrize("repeats", ["--num_runs=2", "--cross_validation=2"])
def test_page_of_a_grid_with_several_runs_per_cell(repeats, without_predictions, tmp_path, classify):
    out = tmp_path / "out"
    outcome = classify(
        *without_predictions, *SHORT, repeats, "--report", f"--output_dir={out}", "--learning_rate=1e-3,3e-4"
    )
    assert outcome.code == 0, outcome.err
    reader = Reader((out / "report.html").read_text("utf-8"))
    mean, deviation = table(out / "grid.tsv").loc[0, ["eval_mcc", "eval_mcc_std"]]
    assert f"{mean:.4f} ± {deviation:.4f}" in reader.text
    assert "All settings that decide a result are equal" not in reader.text
    assert "The command that made these runs" in reader.text
    pages = {link for link in reader.links if link.endswith("report.html")}
    assert len(pages) == 6  # two cells, four runs
    assert all((out / link).is_file() for link in pages)


def test_folds(without_predictions, tmp_path, classify, run_folder):
    out, flags = tmp_path / "out", [*without_predictions, *SHORT, "--num_train_epochs=1", "--cross_validation=2"]
    outcome = classify(*flags, f"--output_dir={out}")
    assert outcome.code == 0, outcome.err
    rows, folds = table(out / "out_of_fold.tsv"), table(out / "folds.tsv")
    assert len(rows) == 24
    assert rows.groupby(["fold", "given"]).size().tolist() == [6, 6, 6, 6]
    probabilities = rows[["prob_0", "prob_1"]].to_numpy()
    for number in (1, 2):
        is_in_fold = (rows["fold"] == number).to_numpy()
        right = probabilities[is_in_fold].argmax(axis=1) == rows["given"][is_in_fold]
        assert folds["eval_accuracy"][number - 1] == pytest.approx(right.mean(), rel=1e-6)
    wrong = rows[rows["given"] != rows["predicted"]]
    stated = probabilities[wrong.index, wrong["given"]]
    suspects = table(out / "suspects.tsv")
    assert suspects["id"].tolist() == wrong["id"].iloc[np.argsort(stated, kind="stable")].tolist()
    assert not (out / "best.json").exists()

    files = {name: (out / name).read_bytes() for name in ("out_of_fold.tsv", "suspects.tsv", "folds.tsv")}
    outcome = classify(*flags, f"--output_dir={out}")
    assert outcome.err.count("training is already finished") == 2
    assert {name: (out / name).read_bytes() for name in files} == files


@pytest.mark.slow
def test_folds_of_a_tagger(tagger_once, tmp_path, tag, run_folder):
    """A model that has not seen a sentence tags it; suspected words are listed with their lines."""
    out = tmp_path / "out"
    flags = [flag for flag in tagger_once[1] if flag not in ("--do_predict", "--do_eval")]
    flags += ["--num_train_epochs=8", "--save_checkpoints_steps=100", "--cross_validation=2", f"--output_dir={out}"]
    outcome = tag(*flags)
    assert outcome.code == 0, outcome.err
    rows, folds = table(out / "out_of_fold.tsv"), table(out / "folds.tsv")
    assert rows["text"].tolist() == [" ".join(words) for words, _ in SPLITS["train"]]
    assert rows["given"].tolist() == [" ".join(tags) for _, tags in SPLITS["train"]]
    assert rows["fold"].value_counts().tolist() == [12, 12]
    for number in (1, 2):
        fold_rows = rows[rows["fold"] == number]
        scores = score_tags(
            [tags.split() for tags in fold_rows["given"]], [tags.split() for tags in fold_rows["predicted"]]
        )
        expected = eval_results(scores)
        assert folds["eval_f1"][number - 1] == pytest.approx(expected["eval_f1"])
        assert int(folds["eval_entities_PER"][number - 1]) == expected["eval_entities_PER"]
    assert folds["eval_f1"][2:].tolist() == pytest.approx([folds["eval_f1"][:2].mean(), folds["eval_f1"][:2].std()])

    lines = columns(SPLITS["train"]).split("\n")
    wrong = [
        (row["id"], place)
        for _, row in rows.iterrows()
        for place, (given_tag, predicted_tag) in enumerate(
            zip(row["given"].split(), row["predicted"].split(), strict=True), 1
        )
        if given_tag != predicted_tag
    ]
    suspects = table(out / "suspects.tsv")
    assert sorted(zip(suspects["id"], suspects["place"], strict=True)) == wrong
    assert suspects["probability"].is_monotonic_increasing
    assert (suspects["probability"] < 0.5).all()
    assert [f"{word}\t{tag}" for word, tag in zip(suspects["word"], suspects["given"], strict=True)] == [
        lines[line - 1] for line in suspects["line"]
    ]
    assert not (out / "best.json").exists()
    files = {name: (out / name).read_bytes() for name in ("out_of_fold.tsv", "suspects.tsv", "folds.tsv")}
    assert tag(*flags).err.count("training is already finished") == 2
    assert {name: (out / name).read_bytes() for name in files} == files
    tag(*flags, "--do_predict").assert_refused()


@pytest.mark.parametrize(
    ("flags", "fragment"),
    [
        (["--cross_validation=1"], "--cross_validation=1: "),
        (
            ["--cross_validation=2", "--nodo_predict", "--task_name=swag"],
            "--task_name=swag",
        ),
        (["--cross_validation=99", "--nodo_predict"], "--cross_validation=99: "),
        (
            ["--num_runs=2", "--metric_for_best=f2"],
            "--metric_for_best=f2: ",
        ),
    ],
)
def test_refused_in_one_line(trained_flags, refused, flags, fragment):
    refused([*trained_flags, *flags], fragment)
