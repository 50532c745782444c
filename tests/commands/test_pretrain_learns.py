"""Pre-training on the text that is shipped learns more than which words are frequent."""

import collections
import json
import math
import pathlib

from bert_cli.run_pretraining import main
from bert_cli.text.tokenization import BasicTokenizer

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
STEPS = 1500


def test_masked_words_are_told_from_their_context(tmp_path, run_folder):
    text = "\n\n".join(CORPUS.read_text(encoding="utf-8").split("\n\n")[:60])
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    words = collections.Counter(BasicTokenizer().tokenize(text))
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted(words)]
    (tmp_path / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    (tmp_path / "bert_config.json").write_text(json.dumps(CONFIG), encoding="utf-8")
    flags = {
        "input_file": tmp_path / "text.txt",
        "vocab_file": tmp_path / "vocab.txt",
        "bert_config_file": tmp_path / "bert_config.json",
        "output_dir": tmp_path / "out",
        "max_seq_length": 32,
        "max_predictions_per_seq": 5,
        "short_seq_prob": 0.0,
        "eval_share": 0.0,
        "learning_rate": 0.003,
        "num_train_steps": STEPS,
        "num_warmup_steps": 60,
        "precision": "float32",
    }
    assert main(["--do_train", "--do_eval", "--no_nsp", *(f"--{name}={value}" for name, value in flags.items())]) == 0
    results, report = run_folder(tmp_path / "out").eval_results(), run_folder(tmp_path / "out").report()
    total = words.total()
    most_frequent = max(words.values()) / total
    entropy = -sum(count / total * math.log(count / total) for count in words.values())
    assert results["masked_lm_accuracy"] > 2.5 * most_frequent
    assert results["masked_lm_loss"] < entropy - 1.0
    assert report["first_loss"] > math.log(len(vocabulary)) - 0.5
    assert report["last_loss"] < entropy - 1.0
    assert "next_sentence_loss" not in results
