"""Intervals from bert-classify --bootstrap: log, eval_results.txt, report and Python."""

import pathlib
import shutil

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from bert_cli import Classifier, QuestionAnswerer, Tagger
from bert_cli.base.errors import InputError
from tests.commands import squad_run
from tests.commands.helpers import RunFolder, words
from tests.rows import write_rows
from tests.snapshots import check_message

BOOTSTRAP = ("--do_eval", "--bootstrap=200", "--precision=float32", "--engine=onnxruntime")


@pytest.fixture
def data_dir(trained_flags) -> str:
    return next(flag.removeprefix("--data_dir=") for flag in trained_flags if flag.startswith("--data_dir="))


def test_intervals_of_all_metrics(trained, classify, data_dir):
    before = (trained / "eval_results.txt").read_text("utf-8").splitlines()
    done = classify(*BOOTSTRAP, f"--data_dir={data_dir}", f"--output_dir={trained}")
    assert done.code == 0, done.err
    run = RunFolder(trained)
    results, intervals = run.eval_results(), run.report()["eval"]["intervals"]
    assert {line.partition(" = ")[0] for line in before} <= results.keys()
    assert intervals.keys() == {name for name in results if f"{name}_low" in results}
    # Every metric has one, except for second names and counts.
    assert results.keys() - intervals.keys() - {f"{name}_{end}" for name in intervals for end in ("low", "high")} == {
        "eval_examples", "eval_f1_of_1", "global_step", "loss",
    }  # fmt: skip
    for name, (low, high) in intervals.items():
        assert (results[f"{name}_low"], results[f"{name}_high"]) == pytest.approx((low, high), abs=1e-6)
        assert low <= results[name] <= high
    # 9 of 11 rows are right, so the share is binomial.
    shares = np.random.default_rng(0).binomial(11, 9 / 11, 100_000) / 11
    assert intervals["eval_accuracy"] == pytest.approx(np.percentile(shares, [2.5, 97.5]), abs=0.1)
    check_message(done.err, "95% confidence intervals")
    assert "  eval_accuracy           0." in done.err
    assert "eval_accuracy_low = " not in done.err
    page = (trained / "report.html").read_text("utf-8")
    assert "Confidence intervals" in page

    classifier = Classifier.load(str(trained))
    measured = classifier.evaluate(f"{data_dir}/dev.tsv", bootstrap=200)
    assert {name: measured[name] for name in ("eval_accuracy_low", "eval_kappa_high", "eval_brier_high")} == (
        pytest.approx(
            {name: results[name] for name in ("eval_accuracy_low", "eval_kappa_high", "eval_brier_high")}, 1e-4
        )
    )
    for number, message in ((99, "bootstrap=99: 100 samples or more"), (-1, "bootstrap=-1"), (True, "bootstrap=True")):
        with pytest.raises(InputError, match=message):
            classifier.evaluate(f"{data_dir}/dev.tsv", bootstrap=number)


def test_another_seed_has_other_samples(trained, classify, data_dir):
    flags = (*BOOTSTRAP, "--noreport", f"--data_dir={data_dir}", f"--output_dir={trained}")
    ends = []
    for seed in (1, 1, 2):
        assert classify(*flags, f"--random_seed={seed}").code == 0
        ends.append(RunFolder(trained).eval_results()["eval_loss_low"])
    assert ends[0] == ends[1] != ends[2]


