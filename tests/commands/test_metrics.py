"""Intervals from bert-classify --bootstrap: log, eval_results.txt, report and Python."""

import numpy as np
import pytest

from bert_cli import Classifier
from bert_cli.base.errors import InputError
from tests.commands.helpers import RunFolder
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
