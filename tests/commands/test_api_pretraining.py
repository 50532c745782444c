"""Pre-training from Python: equal to the commands, continued, and refused."""

import json

import numpy as np
import pytest

from bert_cli import MaskFiller
from bert_cli.base.errors import InputError
from bert_cli.build_vocab import main as build_vocab
from bert_cli.run_pretraining import main as pretrain
from tests.commands import helpers
from tests.snapshots import raises

SUBJECTS, PLACES = ("dog", "cat", "bird", "fish"), ("house", "garden", "river")
DOCUMENTS = [
    [f"the {subject} sees the {place} .", f"my {subject} likes a {place} .", f"a {subject} sings in the {place} ."]
    for subject in SUBJECTS
    for place in PLACES
]
CONFIG = {
    "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32,
    "max_position_embeddings": 32, "type_vocab_size": 2,
}  # fmt: skip
OPTIONS = {
    "max_seq_length": 24, "max_predictions_per_seq": 4, "train_batch_size": 4, "num_train_steps": 6,
    "num_warmup_steps": 1, "learning_rate": 0.003, "precision": "float32", "report": False, "log_steps": 2,
    "eval_share": 0.25,
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pretraining")


@pytest.fixture(scope="module")
def trained(folder) -> MaskFiller:
    """A model in folder/"out", trained from documents in memory; do not change it."""
    return MaskFiller.train(DOCUMENTS, CONFIG, vocab_size=60, output_dir=folder / "out", verbose=0, **OPTIONS)


def test_weights_equal_those_of_the_commands(trained, folder, run_folder):
    """bert-build-vocab and bert-pretrain on the same text in a file."""
    (folder / "text.txt").write_text("\n\n".join("\n".join(document) for document in DOCUMENTS), encoding="utf-8")
    (folder / "bert_config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    flags = {"input_file": folder / "text.txt"}
    assert build_vocab(helpers.words(flags | {"vocab_size": 60, "output_file": folder / "vocab.txt"})) == 0
    flags |= {"vocab_file": folder / "vocab.txt", "bert_config_file": folder / "bert_config.json"}
    flags |= OPTIONS | {"report": "false", "output_dir": folder / "command"}
    assert pretrain(["--do_train", "--do_eval", *helpers.words(flags)]) == 0
    assert (folder / "out" / "vocab.txt").read_bytes() == (folder / "vocab.txt").read_bytes()
    by_python, by_command = (run_folder(folder / name).tensors(6) for name in ("out", "command"))
    assert by_python.keys() == by_command.keys()
    for name, values in by_command.items():
        np.testing.assert_array_equal(by_python[name], values, err_msg=name)
    in_memory, in_file = (json.loads((folder / name / "run.json").read_text()) for name in ("out", "command"))
    assert in_memory == in_file


def test_the_trained_model(trained, folder):
    assert trained.fill("the [MASK] sees the house .").masks[0][0].token in SUBJECTS + PLACES + ("the", "a", ".", "my")
    assert 0 < trained.next_sentence("the dog sees the house .", "my dog likes a house .") < 1
    assert trained.report["eval"]["next_sentence_loss"] > 0
    assert trained.history["loss"].dropna().index.tolist() == [2, 4, 6]
    assert trained.history["masked_lm_loss"].dropna().index.tolist() == [6]
    assert trained.output_dir == str(folder / "out")
    flags = (folder / "out" / "flags.txt").read_text(encoding="utf-8")
    assert not any(name in flags for name in ("vocab_file", "bert_config_file", "input_file"))
    assert "parameters: " in repr(trained)


def test_the_same_call_continues_a_run(tmp_path):
    """A run can become longer. Its vocabulary is learned again, with the same tokens."""
    arguments = {"vocab_size": 60, "output_dir": tmp_path / "out", "verbose": 0}
    for steps in (2, 4):
        model = MaskFiller.train(DOCUMENTS, CONFIG, **arguments, **OPTIONS | {"num_train_steps": steps})
    assert model.report["global_step"] == 4
    with raises(InputError, "config"):
        MaskFiller.train(DOCUMENTS, CONFIG | {"hidden_size": 8}, **arguments, **OPTIONS)


def test_a_model_without_next_sentences_gets_their_head(trained, folder):
    """init_checkpoint gives config and vocabulary."""
    options = OPTIONS | {"num_train_steps": 2, "verbose": 0, "init_checkpoint": folder / "out"}
    single = MaskFiller.train(DOCUMENTS, no_nsp=True, output_dir=folder / "single", **options)
    assert "next_sentence_loss" not in single.report["eval"]
    with pytest.raises(InputError, match="no_nsp"):
        single.next_sentence("a", "b")
    files = {"init_checkpoint": folder / "single", "output_dir": None}
    (folder / "eval.txt").write_text("the dog sings .\nit likes the house .\n", encoding="utf-8")
    pairs = MaskFiller.train(DOCUMENTS, eval_texts=folder / "eval.txt", **options | files)
    assert 0 < pairs.next_sentence("a", "b") < 1
    assert pairs.report["eval"]["eval_examples"] == 1


@pytest.mark.slow
def test_the_built_in_model_gets_a_next_sentence_head():
    builtin = MaskFiller.load().source.checkpoint.location
    options = OPTIONS | {"num_train_steps": 2, "verbose": 0, "init_checkpoint": builtin, "no_nsp": False}
    assert 0 < MaskFiller.train(DOCUMENTS, **options).next_sentence("the dog sleeps .", "it is old .") < 1


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        ({"config": CONFIG | {"max_position_embeddings": 8}}, "max_seq_length=24"),
        ({"config": {"hidden_sizes": 8}}, "config: "),
        ({"config": CONFIG | {"num_attention_heads": 3}}, "config: "),
        ({"config": 7}, "config: "),
        ({"config": "missing.json"}, "missing.json"),
        ({"vocab_size": 3}, "vocab_size=3"),
        ({"vocab_size": 60, "vocab_file": "vocab.txt"}, "vocab_size: "),
        ({"config": CONFIG | {"hidden_size": {16}}}, "config: hidden_size="),
        ({"config": CONFIG | {"hidden_size": np.array(16)}}, "config: hidden_size="),
        ({"config": CONFIG | {"initializer_range": float("nan")}}, "config: "),
        ({"config": CONFIG | {("hidden_size",): 16}}, "config: "),
        ({"vocab_size": 0}, "vocab_size=0: "),
        ({"vocab_size": 200.0}, "vocab_size=200.0: "),
        ({"vocab_size": True}, "vocab_size=True: "),
        ({"vocab_size": "3"}, "vocab_size=3 "),
        ({"vocab_size": [60]}, "vocab_size=60: "),
        ({"texts": ["", " "]}, "check texts"),
        ({"texts": "missing.txt"}, "missing.txt"),
        ({"texts": ["\ud800"]}, "texts[0]: "),
        ({"texts": None}, "texts"),
        ({"num_train_step": 3}, "num_train_steps"),
        ({"bert_config_file": "config.json"}, "bert_config_file"),
    ],
)
def test_refusals(arguments, place):
    with raises(InputError, place):
        MaskFiller.train(**{"texts": DOCUMENTS, "config": CONFIG, "verbose": 0} | OPTIONS | arguments)
