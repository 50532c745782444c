"""Training from Python with files, data frames and lists: results of the command, and refusals."""

import contextlib
import datetime
import gc
import json
import logging
import os
import pathlib
import pickle
import re
import signal
import tempfile

import numpy as np
import pandas as pd
import pytest

from bert_cli import Classifier, FeatureExtractor, QuestionAnswerer, Tagger
from bert_cli.api.inputs.tables import are_numbers
from bert_cli.api.training import _delete_stopped
from bert_cli.base.errors import InputError
from bert_cli.run_classifier import main
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runtime.signals import Stopped
from tests.commands import squad_run
from tests.commands.conftest import SENTENCES
from tests.commands.helpers import assert_same_tensors
from tests.rows import write_rows
from tests.snapshots import check_message, raises

README = pathlib.Path(__file__).resolve().parents[2] / "README.md"
TEXTS = [text for text, _ in SENTENCES]
FRAME = pd.DataFrame({"text": ["a", "b"]})
LABELS = ["person" if of_people else "animal" for _, of_people in SENTENCES]


@pytest.fixture(scope="module")
def options(model) -> dict:
    return {
        "vocab_file": model / "vocab.txt",
        "bert_config_file": str(model / "bert_config.json"),
        "max_seq_length": 32,
        "train_batch_size": 4,
        "learning_rate": 0.003,
        "num_train_epochs": 2,
        "precision": "float32",
    }


@pytest.fixture(scope="module")
def fitted(options, tmp_path_factory) -> Classifier:
    folder = tmp_path_factory.mktemp("fitted") / "out"
    return Classifier.fit(
        TEXTS, np.array(LABELS), dev_texts=TEXTS[:5], dev_labels=LABELS[:5], output_dir=folder, **options
    )


def flags_of(options: dict) -> list[str]:
    return [f"--{name}={value}" for name, value in options.items()]


@pytest.mark.slow
def test_model_equals_the_model_of_the_command(fitted, options, tmp_path, run_folder):
    rows = [("text", "label"), *zip(TEXTS, LABELS, strict=True)]
    files = {
        "train_file": write_rows(tmp_path / "train.tsv", rows),
        "dev_file": write_rows(tmp_path / "dev.tsv", rows[:6]),
    }
    flags = flags_of(files | options)
    assert main([*flags, f"--output_dir={tmp_path / 'out'}", "--do_train", "--do_eval"]) == 0
    made, ours = run_folder(tmp_path / "out"), run_folder(pathlib.Path(fitted.output_dir))
    assert_same_tensors(ours.tensors(12), made.tensors(12))
    assert ours.names() == made.names()
    assert fitted.report["eval"] == made.report()["eval"]
    assert (fitted.labels, fitted.problem_type) == (("animal", "person"), "single_label")
    reloaded = Classifier.load(fitted.output_dir, precision="float32").predict(TEXTS)
    np.testing.assert_array_equal(fitted.predict(TEXTS).probabilities, reloaded.probabilities)
    # A data frame with the same rows is the same run, which is finished.
    frame = pd.DataFrame({"label": LABELS, "text": TEXTS})
    train = Classifier.train(frame, output_dir=fitted.output_dir, **options)
    assert "train_seconds" not in train.report
    np.testing.assert_array_equal(train.predict(TEXTS).probabilities, reloaded.probabilities)
    with raises(InputError):
        Classifier.train(frame, output_dir=fitted.output_dir, **(options | {"learning_rate": 0.01}))


