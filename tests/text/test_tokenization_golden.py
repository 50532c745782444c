"""Tokenization compared with results of Google's code (google-research/bert, commit eedf571)."""

import functools
import json
import pathlib

from bert_cli.text.tokenization import BasicTokenizer, FullTokenizer
from bert_cli.text.vocabulary import read_vocabulary


def read_cases(path: pathlib.Path) -> list[dict]:
    """Return the cases; only \\n ends a line, since texts contain U+2028 and similar characters."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").removesuffix("\n").split("\n")]


def describe(cases: list[dict]) -> str:
    return f"{len(cases)} cases differ, the first: {cases[:1]!a}"


def test_shipped_cases(fixtures):
    folder = fixtures / "tokenization"
    vocabulary = read_vocabulary(str(folder / "vocab_small.txt"))
    tokenizers = {lower: FullTokenizer(vocabulary, lower) for lower in (True, False)}
    basic = {lower: BasicTokenizer(lower) for lower in (True, False)}
    cases = read_cases(folder / "cases.jsonl")
    assert len(cases) > 1000
    different = []
    for case in cases:
        lower, text = case["do_lower_case"], case["text"]
        same = basic[lower].tokenize(text) == case["basic"]
        if "ids" in case:
            tokenizer = tokenizers[lower]
            same = same and tokenizer.encode(text) == case["ids"]
            same = same and tokenizer.tokenize(text) == tokenizer.convert_ids_to_tokens(case["ids"])
        if not same:
            different.append(case)
    assert not different, describe(different)


def test_all_cases(shared):
    folder = shared / "golden" / "tokenization"

    @functools.cache
    def tokenizer_of(name: str, lower: bool) -> FullTokenizer:
        return FullTokenizer(read_vocabulary(str(folder / f"vocab_{name}.txt")), lower)

    cases = read_cases(folder / "cases.jsonl")
    assert len(cases) > 4000
    different = []
    for case in cases:
        tokenizer = tokenizer_of(case["vocab"], case["do_lower_case"])
        text = case["text"]
        same = tokenizer.basic_tokenizer.tokenize(text) == case["basic"]
        same = same and tokenizer.tokenize(text) == case["tokens"]
        same = same and tokenizer.encode(text) == case["ids"]
        same = same and tokenizer.convert_ids_to_tokens(case["ids"]) == case["tokens"]
        if not same:
            different.append(case)
    assert not different, describe(different)
