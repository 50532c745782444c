"""bert-tag on small real files: training, scores, resuming, freezing and tag schemes."""

import sys

import numpy as np
import pytest
import tensorflow as tf

from bert_cli import Tagger
from bert_cli.examples.token_files.notation import TagNotation
from bert_cli.metrics.tagging import eval_results
from bert_cli.outputs.tagging import score_tags
from tests.commands import helpers, tag_run
from tests.commands.helpers import assert_same_tensors, interrupted_after
from tests.commands.tag_run import LABELS, SPLITS, flat, predicted, save_pretrained, write_data
from tests.snapshots import check_message


def test_a_run_writes_these_files(tagger, run_folder):
    checkpoints = {f"model.ckpt-{n}.{suffix}" for n in (30, 60) for suffix in ("index", "data-00000-of-00001")}
    other_names = {"checkpoint", "vocab.txt", "bert_config.json", "labels.txt", "flags.txt", "run.json"}
    results = {"eval_results.txt", "test_predictions.txt", "run_report.json", "history.jsonl"}
    results |= {"eval_examples.jsonl", "report.html"}
    assert run_folder(tagger).names() == checkpoints | other_names | results
    assert (tagger / "labels.txt").read_text(encoding="utf-8").split() == list(LABELS)
    flags = (tagger / "flags.txt").read_text(encoding="utf-8").split("\n")
    assert {"--tag_scheme=BIO", "--layers=-1", "--doc_stride=16", "--max_seq_length=32"} <= set(flags)


def test_checkpoints_have_classifier_names_and_slots_for_trained_weights(tagger, run_folder):
    tensors = run_folder(tagger).tensors(60)
    assert tensors["output_weights"].shape == (5, 16)
    assert tensors["output_bias"].shape == (5,)
    weights = {name for name in tensors if not name.endswith(("/adam_m", "/adam_v", "global_step"))}
    with_slots = {name.removesuffix("/adam_m") for name in tensors if name.endswith("/adam_m")}
    # Tags do not depend on it.
    assert weights - with_slots == {"bert/pooler/dense/kernel", "bert/pooler/dense/bias"}


def test_tagger_learns_and_its_scores_match_its_predictions(tagger, run_folder):
    report = run_folder(tagger).report()
    scores = score_tags([tags for _, tags in SPLITS["test"]], predicted(tagger / "test_predictions.txt"))
    assert report["test"] == eval_results(scores)
    assert report["eval"]["eval_f1"] > 80
    assert report["test"]["eval_f1"] > 50  # its long sentence has positions that were not trained
    assert report["last_loss"] < report["first_loss"] / 2
    assert run_folder(tagger).eval_results() == report["eval"]
    assert report["eval"]["eval_entities_PER"] == 4
    assert report["decoding"] == "argmax"
    facts = report["data_facts"]
    assert {split: account["sentences"] for split, account in facts.items()} == {
        split: len(rows) for split, rows in SPLITS.items()
    }
    assert facts["train"]["columns"] == {"word": ["0"], "tag": ["1"]}


def test_tagger_without_predictions_causes_a_warning(tagger, two_layer_flags, tag, tmp_path):
    """Only words without an entity count in the loss, so all words get O; the other tagger learned."""
    flags = [*two_layer_flags, f"--data_dir={tag_run.write_data(tmp_path / 'data')}", "--learning_rate=0.01"]
    only_outside = ",".join(f"{label}={int(label == 'O')}" for label in LABELS)
    outcome = tag(*flags, "--do_train", "--do_eval", "--noreport", f"--class_weights={only_outside}",
                  f"--output_dir={tmp_path / 'out'}")  # fmt: skip
    check_message(outcome.err, "--learning_rate")
    flags = [f"--data_dir={tmp_path / 'data'}", f"--init_checkpoint={tagger}", f"--output_dir={tmp_path / 'learned'}"]
    evaluation = tag("--do_eval", "--noreport", *flags, "--engine=onnxruntime")
    assert evaluation.code == 0, evaluation.err
    assert "warning:" not in evaluation.err


