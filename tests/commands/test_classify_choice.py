"""bert-classify on multiple choice: training, evaluation, prediction, swag, and refusals."""

import csv
import json
import shutil

import numpy as np
import pytest
from sklearn.metrics import accuracy_score

from bert_cli import Classifier, convert_checkpoint, export_model
from bert_cli.base.errors import InputError
from bert_cli.run_classifier import main
from tests.commands import helpers
from tests.commands.conftest import ANIMALS, PEOPLE
from tests.commands.helpers import RunFolder, words

NAMES = ["sentence", "first", "second", "third", "answer"]


def rows(count: int) -> list[list[str]]:
    """Return texts with one choice about people, at any index, and two about animals.

    The label counts from 1.
    """
    made = []
    for number in range(count):
        endings = [ANIMALS[number % 12], ANIMALS[(number + 5) % 12]]
        endings.insert(number % 3, PEOPLE[number % 12])
        made.append(["our garden", *endings, str(number % 3 + 1)])
    return made


def write_csv(path, names, lines):
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([names, *lines])
    return path


@pytest.fixture(scope="module")
def chosen_once(model_flags, tmp_path_factory):
    """An output_dir of a run on a user's file; do not change it."""
    folder = tmp_path_factory.mktemp("chosen")
    table = write_csv(folder / "own.csv", NAMES, rows(24))
    flags = {"train_file": table, "dev_split": 0.25, "test_file": table, "output_dir": folder / "out"}
    flags |= {"choice_columns": "first,second,third", "label_column": "answer"}
    assert main([*model_flags, *words(flags), "--do_train", "--do_eval", "--do_predict"]) == 0
    return folder / "out"


@pytest.fixture
def chosen(chosen_once, tmp_path) -> RunFolder:
    return RunFolder(shutil.copytree(chosen_once, tmp_path / "out"))


def test_user_file(chosen, classify, tmp_path, capfd):
    out = chosen
    flags = (out.path / "flags.txt").read_text("utf-8").splitlines()
    told = {"--choice_columns=first,second,third", "--choice_labels=1", "--problem_type=multiple_choice"}
    assert told | {"# found in the data: --text_column=sentence", "--label_column=answer"} <= set(flags)
    assert out.eval_results().keys() == {"eval_accuracy", "eval_examples", "eval_loss", "global_step", "loss"}
    assert list(out.report()["baselines"]) == ["majority"]
    assert not (out.path / "labels.txt").exists()
    probabilities = out.probabilities()
    assert probabilities.shape == (24, 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-5)
    table, best = out.predictions(), probabilities.argmax(axis=1)
    assert list(table.columns) == ["id", "label", "prob_0", "prob_1", "prob_2", "text", "ending"]
    assert list(table["label"]) == [str(place) for place in best]
    assert list(table["ending"]) == [row[1 + place] for row, place in zip(rows(24), best, strict=True)]
    assert accuracy_score([n % 3 for n in range(24)], best) > 0.7

    # The directory has the columns and the label numbering, which two rows cannot show.
    few = write_csv(tmp_path / "few.csv", NAMES, rows(2))
    arguments = [f"--dev_file={few}", f"--predict_file={few}", f"--output_dir={out.path}"]
    done = classify("--do_eval", "--noreport", "--do_predict", *arguments, "--precision=float32")
    assert done.code == 0, done.err
    assert out.eval_results()["eval_accuracy"] == np.float32(accuracy_score([0, 1], best[:2]))
    np.testing.assert_allclose(out.probabilities(), probabilities[:2], atol=1e-5)

    assert classify("--do_predict", *arguments, "--engine=onnxruntime").code == 0
    np.testing.assert_allclose(out.probabilities(), probabilities[:2], atol=1e-5)

    # Commands without choices refuse; a Hugging Face directory records its problem type.
    refused_text = classify("--text=a dog", f"--output_dir={out.path}")
    refused_text.assert_refused("--text: ", "this is a multiple-choice model", "--predict_file")
    with pytest.raises(InputError, match="is a multiple-choice model"):
        Classifier.load(out.path)
    for output in ("saved_model", "onnx"):
        flags = [f"--format={output}", f"--init_checkpoint={out.path}", f"--export_dir={tmp_path / 'e'}"]
        helpers.call(capfd, "bert-export", export_model.main, *flags).assert_refused("is a multiple-choice model")
    assert convert_checkpoint.main([f"--from={out.path}", f"--to={tmp_path / 'hf'}", "--check"]) == 0
    config = json.loads((tmp_path / "hf" / "config.json").read_text())
    assert config["architectures"] == ["BertForMultipleChoice"]
    assert not {"id2label", "problem_type"} & config.keys()
    arguments = [
        f"--predict_file={few}",
        "--choice_columns=first,second",
        f"--output_dir={tmp_path / 'p'}",
        "--gelu=tanh",
    ]
    start = [f"--init_checkpoint={tmp_path / 'hf'}", "--precision=float32", "--max_seq_length=32"]
    done = classify("--do_predict", *start, *arguments, "--engine=onnxruntime")
    assert done.code == 0, done.err
    two = RunFolder(tmp_path / "p").probabilities()  # as many choices as the file has
    np.testing.assert_allclose(two, probabilities[:2, :2] / probabilities[:2, :2].sum(axis=1, keepdims=True), atol=1e-5)


