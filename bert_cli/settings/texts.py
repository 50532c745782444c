"""Flags of commands that compute texts without training, and the form of pre-training text."""

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any, ClassVar, NamedTuple, Self

from bert_cli.base import files
from bert_cli.base.errors import refuse_if
from bert_cli.base.names import STANDARD
from bert_cli.flags.option import FlagGroup, flag_values, group, option
from bert_cli.flags.paths import name_list_properties
from bert_cli.settings.answering import OWN_LENGTH, Extraction
from bert_cli.settings.data import PLAIN, TABLE_FORM, TEXT_COLUMNS, Columns, DataFiles, TextForm
from bert_cli.settings.devices import WITHOUT_INT8, Devices
from bert_cli.settings.groups import (
    TOP_K,
    Encoding,
    Files,
    HubEncoder,
    Log,
    ModelFiles,
    TextFiles,
)
from bert_cli.settings.tools import NEXT_TO_CHECKPOINT


class AttentionOutput(FlagGroup, heading="Attention"):
    """Output of attention probabilities, to a file or to the terminal."""

    attentions: str | None = option(
        None,
        ".npz file for the attention probabilities of all layers and heads, line by line",
        file=True,
        excludes="long_text",
        because="attention is of whole lines",
    )
    show_attention: str = option(
        "",
        "print the strongest attention links of this text, and do nothing else",
        excludes=(
            "input_file", "output_file", "layers", "pooling", "combine", "normalize", "words", "long_text",
            "output_format", "resume", "shard", "attentions",
        ),
        because="it prints the attention of one text, and computes no vectors",
    )  # fmt: skip
    attention_of: str = option(
        "", "print a table of the words that this word of --show_attention attends to most", needs="show_attention"
    )
    attention_map: str = option(
        "",
        "write heat maps of the attention of --show_attention in each layer and head to this .html file",
        file=True,
        needs="show_attention",
    )
    layer: int = option(-1, "layer of --show_attention, from 0, or from -1 back", needs="show_attention")
    head: int | None = option(
        None, "attention head of --show_attention, from 0; default: the mean over all heads", needs="show_attention"
    )
    top_k: int = option(10, "number of links or words that --show_attention prints", lower=1, needs="show_attention")


@dataclasses.dataclass(frozen=True)
class ExtractSettings:
    """Flags of bert-extract-features."""

    essential: ClassVar[tuple[str, ...]] = (
        "input_file", "output_file", "shard", "output_format", "float16", "resume", "layers", "pooling",
        "normalize", "words", "long_text", "max_seq_length", "batch_size", "precision", "engine",
        "show_attention", "init_checkpoint", "hub_module", "do_lower_case", "quiet",
    )  # fmt: skip

    text_files: TextFiles = group(TextFiles)
    files: Files = group(
        Files,
        {
            "input_file": {
                "help": "file with one text per line, or a pair separated by ' ||| '; - for standard input; or a "
                "table (.csv, .tsv, .jsonl, .xlsx, .parquet, …); a "
                "pattern such as 'part-*.txt', or names separated by commas, for several files",
                "required": "unless show_attention",
            },
            "output_file": {
                "help": "file to write; - for standard output (JSON lines); for several input "
                "files the prefix of the names, as in NAME-00000-of-00003",
                "required": "unless show_attention",
                "needs": {f"={STANDARD}": "output_format=jsonl"},
                "because": "other formats need a file",
            },
        },
        without=("line_buffered",),
    )
    columns: Columns = group(Columns, only=TEXT_COLUMNS)
    data: DataFiles = group(
        DataFiles, {"header": "whether the first row of a table is a header; auto: detected"}, only=TABLE_FORM
    )
    extraction: Extraction = group(Extraction)
    encoding: Encoding = group(
        Encoding,
        {"max_seq_length": OWN_LENGTH},
        only=("max_seq_length",),
        max_seq_length=0,
    )
    devices: Devices = group(
        Devices,
        {"batch_size": "batch size in texts of max_seq_length; larger for shorter texts"},
        precision="float32",  # Google's digits
    )
    attention: AttentionOutput = group(AttentionOutput)
    model: ModelFiles = group(ModelFiles, NEXT_TO_CHECKPOINT)
    hub: HubEncoder = group(HubEncoder, without=("hub_trainable",))
    log: Log = group(Log)

    @property
    def text_form(self) -> TextForm:
        """Return the input file's form."""
        return TextForm(self.text_files.encoding, self.data.quoting, self.data.sheet)


