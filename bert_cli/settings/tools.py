"""The flags of bert-extract-features, bert-convert, bert-export and bert-report."""

import dataclasses
from typing import ClassVar

from bert_cli.base.head_types import HEAD_TYPES
from bert_cli.flags.option import FlagGroup, deciding, group, option, remembered
from bert_cli.settings.devices import Devices
from bert_cli.settings.groups import (
    LAST_LAYER,
    LAST_LAYERS,
    LAYERS,
    Encoding,
    Files,
    Hub,
    Log,
    ModelFiles,
    TextFiles,
    names_of,
)
from bert_cli.settings.pretraining import Candidates
from bert_cli.settings.training import Seed

POOLINGS = ("none", "cls", "mean", "max", "pooler")
COMBINATIONS = ("none", "concat", "sum", "mean")
MODEL_FORMATS = ("tf1", "hf", "h5", "hub")
_BESIDE: dict[str, str | dict] = {
    "vocab_file": "vocabulary, vocab.txt; default: next to the checkpoint",
    "bert_config_file": "model config, bert_config.json or config.json; default: next to the checkpoint",
}


class Extraction(FlagGroup, heading="Texts and vectors"):
    """The vectors, and their file format."""

    output_format: str = option(
        "jsonl",
        "format of output_file; npy: one vector per line; parquet: needs the package pyarrow",
        choices=("jsonl", "npz", "npy", "parquet", "tfrecord"),
    )
    float16: bool = option(False, "store float16 in npz, npy and parquet")
    resume: bool = option(False, "resume the partial output of an interrupted run (JSON lines)")
    layers: str | None = option(
        None,
        f"encoder layers: {LAYERS}; default: {LAST_LAYERS}, Google's, and with --pooling or --words {LAST_LAYER}",
    )
    pooling: str = option(
        "none",
        "one vector per line: of [CLS], the mean or maximum over all tokens, or the pooler's output; none: vectors "
        "of tokens",
        choices=POOLINGS,
    )
    combine: str = option(
        "none", "combination of several layers into one vector; with --pooling, none means concat", choices=COMBINATIONS
    )
    normalize: bool = option(False, "scale each vector to length 1")
    words: bool = option(
        False, "vectors of words, the mean over their word pieces, with their character offsets in the line"
    )
    long_text: bool = option(
        False,
        "compute longer lines in windows that overlap by half instead of truncating them; each token is taken from "
        "the window with its largest context",
    )


class Attention(FlagGroup, heading="Attention"):
    """Attention probabilities, to a file or on the terminal."""

    attentions: str | None = option(
        None, ".npz file for the attention probabilities of all layers and heads, line by line", file=True
    )
    show_attention: str = option("", "print the strongest attention links of this text, and do nothing else")
    attention_of: str = option("", "print a table of the words that this word of --show_attention attends to most")
    attention_map: str = option(
        "", "write heat maps of the attention of --show_attention in each layer and head to this .html file", file=True
    )
    layer: int = option(-1, "layer of --show_attention, from 0, or from -1 back")
    head: int | None = option(None, "attention head of --show_attention, from 0; default: the mean over all heads")
    top_k: int = option(10, "number of links or words that --show_attention prints", lower=1)


@dataclasses.dataclass(frozen=True)
class ExtractSettings:
    """The flags of bert-extract-features."""

    essential: ClassVar[tuple[str, ...]] = (
        "input_file", "output_file", "shard", "output_format", "float16", "resume", "layers", "pooling",
        "normalize", "words", "long_text", "max_seq_length", "batch_size", "precision", "engine",
        "show_attention", "init_checkpoint", "hub_module", "do_lower_case", "quiet",
    )  # fmt: skip

    text_files: TextFiles = group(TextFiles)
    files: Files = group(
        Files,
        {
            "input_file": "file with one text per line, or a pair separated by ' ||| '; - for standard input; a "
            "pattern such as 'part-*.txt', or names separated by commas, for several files",
            "output_file": "file to write; - for standard output (JSON lines); for several input files the prefix of "
            "the names, as in NAME-00000-of-00003",
        },
    )
    extraction: Extraction = group(Extraction)
    encoding: Encoding = group(
        Encoding,
        {"max_seq_length": "maximum sequence length in tokens, with [CLS] and [SEP]; longer texts are truncated"},
        only=("max_seq_length",),
    )
    devices: Devices = group(
        Devices,
        {"batch_size": "batch size in texts of max_seq_length; larger for shorter texts"},
        precision="float32",  # Google's digits
    )
    attention: Attention = group(Attention)
    model: ModelFiles = group(ModelFiles, _BESIDE)
    hub: Hub = group(Hub, without=("hub_trainable",), after="init_checkpoint")
    log: Log = group(Log)


class Conversion(FlagGroup, heading="Input and output"):
    """The formats of the conversion."""

    source: str = option(
        "",
        "model to convert: a TF1 checkpoint (prefix, file or directory), a Hugging Face directory, a .weights.h5 "
        "file, or a tensorflow-hub module (a directory, a .tar.gz, or a URL)",
        flag="from",
        file=True,
    )
    target: str = option(
        "",
        "target: NAME.ckpt for a TF1 checkpoint, NAME.weights.h5 for Keras, else a Hugging Face directory",
        flag="to",
        file=True,
    )
    to_format: str = option("auto", "format of the directory --to; auto: hf", choices=("auto", *MODEL_FORMATS))
    overwrite: bool = option(False, "replace existing files with the names of the new ones")