def test_swag(chosen, classify, tmp_path):
    """A model trained on three choices reads the four choices in swag's files."""
    names = ["", "video-id", "fold-ind", "startphrase", "sent1", "sent2", "gold-source"]
    names += [*(f"ending{place}" for place in range(4)), "label"]
    made = [
        [number, "v", "1", "-", "our garden", "the", "gold", *row[1:4], "small fish", int(row[4]) - 1]
        for number, row in enumerate(rows(12))
    ]
    write_csv(tmp_path / "val.csv", names, made)
    write_csv(tmp_path / "test.csv", names[:-1], [row[:-1] for row in made])
    out = RunFolder(tmp_path / "swag")
    flags = {"task_name": "swag", "output_dir": out.path, "init_checkpoint": chosen.path}
    flags |= {"dev_file": tmp_path / "val.csv", "test_file": tmp_path / "test.csv"}
    done = classify(*words(flags), "--do_eval", "--do_predict", "--precision=float32")
    assert done.code == 0, done.err
    assert "swag is measured by eval_accuracy = " in done.err
    assert out.probabilities().shape == (12, 4)
    assert out.predictions()["ending"].str.startswith("the ").all()
    assert out.eval_results()["eval_accuracy"] == np.float32(
        accuracy_score([row[-1] for row in made], out.probabilities().argmax(axis=1))
    )


ENDINGS = ["--choice_columns=first,second,third"]
TRAIN = ["--do_train", "--train_file={own}", "--label_column=answer"]


@pytest.mark.parametrize(
    ("choice_flags", "fragments"),
    [
        ([*TRAIN, "--choice_columns=first"], ["--choice_columns=first: "]),
        ([*TRAIN, "--choice_columns=first,fourth"], ["own.csv:1: "]),
        ([*TRAIN, *ENDINGS, "--label_column=answer,first"], []),
        ([*TRAIN, *ENDINGS, "--problem_type=multi_label"], ["--choice_columns: --problem_type, ", "is multi_label"]),
        ([*TRAIN, *ENDINGS, "--threshold=0.3"], ["--threshold=0.3", "multiple_choice"]),
        ([*TRAIN, *ENDINGS, "--choice_labels=0"], ["own.csv:4: "]),
        ([*TRAIN, *ENDINGS, "--max_seq_length=4"], ["--max_seq_length: "]),
        (["--do_train", "--task_name=cola", *ENDINGS], ["--task_name=cola"]),
        (["--do_train", "--task_name=swag", "--data_dir={folder}"], ["train.csv: "]),
        (["--do_train", "--task_name=swag", "--problem_type=regression"], ["--task_name=swag"]),
        (["--do_train", "--task_name=swag", "--glue_submission"], ["--glue_submission"]),
        (["--do_train", "--task_name=swag", "--labels=0,1"], ["--task_name=swag", "--labels does not go"]),
        (["--do_train", "--task_name=swag", "--header=no"], ["--task_name=swag"]),
    ],
)
def test_refused(refused, model_flags, tmp_path, choice_flags, fragments):
    table = write_csv(tmp_path / "own.csv", NAMES, rows(6))
    refused([*model_flags[:3], *(flag.format(own=table, folder=tmp_path) for flag in choice_flags)], *fragments)


def test_choices_are_refused_for_a_model_with_labels(classify, trained, tmp_path):
    table = write_csv(tmp_path / "own.csv", NAMES, rows(6))
    outcome = classify("--do_predict", f"--predict_file={table}", *ENDINGS, f"--output_dir={trained}")
    outcome.assert_refused("--choice_columns: ")