def test_hundreds_of_tags_on_few_words_are_a_warning(two_layer_flags, tag, tmp_path):
    rows = "".join(f"dog\tB-T{number % 150}\ncat\tO\n\n" for number in range(200))
    (tmp_path / "train.txt").write_text(rows, encoding="utf-8")
    flags = [f"--train_file={tmp_path / 'train.txt'}", f"--output_dir={tmp_path / 'out'}", "--do_train", "--dry_run"]
    with interrupted_after(helpers.DRY_RUN):
        outcome = tag(*two_layer_flags, *flags)
    check_message(outcome.err, "train.txt: warning: ")


@pytest.mark.slow  # test_controls.py resumes a run with the same training loop and rows in memory
def test_interrupted_run_ends_with_the_same_weights(tagger_once, tag, tmp_path, run_folder):
    whole, flags = tagger_once
    flags = [*flags, f"--output_dir={tmp_path / 'out'}"]
    with interrupted_after("model.ckpt-30"):
        outcome = tag(*flags)
    assert outcome.code == 130
    outcome = tag(*flags)
    assert f"resuming from {tmp_path / 'out' / 'model.ckpt-30'}" in outcome.err
    assert_same_tensors(run_folder(tmp_path / "out").tensors(60), run_folder(whole).tensors(60))
    for name in ("test_predictions.txt", "eval_results.txt"):
        assert (tmp_path / "out" / name).read_bytes() == (whole / name).read_bytes()
    # Decoding does not change the training.
    outcome = tag(*flags, "--nodo_predict", "--decoding=viterbi")
    check_message(outcome.err, "60 steps")
    outcome = tag(*flags, "--freeze_encoder", "--layers=-2")
    assert outcome.code == 1
    for change in ("freeze_encoder was False, is now True", "layers was -1, is now -2"):
        assert change in outcome.err


@pytest.mark.slow
def test_frozen_encoder(tagger_once, model, tag, tmp_path, run_folder):
    """bert/* stay the same without slots; the classifier learns, and a resumed run ends the same."""
    start = save_pretrained(tmp_path / "start", model, with_head=False)
    out, second_folder = tmp_path / "out", tmp_path / "again"
    flags = [
        *tagger_once[1],
        f"--init_checkpoint={start}",
        "--freeze_encoder",
        "--layers=-1,-2",
        "--learning_rate=0.05",
    ]
    outcome = tag(*flags, f"--output_dir={out}")
    assert outcome.code == 0, outcome.err
    pieces = sum(len(words) for words, _ in SPLITS["train"])
    check_message(outcome.err, f"{pieces} labelled")
    tensors = run_folder(out).tensors(60)
    reader = tf.train.load_checkpoint(str(start / "bert_model.ckpt"))
    for name in reader.get_variable_to_shape_map():
        np.testing.assert_array_equal(tensors[name], reader.get_tensor(name), err_msg=name)
    assert {name for name in tensors if name.endswith("/adam_m")} == {"output_weights/adam_m", "output_bias/adam_m"}
    assert tensors["output_weights"].shape == (5, 32)
    report = run_folder(out).report()
    assert report["last_loss"] < report["first_loss"] / 2
    assert report["eval"]["eval_f1"] > 50

    with interrupted_after("model.ckpt-30"):
        assert tag(*flags, f"--output_dir={second_folder}").code == 130
    assert tag(*flags, f"--output_dir={second_folder}").code == 0
    assert_same_tensors(run_folder(second_folder).tensors(60), tensors)
    assert (second_folder / "test_predictions.txt").read_bytes() == (out / "test_predictions.txt").read_bytes()


