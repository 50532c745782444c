"""Flags of bert-prepare and bert-build-vocab."""

import dataclasses
import functools
from typing import Any

from bert_cli.base.errors import refuse_if
from bert_cli.flags.option import FlagGroup, group, option
from bert_cli.settings.data import TABLE_FORM, Columns, DataFiles, HeldOut, MissingLabels, RowColumns, read_held_out
from bert_cli.settings.groups import Files, Log, Processes, TextFiles
from bert_cli.settings.pretraining import CASING
from bert_cli.settings.texts import CORPUS_COLUMNS, CORPUS_TABLES
from bert_cli.settings.training import Seed

WORDPIECE, WORDS = "wordpiece", "words"  # values of --algorithm
VOCAB_SIZE = 30522  # for a new vocabulary; --extend has no default


def _split_option(flag: str, default: HeldOut) -> Any:
    """Return an option of bert-prepare for the number of rows in a split."""
    amount, table = (
        "a fraction such as 0.1 or a number such as 200, stratified by label",
        flag.replace("_split", ".tsv"),
    )
    read = functools.partial(read_held_out, flag=flag, allows_first=False)
    return option(default, f"rows of {table}: {amount}", read=read, write=str)


def read_reserved_tokens(text: str) -> tuple[str, ...]:
    """Return the tokens in a comma-separated list; raise InputError for one with white space."""
    tokens = tuple(text.split(","))
    for token in tokens:
        is_wrong = not token or token != "".join(token.split())
        refuse_if(is_wrong, f"--reserved_tokens={text}: {token!r} is empty or holds white space")
    return tokens


class Paths(FlagGroup, heading="Input and output"):
    """Arguments of bert-prepare that are not flags."""

    paths: tuple[str, ...] = option(
        (), "the table to read (.tsv, .csv, .jsonl, .xlsx, …) and the directory to write to", words=True, file=True
    )


class RowSelection(FlagGroup, heading="Splits"):
    """Rows that bert-prepare uses, and their splits."""

    dev_split: HeldOut = _split_option("dev_split", HeldOut(0.1))
    test_split: HeldOut = _split_option("test_split", HeldOut())
    max_rows: int | None = option(None, "maximum number of rows, stratified by label", lower=1)
    balance: bool = option(False, "balance the labels: keep as many rows of each label as the rarest label has")


@dataclasses.dataclass(frozen=True)
class PrepareSettings:
    """Flags of bert-prepare."""

    paths: Paths = group(Paths)
    columns: Columns = group(Columns)
    data: DataFiles = group(DataFiles, {"header": "whether the first row is a header; auto: detected"}, only=TABLE_FORM)
    text_files: TextFiles = group(TextFiles)
    missing_labels: MissingLabels = group(
        MissingLabels,
        {
            "skip_unlabeled": "leave out rows with a label that marks a missing one: a sign such as - or ?, nan, "
            "null, n/a or unlabeled; none, NA and -1 only if no row has such a label, and no label cell is empty; rows "
            "with an empty label are always left out"
        },
    )
    rows: RowColumns = group(
        RowColumns,
        {
            "group_column": {
                "help": "column of the group of a row, such as its patient, author or document; all rows of a group are in "
                "one file",
                "needs": (),
                "excludes": (),
            }
        },
        only=("group_column",),
    )
    selection: RowSelection = group(RowSelection)
    seed: Seed = group(Seed, {"random_seed": "seed of the choice of rows"})
    log: Log = group(Log)


class VocabularySize(FlagGroup, heading="Vocabulary"):
    """Size and content for a new vocabulary."""

    algorithm: str = option(
        WORDPIECE,
        f"algorithm; {WORDPIECE}: characters, words and pieces of words, so that any word of these characters can be "
        f"written; {WORDS}: the most frequent words as they are, and every other word is [UNK]",
        choices=(WORDPIECE, WORDS),
    )
    extend: str | None = option(
        None,
        "existing vocabulary to extend: new words replace its [unusedN] entries",
        file=True,
        excludes=("algorithm", "reserved_tokens"),
        because={"algorithm": "whole words are added", "reserved_tokens": "its tokens stay as they are"},
    )
    add_special_tokens: bool = option(
        False,
        "add missing special tokens such as [UNK] at the end of the vocabulary of --extend, so "
        "that its ids stay; without --input_file nothing else is added",
        needs="extend",
    )
    vocab_size: int | None = option(
        None,
        f"maximum size of the vocabulary; smaller for a small text; default: {VOCAB_SIZE}. With "
        "--extend: words are appended up to this size; without this flag none are appended",
        lower=1,
        needs="input_file",
        because="its words are added",
    )
    do_lower_case: bool = option(True, CASING)
    reserved_tokens: tuple[str, ...] = option(
        (),
        "further tokens, separated by commas, after [PAD] [UNK] [CLS] [SEP] [MASK], such as [unused0],[unused1]",
        read=read_reserved_tokens,
        write=",".join,
    )
    min_count: int = option(2, "minimum number of occurrences of a word or word piece", lower=1)


@dataclasses.dataclass(frozen=True)
class BuildVocabSettings:
    """Flags of bert-build-vocab."""

    text_files: TextFiles = group(TextFiles)
    columns: Columns = group(Columns, CORPUS_COLUMNS, only=tuple(CORPUS_COLUMNS))
    data: DataFiles = group(DataFiles, CORPUS_TABLES, only=TABLE_FORM)
    files: Files = group(
        Files,
        {
            "input_file": {
                "help": "text files or tables: names or patterns such as 'text/*.txt', separated by "
                "commas; - for standard input; gzip is recognized",
                "required": "unless add_special_tokens",
            },
            "output_file": "vocabulary file to write",
        },
        without=("shard", "line_buffered"),
        output_file="vocab.txt",
    )
    size: VocabularySize = group(VocabularySize)
    workers: Processes = group(
        Processes, {"num_workers": {"help": "number of processes that count words", "lower": 1}}, num_workers=1
    )
    log: Log = group(Log)
