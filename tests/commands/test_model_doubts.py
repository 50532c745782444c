"""Conflicts between a model's flags and files cause a warning, or an error with --strict."""

import json
import shutil

import pytest

from bert_cli import run_classifier, run_squad, run_tagging
from bert_cli.runs.tasks import interactive
from tests.commands import helpers
from tests.snapshots import check_message

# Warnings do not depend on the engine, and this one traces no graph.
ENGINE = "--engine=onnxruntime"


@pytest.fixture
def assert_warned(classify, snapshot):
    """Predict with flags: a warning has all fragments; with --strict it is an error."""

    def check(folder, flags, *fragments):
        flags = ["--do_predict", f"--output_dir={folder}", ENGINE, *flags]
        outcome = classify(*flags)
        assert outcome.code == 0, outcome.err
        warnings = [line for line in outcome.lines if line.startswith("warning: ")]
        assert any(all(fragment in line for fragment in fragments) for line in warnings), outcome.err
        before = snapshot(folder)
        classify(*flags, "--strict").assert_refused(*fragments)
        assert snapshot(folder) == before

    return check


def test_own_run_causes_no_warning(trained, classify):
    outcome = classify("--do_predict", f"--output_dir={trained}", ENGINE, "--strict")
    assert outcome.code == 0
    assert "warning: " not in outcome.err


def test_casing_against_flags_txt(trained, assert_warned):
    assert_warned(
        trained, ["--do_lower_case=false"], "--do_lower_case=false, but ", str(trained / "flags.txt"), "says true"
    )