@pytest.mark.parametrize(("name", "rows"), [("margin", 0), ("entropy", 3)])
def test_texts_to_label_next(name, rows, trained, classify, data_dir):
    """The probabilities of two labels are nearest to 0.5 in the first row, by any measure."""
    flags = ("--do_predict", f"--data_dir={data_dir}", f"--output_dir={trained}", "--engine=onnxruntime")
    assert not (trained / "to_label.tsv").exists()
    done = classify(*flags, f"--to_label={name}", f"--to_label_rows={rows}")
    assert done.code == 0, done.err
    predictions = RunFolder(trained).predictions()
    ranked = pd.read_csv(trained / "to_label.tsv", sep="\t")
    assert list(ranked.columns) == ["id", "predicted", "probability", name, "text"]
    probabilities = predictions[["prob_0", "prob_1"]].to_numpy(np.float64)
    order = np.argsort(np.abs(probabilities[:, 0] - 0.5), kind="stable")[: rows or None]
    assert list(ranked["id"]) == list(predictions["id"][order])
    assert list(ranked["predicted"].astype(str)) == list(predictions["label"][order])
    entropy = scipy.stats.entropy(probabilities, base=2, axis=1)
    expected = np.abs(probabilities[:, 0] - probabilities[:, 1]) if name == "margin" else entropy
    assert list(ranked[name]) == pytest.approx(list(expected[order]), abs=1e-5)
    check_message(done.err, "to_label.tsv")
    assert "to_label.tsv" in RunFolder(trained).report()["files"]


def test_numbers_have_no_doubt(classify, model_flags, tmp_path):
    table = write_rows(tmp_path / "rows.tsv", [("text", "stars"), *((f"a dog {row}", row / 2) for row in range(9))])
    flags = words({"train_file": table, "predict_file": table, "label_column": "stars", "output_dir": tmp_path / "out"})
    done = classify(
        *model_flags, *flags, "--do_train", "--do_predict", "--problem_type=regression", "--to_label=margin"
    )
    assert (done.code, (tmp_path / "out" / "model.ckpt.index").exists()) == (1, False)
    check_message(done.err, "--to_label=margin: ")


def test_intervals_of_entities(tagger_once, tag, tmp_path):
    out, flags = pathlib.Path(shutil.copytree(tagger_once[0], tmp_path / "tagger")), tagger_once[1]
    data_flag = next(flag for flag in flags if flag.startswith("--data_dir="))
    done = tag(*BOOTSTRAP, data_flag, f"--output_dir={out}")
    assert done.code == 0, done.err
    assert "95% confidence intervals, using 200 samples of the rows" in done.err
    check_intervals(out, {"eval_f1", "eval_precision", "eval_recall", "eval_accuracy"})
    measured = Tagger.load(out, precision="float32").evaluate(
        f"{data_flag.removeprefix('--data_dir=')}/dev.txt", bootstrap=200
    )
    low, high = RunFolder(out).report()["eval"]["intervals"]["eval_f1"]
    assert (measured["eval_f1_low"], measured["eval_f1_high"]) == pytest.approx((low, high), abs=1e-3)
    with pytest.raises(InputError, match="bootstrap=99: 100 samples or more"):
        Tagger.load(out, precision="float32").evaluate("dev.txt", bootstrap=99)


def test_intervals_of_questions(answering, capfd, model, tmp_path):
    out = pathlib.Path(shutil.copytree(answering, tmp_path / "answering"))
    data = squad_run.write_data(tmp_path / "dev.json", impossible=True)
    flags = squad_run.base_flags(model) | {
        "output_dir": out,
        "predict_file": data,
        "bootstrap": 200,
        "engine": "onnxruntime",
    }
    done = squad_run.call(capfd, ("--do_eval", "--version_2_with_negative"), flags)
    assert done.code == 0, done.err
    check_intervals(out, {"exact", "f1", "HasAns_exact", "HasAns_f1", "NoAns_exact", "NoAns_f1"})
    measured = QuestionAnswerer.load(out, precision="float32").evaluate(data, bootstrap=200)
    assert measured["f1_low"] <= measured["f1"] <= measured["f1_high"]


def check_intervals(out, names):
    """Check that these metrics have an interval in the report and the results."""
    run = RunFolder(out)
    results, intervals = run.eval_results(), run.report()["eval"]["intervals"]
    assert names <= intervals.keys()
    for name, (low, high) in intervals.items():
        assert low <= results[name] <= high
        assert (results[f"{name}_low"], results[f"{name}_high"]) == pytest.approx((low, high), abs=1e-3)
