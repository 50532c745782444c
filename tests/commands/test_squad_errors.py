"""bert-squad reports each mistake in flags or files in one line and does not change output_dir."""

import json
import subprocess
import sys

import pytest

from bert_cli.run_squad import main
from tests.commands import helpers
from tests.snapshots import check_message

CONTEXT = "The old farmer sees a cat in the garden."


def squad_file(path, **changes):
    """Write a file with one question; `changes` are its fields, None removes one."""
    fields = {"id": "1", "question": "who ?", "answers": [{"text": "farmer", "answer_start": 8}]} | changes
    question = {name: value for name, value in fields.items() if value is not None}
    content = {"data": [{"paragraphs": [{"context": CONTEXT, "qas": [question]}]}]}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


@pytest.fixture
def good(tmp_path):
    return squad_file(tmp_path / "good.json")


@pytest.fixture
def refused(model, tmp_path, capfd, snapshot):
    """Call bert-squad, which must refuse in one line with all fragments and change nothing."""
    present = tmp_path / "present"
    present.mkdir()
    (present / "old_predictions.json").write_text("{}", encoding="utf-8")

    def call(words, *fragments, **flags):
        flags = {
            "vocab_file": model / "vocab.txt", "bert_config_file": model / "bert_config.json", "max_seq_length": 32,
            "max_query_length": 8, "train_batch_size": 1, "output_dir": present,
        } | flags  # fmt: skip
        before = snapshot(present)
        helpers.call(capfd, "bert-squad", main, *words, *helpers.words(flags)).assert_refused(*fragments)
        assert snapshot(present) == before

    return call


def test_flags_that_do_not_fit(refused, good):
    train, predict = {"train_file": good}, {"predict_file": good}
    refused(
        ["--score_only"],
        "--null_odds_file",
        predictions_file=good,
        null_odds_file=good,
        **predict,
    )
    refused([], "--output_dir", question="who", context="x", output_dir=None)
    refused(["--do_predict"], "holds no trained model", **predict)
    refused(["--do_train"], "--max_seq_length: ", max_seq_length=11, **train)
    refused(["--do_train"], "--doc_stride: 0", doc_stride=0, **train)
    refused(["--do_train"], "--n_best_size: 0", n_best_size=0, **train)
    refused(["--do_train"], "--max_seq_length=100", max_seq_length=100, **train)
    refused(["--do_train", "False"], "stray word 'False'", **train)
    refused(["--do_train"], "--doc_strid", doc_strid=3, **train)
    refused(["--do_train"], "make no training step", num_train_epochs=0.001, **train)
    refused(["--do_train"], "--multiple_answers", multiple_answers="last", **train)


def test_files_that_cannot_be_read(refused, good, tmp_path):
    none, folder = tmp_path / "none.json", tmp_path
    refused(["--do_train"], "none.json: ", train_file=none)
    refused(["--do_train"], "--train_file", train_file=folder)
    refused(["--do_train", "--do_eval"], "check --predict_file", train_file=good, predict_file=none)
    refused(["--score_only"], "check --predictions_file", predictions_file=none, predict_file=good)
    refused(["--do_train"], "good.json: ", train_file=good, output_dir=good)
    broken = tmp_path / "broken.json"
    broken.write_text('{"data": [\n}', encoding="utf-8")
    refused(["--do_train"], "broken.json:2: ", train_file=broken)
    refused(["--score_only"], "broken.json:2: ", predictions_file=broken, predict_file=good)
    broken.write_bytes(b'{"data": "\xff"}')
    refused(["--do_train"], "broken.json:1: ", train_file=broken)
    broken.write_text("[]", encoding="utf-8")
    refused(["--do_train"], "broken.json: ", train_file=broken)
    refused(["--score_only"], "predictions are {", predictions_file=broken, predict_file=good)


def test_empty_files(refused, good, tmp_path):
    empty = tmp_path / "empty.json"
    empty.touch()
    refused(["--do_train"], f"{empty}: ", train_file=empty)
    predicted = {"train_file": good, "predict_file": empty}
    refused(["--do_train", "--do_eval"], f"{empty}: ", **predicted)
    scored = {"predictions_file": empty, "predict_file": good}
    refused(["--score_only"], f"{empty}: ", **scored)


def test_data_that_does_not_fit(refused, good, tmp_path):
    path, place = tmp_path / "bad.json", "bad.json: data[0].paragraphs[0].qas[0]"
    two = [{"text": "farmer", "answer_start": 8}, {"text": "cat", "answer_start": 22}]

    def bad(**changes):
        return {"train_file": squad_file(path, **changes)}

    refused(["--do_train"], place, 'has no "question"', **bad(question=None))
    refused(["--do_train"], place, "has 2 answers", "--multiple_answers=first", **bad(answers=two))
    refused(["--do_train"], place, "has no answer", **bad(answers=[]))
    refused(["--do_train"], place, "--version_2_with_negative", **bad(is_impossible=True))
    refused(["--do_train"], "none of its 1 answers", **bad(answers=[{"text": "cow", "answer_start": 8}]))
    refused(["--do_train", "--version_2_with_negative"], place, 'has no "answers"', **bad(answers=None))
    unanswered = squad_file(path, answers=[], is_impossible=True)
    refused(
        ["--do_train", "--do_eval"], "has no right answer", "--version_2_with_negative", train_file=good,
        predict_file=unanswered,
    )  # fmt: skip
    data = json.loads(good.read_text(encoding="utf-8"))
    data["data"] *= 2
    path.write_text(json.dumps(data), encoding="utf-8")
    refused(["--do_train", "--do_predict"], "'1'", train_file=good, predict_file=path)


