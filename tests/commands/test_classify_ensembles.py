"""Ensembles: the mean over named runs, seeds and folds, compared with arithmetic on the members' files."""

import json
import pathlib

import numpy as np
import pandas as pd
import pytest

from bert_cli import Classifier, Ensemble
from bert_cli.base.errors import InputError
from bert_cli.opening.paths import find_members
from tests.commands.conftest import SENTENCES
from tests.commands.ensemble_runs import variant
from tests.rows import write_rows
from tests.snapshots import check_message, raises

SHORT = ["--num_train_epochs=1", "--save_checkpoints_steps=100"]


def read(path) -> pd.DataFrame:
    return pd.read_csv(path, sep="\t", keep_default_na=False)


def mean_of(tables, name):
    """Return the mean of float32 numbers in a column, computed in float64."""
    return np.mean([table[name].astype(np.float32).astype(np.float64) for table in tables], axis=0)


@pytest.fixture
def table(tmp_path):
    return write_rows(tmp_path / "new.tsv", [("text", "label"), *((text, str(int(of))) for text, of in SENTENCES)])


@pytest.fixture
def predict(classify, table, tmp_path):
    """Return predictions by one run, or by an ensemble."""

    def call(*members, flags=()):
        out = tmp_path / f"predicted {len(list(tmp_path.iterdir()))}"
        chosen = f"--init_checkpoint={members[0]}" if len(members) == 1 else f"--ensemble={','.join(map(str, members))}"
        done = classify(
            "--do_predict", chosen, f"--predict_file={table}", f"--output_dir={out}", "--precision=float32", *flags
        )
        assert done.code == 0, done.err
        return read(out / "predictions.tsv")

    return call


def test_mean_of_named_runs_matches_labels_by_name(predict, trained_once, tmp_path):
    trained = trained_once[0]
    members = [variant(trained, tmp_path / "a"), variant(trained, tmp_path / "b", 0.25, ("1", "0"))]
    single = [predict(member) for member in members]
    assert single[1].columns[2:4].tolist() == ["prob_1", "prob_0"]
    both = predict(*members, flags=["--member_columns", "--to_label=disagreement"])
    to_label = read(next(tmp_path.glob("predicted*/to_label.tsv")))
    assert to_label["disagreement"].is_monotonic_decreasing
    assert sorted(to_label["id"]) == sorted(both["id"])
    differences = (both["prob_1_a"] - both["prob_1_b"]).abs().set_axis(both["id"])
    assert differences[to_label["id"][0]] > differences[to_label["id"].iloc[-1]]
    for label in ("0", "1"):
        name = f"prob_{label}"
        mean = mean_of(single, name)
        np.testing.assert_array_equal(both[name].astype(np.float32), mean.astype(np.float32))
        for member, table in zip("ab", single, strict=True):
            assert both[f"{name}_{member}"].tolist() == table[name].tolist()
    assert (both["label"] == (both["prob_1"] > 0.5).astype(int)).all()
    assert both.columns[-1] == "text"


def test_mean_of_several_labels_and_their_thresholds(predict, trained_once, tmp_path):
    thresholds = [{"0": 0.2, "1": 0.9}, {"1": 0.5, "0": 0.4}]
    members = [
        variant(trained_once[0], tmp_path / "a", 1.0, ("0", "1"), "multi_label", thresholds[0]),
        variant(trained_once[0], tmp_path / "b", 0.5, ("1", "0"), "multi_label", thresholds[1]),
    ]
    single, both = [predict(member) for member in members], predict(*members)
    for label, limit in (("0", 0.3), ("1", 0.7)):
        mean = mean_of(single, f"prob_{label}")
        np.testing.assert_array_equal(both[f"prob_{label}"].astype(np.float32), mean.astype(np.float32))
        assert [label in str(names).split(",") for names in both["labels"]] == (mean >= limit).tolist()


def test_mean_of_numbers_and_their_evaluation(classify, predict, table, trained_once, tmp_path):
    members = [
        variant(trained_once[0], tmp_path / name, scale, problem_type="regression")
        for name, scale in (("a", 1), ("b", 3))
    ]
    single, both = [predict(member) for member in members], predict(*members, flags=["--member_columns"])
    mean = np.mean([values["value"] for values in single], axis=0)
    np.testing.assert_allclose(both["value"], mean, rtol=1e-6)
    assert both["value_b"].tolist() == single[1]["value"].tolist()
    out = tmp_path / "evaluated"
    done = classify(
        "--do_eval", f"--ensemble={tmp_path / 'a'},{tmp_path / 'b'}", f"--dev_file={table}", f"--output_dir={out}"
    )
    assert done.code == 0, done.err
    results = json.loads((out / "run_report.json").read_text("utf-8"))
    error = np.mean((mean - np.array([of for _, of in SENTENCES])) ** 2)
    assert results["eval"]["eval_rmse"] ** 2 == pytest.approx(error, rel=1e-2)  # bfloat16
    assert results["averaged_runs"] == [str(tmp_path / "a"), str(tmp_path / "b")]


