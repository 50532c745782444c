"""Show the tokens, ids and segments of a text, the input of a model.

Texts are arguments of the command, in quotes, or lines of --input_file; ` ||| ` separates the texts of a pair. The
vocabulary is the one of --init_checkpoint, --vocab_file or the built-in model. An unknown word becomes [UNK], and the
table shows the word. With --format=jsonl each text is an object with the keys tokens, input_ids and segment_ids.

Examples:

    bert-tokenize "the dog sees a cat ."
    bert-tokenize "the dog sees a cat . ||| a cat" --format=jsonl
"""

import json
from typing import Any

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.names import STANDARD
from bert_cli.examples.table_files.formats import refuse_table
from bert_cli.examples.text_lines import read_texts
from bert_cli.features.encoded_text import divided, encoded_text, unknown_words
from bert_cli.flags.command import Command
from bert_cli.runs.loading.tokenizer import load_tokenizer
from bert_cli.runtime.streams import print_text
from bert_cli.settings.texts import TokenizeSettings
from bert_cli.text.vocabulary import UNK


def check(values: dict[str, Any], given: frozenset[str]) -> dict[str, Any]:
    """InputError unless there are texts, from one place."""
    if bool(values["texts"]) == bool(values["input_file"]):
        raise InputError('give texts, such as "the dog sees a cat .", or --input_file=FILE')
    refuse_table(values["input_file"])
    return values


def table_of(record: dict[str, Any], unknown: list[str]) -> list[str]:
    """Lines for a terminal; unknown: the words that are [UNK], in their order."""
    words = iter(unknown)
    lines = ["    id  segment  token"]
    for token, number, segment in zip(*(record[key] for key in ("tokens", "input_ids", "segment_ids")), strict=True):
        mark = f"  <- {next(words, '')}" if token == UNK else ""
        lines.append(f"{number:6}  {segment:7}  {token}{mark}")
    return lines


def run(settings: TokenizeSettings) -> list[dict[str, Any]]:
    """Print what the settings ask for; returns the records."""
    source = settings.files.input_file
    if source and source != STANDARD:
        files.check_readable(source, "input_file")
    tokenizer = load_tokenizer(settings.model)
    records = []
    for _, text in read_texts(settings.texts.texts, source, settings.text_files.encoding):
        parts = divided(text)
        records.append(record := encoded_text(tokenizer, *parts))
        unknown = [word for part in parts if part for word in unknown_words(tokenizer, part)]
        is_json = settings.shown.format == "jsonl"
        print_text(json.dumps(record, ensure_ascii=False) if is_json else "\n".join(table_of(record, unknown)))
    return records


main = Command("bert-tokenize", __doc__, TokenizeSettings, run, check)


if __name__ == "__main__":
    raise SystemExit(main())