class Changes(FlagGroup, heading="Changes"):
    """Changes of the model during the conversion."""

    head: str = option(
        "auto",
        "head to keep; auto: every head; tagger: output_weights is a token classifier, which auto assumes if "
        "labels.txt has the tag O",
        choices=("auto", *HEAD_TYPES),
    )
    float16: bool = option(False, "store float16, in Hugging Face directories only; other formats are float32")
    bfloat16: bool = option(False, "store bfloat16, in Hugging Face directories only")
    average_last: int = option(1, "average the last N checkpoints of a training run up to --from", lower=1)
    resize_vocab: int | None = option(None, "vocabulary size of the new model; new rows are random", lower=1)
    resize_positions: int | None = option(None, "number of positions of the new model; new rows are random", lower=1)
    check: bool = option(False, "compare both models on the same token ids, and write nothing if they differ")

    @property
    def dtype(self) -> str:
        """The dtype of the stored weights."""
        return "float16" if self.float16 else "bfloat16" if self.bfloat16 else "float32"


@dataclasses.dataclass(frozen=True)
class ConvertSettings:
    """The flags of bert-convert; --init_checkpoint is --from here."""

    paths: Conversion = group(Conversion)
    model: ModelFiles = group(ModelFiles, _BESIDE, without=("init_checkpoint", "allow_unknown"))
    changes: Changes = group(Changes)
    seed: Seed = group(Seed, {"random_seed": "seed of new rows, and of the token ids of --check"})
    log: Log = group(Log)


class Export(FlagGroup, heading="Input and output"):
    """The format and place of the export."""

    format: str = option(
        "saved_model",
        "export format; saved_model: a classifier of raw text, for TensorFlow Serving; hub: an encoder and a "
        "preprocessor for tensorflow-hub; onnx: any model, of token ids",
        choices=("saved_model", "hub", "onnx"),
    )
    export_dir: str = option("", "directory to write; for TensorFlow Serving it ends with a version, as in serving/1")
    quantize: str = option(
        "none",
        "quantization; int8: also write model_int8.onnx, about a quarter as large, and print the loss of accuracy",
        choices=("none", "int8"),
    )
    pairs: str = option(
        "auto",
        "whether the classifier takes a second text, text_b; auto: as its task",
        choices=("auto", "yes", "no"),
    )
    overwrite: bool = option(False, "replace an earlier export in export_dir")


class ExportData(FlagGroup, heading="Data"):
    """The data of the exported model."""

    data_dir: str = remembered(
        "",
        "directory with the dev file on which --quantize compares accuracies; default: the training run's",
        path=True,
    )
    labels: tuple[str, ...] | None = option(
        None, "names of the outputs, such as 0,1,2; default: labels.txt next to the checkpoint", **names_of("labels", 1)
    )
    max_seq_length: int | None = deciding(
        None, "maximum sequence length in tokens; default: as in the training, or 128", lower=1, remembered=True
    )


@dataclasses.dataclass(frozen=True)
class ExportSettings:
    """The flags of bert-export."""

    export: Export = group(Export)
    model: ModelFiles = group(
        ModelFiles,
        _BESIDE
        | {
            "init_checkpoint": "model to export: an output_dir, a TF1 checkpoint, a Hugging Face directory or a "
            ".weights.h5"
        },
        without=("allow_unknown",),
        init_checkpoint="bert_output",
    )
    data: ExportData = group(ExportData)
    log: Log = group(Log)


class Runs(FlagGroup, heading="Runs"):
    """The arguments of bert-report without a flag."""

    runs: tuple[str, ...] = option((), "directories of training runs (their --output_dir)", words=True)


class Shown(FlagGroup, heading="Output"):
    """The output of tokens."""

    format: str = option("table", "output format: a table, or JSON lines", choices=("table", "jsonl"))


@dataclasses.dataclass(frozen=True)
class TokenizeSettings:
    """The flags of bert-tokenize."""

    texts: Candidates = group(Candidates, only=("texts",))
    text_files: TextFiles = group(TextFiles)
    files: Files = group(
        Files, {"input_file": "file with one text or pair per line; - for standard input"}, only=("input_file",)
    )
    model: ModelFiles = group(
        ModelFiles,
        {
            "init_checkpoint": "model with the vocabulary; default: the built-in model",
            "vocab_file": "vocabulary, vocab.txt, with or without a model",
        },
        without=("bert_config_file", "gelu", "strict", "allow_unknown"),
    )
    shown: Shown = group(Shown)
    log: Log = group(Log)


class Examined(FlagGroup, heading="Model"):
    """The arguments of bert-doctor without a flag."""

    model: tuple[str, ...] = option((), "model or bert_config.json; default: the built-in model", words=True)


@dataclasses.dataclass(frozen=True)
class DoctorSettings:
    """The flags of bert-doctor."""

    model: Examined = group(Examined)
    files: ModelFiles = group(
        ModelFiles,
        {
            "init_checkpoint": "model to describe, as without a flag",
            "bert_config_file": "model config to count the parameters of an encoder, where there are no weights",
        },
        only=("init_checkpoint", "bert_config_file"),
    )
    log: Log = group(Log)


@dataclasses.dataclass(frozen=True)
class ReportSettings:
    """The flags of bert-report."""

    runs: Runs = group(Runs)
    files: Files = group(
        Files,
        {
            "output_file": "page to write; default: report.html in the directory of one run, comparison.html here "
            "for several runs"
        },
        only=("output_file",),
    )
    log: Log = group(Log)