class Candidates(FlagGroup, heading="Texts"):
    """Texts with masked words, and the candidates for each mask."""

    texts: tuple[str, ...] = option((), "texts with [MASK], or pairs separated by ' ||| ', each in quotes", words=True)
    top_k: int = option(TOP_K, "number of candidates for each [MASK]", lower=1)
    candidates: tuple[str, ...] | None = option(
        None,
        "print the probabilities of these words for each [MASK], comma-separated, such as he,she; a word of several "
        "pieces is read from left to right",
        excludes="top_k",
        because="it prints all candidates",
        **name_list_properties("candidates", 1),
    )
    score: bool = option(
        False,
        "print the pseudo-log-likelihood of texts without [MASK], and the log-probability of each token when it alone "
        "is masked",
        excludes=("top_k", "candidates"),
        because="it masks each token in turn",
    )


@dataclasses.dataclass(frozen=True)
class FillMaskSettings:
    """Flags of bert-fill-mask."""

    essential: ClassVar[tuple[str, ...]] = (
        "texts", "top_k", "candidates", "score", "input_file", "output_file", "init_checkpoint", "vocab_file",
        "bert_config_file", "do_lower_case", "strict", "batch_size", "precision", "quiet", "verbose",
    )  # fmt: skip
    modes: ClassVar[tuple[str, ...]] = ("texts", "input_file")

    candidates: Candidates = group(Candidates)
    text_files: TextFiles = group(TextFiles)
    files: Files = group(
        Files,
        {
            "input_file": "file with one text per line, - for standard input; the answers are JSON lines",
            "output_file": {"help": "file for the JSON lines, - for standard output", "needs": "input_file"},
        },
        without=("shard",),
        output_file="-",
    )
    model: ModelFiles = group(
        ModelFiles,
        {
            "init_checkpoint": "pre-trained model: output_dir of bert-pretrain, a TF1 checkpoint, or a Hugging Face "
            "directory with a masked-LM head; default: the built-in model, or bert_output if the package has none",
            "vocab_file": "vocabulary, vocab.txt; default: next to the checkpoint",
            "bert_config_file": "model config, bert_config.json; default: next to the checkpoint",
        },
        without=("allow_unknown",),
    )
    devices: Devices = group(Devices, {"precision": WITHOUT_INT8})
    log: Log = group(Log)


def check_table_flags(given_names: frozenset[str], is_table: bool) -> None:
    """Raise InputError if a flag for tables is given but --input_file is not a table."""
    for name in (*TEXT_COLUMNS, *TABLE_FORM):
        refuse_if(
            name in given_names and not is_table,
            f"--{name} is for a table as --input_file, such as texts.csv or texts.xlsx; leave it out",
        )


def check_shards(settings: Any, given_names: Collection[str], output_flags: Mapping[str, str]) -> bool:
    """Return whether a flag names several input files.

    Args:
        given_names: flags that were given, by name.
        output_flags: by flag that may name several files, the flag for the outputs.

    Raises:
        InputError: if other flags conflict with several input files.
    """
    values = flag_values(settings)
    source = next((name for name in output_flags if files.is_pattern(values[name])), None)
    if source is None:
        example = f"give --{' or --'.join(output_flags)} a pattern in quotes, such as 'part-*.txt'"
        refuse_if("shard" in given_names, f"--shard needs several files: {example}")
        return False
    refuse_if(
        values[output_flags[source]] == STANDARD,
        f"--{output_flags[source]}: give the name that the outputs begin with, as --{source} names several files",
    )
    for name in ("resume", "attentions", "do_train", "do_eval"):
        refuse_if(values.get(name), f"--{name} takes one file, but --{source} names several; leave it out")
    return True


class CorpusForm(NamedTuple):
    """Form of pre-training text: a column of a table, or plain text.

    Attributes:
        text_column, header: values of the flags.
        table: values of --encoding, --quoting and --sheet.
    """

    text_column: str | None = None
    header: str = "auto"
    table: TextForm = PLAIN

    @classmethod
    def of(cls, columns: Columns, data: DataFiles, text_files: TextFiles) -> Self:
        """Return the form that the groups' flags give.

        Args:
            columns: --text_column.
            data: --header, --quoting and --sheet.
            text_files: --encoding.
        """
        return cls(columns.text_column, data.header, TextForm(text_files.encoding, data.quoting, data.sheet))


PLAIN_TEXT = CorpusForm()
# The flags describe --input_file, which later runs do not remember.
CORPUS_COLUMNS: dict[str, Any] = {
    "text_column": {
        "help": "column of the text in tables and JSON lines, by name or by number from 0; default: detected by its "
        "name (text, content, document, body, …); each row is a document",
        "remembered": False,
    }
}
CORPUS_TABLES: dict[str, Any] = {
    "header": {"help": "whether the first row of a table is a header; auto: detected", "remembered": False},
    "quoting": {"remembered": False},
}
