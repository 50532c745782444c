"""bert-squad as a user calls it: training, answers, scores and resuming, with Google's results."""

import dataclasses
import json
import pathlib
import shutil

import numpy as np
import numpy_bert
import plain_squad
import pytest

from bert_cli.base.head_types import SPANS, HeadSpec
from bert_cli.examples.squad.records import SquadExample, split_context
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.features.squad import squad_features
from bert_cli.inference.engine import FineTunedNetwork
from bert_cli.inference.rows import Predictor
from bert_cli.model.config import BertConfig
from bert_cli.model.config_files import read_config
from bert_cli.outputs.answers.squad import SpanDecoder
from bert_cli.predicting.question_answerer import feed_decoder
from bert_cli.run_squad import main
from bert_cli.settings.answering import AnswerSearch
from bert_cli.settings.devices import Devices
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import read_vocabulary
from tests.commands.helpers import assert_same_tensors, interrupted_after
from tests.commands.squad_run import base_flags, call, read, story, words, write_data
from tests.snapshots import check_message


@pytest.fixture
def squad(model, tmp_path, capfd):
    """Call bert-squad with the tiny model; keyword arguments are flags, None removes one."""
    return lambda *tasks, **flags: call(capfd, tasks, base_flags(model) | {"output_dir": tmp_path / "out"} | flags)


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> pathlib.Path:
    """Questions and contexts; do not change them."""
    return write_data(tmp_path_factory.mktemp("data") / "data.json")


@pytest.fixture(scope="module")
def trained(answering) -> pathlib.Path:
    return answering


@pytest.fixture(scope="module")
def whole(model, data, tmp_path_factory) -> pathlib.Path:
    """An output_dir after training, prediction and evaluation on the same file; do not change it."""
    out = tmp_path_factory.mktemp("whole") / "out"
    flags = base_flags(model) | {"train_file": data, "predict_file": data, "output_dir": out}
    assert main(["--do_train", "--do_predict", "--do_eval", *words(flags)]) == 0
    return out


def test_train_predict_evaluate(whole, run_folder):
    folder = run_folder(whole)
    assert folder.checkpoints() == [4, 7]  # int(48 / 4 · 0.6)
    assert {"predictions.json", "nbest_predictions.json", "eval_results.txt", "vocab.txt"} <= folder.names()
    assert "null_odds.json" not in folder.names()
    predictions, nbest = read(folder.path / "predictions.json"), read(folder.path / "nbest_predictions.json")
    assert list(predictions) == [f"{number}-{index}" for number in range(12) for index in range(2)]
    for number in range(12):
        assert predictions[f"{number}-0"] in story(number)[0]
    assert all(entries[0]["text"] == predictions[qas_id] for qas_id, entries in nbest.items())
    assert list(nbest["0-0"][0]) == ["text", "probability", "start_logit", "end_logit"]
    assert {split: facts["questions"] for split, facts in folder.report()["data_facts"].items()} == {
        "train": 24, "predict": 24,
    }  # fmt: skip
    results = folder.eval_results()
    exact = sum(predictions[f"{n}-{k}"] == text for n in range(12) for k, text in enumerate(story(n)[1].values()))
    assert results["exact_match"] == pytest.approx(100 * exact / 24)
    assert results["f1"] >= results["exact_match"]
    assert (results["total"], results["missing"], results["global_step"]) == (24, 0, 7)
    tensors = folder.tensors(7)
    assert "cls/squad/output_weights/adam_v" in tensors
    assert "bert/pooler/dense/kernel" in tensors
    # As in Google's code, nothing uses the pooler.
    assert "bert/pooler/dense/kernel/adam_m" not in tensors


def test_answers_to_another_file_are_kept(whole, squad, model, data, tmp_path, run_folder):
    out, other_file = tmp_path / "out", tmp_path / "other.json"
    shutil.copytree(whole, out)
    dev = (out / "predictions.json").read_bytes()
    other_file.write_bytes(data.read_bytes())
    for _ in range(2):  # the second time, no file has to be kept
        assert squad("--do_predict", **base_flags(model) | {"predict_file": other_file, "output_dir": out}).code == 0
    assert (out / f"{data.stem}.predictions.json").read_bytes() == dev
    assert (out / "predictions.json").read_bytes() == dev  # the questions are the same
    assert not (out / "other.predictions.json").exists()
    # These files belong to the run.
    flags = base_flags(model) | {"train_file": data, "output_dir": out}
    assert squad("--do_train", "--overwrite_output_dir", **flags).code == 0
    assert not (out / f"{data.stem}.predictions.json").exists()