def test_a_new_regression_head_begins_with_the_mean(options, tmp_path):
    """A new head predicts about the mean with a rate of 0, and a trained head keeps its bias."""
    still = options | {"learning_rate": 0.0, "num_train_epochs": 1, "problem_type": "regression"}
    numbers = [290.0 + number for number in range(len(TEXTS))]
    first = Classifier.fit(TEXTS, numbers, output_dir=tmp_path / "first", **still)
    np.testing.assert_allclose(first.predict(TEXTS).values, np.mean(numbers), atol=1.0)
    # The second run has its model's files.
    del still["vocab_file"], still["bert_config_file"]
    second = Classifier.fit(TEXTS, [1.0, 2.5] * (len(TEXTS) // 2), init_checkpoint=tmp_path / "first", **still)
    np.testing.assert_array_equal(second.predict(TEXTS).values, first.predict(TEXTS).values)


@pytest.mark.slow
def test_pairs_several_labels_and_numbers(options):
    options = options | {"num_train_epochs": 1, "train_batch_size": 8}
    labels = [[1, 7] if label == "person" else [] for label in LABELS]
    several = Classifier.fit([(text, "a cat") for text in TEXTS], labels, **options)
    assert (several.labels, several.problem_type) == ((1, 7), "multi_label")
    rows = [{"text": text, "label": number / 4, "user": "a"} for number, text in enumerate(TEXTS)]
    value = Classifier.train(rows, problem_type="regression", dev_split=0.25, **options)
    train = value.data_facts["train"]
    assert (train["rows"], train["columns"]) == (len(TEXTS), {"text": ["text"], "label": ["label"]})
    assert train["not_used"] == ["user"]
    assert value.predict(["a cat"]).values.shape == (1,)
    assert {"eval_pearson", "global_step"} <= set(value.report["eval"])
    folder = pathlib.Path(value.output_dir)
    assert folder.is_dir()
    del value
    gc.collect()
    assert not folder.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (pd.Series([int(label == "person") for label in LABELS], dtype="int64"), (0, 1)),
        ([label == "person" for label in LABELS], (False, True)),
        ([[3, 10] if label == "person" else [] for label in LABELS], (3, 10)),
    ],
    ids=["int64", "bool", "lists"],
)
def test_labels_have_the_type_of_the_training(options, labels, expected, tmp_path):
    short = options | {"num_train_epochs": 0.5}
    fitted = Classifier.fit(TEXTS, labels, output_dir=tmp_path / "out", **short)
    fitted.save(tmp_path / "copy")
    # The files have texts, as those of the command.
    names = "".join(f"{label}\n" for label in expected)
    assert (tmp_path / "out" / "labels.txt").read_text() == names
    loaded = [Classifier.load(tmp_path / name, precision="float32") for name in ("out", "copy")]
    for model in (fitted, *loaded, pickle.loads(pickle.dumps(fitted))):
        assert list(map(repr, model.labels)) == list(map(repr, expected))
        assert model.evaluate(TEXTS, labels)["eval_examples"] == len(TEXTS)
        predictions = model.predict(TEXTS)
        labels_of_items = [label for item in predictions for label in item.labels]
        assert set(map(repr, labels_of_items)) <= set(map(repr, expected))
        assert list(predictions[0].probabilities) == list(expected)
        assert "labels: " in repr(model)
    renamed = Classifier.load(tmp_path / "out", labels=["no", "yes"])
    assert renamed.labels == ("no", "yes")
    # The same call finds the finished run, and labels as texts are the same run.
    texts = [list(map(str, label)) if isinstance(label, list) else str(label) for label in labels]
    assert "train_seconds" not in Classifier.fit(TEXTS, texts, output_dir=tmp_path / "out", **short).report


@pytest.mark.slow
def test_a_fitted_model_reads_the_columns_of_its_training(options, tmp_path):
    frame = pd.DataFrame({"other": "x", "review": TEXTS, "verdict": LABELS, "more": "y"})
    short = options | {"num_train_epochs": 0.5}
    columns = frame["review"], frame["verdict"]
    fitted = Classifier.fit(*columns, dev_texts=TEXTS, dev_labels=LABELS, output_dir=tmp_path / "out", **short)
    expected = fitted.predict(TEXTS).best
    for model in (fitted, Classifier.load(tmp_path / "out", precision="float32")):
        assert model.predict(frame).best == expected
        assert model.evaluate(frame) == model.evaluate(TEXTS, LABELS) == model.evaluate(frame, LABELS)
        with raises(InputError, "'review'"):
            model.predict(frame[["other", "more"]])
        with pytest.raises(InputError, match=r"^texts\[0\]: has a second text"):
            model.evaluate([("a", "b")], ["person"])


ONE_HOT = np.eye(3)[[number % 2 for number in range(len(TEXTS))]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("labels", "label_names", "names", "problem_type"),
    [
        (ONE_HOT, {}, ("0", "1", "2"), "single_label"),
        (ONE_HOT.astype(bool).tolist(), {"problem_type": "multi_label"}, ("0", "1", "2"), "multi_label"),
        (pd.get_dummies(pd.Series(LABELS)), {}, ("animal", "person"), "single_label"),
        (pd.get_dummies(pd.Series(LABELS)), {"problem_type": "multi_label"}, ("animal", "person"), "multi_label"),
        (np.maximum(ONE_HOT, np.eye(3)[2]), {}, ("0", "1", "2"), "multi_label"),
    ],
    ids=["array", "lists of several", "data frame", "data frame of several", "several"],
)
def test_label_rows_with_0_and_1(options, labels, label_names, names, problem_type):
    # Columns in another order.
    dev = labels[list(names[::-1])] if isinstance(labels, pd.DataFrame) else labels
    options = options | {"num_train_epochs": 1, "train_batch_size": 8} | label_names
    model = Classifier.fit(TEXTS, labels, dev_texts=TEXTS, dev_labels=dev, **options)
    assert (model.labels, model.problem_type) == (names, problem_type)
    assert model.predict(TEXTS[:2]).probabilities.shape == (2, len(names))
    scores = model.report["eval"]["labels" if problem_type == "multi_label" else "classes"]
    assert [scores[name]["support"] for name in names] == np.asarray(labels, int).sum(axis=0).tolist()


