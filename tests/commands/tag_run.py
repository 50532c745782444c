"""Sentences for bert-tag, and readers for a run's files."""

import itertools
import pathlib

import numpy as np
import pytest

from bert_cli.examples.tag_schemes import from_bio
from bert_cli.run_tagging import main
from tests.rows import write_rows

LABELS = ("O", "B-ANI", "I-ANI", "B-PER", "I-PER")
PEOPLE = ["farmer", "old farmer", "young teacher", "teacher", "young farmer", "old teacher"]
ANIMALS = ["dog", "small dog", "green bird", "cat", "big red horse", "fish"]
VERBS = ["likes", "sees", "chases", "buys", "paints", "opens"]


def sentence(number: int) -> tuple[list[str], list[str]]:
    """Return words and tags for a number, such as "the old farmer likes a small dog ."."""
    person, animal, verb = PEOPLE[number % 6], ANIMALS[(number * 5 + number // 6) % 6], VERBS[number * 7 % 6]
    words, tags = ["the"], ["O"]
    for text, entity_type in ((person, "PER"), (verb, ""), ("a", ""), (animal, "ANI"), (".", "")):
        words_of_text = text.split(" ")
        words += words_of_text
        tags += [f"B-{entity_type}"] + [f"I-{entity_type}"] * (len(words_of_text) - 1) if entity_type else ["O"]
    return words, tags


def columns(sentences, separator="\t") -> str:
    return "\n".join("".join(f"{w}{separator}{t}\n" for w, t in zip(*pair, strict=True)) for pair in sentences)


# A sentence with 59 words, which needs three windows of 32 tokens.
LONG = tuple([item for number in range(8) for item in sentence(number)[column]] for column in (0, 1))
SPLITS = {
    "train": [sentence(number) for number in range(24)],
    "dev": [sentence(number) for number in (24, 29, 31, 33)],
    "test": [sentence(number) for number in (26, 30)] + [LONG, sentence(35)],
}


def write_data(folder: pathlib.Path, scheme: str = "BIO") -> pathlib.Path:
    folder.mkdir()
    for split, sentences in SPLITS.items():
        pairs = [(words, from_bio(tags, scheme)) for words, tags in sentences]
        (folder / f"{split}.txt").write_text(columns(pairs), encoding="utf-8")
    return folder


def phases_of(model_flags: tuple[str, ...]) -> list[str]:
    """Return flags for a run with all phases, without data and output."""
    flags = [*model_flags, "--num_train_epochs=10", "--save_checkpoints_steps=30", "--learning_rate=0.01"]
    return [*flags, "--do_train", "--do_eval", "--do_predict"]


def train(folder: pathlib.Path, model_flags: tuple[str, ...]) -> None:
    """Train 60 steps on folder / "data", evaluate and predict, into folder / "out"."""
    write_data(folder / "data")
    with pytest.MonkeyPatch.context() as patch:
        # Use relative paths: the remembered paths must be valid from other directories.
        patch.chdir(folder)
        assert main([*phases_of(model_flags), "--report", "--data_dir=data", "--output_dir=out"]) == 0


def predicted(path: pathlib.Path) -> list[list[str]]:
    """Return the last column of each sentence in test_predictions.txt."""
    blocks = path.read_text(encoding="utf-8").rstrip("\n").split("\n\n")
    return [[line.split("\t")[-1] for line in block.split("\n")] for block in blocks]


def flat(path: pathlib.Path) -> list[str]:
    return list(itertools.chain.from_iterable(predicted(path)))


def save_pretrained(folder: pathlib.Path, model: pathlib.Path, with_head: bool) -> pathlib.Path:
    """Save an encoder's checkpoint into a new directory, optionally with a classifier and labels."""
    from bert_cli.heads.tagging import BertTagger
    from bert_cli.model.config_files import read_config
    from bert_cli.model.layers import named_weights
    from bert_cli.weights.formats.checkpoint_writer import write_tf1

    folder.mkdir()
    for name in ("vocab.txt", "bert_config.json"):
        (folder / name).write_bytes((model / name).read_bytes())
    variables = named_weights(BertTagger(read_config(str(folder / "bert_config.json")), 5, seed=3))
    tensors = {name: v.numpy() for name, v in variables.items() if with_head or not name.startswith("output_")}
    if with_head:  # large weights, so that adjacent words get different tags
        tensors["output_weights"] = np.random.default_rng(1).normal(0, 2, (5, 16)).astype(np.float32)
        write_rows(folder / "labels.txt", LABELS)
    write_tf1(str(folder / "bert_model.ckpt"), tensors)
    return folder
