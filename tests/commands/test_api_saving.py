"""Copies of models from Python: pickle, deepcopy, save and to_hugging_face; also in other processes."""

import copy
import pathlib
import pickle
import shutil
import subprocess
import sys

import joblib
import numpy as np
import pytest

from bert_cli import Classifier, FeatureExtractor, MaskFiller, QuestionAnswerer, Tagger, Tokenizer
from bert_cli.base.errors import InputError
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.reporting import build_page
from bert_cli.weights.checkpoint import Tf1Reader
from bert_cli.weights.variables import has_moments, without_training_state
from tests.snapshots import raises

TEXTS = ["the old farmer buys bread .", "a dog", ""]


@pytest.fixture
def classifier(trained_once) -> Classifier:
    return Classifier.load(str(trained_once[0]), max_seq_length=16, precision="float32")


def test_a_pickle_has_the_weights(trained, tmp_path):
    classifier = Classifier.load(trained, labels=["no", "yes"], max_seq_length=16, precision="float32")
    expected = classifier.predict(TEXTS)
    content = pickle.dumps(classifier)
    joblib.dump(classifier, tmp_path / "model.joblib")
    shutil.rmtree(trained)
    for restored in (pickle.loads(content), joblib.load(tmp_path / "model.joblib")):
        assert (restored.labels, restored.max_seq_length) == (("no", "yes"), 16)
        np.testing.assert_array_equal(restored.predict(TEXTS).probabilities, expected.probabilities)
        # A model from a pickle can be pickled again.
        np.testing.assert_array_equal(copy.deepcopy(restored).predict(TEXTS).probabilities, expected.probabilities)


def test_every_class_can_be_pickled(trained_once, tagger_once):
    tagger = Tagger.load(str(tagger_once[0]))
    assert pickle.loads(pickle.dumps(tagger)).tag(TEXTS).entities == tagger.tag(TEXTS).entities
    for extractor in (FeatureExtractor.load(str(trained_once[0]), pooling="max"), FeatureExtractor.load()):
        content = pickle.dumps(extractor)
        np.testing.assert_array_equal(pickle.loads(content).extract(TEXTS), extractor.extract(TEXTS))
    assert len(content) < 1000, "the built-in model needs no copy"
    filler = pickle.loads(pickle.dumps(MaskFiller.load()))
    assert filler.fill("the dog sees a [MASK] .") == MaskFiller.load().fill("the dog sees a [MASK] .")
    tokenizer = Tokenizer.load()
    assert pickle.loads(pickle.dumps(tokenizer)).encode("the dog") == tokenizer.encode("the dog")


@pytest.mark.slow
def test_a_question_answerer_can_be_pickled(answering):
    answerer = QuestionAnswerer.load(str(answering), n_best_size=3)
    question = ("who sings ?", "the farmer sings .")
    assert pickle.loads(pickle.dumps(answerer)).records([question]) == answerer.records([question])


def test_temporary_files_are_deleted_with_the_model(classifier):
    restored = pickle.loads(pickle.dumps(classifier))
    assert repr(restored).splitlines()[1] == "  model: temporary; save(directory) keeps it"
    assert repr(classifier).splitlines()[1] != repr(restored).splitlines()[1]
    folder = pathlib.Path(restored.source.checkpoint.folder)
    assert folder.is_dir()
    del restored
    assert not folder.exists()


def test_replaced_files_are_not_copied(trained, tmp_path):
    classifier = Classifier.load(trained)
    weights = trained / "model.ckpt-30.index"
    weights.write_bytes(weights.read_bytes())
    for copy_model in (lambda: pickle.dumps(classifier), lambda: classifier.save(tmp_path / "new")):
        with raises(InputError):
            copy_model()
    assert not (tmp_path / "new").exists()


def test_the_report_is_shown_in_a_notebook(classifier, trained_once, tmp_path):
    page = classifier.report_page()
    assert page.html == build_page(RunDirectory(str(trained_once[0])))
    assert f'<iframe title="Report of {trained_once[0].name}" sandbox=""' in page._repr_html_()
    page.save(tmp_path / "page.html")
    assert "Matthews" in (tmp_path / "page.html").read_text(encoding="utf-8")
    with raises(InputError):
        copy.copy(classifier).report_page()


