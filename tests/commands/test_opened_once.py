"""Commands open an input file once, whatever they need to know about it: format, columns, labels and rows."""

import collections
import contextlib
import json
import os
import pathlib
import sys

import pytest

from bert_cli import (
    build_vocab,
    builtin,
    create_pretraining_data,
    extract_features,
    fill_mask,
    prepare_data,
    run_classifier,
    run_pretraining,
    run_squad,
    run_tagging,
    tokenize_text,
)
from bert_cli.examples.token_files import columns
from bert_cli.serving.keys import ApiKeys

TEXT = "".join(f"the old farmer buys {number} dogs .\n" for number in range(20))
ROWS = [(f"a dog chases {number} cats .", "good" if number % 2 else "bad") for number in range(20)]
CSV = "text,label\n" + "".join(f"{text},{label}\n" for text, label in ROWS)
JSON_LINES = "".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in ROWS)
COLA = "".join(f"s{number}\t{number % 2}\t\t{text}\n" for number, (text, _) in enumerate(ROWS))
TAGS = "Anna B-PER\nleft O\n\n" * 9
SPANS = "".join(json.dumps({"text": "Anna left", "label": [[0, 4, "PER"]]}) + "\n" for _ in range(9))
CONTEXT = "the old farmer buys a dog ."
QUESTIONS = "".join(
    json.dumps({"id": str(number), "question": "who ?", "context": CONTEXT, "answers": [ANSWER]}) + "\n"
    for number, ANSWER in enumerate([{"text": "farmer", "answer_start": 8}] * 9)
)
VOCABULARY = pathlib.Path(builtin.__file__).parent / "vocab.txt"
CONFIG = {
    "vocab_size": len(VOCABULARY.read_text(encoding="utf-8").splitlines()), "hidden_size": 8, "num_hidden_layers": 1,
    "num_attention_heads": 2, "intermediate_size": 8, "max_position_embeddings": 384, "type_vocab_size": 2,
}  # fmt: skip
# A dry run computes steps, which take seconds with the built-in model.
SMALL = ("--dry_run", "--init_checkpoint=random", "--bert_config_file=config.json", f"--vocab_file={VOCABULARY}")
DRY = ("--do_train", "--do_eval", "--output_dir=out", *SMALL)
PRETRAIN = ("--do_train", "--num_train_steps=2", "--output_dir=out", *SMALL)
COMMANDS = {
    "bert-classify csv": (run_classifier.main, {"train_file": "t.csv", "dev_file": "d.csv"}, CSV, DRY),
    "bert-classify json": (run_classifier.main, {"train_file": "t.jsonl", "dev_file": "d.json"}, JSON_LINES, DRY),
    "bert-classify cola": (
        run_classifier.main, {"train_file": "t.tsv", "dev_file": "d.tsv"}, COLA, (*DRY, "--task_name=cola"),
    ),
    "bert-tag columns": (run_tagging.main, {"train_file": "t.txt", "dev_file": "d.txt"}, TAGS, DRY),
    "bert-tag spans": (run_tagging.main, {"train_file": "t.jsonl", "dev_file": "d.jsonl"}, SPANS, DRY),
    "bert-squad": (
        run_squad.main, {"train_file": "t.json"}, QUESTIONS, ("--do_train", "--output_dir=out", *SMALL),
    ),
    "bert-prepare": (prepare_data.main, {"": "t.csv"}, CSV, ("out",)),
    "bert-tokenize": (tokenize_text.main, {"input_file": "t.txt"}, TEXT, ()),
    "bert-fill-mask": (fill_mask.main, {"input_file": "t.txt"}, TEXT.replace("dogs", "[MASK]"), ()),
    "bert-extract-features": (
        extract_features.main, {"input_file": "t.txt"}, TEXT, ("--output_file=o.jsonl", "--engine=onnxruntime"),
    ),
    "bert-extract-features csv": (
        extract_features.main, {"input_file": "t.csv"}, CSV, ("--output_file=o.jsonl", "--engine=onnxruntime"),
    ),
    "bert-create-pretraining-data": (
        create_pretraining_data.main, {"input_file": "t.txt"}, f"{TEXT}\n{TEXT}",
        ("--output_file=o.tfrecord", f"--vocab_file={VOCABULARY}"),
    ),
    "bert-pretrain": (run_pretraining.main, {"input_file": "t.txt"}, f"{TEXT}\n{TEXT}", PRETRAIN),
    "bert-build-vocab": (build_vocab.main, {"input_file": "t.txt"}, TEXT, ("--output_file=v.txt", "--vocab_size=60")),
}  # fmt: skip