class _Signal(logging.Handler):
    """Handler that sends this process a signal after the second training step."""

    def __init__(self, number: int):
        super().__init__()
        self.number, self.lines = number, []

    def emit(self, record):
        self.lines.append(record.getMessage())
        if self.lines[-1].startswith("training 2/"):
            os.kill(os.getpid(), self.number)


@contextlib.contextmanager
def signal_in_training(number: int, monkeypatch, folder: pathlib.Path):
    """Send a signal during training; directories for temporary files are in `folder`."""
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    handler, log = _Signal(number), logging.getLogger("bert_cli")
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    # A shell starts background processes with SIGINT ignored, which training respects.
    before = signal.signal(number, signal.default_int_handler)
    try:
        with pytest.raises(Stopped) as stopped:
            yield handler.lines, stopped
        # A notebook catches Ctrl-C as usual.
        assert isinstance(stopped.value, KeyboardInterrupt) == (number == signal.SIGINT)
    finally:
        signal.signal(number, before)
        log.removeHandler(handler)
        log.setLevel(level)


FRAME_OF_TEXTS = pd.DataFrame({"text": TEXTS, "label": LABELS})
SENTENCE = (["a", "cat"], ["O", "B-X"])


@pytest.mark.parametrize(
    ("number", "name", "train"),
    [
        (signal.SIGINT, "Ctrl-C", lambda options: Classifier.fit(TEXTS, LABELS, **options)),
        pytest.param(
            signal.SIGTERM,
            "SIGTERM",
            lambda options: Classifier.train(FRAME_OF_TEXTS, **options),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            signal.SIGINT, "Ctrl-C", lambda options: Tagger.train([SENTENCE] * 24, **options), marks=pytest.mark.slow
        ),
    ],
)
def test_a_stopped_training_stays_until_the_process_ends(options, monkeypatch, tmp_path, number, name, train):
    with signal_in_training(number, monkeypatch, tmp_path) as (lines, stopped):
        train(options | {"log_steps": 1})
    folder = stopped.value.output_dir
    assert [str(path) for path in tmp_path.iterdir()] == [folder]
    check_message(str(stopped.value).replace(folder, "FOLDER"), f"{name} after")
    check_message(lines, f"{name} received")
    # At the end of the process: what has been trained since is the user's.
    checkpoint = RunDirectory(folder).newest_checkpoint
    assert train(options | {"output_dir": folder}).report["global_step"] == 12
    _delete_stopped(folder, checkpoint)
    assert pathlib.Path(folder).exists()
    _delete_stopped(folder, RunDirectory(folder).newest_checkpoint)
    assert not pathlib.Path(folder).exists()


