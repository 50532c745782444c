"""Pre-training learns more than word frequencies."""

import collections
import json
import math
import pathlib

import pytest

from bert_cli.run_pretraining import main
from bert_cli.text.tokenization import BasicTokenizer
from tests.commands import helpers
from tests.rows import write_rows

CORPUS = pathlib.Path(__file__).resolve().parents[2] / "data" / "pretraining" / "corpus.txt"
CONFIG = {
    "hidden_size": 64,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 128,
    "max_position_embeddings": 32,
    "type_vocab_size": 2,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}


def assert_learns(text: str, folder: pathlib.Path, run_folder, **flags) -> None:
    """Check that pre-training without pairs beats word frequencies.

    The loss must be one nat below the words' entropy, the minimum for frequencies alone. The
    accuracy must be far above the most frequent word's share.
    """
    (folder / "text.txt").write_text(text, encoding="utf-8")
    words = collections.Counter(BasicTokenizer().tokenize(text))
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted(words)]
    write_rows(folder / "vocab.txt", vocabulary)
    (folder / "bert_config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    flags = {
        "input_file": folder / "text.txt",
        "vocab_file": folder / "vocab.txt",
        "bert_config_file": folder / "bert_config.json",
        "output_dir": folder / "out",
        "max_seq_length": 32,
        "max_predictions_per_seq": 5,
        "short_seq_prob": 0.0,
        "eval_share": 0.0,
        "learning_rate": 0.003,
        "precision": "float32",
    } | flags
    assert main(["--do_train", "--do_eval", "--no_nsp", *helpers.words(flags)]) == 0
    results, report = run_folder(folder / "out").eval_results(), run_folder(folder / "out").report()
    total = words.total()
    most_frequent = max(words.values()) / total
    entropy = -sum(count / total * math.log(count / total) for count in words.values())
    assert results["masked_lm_accuracy"] > 2.5 * most_frequent
    assert results["masked_lm_loss"] < entropy - 1.0
    assert report["first_loss"] > math.log(len(vocabulary)) - 0.5
    assert report["last_loss"] < entropy - 1.0
    assert "next_sentence_loss" not in results
    names = run_folder(folder / "out").tensors(report["global_step"])
    assert "bert/pooler/dense/kernel" in names
    # The pooler has no loss, so it is not trained.
    assert "bert/pooler/dense/kernel/adam_m" not in names


@pytest.mark.slow
def test_masked_words_are_predicted_from_context(tmp_path, run_folder):
    """Each document repeats one of twenty words."""
    words = "ant bee cat cow dog elk emu fly fox gnu hen jay koi owl pig ram rat roe yak eel"
    sentences = [" ".join([word] * (3 + number % 4)) for number, word in enumerate(words.split())]
    text = "\n\n".join("\n".join([sentence] * 6) for sentence in sentences)
    assert_learns(text, tmp_path, run_folder, num_train_steps=200, num_warmup_steps=20, train_batch_size=16)


@pytest.mark.slow
def test_masked_words_in_the_shipped_text(tmp_path, run_folder):
    text = "\n\n".join(CORPUS.read_text(encoding="utf-8").split("\n\n")[:60])
    assert_learns(text, tmp_path, run_folder, num_train_steps=1500, num_warmup_steps=60)
