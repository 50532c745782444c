"""Show the tokens, ids and segments of a text, the input of a model.

Texts are arguments of the command, in quotes, or lines of --input_file; ` ||| ` separates the texts of a pair. The
vocabulary is the one of --init_checkpoint, --vocab_file or the built-in model. An unknown word becomes [UNK], and the
table shows the word. With --format=jsonl each text is an object with the keys tokens, input_ids and segment_ids.
--offsets adds the tokens' places.

Examples:

    bert-tokenize "the dog sees a cat ."
    bert-tokenize "the dog sees a cat . ||| a cat" --format=jsonl
"""

import dataclasses
import json
from typing import ClassVar

from bert_cli.base import files
from bert_cli.base.json_files import JsonObject
from bert_cli.base.names import STANDARD
from bert_cli.examples.text_lines import read_located_texts
from bert_cli.features.encoded_text import encode_text, split_pair, unknown_words
from bert_cli.flags.command import Command
from bert_cli.flags.option import FlagGroup, group, option
from bert_cli.opening.tokenizer import load_tokenizer
from bert_cli.reading.formats import refuse_table
from bert_cli.runtime.streams import print_text
from bert_cli.settings.groups import Files, Log, ModelFiles, TextFiles
from bert_cli.text.offsets import token_offsets
from bert_cli.text.vocabulary import UNK


class TextArguments(FlagGroup, heading="Texts"):
    """Texts to tokenize."""

    texts: tuple[str, ...] = option((), "texts, or pairs separated by ' ||| ', each in quotes", words=True)


class TokenOutput(FlagGroup, heading="Output"):
    """Output format for tokens."""

    format: str = option("table", "output format: a table, or JSON lines", choices=("table", "jsonl"))
    offsets: bool = option(False, "add each token's start and end in its text, in characters")


@dataclasses.dataclass(frozen=True)
class TokenizeSettings:
    """Flags of bert-tokenize."""

    modes: ClassVar[tuple[str, ...]] = ("texts", "input_file")

    texts: TextArguments = group(TextArguments)
    text_files: TextFiles = group(TextFiles)
    files: Files = group(
        Files, {"input_file": "file with one text or pair per line; - for standard input"}, only=("input_file",)
    )
    model: ModelFiles = group(
        ModelFiles,
        {
            "init_checkpoint": "model with the vocabulary; default: the built-in model",
            "vocab_file": "vocabulary, vocab.txt or tokenizer.json, with or without a model",
        },
        without=("bert_config_file", "gelu", "strict", "allow_unknown"),
    )
    shown: TokenOutput = group(TokenOutput)
    log: Log = group(Log)


def format_table(
    record: JsonObject, unknown_words: list[str], offsets: list[list[int] | None] | None = None
) -> list[str]:
    """Return a table for a terminal, line by line.

    Args:
        record: tokens, input_ids and segment_ids.
        unknown_words: words that became [UNK], in order.
        offsets: each token's place, see token_offsets; None for a table without places.
    """
    words = iter(unknown_words)
    lines = [f"    id  segment  {'' if offsets is None else ' start     end  '}token"]
    rows = zip(*(record[key] for key in ("tokens", "input_ids", "segment_ids")), strict=True)
    for number, (token, token_id, segment) in enumerate(rows):
        mark = f"  <- {next(words, '')}" if token == UNK else ""
        start, end = (offsets and offsets[number]) or ("", "")
        place = "" if offsets is None else f"{start:>6}  {end:>6}  "
        lines.append(f"{token_id:6}  {segment:7}  {place}{token}{mark}")
    return lines


def run(settings: TokenizeSettings) -> list[dict]:
    """Print the tokens, and return the records."""
    source = settings.files.input_file
    refuse_table(source)
    if source and source != STANDARD:
        files.check_readable(source, "input_file")
    model = settings.model
    tokenizer = load_tokenizer(model.init_checkpoint, model.vocab_file, model.do_lower_case)
    records = []
    for _, text in read_located_texts(settings.texts.texts, source, settings.text_files.encoding):
        texts = split_pair(text)
        record = encode_text(tokenizer, *texts)
        offsets = token_offsets(tokenizer, *texts) if settings.shown.offsets else None
        unknown = [word for text_or_none in texts if text_or_none for word in unknown_words(tokenizer, text_or_none)]
        lines = format_table(record, unknown, offsets)
        records.append(record := record if offsets is None else {**record, "offsets": offsets})
        is_json = settings.shown.format == "jsonl"
        print_text(json.dumps(record, ensure_ascii=False) if is_json else "\n".join(lines))
    return records


main = Command("bert-tokenize", __doc__, TokenizeSettings, run)


if __name__ == "__main__":
    raise SystemExit(main())