def test_folds_predict_the_test_file(classify, trained_flags, tmp_path):
    out = tmp_path / "out"
    flags = [flag for flag in trained_flags if flag != "--do_eval"]
    done = classify(
        *flags, *SHORT, "--cross_validation=2", "--average_predictions", "--member_columns", f"--output_dir={out}"
    )
    assert done.code == 0, done.err
    check_message(next(line for line in done.lines if "the mean of" in line), "the mean of 2 runs predicts: ")
    predicted = read(out / "predictions.tsv")
    mean = (predicted["prob_1_fold-1"] + predicted["prob_1_fold-2"]) / 2
    np.testing.assert_allclose(predicted["prob_1"], mean, rtol=1e-6)
    assert len(read(out / "out_of_fold.tsv")) == 24
    assert not (out / "eval_results.txt").exists()
    # The directory stands for its folds, and the same command keeps them.
    later = classify("--do_predict", f"--ensemble={out}", f"--output_dir={tmp_path / 'later'}", "--precision=float32")
    assert later.code == 0, later.err
    assert read(tmp_path / "later" / "predictions.tsv")["prob_1"].tolist() == predicted["prob_1"].tolist()
    before = (out / "predictions.tsv").read_bytes()
    again = classify(
        *flags, *SHORT, "--cross_validation=2", "--average_predictions", "--member_columns", f"--output_dir={out}"
    )
    assert again.err.count("training is already finished") == 2
    assert (out / "predictions.tsv").read_bytes() == before


def test_seeds_are_evaluated_by_their_mean(classify, trained_flags, tmp_path, run_folder):
    out = tmp_path / "out"
    done = classify(*trained_flags, *SHORT, "--num_runs=2", "--average_predictions", f"--output_dir={out}")
    assert done.code == 0, done.err
    assert "of the mean prediction of 2 runs" in done.err
    assert run_folder(out).report()["averaged_runs"] == [str(out / "run-1"), str(out / "run-2")]
    assert run_folder(out).report()["several"]["best"] in ("run-1", "run-2")
    data = next(flag for flag in trained_flags if flag.startswith("--data_dir="))
    path = pathlib.Path(data.partition("=")[2]) / "dev.tsv"
    dev = [line.split("\t") for line in path.read_text("utf-8").splitlines()]
    probabilities = []
    table = write_rows(tmp_path / "dev.tsv", [("text",), *((row[3],) for row in dev)])
    for name in ("run-1", "run-2"):
        folder = tmp_path / name
        flags = [f"--init_checkpoint={out / name}", f"--predict_file={table}", "--precision=float32"]
        assert classify("--do_predict", *flags, f"--output_dir={folder}").code == 0
        probabilities.append(read(folder / "predictions.tsv")["prob_1"])
    right = (np.mean(probabilities, axis=0) > 0.5) == np.array([row[1] == "1" for row in dev])
    assert run_folder(out).eval_results()["eval_accuracy"] == pytest.approx(right.mean())


def test_new_texts_by_the_mean(classify, trained_once, tmp_path):
    members = [variant(trained_once[0], tmp_path / "a"), variant(trained_once[0], tmp_path / "b", 0.25, ("1", "0"))]
    texts = write_rows(tmp_path / "new.txt", [(text,) for text, _ in SENTENCES[:5]])

    def records(*flags):
        done = classify(*flags, "--precision=float32")
        assert done.code == 0, done.err
        return [json.loads(line) for line in done.out.splitlines()]

    names = f"--ensemble={members[0]},{members[1]}"
    both = records(names, f"--input_file={texts}")
    single = [records(f"--output_dir={member}", f"--input_file={texts}") for member in members]
    for label in ("0", "1"):
        mean = np.mean([[record["probabilities"][label] for record in rows] for rows in single], axis=0)
        assert [record["probabilities"][label] for record in both] == pytest.approx(mean.tolist(), abs=2e-6)
    assert [record["label"] for record in both] == [max(r["probabilities"], key=r["probabilities"].get) for r in both]
    assert records(names, f"--text={SENTENCES[0][0]}") == both[:1]