@pytest.mark.parametrize("overwrites", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_signal_keeps_the_files_in_output_dir(options, monkeypatch, tmp_path, overwrites):
    out = tmp_path / "out"
    options = options | {"log_steps": 1, "report": False, "output_dir": out, "overwrite_output_dir": overwrites}
    with signal_in_training(signal.SIGINT, monkeypatch, tmp_path) as (lines, stopped):
        Classifier.train(FRAME_OF_TEXTS, **options)
    check_message(stopped, out)
    assert len(stopped.traceback) < 12, "a notebook shows each frame"
    assert "Ctrl-C received: saving after this step; a second signal exits at once, without saving" in lines
    assert Classifier.train(FRAME_OF_TEXTS, **options | {"overwrite_output_dir": False}).report["global_step"] == 12


@pytest.mark.slow
def test_taggers(options, tmp_path):
    sentences = [(["the", "old", "dog", "sees"], ["O", "B-X", "I-X", "O"]), (("a", "cat"), ("O", "B-X"))]
    options = options | {"train_batch_size": 1, "num_train_epochs": 40, "learning_rate": 0.01}
    tagger = Tagger.train(sentences, dev=sentences, output_dir=tmp_path / "tagger", decoding="viterbi", **options)
    assert tagger.source.arguments["decoding"] == "viterbi"
    assert tagger.tag(["The old dog sees"])[0].tags == ("O", "B-X", "I-X", "O")
    assert tagger.report["eval"]["eval_f1"] == 100
    # The tagger's directory is refused by the other classes.
    for other_class, command in ((Classifier, "bert-classify"), (QuestionAnswerer, "bert-squad")):
        with raises(InputError, command):
            other_class.load(tagger.output_dir)
    assert FeatureExtractor.load(tagger.output_dir).extract(["a cat"]).shape == (1, 16)
    assert main([f"--output_dir={tmp_path / 'tagger'}", "--text=a cat"]) == 1
    (tmp_path / "tagger" / "run.json").unlink()  # as after bert-convert
    with pytest.raises(InputError, match="holds a model of bert-tag"):
        Classifier.load(tagger.output_dir)
    for wrong in ([(["a"], ["O", "O"])], [("a cat", "O O")], [(["a"], [1])]):
        with pytest.raises(InputError, match=r"^train\[0\]: "):
            Tagger.train(wrong, **options)
    with raises(InputError, "dev[1]: "):
        Tagger.train(sentences, dev=[sentences[0], (["a", "cat"], ["O", "B-Y"])], **options)


def _questions(path: pathlib.Path) -> list[dict]:
    """Return a SQuAD file's questions as records with their contexts."""
    return [
        {"context": paragraph["context"]} | question
        for article in json.loads(path.read_text())["data"]
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    ]


def test_question_answerer_learns_from_memory(model, tmp_path):
    path, flags = squad_run.write_data(tmp_path / "train.json", 4), squad_run.base_flags(model)
    rows = _questions(path)
    answerer = QuestionAnswerer.train(pd.DataFrame(rows), rows[:3], output_dir=tmp_path / "out", **flags)
    report = answerer.report["eval"]
    assert report["total"] == 3
    started, finished = (datetime.datetime.fromisoformat(answerer.report[name]) for name in ("started", "finished"))
    # Without a zone, this is a TypeError.
    assert started <= finished <= datetime.datetime.now(datetime.UTC)
    names = ("exact_match", "f1", "total")
    assert {name: answerer.evaluate(rows[:3])[name] for name in names} == {name: report[name] for name in names}
    # No file is a flag, so that a later command does not look for one.
    assert not re.search("--(train|predict)_file=", (tmp_path / "out" / "flags.txt").read_text())
    with raises(InputError, "data: "):
        answerer.evaluate([])
    with raises(InputError, "train[1]: "):
        QuestionAnswerer.train([rows[0], rows[1] | {"answers": [{"start": 1}]}], **flags)


@pytest.mark.slow
def test_answers_from_memory_equal_those_from_a_file(model, tmp_path):
    path, flags = squad_run.write_data(tmp_path / "train.json", 4), squad_run.base_flags(model)
    rows = _questions(path)
    from_file = QuestionAnswerer.train(path, path, **flags)
    in_memory = QuestionAnswerer.train(rows, json.loads(path.read_text()), **flags)
    pairs = [(row["question"], row["context"]) for row in rows]
    assert in_memory.records(pairs) == from_file.records(pairs)
    scores = from_file.evaluate(path)
    assert in_memory.evaluate(rows) == scores
    assert {"exact_match", "f1"} <= scores.keys() & set(from_file.report["eval"])
    with pytest.raises(InputError, match=r"check train$"):
        QuestionAnswerer.train(tmp_path / "none.json", **flags)


@pytest.mark.parametrize(
    ("arguments", "options", "fragment"),
    [
        ((TEXTS, LABELS[1:]), {}, "24 entries"),
        ((["a", 3], ["x", "y"]), {}, "texts[1]: "),
        ((["a", ("b", "c")], ["x", "y"]), {}, "texts: "),
        ((["a", "b"], [["x"], "y"]), {}, "texts[1]: "),
        ((["a", "b"], [["x", "x"], ["y"]]), {}, "texts[0]: "),
        ((["a", "b"], [[0, 1, 1], [1, 0, 0]]), {"problem_type": "single_label"}, "texts[0]: "),
        ((["a", "b"], [[0, 0, 0], [1, 0, 0]]), {"problem_type": "single_label"}, "texts[0]: "),
        ((["a", "b"], np.eye(3)), {}, "2 entries"),
        ((["a", "b"], [[0, 1, 0], [1, 0]]), {}, "texts[1]: "),
        ((["a", "b"], np.eye(2)), {"problem_type": "regression"}, "texts[0]: "),
        ((["a", "b"], np.eye(2)), {"dev_texts": ["a"], "dev_labels": np.eye(3)[:1]}, "dev_texts[0]: "),
        ((["a", "c", "b"], ["x", None, "y"]), {}, "labels[1]: "),
        ((["a", "b"], ["x", "x"]), {}, "texts: "),
        (([], []), {}, "texts: "),
        (("a text", ["x"]), {}, "texts: "),
        ((["a", None], ["x", "y"]), {}, "texts[1]: "),
        (({"a": "x", "b": "y"}, ["x", "y"]), {}, "texts: "),
        ((["a", "b"], {"x", "y"}), {}, "labels: "),
        ((["a", "b"], ["x", "y"]), {"dev_texts": ["a"], "dev_labels": "x"}, "dev_labels: "),
        ((TEXTS, LABELS), {"max_seq_lenght": 3}, ""),
        ((TEXTS, LABELS), {"do_train": True}, ""),
        ((TEXTS, LABELS), {"train_batch_size": 0}, "train_batch_size=0: "),
        ((TEXTS, LABELS), {"max_seq_length": 2}, "max_seq_length: "),
        ((TEXTS, LABELS), {"dev_split": 0.5, "dev_texts": ["a"], "dev_labels": ["animal"]}, ""),
        ((TEXTS, LABELS), {"dev_texts": ["a"]}, ""),
        ((TEXTS, LABELS), {"dev_texts": ["a"], "dev_labels": ["bird"]}, "dev_texts[0]: "),
        ((TEXTS, LABELS), {"hub_trainable": False}, ""),
        ((TEXTS, LABELS), {"init_checkpoint": "/none/here"}, ""),
    ],
)  # fmt: skip
def test_refused(arguments, options, fragment):
    with raises(InputError, fragment):
        Classifier.fit(*arguments, **options)


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ([("a", "x"), ("b",)], "train[1]: "),
        (FRAME.assign(n=[1, 2]), "train: "),
        (FRAME.assign(label=[0.5, 1]), "train[0]: "),
        (FRAME.assign(label=["x", {}]), "train[1]: "),
        (None, ""),
        ("none.tsv", ""),
    ],
)  # fmt: skip
def test_tables_refused(data, place):
    with raises(InputError, place):
        Classifier.train(data)