_OPENED: list[collections.Counter] = []


def _count(event: str, arguments: tuple) -> None:
    if event == "open" and _OPENED and isinstance(arguments[0], str):
        _OPENED[-1][os.path.abspath(arguments[0])] += 1


sys.addaudithook(_count)


@contextlib.contextmanager
def opened_files():
    """Count how often each file is opened in this process."""
    _OPENED.append(collections.Counter())
    try:
        yield _OPENED[-1]
    finally:
        _OPENED.clear()


def run(name) -> dict[str, int]:
    """Run a command, and return how often it opened each input."""
    main, inputs, content, flags = COMMANDS[name]
    with open("config.json", "w", encoding="utf-8") as file:
        json.dump(CONFIG, file)
    for path in inputs.values():
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(content)
    with opened_files() as counts:
        assert main([*(f"--{flag}={path}" if flag else path for flag, path in inputs.items()), *flags]) == 0
    return {path: counts[os.path.abspath(path)] for path in inputs.values()}


# bert-pretrain asks whether a file has records before it loads the model. Texts are then read by
# worker processes, which cannot share the open file.
TIMES = {"bert-pretrain": 2}


@pytest.mark.parametrize("name", COMMANDS)
def test_each_input_is_opened_once(name):
    assert set(run(name).values()) == {TIMES.get(name, 1)}


def test_a_file_to_predict_is_opened_once(trained):
    """A task compares its own layout with the first rows, and then reads all rows if they differ."""
    for name, content in (("new.csv", CSV), ("new.tsv", COLA)):
        with open(name, "w", encoding="utf-8", newline="\n") as file:
            file.write(content)
        with opened_files() as counts:
            flags = ("--do_predict", f"--predict_file={name}", f"--output_dir={trained}", "--engine=onnxruntime")
            assert run_classifier.main(list(flags)) == 0
        assert counts[os.path.abspath(name)] == 1


def count_opens(main, path: str, content: str, *flags: str) -> int:
    """Return how often a command opens a file with this content."""
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.write(content)
    with opened_files() as counts:
        assert main([*flags, "--engine=onnxruntime"]) == 0
    return counts[os.path.abspath(path)]


@pytest.mark.parametrize(("path", "content"), [("q.jsonl", QUESTIONS), ("t.txt", TAGS), ("t.jsonl", SPANS)])
def test_inputs_of_trained_models_are_opened_once(path, content, answering, tagger):
    if content is QUESTIONS:
        flags = f"--output_dir={answering}", "--input_file=q.jsonl", "--output_file=o.jsonl"
        assert count_opens(run_squad.main, path, content, *flags) == 1
    else:
        flags = (
            f"--init_checkpoint={tagger}",
            "--output_dir=out",
            "--do_predict",
            f"--test_file={path}",
            "--test_tags=auto",
        )
        assert count_opens(run_tagging.main, path, content, *flags) == 1


def test_a_test_file_is_parsed_once(tagger, monkeypatch):
    """Whether it has tags is decided by the rows that are then read."""
    calls = []
    split = columns.split_columns
    monkeypatch.setattr(columns, "split_columns", lambda line: calls.append(line) or split(line))
    flags = f"--init_checkpoint={tagger}", "--output_dir=out", "--do_predict", "--test_file=t.txt", "--test_tags=auto"
    assert count_opens(run_tagging.main, "t.txt", TAGS, *flags) == 1
    assert calls.count("Anna B-PER") == TAGS.count("Anna")


def test_keys_of_the_server_are_opened_once(tmp_path):
    path = tmp_path / "keys.txt"
    path.write_text("a-secret-key\n", encoding="utf-8")
    with opened_files() as counts:
        assert ApiKeys(str(path)).find_client("Bearer a-secret-key") is not None
    assert counts[str(path)] == 1