def test_several_answers_can_be_chosen(model, tmp_path, capfd):
    """Google's rule (first) uses one window, "all" uses two."""
    two = [{"text": "farmer", "answer_start": 8}, {"text": "cat", "answer_start": 22}]
    path = squad_file(tmp_path / "two.json", answers=two)
    for rule, count in (("first", 1), ("all", 2)):
        flags = {
            "vocab_file": model / "vocab.txt", "bert_config_file": model / "bert_config.json", "max_seq_length": 32,
            "max_query_length": 8, "train_batch_size": 1, "num_train_epochs": 0.1, "multiple_answers": rule,
            "train_file": path, "output_dir": tmp_path / "out",
        }  # fmt: skip
        assert main(["--do_train", *(f"--{name}={value}" for name, value in flags.items())]) == 1
        check_message(capfd.readouterr().err, "train: ", f"{count} windows")


def test_invalid_question_lines(refused, model, tmp_path):
    """A mistake far below is detected after TensorFlow's start; no output file appears."""
    from bert_cli.heads.squad import BertSpanModel
    from bert_cli.model.config_files import read_config
    from bert_cli.model.layers import named_weights
    from bert_cli.weights.formats.checkpoint_writer import write_tf1

    prefix, lines = tmp_path / "model.ckpt-1", tmp_path / "lines.jsonl"
    weights = {
        name: v.numpy()
        for name, v in named_weights(BertSpanModel(read_config(str(model / "bert_config.json")))).items()
    }
    write_tf1(str(prefix), weights)
    flags = {
        "init_checkpoint": prefix,
        "input_file": lines,
        "output_file": tmp_path / "answers.jsonl",
        "output_dir": None,
    }
    line = json.dumps({"id": "1", "question": "who ?", "context": CONTEXT})
    for text, *fragments in (
        (f"{line}\nno JSON\n", "lines.jsonl:2: is not JSON"),
        (f"{line}\n\n{line}\n", "lines.jsonl:3: the id '1' is also the id of", "lines.jsonl:1"),
        ('{"question": "who ?"}\n', 'lines.jsonl:1: has no "context"'),
        ("\n\n", "lines.jsonl: holds no question"),
        (f"{line}\n\udcff", "lines.jsonl:2: is not UTF-8"),
    ):
        lines.write_bytes(text.encode("utf-8", "surrogateescape"))
        refused([], *fragments, **flags)
        assert not (tmp_path / "answers.jsonl").exists()
    flags |= {"output_file": tmp_path / "none" / "answers.jsonl"}
    lines.write_text(line, encoding="utf-8")
    refused([], "none: ", **flags)
    flags |= {"output_file": tmp_path / "answers.jsonl"}
    del weights["cls/squad/output_bias"]
    write_tf1(str(prefix), weights)
    refused([], **flags)
    refused([], "lacks cls/squad", question="who ?", context=CONTEXT, init_checkpoint=prefix, output_dir=None)


def test_nan_weights_are_reported_before_any_output(refused, good, model, tmp_path):
    import numpy as np

    from bert_cli.heads.squad import BertSpanModel
    from bert_cli.model.config_files import read_config
    from bert_cli.model.layers import named_weights
    from bert_cli.weights.formats.checkpoint_writer import write_tf1

    weights = {
        name: v.numpy()
        for name, v in named_weights(BertSpanModel(read_config(str(model / "bert_config.json")))).items()
    }
    weights["cls/squad/output_bias"] = np.array([np.nan, 0], np.float32)
    write_tf1(str(tmp_path / "model.ckpt-1"), weights)
    refused(["--do_predict"], "not numbers", predict_file=good, init_checkpoint=tmp_path / "model.ckpt-1")


def test_help_and_scores_need_no_tensorflow(good, tmp_path):
    predictions = tmp_path / "predictions.json"
    predictions.write_text('{"1": "farmer"}', encoding="utf-8")
    scoring = ["--score_only", f"--predictions_file={predictions}", f"--predict_file={good}"]
    program = (
        "import sys\nfrom bert_cli.run_squad import main\n"
        f"for arguments in (['--help'], {scoring!r}):\n"
        "    assert main(arguments) == 0\n"
        "    assert not {'tensorflow', 'keras', 'pandas', 'sklearn'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "doc_stride" in done.stdout
    assert '"exact_match": 100.0' in done.stdout
