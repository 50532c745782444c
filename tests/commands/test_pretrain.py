"""bert-pretrain as a user calls it: text and TFRecords, evaluation, resuming, and fine-tuning."""

import json
import pathlib
import shutil

import numpy as np
import numpy_bert
import pytest
import tensorflow as tf

from bert_cli.create_pretraining_data import main as create_main
from bert_cli.run_classifier import main as classify_main
from bert_cli.run_pretraining import main
from tests.commands import helpers
from tests.commands.convert_run import convert
from tests.snapshots import check_message

ANIMALS = ("cat", "dog", "bird", "fish", "horse")
PLACES = ("house", "garden", "river")


def write_text(path: pathlib.Path, documents: int = 12) -> pathlib.Path:
    """Write documents with four sentences about one animal and one place each."""
    lines = []
    for number in range(documents):
        animal, place = ANIMALS[number % len(ANIMALS)], PLACES[number % len(PLACES)]
        lines += [
            f"the {animal} sees the {place} .",
            f"my {animal} likes a big {place} .",
            f"a {animal} opens in the {place} and sings .",
            f"the old {animal} never sees a river under the {place} .",
            "",
        ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def text(tmp_path) -> pathlib.Path:
    return write_text(tmp_path / "text.txt")


@pytest.fixture(scope="module")
def numbers(model) -> dict[str, object]:
    """Flags for the tiny model and few steps."""
    return {
        "vocab_file": model / "vocab.txt",
        "bert_config_file": model / "bert_config.json",
        "max_seq_length": 24,
        "max_predictions_per_seq": 4,
        "train_batch_size": 4,
        "num_train_steps": 12,
        "num_warmup_steps": 2,
        "save_checkpoints_steps": 4,
        "learning_rate": 0.003,
        "precision": "float32",
        "report": "false",
    }


@pytest.fixture(scope="module")
def records(model, tmp_path_factory) -> pathlib.Path:
    """Records of the text; do not change them."""
    folder = tmp_path_factory.mktemp("records")
    flags = {"input_file": write_text(folder / "text.txt"), "output_file": folder / "data.tfrecord", "dupe_factor": 3}
    flags |= {"vocab_file": model / "vocab.txt", "max_seq_length": 24, "max_predictions_per_seq": 4}
    assert create_main(helpers.words(flags)) == 0
    return folder / "data.tfrecord"


@pytest.fixture
def pretrain(numbers, tmp_path, capfd):
    """Call bert-pretrain with the tiny model and few steps; keyword arguments are flags.

    None removes a flag.
    """

    def call(*words, **flags) -> helpers.Outcome:
        flags = numbers | {"output_dir": tmp_path / "out"} | flags
        return helpers.call(capfd, "bert-pretrain", main, *words, *helpers.words(flags))

    return call


@pytest.fixture(scope="module")
def from_text(numbers, tmp_path_factory) -> tuple[pathlib.Path, dict[str, object]]:
    """An output_dir after training and evaluation on text, and its flags; do not change it."""
    folder = tmp_path_factory.mktemp("from_text")
    flags = {"input_file": write_text(folder / "text.txt"), "eval_share": 0.25, "max_eval_steps": 0}
    flags["optimizer"] = "lamb"
    assert main(["--do_train", "--do_eval", *helpers.words(numbers | flags | {"output_dir": folder / "out"})]) == 0
    return folder / "out", flags


@pytest.fixture(scope="module")
def from_records(numbers, records, tmp_path_factory) -> tuple[pathlib.Path, dict[str, object]]:
    """The same from records; do not change it."""
    folder = tmp_path_factory.mktemp("from_records")
    flags = {"input_file": records, "eval_batch_size": 5}
    assert main(["--do_train", "--do_eval", *helpers.words(numbers | flags | {"output_dir": folder / "out"})]) == 0
    return folder / "out", flags


@pytest.fixture
def read_input(pretrain):
    """Call bert-pretrain with the same flags for a dry run that ends after the input has been read."""

    def call(*words, **flags) -> helpers.Outcome:
        with helpers.interrupted_after(helpers.DRY_RUN):
            outcome = pretrain("--do_train", "--dry_run", *words, **flags)
        assert outcome.code == 130, outcome.err
        return outcome

    return call


def assert_resumes_like(whole, pretrain, run_folder, folder, **flags) -> dict[str, np.ndarray]:
    """Stop and resume a run, and return its tensors, which must equal those of `whole`."""
    with helpers.interrupted_after("model.ckpt-8"):
        assert pretrain("--do_train", **flags).code == 130
    assert run_folder(folder).checkpoints() == [4, 8]
    outcome = pretrain("--do_train", **flags)
    assert outcome.code == 0, outcome.err
    assert "resuming from" in outcome.err
    expected = run_folder(whole).tensors(12)
    helpers.assert_same_tensors(run_folder(folder).tensors(12), expected)
    return expected


@pytest.mark.parametrize("source", ["from_text", pytest.param("from_records", marks=pytest.mark.slow)])
def test_stopped_run_ends_with_the_same_weights(source, request, pretrain, tmp_path, run_folder):
    whole, flags = request.getfixturevalue(source)
    tensors = assert_resumes_like(whole, pretrain, run_folder, tmp_path / "out", **flags)
    assert "bert/pooler/dense/kernel/adam_m" in tensors


@pytest.mark.slow
@pytest.mark.parametrize("flags", [{}, {"no_nsp": "true", "do_whole_word_mask": "true", "optimizer": "lamb"}])
def test_other_stopped_runs_end_with_the_same_weights(flags, text, pretrain, tmp_path, run_folder):
    flags = {"input_file": text} | flags
    assert pretrain("--do_train", output_dir=tmp_path / "whole", **flags).code == 0
    tensors = assert_resumes_like(tmp_path / "whole", pretrain, run_folder, tmp_path / "out", **flags)
    assert ("bert/pooler/dense/kernel/adam_m" in tensors) == ("no_nsp" not in flags)


@pytest.mark.slow
def test_run_can_be_made_longer_but_not_changed(text, pretrain, tmp_path):
    assert pretrain("--do_train", input_file=text, num_train_steps=4).code == 0
    assert "already finished (4 steps)" in pretrain("--do_train", input_file=text, num_train_steps=4).err
    assert "resuming from" in pretrain("--do_train", input_file=text, num_train_steps=8).err
    assert "--num_train_steps=8" in (tmp_path / "out" / "flags.txt").read_text(encoding="utf-8")
    for flag, value in (("learning_rate", 0.1), ("masked_lm_prob", 0.2), ("optimizer", "lamb"), ("no_nsp", "true")):
        outcome = pretrain("--do_train", input_file=text, num_train_steps=16, **{flag: value})
        outcome.assert_refused("holds another run", f"{flag} was")
    text.write_text(text.read_text(encoding="utf-8").replace("big", "small"), encoding="utf-8")
    pretrain("--do_train", input_file=text, num_train_steps=16).assert_refused("training_data was")


def expected_results(folder, step, records, batch_size, run_folder) -> dict[str, float]:
    """Return Google's figures from an independent NumPy model, counting each record once."""
    config = json.loads((folder / "bert_config.json").read_text(encoding="utf-8"))
    weights = {name: value for name, value in run_folder(folder).tensors(step).items() if "adam" not in name}
    lengths = {"input_ids": 24, "input_mask": 24, "segment_ids": 24, "masked_lm_positions": 4, "masked_lm_ids": 4}
    spec = {name: tf.io.FixedLenFeature([size], tf.int64) for name, size in lengths.items()}
    spec |= {"masked_lm_weights": tf.io.FixedLenFeature([4], tf.float32)}
    spec |= {"next_sentence_labels": tf.io.FixedLenFeature([1], tf.int64)}
    data = tf.io.parse_example(list(tf.data.TFRecordDataset(str(records)).as_numpy_iterator()), spec)
    data = {name: value.numpy() for name, value in data.items()}
    outputs = numpy_bert.forward(config, weights, data["input_ids"], data["input_mask"], data["segment_ids"])
    masked = numpy_bert.masked_lm(
        config, weights, outputs["sequence_output"], data["masked_lm_positions"], data["masked_lm_ids"],
        data["masked_lm_weights"],
    )  # fmt: skip
    labels = data["next_sentence_labels"][:, 0]
    follows = numpy_bert.next_sentence(weights, outputs["pooled_output"], labels)
    real, nll, next_nll = data["masked_lm_weights"], masked["example_loss"], follows["example_loss"]
    right = masked["log_probs"].argmax(-1) == data["masked_lm_ids"]
    next_right = follows["log_probs"].argmax(-1) == labels
    batches = [slice(start, start + batch_size) for start in range(0, len(real), batch_size)]
    losses = [(real[b] * nll[b]).sum() / (real[b].sum() + 1e-5) + next_nll[b].mean() for b in batches]
    return {
        "eval_examples": len(real),
        "eval_predictions": real.sum(),
        "global_step": step,
        "loss": np.mean(losses),
        "masked_lm_accuracy": (real * right).sum() / real.sum(),
        "masked_lm_loss": (real * nll).sum() / real.sum(),
        "masked_lm_perplexity": np.exp((real * nll).sum() / real.sum()),
        "next_sentence_accuracy": next_right.mean(),
        "next_sentence_loss": next_nll.mean(),
    }


@pytest.mark.slow
def test_evaluation_counts_each_record_once(from_records, records, pretrain, tmp_path, run_folder):
    folder = shutil.copytree(from_records[0], tmp_path / "out")
    flags = from_records[1]
    results = run_folder(folder).eval_results()
    assert results == pytest.approx(expected_results(folder, 12, records, 5, run_folder), rel=1e-4)
    (folder / "eval_results.txt").unlink()
    assert pretrain("--do_eval", **flags).code == 0  # evaluation alone, from the directory
    assert run_folder(folder).eval_results() == pytest.approx(results, rel=1e-6)
    outcome = pretrain("--do_eval", max_eval_steps=2, **flags)
    check_message(outcome.err, "--max_eval_steps=2")
    assert run_folder(folder).eval_results()["eval_examples"] == 10


def test_documents_are_held_out_from_text(from_text, pretrain, tmp_path, run_folder):
    folder, path = shutil.copytree(from_text[0], tmp_path / "out"), from_text[1]["input_file"]
    results = run_folder(folder).eval_results()
    second_outcome = pretrain("--do_eval", input_file=path, max_eval_steps=0)  # flags.txt has the share
    assert "3 of the documents are held out" in second_outcome.err
    assert run_folder(folder).eval_results() == pytest.approx(results, rel=1e-6)
    other_text = write_text(tmp_path / "other.txt", 5)
    assert "held out" not in pretrain("--do_eval", input_file=other_text).err
    assert "2 of the documents are held out" in pretrain("--do_eval", input_file=other_text, eval_share=0.4).err
    elsewhere = {"init_checkpoint": folder, "output_dir": tmp_path / "elsewhere"}
    assert "3 of the documents are held out" in pretrain("--do_eval", input_file=path, **elsewhere).err
    assert pretrain("--do_eval", input_file=path, eval_file=other_text, num_train_steps=12).code == 0


def test_masked_words_of_a_model_without_other_heads_are_evaluated(from_text, pretrain, tmp_path, run_folder):
    """transformers writes such models for masked words: no pooler, and no next-sentence head."""
    path = from_text[1]["input_file"]
    convert(from_text[0], tmp_path / "hf", head="masked_lm")
    flags = {"input_file": path, "init_checkpoint": tmp_path / "hf"}
    pretrain("--do_eval", "--no_nsp=false", **flags).assert_refused("--no_nsp")
    outcome = pretrain("--do_eval", **flags)
    assert outcome.code == 0, outcome.err
    check_message(outcome.err, "has no head for next sentences")
    results = run_folder(tmp_path / "out").eval_results()
    assert "masked_lm_perplexity" in results
    assert "next_sentence_accuracy" not in results
    # It is trained without that head, and becomes such a model again.
    outcome = pretrain("--do_train", overwrite_output_dir="true", num_train_steps=2, **flags)
    assert outcome.code == 0, outcome.err
    assert "--no_nsp=true" in (tmp_path / "out" / "flags.txt").read_text(encoding="utf-8")
    convert(tmp_path / "out", tmp_path / "hf_again")
    config = json.loads((tmp_path / "hf_again" / "config.json").read_text(encoding="utf-8"))
    assert config["architectures"] == ["BertForMaskedLM"]


def test_a_next_sentence_head_that_was_not_trained_is_not_evaluated(from_text, pretrain, tmp_path):
    folder, path = shutil.copytree(from_text[0], tmp_path / "run"), from_text[1]["input_file"]
    text = (folder / "flags.txt").read_text(encoding="utf-8")
    (folder / "flags.txt").write_text(text.replace("--no_nsp=false", "--no_nsp=true"), encoding="utf-8")
    outcome = pretrain("--do_eval", "--no_nsp=false", input_file=path, init_checkpoint=folder)
    outcome.assert_refused(f"{folder}: ")


def test_text_with_unknown_words(from_text, pretrain, tmp_path):
    folder, path = shutil.copytree(from_text[0], tmp_path / "out"), tmp_path / "unknown.txt"
    path.write_text("the cat sees the dog .\n" * 2 + "the \u4e00 .\n", encoding="utf-8")
    message = "train: 1 of 15 tokens (7%) are [UNK], as"
    outcome = pretrain("--do_train", input_file=path)
    outcome.assert_refused("holds another run")
    assert [line for line in outcome.lines if line.startswith(f"warning: {message}")]
    pretrain("--do_train", "--strict", input_file=path).assert_refused(message, "--vocab_file", "--do_lower_case")
    message = message.replace("train", "held_out")
    pretrain("--do_eval", "--strict", input_file=path, output_dir=folder).assert_refused(message)
    pretrain(
        "--do_train", "--do_eval", "--strict", input_file=from_text[1]["input_file"], eval_file=path, num_train_steps=16
    ).assert_refused(message)


@pytest.mark.slow
def test_one_document_of_six_lines(pretrain, tmp_path, run_folder):
    path = tmp_path / "six.txt"
    path.write_text("\n".join(["the cat sees a dog ."] * 6), encoding="utf-8")
    outcome = pretrain("--do_train", "--do_eval", input_file=path, num_train_steps=3)
    assert outcome.code == 0, outcome.err
    assert "warning: the text is one document" in outcome.err
    assert "--num_warmup_steps" not in outcome.err
    assert run_folder(tmp_path / "out").eval_results()["eval_examples"] >= 1


@pytest.mark.slow
def test_fine_tuning_needs_only_the_folder(from_text, cola, tmp_path, capfd):
    folder = from_text[0]
    flags = ["--task_name=cola", f"--data_dir={cola}", f"--init_checkpoint={folder}", "--do_train"]
    flags += [f"--output_dir={tmp_path / 'tuned'}", "--max_seq_length=24", "--train_batch_size=8"]
    capfd.readouterr()
    assert classify_main(flags) == 0
    log = capfd.readouterr().err
    assert "23 variables loaded, 2 missing, 7 unused" in log
    assert "input_position" not in log
    kept = (tmp_path / "tuned" / "vocab.txt").read_bytes()
    assert kept == (folder / "vocab.txt").read_bytes()


@pytest.mark.slow
def test_training_from_records_needs_no_vocabulary(records, model, pretrain, tmp_path):
    config = tmp_path / "elsewhere.json"
    config.write_bytes((model / "bert_config.json").read_bytes())
    flags = {"vocab_file": None, "bert_config_file": config, "num_train_steps": 2}
    outcome = pretrain("--do_train", input_file=records, **flags)
    assert outcome.code == 0, outcome.err
    assert not (tmp_path / "out" / "vocab.txt").exists()
    check_message(outcome.err, "--num_warmup_steps=2")
    pretrain("--do_train", input_file=records, vocab_file=None, bert_config_file=None).assert_refused(
        "--bert_config_file"
    )


def test_wrong_sizes_name_the_flag(records, pretrain):
    pretrain("--do_train", input_file=records, max_seq_length=32).assert_refused("--max_seq_length=24")
    pretrain("--do_train", input_file=records, max_predictions_per_seq=20).assert_refused("--max_predictions_per_seq=4")


def test_empty_shards_and_a_comma_at_the_end(model, pretrain, tmp_path):
    """bert-create-pretraining-data had fewer instances than files; a shell loop named the files."""
    text = tmp_path / "text.txt"
    text.write_text("the cat sees a dog .\na bird sings .\n", encoding="utf-8")
    flags = {"input_file": f"{text},", "output_file": tmp_path / "data@3", "dupe_factor": 1}
    flags |= {"vocab_file": model / "vocab.txt", "max_seq_length": 24, "max_predictions_per_seq": 4}
    assert create_main(helpers.words(flags)) == 0
    shards = sorted(tmp_path.glob("data-*"))
    assert [bool(path.stat().st_size) for path in shards] == [True, False, False]
    names = "".join(f"{path}," for path in shards)
    outcome = pretrain("--do_train", input_file=names, num_train_steps=1, num_warmup_steps=0)
    assert outcome.code == 0, outcome.err
    check_message(outcome.err, "1 instances")


SENTENCES = ("the cat sees a dog .", "a bird sings in the house .", "my fish likes the river .", "the horse opens .")
LONG = " ".join(SENTENCES * 20)
ODD_TEXTS = {
    # One document per line: without and with blank lines between.
    "\n".join([LONG] * 6): ["the text is one document", "tokens (9"],
    "\n\n".join([LONG] * 6): ["every document is one sentence", "tokens (9"],
    "\n\n".join("\n".join([LONG] * 5) for _ in range(4)): ["100% of the next sentences are random", "tokens (9"],
    "\n\n".join(SENTENCES * 3): ["every document is one sentence"],
    "\n".join(SENTENCES * 9): ["the text is one document"],
    "\n\n".join("\n".join(SENTENCES) for _ in range(12)): [],
}


@pytest.mark.parametrize(
    ("data", "expected"), [pytest.param(*case, id=str(number)) for number, case in enumerate(ODD_TEXTS.items())]
)
def test_both_commands_warn_of_the_same_odd_texts(data, expected, read_input, model, tmp_path, capfd):
    path = tmp_path / "text.txt"
    path.write_text(f"{data}\n", encoding="utf-8")
    flags = {"input_file": path, "output_file": tmp_path / "data.tfrecord", "vocab_file": model / "vocab.txt"}
    flags |= {"max_seq_length": 24, "max_predictions_per_seq": 4}
    created = helpers.call(capfd, "bert-create-pretraining-data", create_main, *helpers.words(flags))
    assert created.code == 0, created.err
    for outcome in (created, read_input(input_file=path, eval_share=0)):
        lines = [
            line for line in outcome.err.splitlines() if line.startswith("warning: ") and "random weights" not in line
        ]
        lines = [line for line in lines if "documents" in line or "tokens (" in line or "sentence" in line]
        assert len(lines) == len(expected), lines
        assert all(fragment in line for fragment, line in zip(expected, lines, strict=True)), lines


def test_odd_texts_for_evaluation_and_without_next_sentences(read_input, text, tmp_path):
    odd = tmp_path / "odd.txt"
    odd.write_text("\n".join([LONG] * 6), encoding="utf-8")
    outcome = read_input("--do_eval", input_file=text, eval_file=odd)
    check_message(outcome.err, "--eval_file: ")
    assert "--eval_file: warning: " in outcome.err.partition("one document")[2]
    assert "were cut off" not in read_input("--no_nsp", input_file=odd, eval_share=0).err


@pytest.mark.parametrize(
    ("sentence", "is_warned"), [("水 火 山", True), ("the cat sees a dog .", True), ("qua the quax .", False)]
)
def test_whole_words_of_one_piece(sentence, is_warned, read_input, model, tmp_path, capfd):
    path = tmp_path / "text.txt"
    path.write_text("\n\n".join("\n".join([sentence] * 4) for _ in range(5)), encoding="utf-8")
    flags = {"input_file": path, "output_file": tmp_path / "data.tfrecord", "vocab_file": model / "vocab.txt"}
    flags |= {"max_seq_length": 24, "max_predictions_per_seq": 6}
    whole = "--do_whole_word_mask"
    created = helpers.call(capfd, "bert-create-pretraining-data", create_main, whole, *helpers.words(flags))
    assert created.code == 0, created.err
    for outcome in (created, read_input(whole, input_file=path, max_predictions_per_seq=6)):
        assert ("warning: --do_whole_word_mask changes nothing" in outcome.err) == is_warned
    plain = helpers.call(capfd, "bert-create-pretraining-data", create_main, *helpers.words(flags))
    assert "--do_whole_word_mask" not in plain.err


def test_bad_input_is_one_line(text, records, model, pretrain, tmp_path):
    pretrain("--do_train", input_file=f"{text},{records}").assert_refused("--input_file")
    pretrain("--do_train", input_file=tmp_path / "none").assert_refused("no file matches", "--input_file")
    pretrain("--do_train", "--do_eval", input_file=text, eval_file=tmp_path / "none").assert_refused("--eval_file")
    pretrain("--do_train", input_file=text, max_seq_length=100).assert_refused("--max_seq_length=100")
    pretrain("--do_train", input_file=text, do_lower="true").assert_refused("--do_lower_case")
    pretrain("--do_eval", input_file=text).assert_refused("holds no trained model")
    empty = tmp_path / "empty.txt"
    empty.write_text("\n \n", encoding="utf-8")
    pretrain("--do_train", input_file=empty).assert_refused("--input_file")
    for data in ("\n \n", ""):
        empty.write_text(data, encoding="utf-8")
        evaluated = pretrain("--do_train", "--do_eval", input_file=text, eval_file=empty)
        evaluated.assert_refused("check --eval_file")
    damaged = tmp_path / "damaged.tfrecord"
    damaged.write_bytes(records.read_bytes()[:-3])
    pretrain("--do_train", input_file=damaged).assert_refused("damaged.tfrecord: record", "is cut short")
    small = tmp_path / "small.json"
    small.write_text(json.dumps(json.loads((model / "bert_config.json").read_text()) | {"vocab_size": 30}))
    pretrain("--do_train", input_file=records, vocab_file=None, bert_config_file=small).assert_refused(
        "input_ids holds"
    )
    assert not (tmp_path / "out" / "checkpoint").exists()


def test_tables_are_read_as_their_texts(read_input, pretrain, records, text, tmp_path):
    documents = pathlib.Path(text).read_text().strip().split("\n\n")
    table = tmp_path / "text.jsonl"
    table.write_text("".join(f"{json.dumps({'title': 't', 'article': document})}\n" for document in documents))
    outcome = read_input(input_file=table, eval_file=table, text_column="article", do_eval="true")
    facts = f"text.jsonl: {len(documents)} rows: text from 'article'; not used: title"
    assert outcome.err.count(facts) == 2
    sizes = [line for line in outcome.lines if f"{len(documents)} documents, " in line]
    assert sizes
    assert sizes[0] in read_input(input_file=text).err
    refused = pretrain("--do_train", input_file=records, text_column="article")
    refused.assert_refused("--text_column=article: ", "is a TFRecord file")
    refused = pretrain("--do_train", "--do_eval", input_file=table, eval_file=text, text_column="article")
    refused.assert_refused("--text_column=article: ")


def test_sequences_without_next_sentences(from_text, read_input, pretrain, records, run_folder, tmp_path):
    """The forms hold different rows, and an evaluation makes them as the training did."""
    path = from_text[1]["input_file"]
    flags = {"input_file": path, "init_checkpoint": from_text[0], "max_eval_steps": 0, "eval_share": 0}
    rows = {}
    for name, words in {
        "packed": [],
        "also packed": ["--pack"],
        "documents": ["--pack=false", "--short_seq_prob=0"],
        "lines": ["--line_by_line"],
        "joined lines": ["--line_by_line", "--pack"],
    }.items():
        outcome = pretrain("--do_eval", "--no_nsp", *words, **flags)
        assert outcome.code == 0, outcome.err
        rows[name] = run_folder(tmp_path / "out").eval_results()["eval_examples"]
    # 12 documents of 33 tokens, with 11 [SEP] between them, in sequences of 22 tokens besides [CLS] and the last [SEP].
    # 48 lines of 8.25 tokens, each with [CLS] and [SEP], are 492 tokens in sequences of 24.
    assert rows == {"packed": 19, "also packed": 19, "documents": 24, "lines": 48, "joined lines": 21}
    assert "48 lines, " in read_input("--no_nsp", "--line_by_line", input_file=path).err
    read_input("--no_nsp", "--short_seq_prob=0", input_file=path)
    refused = pretrain("--do_train", "--no_nsp", "--short_seq_prob=0.3", input_file=path)
    refused.assert_refused("--short_seq_prob=0.3: ", "--pack=false")
    for word in ("--line_by_line", "--pack=false"):
        refused = pretrain("--do_train", "--no_nsp", word, input_file=records)
        refused.assert_refused("is a TFRecord file")


def test_epochs_decide_the_number_of_steps(from_text, pretrain, run_folder, tmp_path):
    flags = {"input_file": from_text[1]["input_file"], "num_train_steps": None, "num_warmup_steps": None}
    flags |= {"eval_share": 0, "train_batch_size": 2}
    outcome = pretrain("--do_train", "--no_nsp", num_train_epochs=0.5, eval_every="epoch", do_eval="true", **flags)
    assert outcome.code == 0, outcome.err
    check_message(outcome.err, "in a pass over the data")
    assert run_folder(tmp_path / "out").report()["global_step"] == 4  # int(19 / 2 * 0.5)
    saved = (tmp_path / "out" / "flags.txt").read_text(encoding="utf-8")
    assert "--num_train_epochs=0.5" in saved
    assert "num_train_steps" not in saved
    assert "num_warmup_steps" not in saved
    # The warm-up follows the number of steps, so a longer training is the same run.
    outcome = pretrain("--do_train", "--no_nsp", num_train_epochs=1, eval_every="epoch", do_eval="true", **flags)
    assert "resuming from" in outcome.err, outcome.err
    assert run_folder(tmp_path / "out").report()["global_step"] == 9


def test_a_limit_below_the_share_of_masks_is_named(from_text, read_input):
    flags = {"max_predictions_per_seq": 2, "max_seq_length": 24}
    log = read_input("--no_nsp", input_file=from_text[1]["input_file"], **flags).err
    assert "warning: --max_predictions_per_seq=2 masks less than --masked_lm_prob says; 4 would do for" in log
    log = read_input("--no_nsp", input_file=from_text[1]["input_file"], **flags | {"max_predictions_per_seq": 3}).err
    assert "masks less than" not in log


def test_many_passes_are_named(from_text, records, read_input):
    """The default of 100,000 steps is far too much for a small text, and causes a warning."""
    flags = {"num_train_steps": None, "num_warmup_steps": None}
    log = read_input(input_file=from_text[1]["input_file"], **flags).err
    check_message(log, "passes over the data are more")
    assert "in a pass over the data" in read_input(input_file=records).err
    assert "are more than" not in read_input(input_file=records).err