def test_unused_last_layer_is_not_trained(tagger_once, tag, tmp_path, run_folder):
    flags = [
        "--layers=0:0,embedding",
        "--num_train_epochs=1",
        "--nodo_eval",
        "--nodo_predict",
        f"--output_dir={tmp_path / 'out'}",
    ]
    assert tag(*tagger_once[1], *flags).code == 0
    with_slots = {name for name in run_folder(tmp_path / "out").tensors(6) if name.endswith("/adam_m")}
    assert not any(name.startswith(("bert/encoder/layer_1/", "bert/pooler/")) for name in with_slots)
    assert "bert/encoder/layer_0/output/dense/kernel/adam_m" in with_slots
    assert "--layers=0,embedding" in (tmp_path / "out" / "flags.txt").read_text(encoding="utf-8").splitlines()
    # Later runs and Python read the layers there.
    predict = ("--do_predict", "--engine=onnxruntime", f"--output_dir={tmp_path / 'out'}")
    assert tag(*predict, *tagger_once[1][:1]).code == 0
    assert len(Tagger.load(tmp_path / "out").tag(["a cat"])[0].tags) == 2


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["BIOES", "IO"])
def test_other_schemes_are_written_again(scheme, tagger_once, tag, tmp_path, run_folder):
    """Entities are learned in BIO, so the weights equal those of the BIO run; only files differ."""
    data, out = write_data(tmp_path / "data", scheme), tmp_path / "out"
    flags = (f"--data_dir={data}", f"--output_dir={out}", "--num_train_epochs=2", "--decoding=viterbi", "--nodo_eval")
    outcome = tag(*tagger_once[1], *flags)
    assert outcome.code == 0, outcome.err
    assert (out / "labels.txt").read_text(encoding="utf-8").split() == list(LABELS)
    assert run_folder(out).report()["tag_scheme"] == scheme
    scheme_tags = {"BIOES": {"O", *(f"{p}-{t}" for p in "BIES" for t in ("PER", "ANI"))}, "IO": {"O", "PER", "ANI"}}
    assert set(flat(out / "test_predictions.txt")) <= scheme_tags[scheme]
    before = (out / "test_predictions.txt").read_bytes()
    assert tag("--do_predict", f"--output_dir={out}", "--decoding=viterbi", "--precision=float32").code == 0
    assert (out / "test_predictions.txt").read_bytes() == before


def test_another_outside_tag_and_form_are_remembered(tagger_once, tag, tmp_path, monkeypatch):
    """Later runs and --text write predictions in the training file's form, such as PER_B and 0."""
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    for split, sentences in SPLITS.items():
        pairs = [(words, TagNotation("BMES", "0", "PER_B").encode(tags)) for words, tags in sentences[:8]]
        (data / f"{split}.txt").write_text(tag_run.columns(pairs), encoding="utf-8")
    flags = (f"--data_dir={data}", f"--output_dir={out}", "--num_train_epochs=1", "--nodo_eval", "--nodo_predict")
    outcome = tag(*tagger_once[1], *flags)
    assert outcome.code == 0, outcome.err
    check_message(outcome.err, "0 outside")
    assert (out / "labels.txt").read_text(encoding="utf-8").split() == list(LABELS)
    saved = (out / "flags.txt").read_text(encoding="utf-8").splitlines()
    assert {"--tag_scheme=BMES", "--outside_tag=0", "--tag_form=PER_B"} <= set(saved)
    assert tag("--do_predict", f"--data_dir={data}", f"--output_dir={out}", "--engine=onnxruntime").code == 0
    types = {f"{entity_type}_{letter}" for entity_type in ("PER", "ANI") for letter in "BMES"}
    assert set(flat(out / "test_predictions.txt")) <= {"0"} | types
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    answer = tag("--text=a", f"--output_dir={out}").out
    assert answer.splitlines()[0].split("\t")[1] in {"0", "PER_S", "ANI_S"}


@pytest.mark.slow
def test_all_pieces_are_trained_but_each_word_is_tagged_once(tagger_once, model, tag, tmp_path):
    """The vocabulary splits words into six letters, six pieces."""
    data = tmp_path / "data"
    data.mkdir()
    for split in ("train", "dev", "test"):
        (data / f"{split}.txt").write_text("zorbak\tB-PER\nquv\tI-PER\nsings\tO\n" * 2 + "\n", encoding="utf-8")
    flags = (f"--data_dir={data}", f"--output_dir={tmp_path / 'out'}", "--train_batch_size=1", "--label_all_pieces")
    outcome = tag(*tagger_once[1], *flags, "--num_train_epochs=60", "--save_checkpoints_steps=60")
    assert outcome.code == 0, outcome.err
    pieces = "B-PER" + " I-PER" * 8 + " O"
    assert f"labels: - {pieces} {pieces} -" in outcome.err
    assert flat(tmp_path / "out" / "test_predictions.txt") == ["B-PER", "I-PER", "O"] * 2
