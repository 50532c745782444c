"""Text pairs for a model with one token type: one warning per command, and equal numbers."""

import contextlib
import io
import json
import pathlib

import numpy as np
import pytest

from bert_cli import (
    Classifier,
    FeatureExtractor,
    MaskFiller,
    export_model,
    extract_features,
    run_classifier,
    run_pretraining,
)
from bert_cli.base.errors import InputError
from bert_cli.features.packing import pack
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.model.config import BertConfig
from bert_cli.opening.checks import PairCheck
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.vocabulary import read_vocabulary
from tests.commands import helpers, squad_run
from tests.commands.conftest import CONFIG, flags_of, write_model, write_mrpc

WARNING = (
    "bert_config.json says type_vocab_size 1, so the second text of a pair has no token type of its own: "
    "only [SEP] separates the two texts"
)
ENGINES = ("onnxruntime", "tensorflow", "openvino")
PLAIN = {"engine": "tensorflow", "precision": "float32"}
PAIR = ("the old farmer buys bread .", "a teacher sings")


def sequences(*segments: int) -> RaggedFeatures:
    """Return one text with these segment ids."""
    return RaggedFeatures(np.ones(len(segments), np.int32), np.array(segments, np.int8), np.array([0, len(segments)]))


@pytest.mark.parametrize(("types", "count"), [(0, 0), (1, 1), (2, 0), (16, 0)])
def test_a_pair_is_reported_once(types, count, caplog):
    check = PairCheck(BertConfig(10, 8, 1, 1, type_vocab_size=types), "bert_config.json")
    for segments in ((0, 0, 0), (0, 0, 1, 1), (0, 1)):
        check(sequences(*segments))
    assert [record.message for record in caplog.records] == [f"warning: {WARNING}"] * count


def test_single_texts_pass_the_pair_check(caplog):
    PairCheck(BertConfig(10, 8, 1, 1, type_vocab_size=1), "c.json", strict=True)(sequences(0, 0))
    assert caplog.records == []


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> pathlib.Path:
    return write_model(tmp_path_factory.mktemp("model"), CONFIG | {"type_vocab_size": 1})


@pytest.fixture(scope="module")
def trained(model, tmp_path_factory) -> tuple[pathlib.Path, str]:
    """A classifier for pairs, and the log of its training and evaluation."""
    folder = tmp_path_factory.mktemp("trained")
    flags = ["--task_name=mrpc", f"--data_dir={write_mrpc(folder / 'mrpc')}", *flags_of(model), "--num_train_epochs=1"]
    with contextlib.redirect_stderr(io.StringIO()) as log:
        assert run_classifier.main([*flags, "--do_train", "--do_eval", f"--output_dir={folder / 'out'}"]) == 0
    return folder / "out", log.getvalue()


def test_training_and_evaluation_warn_once(trained):
    assert trained[1].count(WARNING) == 1
    assert trained[1].index(WARNING) < trained[1].index("\ntraining ")


def test_answers_are_equal_for_every_engine(trained, classify, tmp_path):
    lines = tmp_path / "lines.txt"
    lines.write_text("a dog\n" + " ||| ".join(PAIR) + "\na cat\na dog ||| a cat\n", encoding="utf-8")
    answers = {}
    for engine in ENGINES:
        if engine == "openvino":
            pytest.importorskip("openvino")
        flags = [f"--output_dir={trained[0]}", f"--engine={engine}", "--precision=float32"]
        text = classify(*flags, "--text", PAIR[0], "--text_b", PAIR[1])
        of_file = classify(*flags, f"--input_file={lines}")
        assert [outcome.err.count(WARNING) for outcome in (text, of_file)] == [1, 1]
        records = [json.loads(line) for line in (text.out + of_file.out).splitlines()]
        answers[engine] = [record["probabilities"]["1"] for record in records]
        assert answers[engine][0] == pytest.approx(answers[engine][2], abs=1e-6)
    for engine, probabilities in answers.items():
        np.testing.assert_allclose(probabilities, answers["tensorflow"], atol=1e-6, err_msg=engine)
    lines.write_text("a dog\na cat\n", encoding="utf-8")
    assert WARNING not in classify(f"--output_dir={trained[0]}", f"--input_file={lines}").err


@pytest.mark.parametrize("engine", ENGINES)
def test_vectors_are_equal_for_every_engine(trained, tmp_path, capfd, engine):
    if engine == "openvino":
        pytest.importorskip("openvino")
    (tmp_path / "lines.txt").write_text("a cat\n" + " ||| ".join(PAIR) + "\n", encoding="utf-8")
    flags = [f"--init_checkpoint={trained[0]}", f"--input_file={tmp_path / 'lines.txt'}", "--output_format=npy"]
    flags += [
        "--pooling=mean",
        "--max_seq_length=32",
        "--precision=float32",
        f"--engine={engine}",
        f"--output_file={tmp_path / 'out.npy'}",
    ]
    assert extract_features.main(flags) == 0
    assert capfd.readouterr().err.count(WARNING) == 1
    expected = FeatureExtractor.load(trained[0], max_seq_length=32, **PLAIN).extract(["a cat", PAIR])
    np.testing.assert_allclose(np.load(tmp_path / "out.npy"), expected, atol=1e-5)


