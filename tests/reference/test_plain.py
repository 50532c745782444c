"""The plain implementations, which make the expected values, against the original's golden sets."""

import json
import random

import numpy as np
import plain_classification
import plain_corpus
import plain_squad
import pytest
from checkpoint_files import read_checkpoint
from plain_tokenizer import read_vocabulary, tokenize, words_of


def read_json(path):
    return json.loads(path.read_text(encoding="utf-8"))


def read_lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").rstrip("\n").split("\n")]


def test_tokenizer(shared):
    folder, vocabularies = shared / "golden" / "tokenization", {}
    cases = read_lines(folder / "cases.jsonl")
    for case in cases:
        if case["vocab"] not in vocabularies:
            vocabularies[case["vocab"]] = read_vocabulary(folder / f"vocab_{case['vocab']}.txt")
        lower = case["do_lower_case"]
        assert words_of(case["text"], lower) == case["basic"], case
        assert tokenize(case["text"], vocabularies[case["vocab"]], lower) == case["tokens"], case
    assert len(cases) > 4000


@pytest.mark.parametrize("run", ["v1", "v1_cased", "v2"])
def test_squad(shared, run):
    folder = shared / "golden" / "squad"
    flags = read_json(folder / run / "flags.json")
    lower = flags["do_lower_case"]
    vocabulary = read_vocabulary(folder / flags["vocab"])
    questions = plain_squad.read_questions(read_json(folder / flags["data"]))
    lengths = (flags["max_seq_length"], flags["doc_stride"], flags["max_query_length"])
    windows = plain_squad.windows(questions, vocabulary, lower, *lengths)
    assert windows == read_lines(folder / run / "predict_features.jsonl")
    for call in flags["runs"]:
        logits = np.load(folder / run / call["logits"])
        start, end = (logits[name].tolist() for name in ("start_logits", "end_logits"))
        rules = {"null_score_diff_threshold": 0.0} | flags | call
        for name, predictions in plain_squad.predict(questions, windows, start, end, lower, rules).items():
            assert predictions == read_json(folder / run / call["folder"] / f"{name}.json")


@pytest.mark.parametrize("run", ["v1", "v2"])
def test_squad_training_windows(shared, run):
    folder = shared / "golden" / "squad"
    flags = read_json(folder / run / "flags.json")
    questions = plain_squad.read_training_questions(read_json(folder / flags["data"]))
    random.Random(12345).shuffle(questions)  # as in the original
    lengths = (flags["max_seq_length"], flags["doc_stride"], flags["max_query_length"])
    windows = plain_squad.windows(questions, read_vocabulary(folder / flags["vocab"]), flags["do_lower_case"], *lengths)
    assert windows == read_lines(folder / run / "train_features.jsonl")


@pytest.mark.parametrize("name", ["defaults", "dupe3_len64", "short_seq", "whole_word_mask", "mixed"])
def test_pretraining_records(shared, name):
    folder = shared / "golden" / "pretraining_data"
    run = read_json(folder / name / "flags.json")
    flags = run["flags"]
    texts = [(folder / path).read_bytes().decode("utf-8") for path in run["input_files_in_order"]]
    records = plain_corpus.instances(texts, read_vocabulary(folder / flags["vocab_file"]), flags)
    files = len(flags["output_file"].split(","))
    for number in range(files):
        stem = "instances" if files == 1 else f"instances_{number}"
        assert records[number::files] == read_lines(folder / name / f"{stem}.jsonl")


@pytest.mark.parametrize("split", ["train", "dev", "test"])
@pytest.mark.parametrize("task", ["cola", "mrpc"])
def test_classification_features(shared, task, split):
    folder = shared / "golden" / "classifier"
    text = (folder / task / "data" / f"{split}.tsv").read_bytes().decode("utf-8")
    rows = plain_classification.read_rows(task, split, text)
    name = {"train": "train", "dev": "eval", "test": "predict"}[split]
    records = plain_classification.features(rows, read_vocabulary(folder / "vocab.txt"), True, 32)
    assert records == read_lines(folder / task / f"{name}_features.jsonl")


@pytest.mark.parametrize("task", ["cola", "mrpc"])
def test_classification_scores(shared, task):
    folder = shared / "golden" / "classifier"
    weights = read_checkpoint(folder / task / "model" / "model.ckpt-7")
    records = read_lines(folder / task / "eval_features.jsonl")
    results = plain_classification.eval_results(read_json(folder / "bert_config.json"), weights, records, 7)
    text = (folder / task / "eval_results.txt").read_text(encoding="utf-8")
    expected = {name: float(value) for name, value in (line.split(" = ") for line in text.splitlines())}
    assert results == pytest.approx(expected, abs=1e-5)
