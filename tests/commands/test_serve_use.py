"""Flags for models in bert-serve: length, labels, casing and vectors."""

import json
import os
import shutil

import numpy as np
import pytest

from bert_cli import Classifier, FeatureExtractor, __version__
from bert_cli.base.errors import InputError
from bert_cli.serving.items import Item
from bert_cli.serving.loading import load_served
from bert_cli.serving.served_model import ServedModel
from bert_cli.settings.answering import ModelFlags
from bert_cli.weights.path import find_checkpoint
from tests import sentence_cases
from tests.snapshots import raises

LONG = "the old dog sees a cat . " * 40  # 280 word pieces
POSITIONS = 64


@pytest.fixture(scope="module")
def folder(tmp_path_factory, trained_once):
    """A Hugging Face directory: a classifier with two labels and 64 positions."""
    target = tmp_path_factory.mktemp("hf") / "model"
    Classifier.load(str(trained_once[0])).to_hugging_face(target)
    return target


def serve(folder, **flags: object) -> ServedModel:
    """Load a model as bert-serve does, with flags that it must use."""
    return load_served("m", ModelFlags(flags, frozenset(flags)), find_checkpoint(str(folder)))


@pytest.fixture
def copy(folder, tmp_path):
    """copy(**values) -> a copy of `folder` with these values in tokenizer_config.json."""

    def copy(**values: object):
        target = tmp_path / "copy"
        shutil.copytree(folder, target)
        path = target / "tokenizer_config.json"
        path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | values), encoding="utf-8")
        return target

    return copy


def explain(model, text):
    explanation = model.plan_explanation(Item(text), 100)
    return explanation.answer(explanation.score(explanation.copies))


def test_a_text_that_is_cut_is_said_in_the_answer(trained_once):
    model = serve(trained_once[0], max_seq_length=16)
    short, long = model.answer([Item("a dog"), Item(LONG)])
    assert "cut" not in short
    assert long["cut"] == 280 - 14
    assert explain(model, LONG)["cut"] == 280 - 14
    assert [embedding.num_cut for embedding in model.vectors.embed([Item("a dog"), Item(LONG)])] == [0, 280 - 14]
    assert serve(trained_once[0], max_seq_length=16, long_text="windows").answer([Item(LONG)])[0].keys() == short.keys()


@pytest.mark.parametrize(("stored", "length"), [(24, 24), (10**30, POSITIONS), (None, POSITIONS)])
def test_another_program_stores_its_length(copy, stored, length):
    folder = copy(model_max_length=stored)
    model = serve(folder)
    record = model.answer([Item(LONG)])[0]
    assert record["cut"] == 280 - (length - 2)
    assert model.vectors.embed([Item(LONG)])[0].num_cut == record["cut"]
    assert Classifier.load(str(folder)).max_seq_length == length


def test_a_wrong_length_in_the_files_is_refused(copy):
    with raises(InputError, "tokenizer_config.json: "):
        serve(copy(model_max_length="x"))


def test_labels_and_casing(folder):
    model = serve(folder, labels=("bad", "good"))
    assert model.labels == ["bad", "good"]
    assert model.answer([Item("a dog")])[0]["probabilities"].keys() == {"bad", "good"}
    lower, cased = (serve(folder, do_lower_case=value).answer([Item("A DOG")])[0] for value in (True, False))
    assert lower["probabilities"] != cased["probabilities"]


def test_flags_that_do_not_fit_the_model(folder, tagger_once):
    with raises(InputError, "--max_seq_length=1000"):
        serve(folder, max_seq_length=1000)
    with raises(InputError, "--labels=a,b,c: "):
        serve(folder, labels=("a", "b", "c"))
    with raises(InputError, "--labels: "):
        serve(tagger_once[0], labels=("a", "b"))
    with raises(InputError, "--layers=9: "):
        serve(folder, layers="9")


@pytest.mark.parametrize(
    "flags",
    [{}, {"pooling": "cls"}, {"pooling": "max", "normalize": False}, {"layers": "embedding,-1"}, {"pooling": "pooler"}],
)
def test_vectors_are_those_of_the_feature_extractor(folder, flags):
    expected = FeatureExtractor.load(str(folder), **({"normalize": True} | flags)).extract(["a dog", LONG])
    vectors = [embedding.vector for embedding in serve(folder, **flags).vectors.embed([Item("a dog"), Item(LONG)])]
    np.testing.assert_array_equal(vectors, expected)


@pytest.mark.parametrize(("long_text", "num_cut"), [("truncate", [0, 0, 280 - 14]), ("windows", [0, 0, 0])])
def test_vectors_come_with_their_numbers_of_tokens(folder, long_text, num_cut):
    extractor = FeatureExtractor.load(str(folder), max_seq_length=16, long_text=long_text == "windows")
    texts = ["a", "a dog sees", LONG]
    embeddings = serve(folder, max_seq_length=16, long_text=long_text).vectors.embed([Item(text) for text in texts])
    assert [embedding.num_tokens for embedding in embeddings] == extractor.count_tokens(texts)
    assert [embedding.num_cut for embedding in embeddings] == num_cut


def test_prompts_of_sentence_transformers(tmp_path):
    model = serve(sentence_cases.folder_of("named_prompt", tmp_path / "model"), prompt_name="passage")
    vectors = [embedding.vector for embedding in model.vectors.embed([Item(text) for text in sentence_cases.TEXTS])]
    np.testing.assert_allclose(vectors, sentence_cases.expected_vectors("named_prompt"), atol=1e-5)


@pytest.mark.parametrize("name", ["vocab.txt", "bert_config.json"])
def test_a_model_with_a_named_pipe_is_refused(name, trained_once, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(trained_once[0], folder)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(InputError, match=f"{name}: is a named pipe, a file is needed"):
        serve(folder)


def test_flags_of_a_newer_version_are_named(trained, caplog):
    """Other flags of the training, such as --num_train_epochs, are known although serving has no use for them."""
    flags = trained / "flags.txt"
    load_served("a", ModelFlags(), find_checkpoint(str(trained)))
    with_flag(flags, "--quantum_mode=yes")
    report = trained / "run_report.json"
    report.write_text(report.read_text("utf-8").replace(f'"bert_cli": "{__version__}"', '"bert_cli": "9.1.0"'), "utf-8")
    load_served("a", ModelFlags(), find_checkpoint(str(trained)))
    (warning,) = [message for message in caplog.messages if "quantum_mode" in message]
    assert warning == (
        f"warning: {flags}: --quantum_mode of bert_cli 9.1.0 is unknown here, in version {__version__}, and has no "
        "effect: predictions may differ"
    )
    assert not any("num_train_epochs" in message for message in caplog.messages)


def with_flag(flags, line: str) -> None:
    flags.write_text(f"{flags.read_text('utf-8')}{line}\n", encoding="utf-8")
