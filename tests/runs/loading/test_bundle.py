"""Labels and files for a loaded model."""

import pytest

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import FIRST, POOLED
from bert_cli.model.config import BertConfig
from bert_cli.runs.loading.bundle import ModelBundle, read_labels
from bert_cli.text.tokenizer_settings import GOOGLE
from bert_cli.text.vocabulary import vocabulary_of
from bert_cli.weights.path import TF1, CheckpointPath

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "dog"]
CONFIG = BertConfig(6, 8, 2, 2, intermediate_size=8, max_position_embeddings=16)


@pytest.fixture
def checkpoint(tmp_path) -> CheckpointPath:
    return CheckpointPath(TF1, str(tmp_path / "model.ckpt-1"))


def make_bundle(checkpoint: CheckpointPath, lower: bool = True, **options) -> ModelBundle:
    vocabulary = vocabulary_of(WORDS, "vocab.txt")
    return ModelBundle(
        None, None, checkpoint, config=CONFIG, optional_vocabulary=vocabulary, do_lower_case=lower, **options
    )


def test_labels_have_the_order_of_their_file(checkpoint, tmp_path):
    assert read_labels(checkpoint) is None
    (tmp_path / "labels.txt").write_text("good\nbad\n\n")
    assert read_labels(checkpoint) == make_bundle(checkpoint).labels == ("good", "bad")


def test_an_empty_list_of_labels_is_refused(checkpoint, tmp_path):
    (tmp_path / "labels.txt").touch()
    with pytest.raises(InputError, match=r"labels\.txt: is empty; it has to list the labels of the model, one a line$"):
        read_labels(checkpoint)


def test_flags_of_the_training_run(checkpoint, tmp_path):
    (tmp_path / "flags.txt").write_text(
        "--head_input=cls\n--layers=-1,0\n--task_name=cola\n--problem_type=regression\n"
    )
    model = make_bundle(checkpoint)
    assert model.text_input is FIRST
    assert model.layers == (-1, 0)
    assert model.named_problem_type.name == "single_label"  # CoLA's


def test_other_programs_write_no_flags(checkpoint):
    model = make_bundle(checkpoint)
    assert (model.saved_flags, model.text_input, model.layers, model.named_problem_type) == ({}, POOLED, (-1,), None)


def test_the_vocabulary_is_a_tokenizer_file(checkpoint):
    model = make_bundle(checkpoint)
    assert model.tokenizer_settings is GOOGLE
    assert model.tokenizer_files == {"vocab.txt": b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\ndog\n"}
    assert model.tokenizer.tokenize("Dog") == ["dog"]
    assert make_bundle(checkpoint, lower=False).tokenizer.tokenize("Dog") == ["[UNK]"]


def test_the_fingerprint_depends_on_the_casing(checkpoint):
    lower, cased = (make_bundle(checkpoint, lower=is_lower).fingerprint for is_lower in (True, False))
    assert lower | {"do_lower_case": False} == cased
