"""--rows_per_label: training on few rows, and the learning curve over several sizes."""

import json

import pandas as pd
import pytest

from bert_cli import Classifier
from tests.commands.conftest import SENTENCES
from tests.report.reader import Reader
from tests.rows import write_rows
from tests.snapshots import check_message

TEXTS = [text for text, _ in SENTENCES]
LABELS = ["person" if of_people else "animal" for _, of_people in SENTENCES]


@pytest.fixture
def flags(model_flags, tmp_path):
    table = write_rows(tmp_path / "a.tsv", [("text", "label"), *zip(TEXTS, LABELS, strict=True)])
    return [*model_flags, f"--train_file={table}", "--do_train", "--do_eval"]


def test_learning_curve_over_sizes_and_seeds(classify, flags, tmp_path):
    out = tmp_path / "out"
    curve = ["--method=linear_probe", "--rows_per_label=2,4", "--num_runs=2", "--dev_split=8"]
    flags = [flag for flag in flags if not flag.startswith(("--learning_rate", "--num_train_epochs", "--noreport"))]
    done = classify(*flags, *curve, f"--output_dir={out}")
    assert done.code == 0, done.err
    table = pd.read_csv(out / "learning_curve.tsv", sep="\t")
    assert table["rows_per_label"].tolist() == [2, 4]
    assert table["runs"].tolist() == [2, 2]
    runs = {
        (size, number): out / f"grid-rows_per_label-{size}" / f"run-{number}" for size in (2, 4) for number in (1, 2)
    }
    reports = {key: json.loads((folder / "run_report.json").read_text("utf-8")) for key, folder in runs.items()}
    for size, score, baseline in zip((2, 4), table["eval_accuracy"], table["tfidf_eval_accuracy"], strict=True):
        both = [reports[size, number] for number in (1, 2)]
        assert score == pytest.approx(sum(report["eval"]["eval_accuracy"] for report in both) / 2)
        assert baseline == pytest.approx(sum(report["baselines"]["tfidf"]["accuracy"] for report in both) / 2)
        assert {report["lengths"]["train"]["rows"] for report in both} == {2 * size}
    # Each seed draws another sample, and all runs have the same dev rows.
    assert len({report["train_data_digest"] for report in reports.values()}) == 4
    assert len({report["eval_data_digest"] for report in reports.values()}) == 1
    assert "card-learning-curve" in Reader((out / "report.html").read_text("utf-8")).ids
    check_message(next(line for line in done.lines if "a sample of" in line), "4 of 16 rows, 2 per label")


def test_few_rows_in_python(model_flags, caplog):
    options = dict(flag.removeprefix("--").split("=", 1) for flag in model_flags if "=" in flag)
    options = {name: options[name] for name in ("vocab_file", "bert_config_file")} | {"max_seq_length": 16}
    classifier = Classifier.fit(
        [*TEXTS, "the bird"], [*LABELS, "bird"], rows_per_label=3, num_train_epochs=1, report=False, **options
    )
    assert classifier.labels == ("animal", "bird", "person")
    warning = next(message for message in caplog.messages if "fewer rows have the label" in message)
    check_message(warning, "rows_per_label=3: fewer rows have the label bird")


@pytest.mark.parametrize("problem_type", ["regression", "multi_label"])
def test_other_problem_types_are_refused(classify, flags, tmp_path, problem_type):
    labels = [str(row % 2) for row in range(len(TEXTS))]
    table = write_rows(tmp_path / "b.tsv", [("text", "label"), *zip(TEXTS, labels, strict=True)])
    more = [f"--train_file={table}", f"--problem_type={problem_type}", "--rows_per_label=2", "--dev_split=4"]
    done = classify(*flags, *more, f"--output_dir={tmp_path / 'out'}")
    done.assert_refused("--rows_per_label=2: needs one label per text")
    assert not (tmp_path / "out").exists()