def test_calls_from_python_warn_once_for_each_model(trained, caplog):
    classifier, extractor = Classifier.load(str(trained[0])), FeatureExtractor.load(trained[0], max_seq_length=32)
    for texts in (["a dog"], ["a dog", PAIR], [PAIR]):
        classifier.predict(texts)
        extractor.extract(texts)
    classifier.explain(*PAIR)
    assert sum(WARNING in record.message for record in caplog.records) == 2


@pytest.mark.parametrize("file_format", ["onnx", pytest.param("saved_model", marks=pytest.mark.slow)])
def test_exported_models_have_the_numbers_of_the_commands(trained, tmp_path, file_format):
    folder = tmp_path / "exported"
    quantize = ["--quantize=int8"] if file_format == "onnx" else []
    flags = [f"--format={file_format}", f"--init_checkpoint={trained[0]}", f"--export_dir={folder}"]
    assert export_model.main([*flags, *quantize]) == 0
    tokenizer = FullTokenizer(read_vocabulary(str(trained[0] / "vocab.txt")))
    packed = pack(*map(tokenizer.encode, PAIR), 32, tokenizer.ids["[CLS]"], tokenizer.ids["[SEP]"])
    ids, types = (np.array([values], np.int32) for values in (packed.token_ids, packed.segment_ids))
    inputs = {"input_word_ids": ids, "input_mask": np.ones_like(ids), "input_type_ids": types}
    expected = Classifier.load(str(trained[0]), **PLAIN).predict([PAIR]).probabilities
    assert types.max() == 1
    if file_format == "onnx":
        import onnxruntime

        for name, tolerance in (("model.onnx", 1e-5), ("model_int8.onnx", 0.02)):
            session = onnxruntime.InferenceSession(str(folder / name), providers=["CPUExecutionProvider"])
            np.testing.assert_allclose(session.run(["probabilities"], inputs)[0], expected, atol=tolerance)
        return
    import tensorflow as tf

    serving = tf.saved_model.load(str(folder)).signatures["token_ids"]
    outputs = serving(**{name: tf.constant(values) for name, values in inputs.items()})
    np.testing.assert_allclose(outputs["probabilities"], expected, atol=1e-5)


def test_strict_refuses_pairs_in_every_command(trained, model, classify, tmp_path, capfd):
    """The refusal comes before any computation or output."""
    out = tmp_path / "out"
    classify(f"--output_dir={trained[0]}", "--strict", "--text=a dog", "--text_b=a cat").assert_refused(WARNING)
    data = write_mrpc(tmp_path / "mrpc")
    flags = [*flags_of(model), "--strict", f"--output_dir={out}", "--do_train"]
    classify("--task_name=mrpc", f"--data_dir={data}", *flags).assert_refused(WARNING)
    choices = tmp_path / "choices.csv"
    choices.write_text("text,a,b,label\n" + "my dog,eats,sings,0\nmy cat,sings,eats,1\n" * 3, encoding="utf-8")
    columns = ["--text_column=text", "--choice_columns=a,b", "--label_column=label"]
    classify(f"--train_file={choices}", *columns, *flags).assert_refused(WARNING)
    squad = squad_run.base_flags(model) | {"train_file": squad_run.write_data(tmp_path / "squad.json")}
    squad |= {"strict": "true", "output_dir": out}
    squad_run.call(capfd, ["--do_train"], squad).assert_refused(WARNING)
    text = tmp_path / "text.txt"
    text.write_text("the dog sees a cat .\na bird sings .\n\nmy horse eats .\na cat sees it .\n", encoding="utf-8")
    pretraining = ["--do_train", "--strict", f"--input_file={text}", f"--output_dir={out}", "--num_train_steps=1"]
    pretraining += [*flags_of(model)[:2], "--max_seq_length=16", "--max_predictions_per_seq=2"]
    helpers.call(capfd, "bert-pretrain", run_pretraining.main, *pretraining).assert_refused(WARNING)
    assert not out.exists()


def test_next_sentences(model, tmp_path, capfd):
    """Both engines give a bert-pretrain model's next-sentence probability, with one warning each."""
    text = tmp_path / "text.txt"
    text.write_text("the dog sees a cat .\na bird sings .\n\nmy horse eats .\na cat sees it .\n", encoding="utf-8")
    flags = ["--do_train", f"--input_file={text}", f"--output_dir={tmp_path / 'out'}", "--num_train_steps=1"]
    flags += [*flags_of(model)[:2], "--max_seq_length=16", "--max_predictions_per_seq=2", "--noreport"]
    assert run_pretraining.main([*flags, "--train_batch_size=2", "--num_warmup_steps=0"]) == 0
    assert capfd.readouterr().err.count(WARNING) == 1
    probabilities = [
        MaskFiller.load(tmp_path / "out", engine=engine, precision="float32").next_sentence(*PAIR)
        for engine in ("onnxruntime", "tensorflow")
    ]
    assert probabilities[0] == pytest.approx(probabilities[1], abs=1e-6)
    assert capfd.readouterr().err.count(WARNING) == 2
    with pytest.raises(InputError, match="only"):
        PairCheck(BertConfig(10, 8, 1, 1, type_vocab_size=1), "c.json", strict=True)(sequences(0, 1))