def test_generators_are_read_once(monkeypatch):
    monkeypatch.setattr(Classifier, "_train_on", classmethod(lambda cls, *arguments: arguments))
    labels = ([0.5, 1.5], (value for value in (0.5, 1.5)), np.array([0.5, 1.5]), pd.Series([0.5, 1.5]))
    for values in labels:
        tables, _, _, _, options, *_ = Classifier.fit(
            (text for text in ("a", "b")), values, dev_texts=iter("c"), dev_labels=iter([1.0])
        )
        header = ["text", "label"]
        assert [row.cells for row in tables["train"].rows()] == [header, ["a", "0.5"], ["b", "1.5"]]
        assert [row.cells for row in tables["dev"].rows()] == [header, ["c", "1.0"]]
        assert options == {"problem_type": "regression"}


def test_are_numbers():
    results = [are_numbers(labels) for labels in ([0.5, 1], [0.25, 0.5], [1, 2], ["0.5"], [])]
    assert results == [True, True, False, False, False]


@pytest.mark.slow  # 40 steps with the built-in model
def test_the_first_example_of_the_readme():
    block = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)[1]
    *lines, last = block.rstrip().splitlines()
    assert any("Classifier.fit(" in line for line in lines)
    code, _, comment = last.partition("  # ")
    names: dict = {}
    exec("\n".join(lines), names)
    assert repr(eval(code, names)) == comment.replace('"', "'")


@pytest.mark.slow
def test_several_runs_of_data_in_memory(options, tmp_path):
    """All runs and the best run's evaluation read the given rows."""
    rows = list(zip(TEXTS, LABELS, strict=True))
    short = options | {"num_train_epochs": 0.5}
    several = Classifier.train(rows, dev=rows[:5], output_dir=tmp_path / "runs", num_runs=2, **short)
    assert [member["folder"] for member in several.report["several"]["members"]] == ["run-1", "run-2"]
    assert several.report["eval"]["eval_examples"] == 5
    assert several.labels == ("animal", "person")