@pytest.mark.slow
def test_it_learns(squad, model, data, tmp_path, run_folder):
    # With small weights, as in `model`, attention is uniform at first, and most runs stay at the
    # loss ln 2: they learn the two answer positions but never use the question. Rounding decides
    # which run gets further.
    config = json.loads((model / "bert_config.json").read_text(encoding="utf-8"))
    config |= {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64, "initializer_range": 0.2}
    (tmp_path / "bert_config.json").write_text(json.dumps(config), encoding="utf-8")
    flags = {"max_seq_length": 48, "learning_rate": 0.001, "num_train_epochs": 100, "save_checkpoints_steps": 1000}
    flags |= {"bert_config_file": tmp_path / "bert_config.json"}
    outcome = squad("--do_train", "--do_eval", "--skip_padding", train_file=data, predict_file=data, **flags)
    assert outcome.code == 0, outcome.err
    assert run_folder(tmp_path / "out").eval_results()["exact_match"] > 90
    # --do_eval alone writes only scores.
    assert not (tmp_path / "out" / "predictions.json").exists()


@pytest.mark.slow  # test_controls.py resumes a run with the same training loop and rows in memory
def test_stopped_run_ends_with_the_same_weights(whole, squad, data, tmp_path, run_folder):
    with interrupted_after("model.ckpt-4"):
        assert squad("--do_train", train_file=data).code == 130
    assert run_folder(tmp_path / "out").checkpoints() == [4]
    outcome = squad("--do_train", train_file=data)
    assert outcome.code == 0, outcome.err
    check_message(outcome.err, "train: ")
    assert "resuming from" in outcome.err
    actual, expected = (run_folder(folder).tensors(7) for folder in (tmp_path / "out", whole))
    assert_same_tensors(actual, expected)
    second_outcome = squad("--do_train", "--do_predict", train_file=data, predict_file=data)
    check_message(second_outcome.err, "7 steps")
    for flag, value in (("learning_rate", 0.1), ("doc_stride", 5), ("skip_padding", "true")):
        changed = squad("--do_train", train_file=data, **{flag: value})
        assert changed.code == 1
        assert f"{flag} was" in changed.err.splitlines()[-1]
    assert squad("--do_train", "--overwrite_output_dir", train_file=data, doc_stride=5, num_train_epochs=0.1).code == 0
    assert not (tmp_path / "out" / "predictions.json").exists()  # it belonged to another model


def test_steps_can_be_counted_from_questions(squad, data, tmp_path, run_folder):
    outcome = squad("--do_train", "--steps_from_examples", train_file=data)
    assert outcome.code == 0, outcome.err
    assert run_folder(tmp_path / "out").checkpoints() == [3]  # int(24 / 4 · 0.6)


def make_engine(make_model, train_batch_size=None):
    """Return an engine for a span model with up to 26 tokens."""
    from bert_cli.inference.tensorflow import TensorFlowEngine

    network = FineTunedNetwork(HeadSpec(SPANS, 2), "a span model")
    return TensorFlowEngine(network, make_model, Devices(precision="float32"), 26, train_batch_size)


@pytest.fixture(scope="module")
def engine(trained):
    """The trained model with packed rows."""
    from bert_cli.heads.squad import BertSpanModel
    from bert_cli.weights.path import find_checkpoint

    config = read_config(str(trained / "bert_config.json"), "auto")
    engine = make_engine(lambda precision: BertSpanModel(config, compute_dtype=precision))
    engine.load(find_checkpoint(str(trained)))
    return engine