def test_another_process_predicts_the_same(classifier, tmp_path):
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(classifier))
    code = (
        "import pickle, sys; model = pickle.load(open(sys.argv[1], 'rb'))\n"
        "assert 'tensorflow' not in sys.modules\n"
        f"print(model.predict({TEXTS!r}).probabilities.tolist())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "model.pickle")], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(classifier.predict(TEXTS).probabilities.tolist())


def test_a_saved_model_is_loaded(classifier, tmp_path):
    classifier.save(tmp_path / "saved")
    names = {path.name for path in (tmp_path / "saved").iterdir()}
    assert {"vocab.txt", "labels.txt", "flags.txt", "bert_config.json"} <= names
    assert not names & {"history.jsonl", "report.html", "eval_results.txt"}
    loaded = Classifier.load(tmp_path / "saved", max_seq_length=16, precision="float32")
    np.testing.assert_array_equal(loaded.predict(TEXTS).probabilities, classifier.predict(TEXTS).probabilities)
    with raises(InputError):
        classifier.save(tmp_path / "saved")


def test_copies_have_weights_alone(classifier, tmp_path):
    """A checkpoint of a training has two moments per weight."""
    original = Tf1Reader(classifier.source.checkpoint.location)
    assert has_moments(original.shapes)
    classifier.save(tmp_path / "saved")
    restored = pickle.loads(pickle.dumps(classifier))
    for folder in (tmp_path / "saved", pathlib.Path(restored.source.checkpoint.folder)):
        copied = Tf1Reader(str(folder / "model.ckpt-30"))
        assert sorted(copied.shapes) == without_training_state(sorted(original.shapes))
        for name in copied.shapes:
            np.testing.assert_array_equal(copied.read(name), original.read(name))


@pytest.mark.slow
def test_a_model_in_the_format_of_hugging_face(classifier, tmp_path):
    classifier.to_hugging_face(tmp_path / "model")
    assert (tmp_path / "model" / "model.safetensors").exists()
    loaded = Classifier.load(tmp_path / "model", max_seq_length=16, precision="float32")
    assert loaded.labels == classifier.labels
    np.testing.assert_allclose(loaded.predict(TEXTS).probabilities, classifier.predict(TEXTS).probabilities, atol=1e-6)
    with pytest.raises(InputError, match=r"model\.safetensors: exists already"):
        classifier.to_hugging_face(tmp_path / "model")


def test_copies_use_the_arguments_about_files(trained, tmp_path):
    """The vocabulary of an argument is in a pickle, and the casing in a conversion."""
    (tmp_path / "other").mkdir()
    words = (trained / "vocab.txt").read_text(encoding="utf-8").split("\n")
    number = words.index("bread")
    words[number], words[number + 1] = words[number + 1], words[number]
    (tmp_path / "other" / "vocab.txt").write_text("\n".join(words), encoding="utf-8")
    arguments = {"vocab_file": tmp_path / "other" / "vocab.txt", "do_lower_case": False, "precision": "float32"}
    classifier = Classifier.load(trained, **arguments)
    expected = classifier.predict(TEXTS).probabilities
    assert (
        expected != Classifier.load(trained, do_lower_case=False, precision="float32").predict(TEXTS).probabilities
    ).any()
    content = pickle.dumps(classifier)
    classifier.to_hugging_face(tmp_path / "hf")
    shutil.rmtree(tmp_path / "other")
    np.testing.assert_array_equal(pickle.loads(content).predict(TEXTS).probabilities, expected)
    converted = Classifier.load(tmp_path / "hf", max_seq_length=classifier.max_seq_length, precision="float32")
    np.testing.assert_allclose(converted.predict(["The dog", *TEXTS]).probabilities[1:], expected, atol=1e-6)
    assert Tokenizer.load(tmp_path / "hf").do_lower_case is False