def test_casing_against_tokenizer_config(trained, assert_warned):
    path = trained / "flags.txt"
    lines = [line for line in path.read_text(encoding="utf-8").splitlines(True) if "do_lower_case" not in line]
    path.write_text("".join(lines), encoding="utf-8")
    (trained / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": False}), encoding="utf-8")
    assert_warned(trained, ["--do_lower_case=true"], "--do_lower_case=true, but ", "tokenizer_config.json says false")


@pytest.mark.parametrize(
    ("name", "flags", "message"),
    [
        ("german_cased", [], "--do_lower_case is true, but the name german_cased says false"),
        ("my-uncased", ["--do_lower_case=false"], "--do_lower_case is false, but the name my-uncased says true"),
    ],
)
def test_casing_against_the_name_of_the_folder(name, flags, message, trained, assert_warned, tmp_path):
    path = trained / "flags.txt"
    lines = [line for line in path.read_text(encoding="utf-8").splitlines(True) if "do_lower_case" not in line]
    path.write_text("".join(lines), encoding="utf-8")
    assert_warned(shutil.move(trained, tmp_path / name), flags, message)


def test_vocabulary_smaller_than_the_model(trained, assert_warned, model, tmp_path):
    words = (model / "vocab.txt").read_text(encoding="utf-8").splitlines(True)
    path = tmp_path / "short.txt"
    path.write_text("".join(words[:-1]), encoding="utf-8")
    assert_warned(trained, [f"--vocab_file={path}"], f"{path} has 97 entries, fewer than vocab_size 98", "--vocab_file")


@pytest.mark.parametrize(("num_known_words", "is_warned"), [(56, True), (57, False)])
def test_unknown_words(num_known_words, is_warned, trained, assert_warned, classify, tmp_path):
    """3 of 59 words are 5.1 %, 3 of 60 are 5 %."""
    text = "dog " * num_known_words + "\u4e00 " * 3
    (tmp_path / "test.tsv").write_text(f"id\tsentence\n0\t{text}\n", encoding="utf-8")
    flags = [f"--data_dir={tmp_path}", "--max_seq_length=64"]
    if is_warned:
        assert_warned(trained, flags, "test: 3 of 59 words (5%) are [UNK]", "--vocab_file", "--do_lower_case")
    else:
        assert classify("--do_predict", f"--output_dir={trained}", ENGINE, *flags, "--strict").code == 0


@pytest.mark.parametrize("strict", [False, True])
def test_lines_with_unknown_words(strict, trained, classify, tmp_path, monkeypatch):
    """Only the first lines, which are read together, are checked."""
    monkeypatch.setattr(interactive, "CHUNK", 2)
    source, target = tmp_path / "texts.txt", tmp_path / "answers.jsonl"
    flags = [f"--output_dir={trained}", f"--input_file={source}", f"--output_file={target}", *["--strict"] * strict]
    source.write_text("dog " * 17 + "\ndog \u4e00\n\u4e00\n", encoding="utf-8")
    message = f"first lines of {source}: 1 of 19 words (5%) are [UNK]"
    outcome = classify(*flags)
    if strict:
        outcome.assert_refused(message, "--vocab_file", "--do_lower_case")
        assert not target.exists()
    else:
        assert outcome.code == 0
        assert [line[: len(message) + 9] for line in outcome.lines if "[UNK]" in line] == [f"warning: {message}"]
    source.write_text("dog " * 18 + "\ndog \u4e00\n\u4e00\n", encoding="utf-8")
    outcome = classify(*flags)
    assert outcome.code == 0
    assert "[UNK]" not in outcome.err


RUSSIAN = "собака видит кошку и дом"


@pytest.mark.parametrize("name", ["classify", "tag", "squad"])
def test_mostly_unknown_words_are_refused_with_the_builtin_model(name, capfd, tmp_path):
    """The refusal comes before TensorFlow's import and has the cause: the model is for English."""
    train = tmp_path / "train.csv"
    flags = [f"--train_file={train}"]
    if name == "classify":
        train.write_text(f"text,label\n{RUSSIAN},a\n{RUSSIAN} снова,b\n", encoding="utf-8")
    elif name == "tag":
        train = tmp_path / "train.txt"
        train.write_text("собака B-PER\nвидит O\n\nдом O\n", encoding="utf-8")
        flags = [f"--data_dir={tmp_path}"]
    else:
        answers = [{"text": "кошку", "answer_start": RUSSIAN.index("кошку")}]
        question = {"id": "1", "question": "кого видит собака?", "answers": answers}
        data = {"data": [{"title": "t", "paragraphs": [{"context": RUSSIAN, "qas": [question]}]}]}
        train = tmp_path / "train.json"
        train.write_text(json.dumps(data), encoding="utf-8")
        flags = [f"--train_file={train}"]
    call = {"classify": run_classifier.main, "tag": run_tagging.main, "squad": run_squad.main}[name]
    outcome = helpers.call(capfd, f"bert-{name}", call, *flags, "--do_train", f"--output_dir={tmp_path / 'out'}")
    outcome.assert_refused("train: ", "%) are [UNK]", "docs/models.md", "--allow_unknown")
    assert not (tmp_path / "out").exists()


def test_mostly_unknown_words_to_predict(trained, classify, tmp_path, snapshot):
    (tmp_path / "test.tsv").write_text(f"id\tsentence\n0\t{RUSSIAN} dog\n", encoding="utf-8")
    flags = ["--do_predict", f"--output_dir={trained}", f"--data_dir={tmp_path}", ENGINE]
    before = snapshot(trained)
    message = f"test: 5 of 6 words (83%) are [UNK]: the vocabulary {trained / 'vocab.txt'} does not fit the text"
    classify(*flags).assert_refused(message)
    assert snapshot(trained) == before
    outcome = classify(*flags, "--allow_unknown")
    assert outcome.code == 0
    check_message(outcome.err, "6 words")


def test_half_of_the_words_unknown_is_a_warning(trained, classify, tmp_path):
    (tmp_path / "test.tsv").write_text("id\tsentence\n0\tсобака dog\n", encoding="utf-8")
    outcome = classify("--do_predict", f"--output_dir={trained}", f"--data_dir={tmp_path}", ENGINE)
    assert outcome.code == 0
    check_message(outcome.err, "2 words")


def test_mostly_unknown_lines(trained, classify, tmp_path):
    source, target = tmp_path / "texts.txt", tmp_path / "answers.jsonl"
    source.write_text(f"{RUSSIAN}\n", encoding="utf-8")
    outcome = classify(f"--output_dir={trained}", f"--input_file={source}", f"--output_file={target}")
    outcome.assert_refused("5 words", "--allow_unknown")
    assert not target.exists()


def test_bare_name_of_a_model(refused, flags):
    refused(
        [*flags, "--do_train", "--init_checkpoint=bert-base-uncased"],
        "bert-base-uncased: ",
        "--init_checkpoint=uncased_L-12_H-768_A-12/bert_model.ckpt",
        "--init_checkpoint=FOLDER",
    )


def test_config_without_vocab_size_uses_the_vocabulary_size(trained, flags, model, classify, tmp_path):
    values = json.loads((model / "bert_config.json").read_text(encoding="utf-8"))
    del values["vocab_size"]
    (tmp_path / "bert_config.json").write_text(json.dumps(values), encoding="utf-8")
    run = ["--do_train", "--num_train_epochs=0.2", f"--bert_config_file={tmp_path / 'bert_config.json'}"]
    assert classify(*flags, *run, f"--output_dir={tmp_path / 'out'}").code == 0
    written = json.loads((tmp_path / "out" / "bert_config.json").read_text(encoding="utf-8"))
    assert written["vocab_size"] == 98