@pytest.mark.parametrize("version_2", [False, True])
def test_packed_answers_equal_dense_answers(engine, trained, version_2):
    """Windows that are packed, sorted by length and without padding give the dense answers."""
    import tensorflow as tf

    tokenizer = FullTokenizer(read_vocabulary(str(trained / "vocab.txt")), True)
    contexts = [" ".join(story(n)[0].split()[: 3 + 2 * n]) for n in range(12)]
    examples = [SquadExample(str(n), "the farmer sees a ?", split_context(text)) for n, text in enumerate(contexts)]
    features = squad_features(examples, tokenizer, 26, 6, 8, is_training=False)
    assert len(set(features.sequences.lengths.tolist())) > 5
    # Use an n-best size that covers all positions of a window: if padding displaces tokens,
    # Google's code can lose an answer.
    packed, dense = (SpanDecoder(features, AnswerSearch(n_best_size=26), version_2) for _ in range(2))
    assert engine.packed
    feed_decoder(Predictor(engine, 26), packed, features, batch_size=3)
    inputs = features.sequences.pad(range(len(features)), 26)
    logits = engine.model({name: tf.constant(values) for name, values in inputs.items()}, packed=False)
    assert np.isfinite(logits[0]).all()
    dense.add(range(len(features)), *(values.numpy() for values in logits))
    actual, expected = (decoder.finish(examples, tokenizer) for decoder in (packed, dense))
    assert [prediction.text for prediction in actual] == [prediction.text for prediction in expected]
    for mine, theirs in zip(actual, expected, strict=True):
        assert [entry.text for entry in mine.nbest[:5]] == [entry.text for entry in theirs.nbest[:5]]
        numbers = [[e.probability for e in prediction.nbest] for prediction in (mine, theirs)]
        np.testing.assert_allclose(*numbers, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("skip_padding", [False, True])
def test_loss_equals_googles(model, trained, run_folder, skip_padding):
    """The softmax includes all max_seq_length positions, as in NumPy; --skip_padding drops some."""
    import tensorflow as tf

    from bert_cli.heads.squad import BertSpanModel
    from bert_cli.weights.path import find_checkpoint

    values = json.loads((model / "bert_config.json").read_text(encoding="utf-8"))
    config = BertConfig(**values | {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0})

    def make_model(compute_dtype):
        return BertSpanModel(config, skip_padding, compute_dtype=compute_dtype)

    engine = make_engine(make_model, 4)
    engine.load(find_checkpoint(str(trained)))
    rng, lengths = np.random.default_rng(1), np.array([9, 20, 14, 17])
    ids = rng.integers(5, 40, lengths.sum()).astype(np.int32)
    sequences = RaggedFeatures(ids, np.ones_like(ids, np.int8), np.concatenate([[0], np.cumsum(lengths)]))
    starts, ends = np.array([0, 3, 5, 16], np.int32), np.array([0, 4, 5, 16], np.int32)
    inputs = sequences.pad(np.arange(4), 20 if skip_padding else 26)
    batch = inputs | {"start_positions": starts, "end_positions": ends}
    tensors = {name: tf.constant(values) for name, values in batch.items()}
    losses, shares = engine.model.loss_terms(tensors, None, engine.packed, batch_size=4)
    loss = tf.reduce_sum(losses * shares)
    config = dataclasses.asdict(config)
    full, number = sequences.pad(range(4), 26), run_folder(trained).checkpoints()[-1]
    weights = {name: value for name, value in run_folder(trained).tensors(number).items() if "adam" not in name}
    hidden = numpy_bert.forward(config, weights, *(full[name] for name in full))["sequence_output"]
    logits = np.moveaxis(hidden @ weights["cls/squad/output_weights"].T + weights["cls/squad/output_bias"], -1, 0)
    if skip_padding:
        logits = np.where(full["input_mask"] > 0, logits, -np.inf)
    logits = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    expected = -(logits[0, range(4), starts] + logits[1, range(4), ends]).mean() / 2
    assert float(loss) == pytest.approx(expected, rel=1e-5)


def test_keep_padding_gives_googles_n_best_lists(trained, data, squad, run_folder, tmp_path):
    """They equal the plain form of Google's rules with an independent NumPy model on full windows."""
    config, length = dataclasses.asdict(read_config(str(trained / "bert_config.json"), "auto")), 60
    vocabulary = {token: n for n, token in enumerate((trained / "vocab.txt").read_text(encoding="utf-8").split("\n"))}
    questions = plain_squad.read_questions(read(data))
    windows = plain_squad.windows(questions, vocabulary, True, length, 6, 8)
    assert all(sum(window["input_mask"]) < length for window in windows)
    tensors = run_folder(trained).tensors(run_folder(trained).checkpoints()[-1])
    weights = {name: value for name, value in tensors.items() if "adam" not in name}
    names = ("input_ids", "input_mask", "segment_ids")
    inputs = [np.array([window[name] for window in windows]) for name in names]
    hidden = numpy_bert.forward(config, weights, *inputs)["sequence_output"]
    start, end = numpy_bert.squad(weights, hidden)["start_logits"], numpy_bert.squad(weights, hidden)["end_logits"]
    rules = {"n_best_size": 9, "max_answer_length": 30, "version_2_with_negative": False}
    expected = plain_squad.predict(questions, windows, start.tolist(), end.tolist(), True, rules)["nbest_predictions"]
    flags = {"init_checkpoint": trained, "predict_file": data, "max_seq_length": length, "n_best_size": 9}
    differing = {}
    for kept in ("true", "false"):
        outcome = squad("--do_predict", keep_padding=kept, version_2_with_negative="false", **flags)
        assert outcome.code == 0, outcome.err
        actual = read(tmp_path / "out" / "nbest_predictions.json")
        texts = {qas_id: [entry["text"] for entry in entries] for qas_id, entries in actual.items()}
        differing[kept] = [q for q in expected if texts[q] != [entry["text"] for entry in expected[q]]]
        if kept == "true":
            for qas_id, entries in expected.items():
                for mine, theirs in zip(actual[qas_id], entries, strict=True):
                    assert mine["probability"] == pytest.approx(theirs["probability"], rel=1e-3)
    assert not differing["true"]
    assert differing["false"]