def test_ensembles_in_python(predict, trained_once, tmp_path):
    members = [variant(trained_once[0], tmp_path / "a"), variant(trained_once[0], tmp_path / "b", 0.25, ("1", "0"))]
    expected, texts = predict(*members), [text for text, _ in SENTENCES]
    ensemble = Ensemble.load(members, precision="float32")
    result = ensemble.predict(texts)
    np.testing.assert_allclose(result.probabilities, expected[["prob_0", "prob_1"]], rtol=1e-6)
    assert result.best == expected["label"].astype(str).tolist()
    assert ensemble.predict(texts[0]).probability == pytest.approx(result[0].probability, rel=1e-5)
    assert len(ensemble.predict(pd.DataFrame({"text": texts[:3]}))) == 3
    assert len(ensemble.predict([])) == 0
    assert ensemble.members[1].predict(texts[0]).label in ensemble.labels == ("0", "1")
    for record, prediction in zip(ensemble.records(texts), result, strict=True):
        assert record["label"] == prediction.label
        assert record["probabilities"] == pytest.approx(prediction.probabilities, abs=1e-6)
    assert ensemble.records([]) == []
    with raises(InputError, "is one run; give several directories"):
        Ensemble.load(members[0])
    with raises(InputError, "path: several runs make an Ensemble"):
        Classifier.load(members)
    with raises(InputError, "save: an ensemble is several models"):
        ensemble.save(tmp_path / "saved")
    other = variant(trained_once[0], tmp_path / "c", labels=("0", "2"))
    with raises(InputError, "has the labels 0, 2, and "):
        Ensemble.load([members[0], other])


@pytest.mark.parametrize(
    ("problem_type", "thresholds", "name"),
    [("regression", None, "value"), ("multi_label", {"0": 0.2, "1": 0.6}, "prob_0")],
)
def test_numbers_and_several_labels_in_python(predict, trained_once, tmp_path, problem_type, thresholds, name):
    members = [
        variant(trained_once[0], tmp_path / folder, scale, problem_type=problem_type, thresholds=thresholds)
        for folder, scale in (("a", 1), ("b", 3))
    ]
    expected = predict(*members)
    result = Ensemble.load(members, precision="float32").predict([text for text, _ in SENTENCES])
    np.testing.assert_allclose(result.to_frame()[name], expected[name], rtol=1e-5)
    if thresholds:
        assert [",".join(labels) for labels in result.best] == expected["labels"].astype(str).tolist()


@pytest.mark.parametrize(
    ("changes", "flags", "message"),
    [
        ({"labels": ("0", "2")}, [], "has the labels 0, 2, and "),
        ({"problem_type": "regression"}, [], "is a model for regression, and "),
        ({}, ["--max_seq_length=128"], "--max_seq_length=128: "),
        ({}, ["--predict_file=new-*.tsv"], "--predict_file=new-*.tsv: an ensemble predicts a single file; "),
    ],
    ids=["labels", "problem type", "default value", "pattern"],
)
def test_refused_members(classify, trained_once, table, tmp_path, changes, flags, message):
    members = f"{variant(trained_once[0], tmp_path / 'a')},{variant(trained_once[0], tmp_path / 'b', **changes)}"
    out = tmp_path / "out"
    done = classify("--do_predict", f"--ensemble={members}", f"--predict_file={table}", f"--output_dir={out}", *flags)
    done.assert_refused(message)
    assert not out.exists()


def test_refused_folders(refused, trained_once, tmp_path):
    (tmp_path / "empty").mkdir()
    refused(["--do_predict", f"--ensemble={trained_once[0]}", "--predict_file=a.tsv"], "is one run; ")
    refused(
        ["--do_predict", f"--ensemble={trained_once[0]},{tmp_path / 'empty'}", "--predict_file=a.tsv"],
        "holds no trained",
    )
    twice = f"{trained_once[0]},{trained_once[0]}/"
    refused(["--do_predict", f"--ensemble={twice}", "--predict_file=a.tsv"], " would be averaged twice; name it once")


def test_a_missing_test_file_is_refused_before_training(refused, trained_flags):
    flags = [*trained_flags, "--num_runs=2", "--average_predictions", "--predict_file=a.tsv"]
    refused(flags, "a.tsv: no such file; check --predict_file")


@pytest.mark.parametrize("name", ["../other", "/tmp", "..", 3])
def test_a_report_cannot_name_runs_elsewhere(name, tmp_path):
    several = {"kind": "runs", "members": [{"folder": "run-1"}, {"folder": name}], "best": "run-1"}
    (tmp_path / "run_report.json").write_text(json.dumps({"several": several}))
    with pytest.raises(InputError, match="which is no subdirectory"):
        find_members([str(tmp_path)])
