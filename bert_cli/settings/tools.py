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
    "vocab_file": "vocab.txt; default: beside the checkpoint",
    "bert_config_file": "bert_config.json or config.json; default: beside the checkpoint",
}


class Extraction(FlagGroup, heading="Texts and vectors"):
    """Which vectors are computed, and in which format they are written."""

    output_format: str = option(
        "jsonl",
        "format of output_file; npy is for one vector a line; parquet needs the package pyarrow",
        choices=("jsonl", "npz", "npy", "parquet", "tfrecord"),
    )
    float16: bool = option(False, "half precision in npz, npy and parquet")
    resume: bool = option(False, "go on with the partial output of a run that was stopped (JSON lines)")
    layers: str | None = option(
        None,
        f"layers: {LAYERS}; default: {LAST_LAYERS}, Google's, and with --pooling or --words {LAST_LAYER}",
    )
    pooling: str = option(
        "none",
        "one vector a line: that of [CLS], the mean or the maximum over all tokens, or the pooler's output; none: vectors of "
        "tokens",
        choices=POOLINGS,
    )
    combine: str = option(
        "none", "one vector of several layers; with --pooling, none means concat", choices=COMBINATIONS
    )
    normalize: bool = option(False, "scale each vector to length 1")
    words: bool = option(
        False, "vectors of words, the mean over their pieces, with their places in the line in characters"
    )
    long_text: bool = option(
        False,
        "cut nothing: longer lines are computed in windows that overlap by half, and each token counts where it has the "
        "most context",
    )


class Attention(FlagGroup, heading="Attention"):
    """Attention probabilities, to a file or on the terminal."""

    attentions: str | None = option(
        None, "a .npz file for the attention probabilities of all layers and heads, line by line", file=True
    )
    show_attention: str = option("", "a text: print its strongest links, and do nothing else")
    attention_of: str = option("", "a word of --show_attention: print a table of the words that it attends to most")
    attention_map: str = option(
        "", "an .html file for a heat map of the attention of --show_attention in each layer and head", file=True
    )
    layer: int = option(-1, "layer for --show_attention, from 0, or from -1 back")
    head: int | None = option(None, "head for --show_attention, from 0; default: the mean over all heads")
    top_k: int = option(10, "links or words that --show_attention prints", lower=1)


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
            "input_file": "a text, or a pair with ' ||| ' between, a line; - for standard input; a pattern such as "
            "'part-*.txt', or names with commas between, for several files",
            "output_file": "file to write; - for standard output (JSON lines); of several input files the beginning of the "
            "names, as in NAME-00000-of-00003",
        },
    )
    extraction: Extraction = group(Extraction)
    encoding: Encoding = group(
        Encoding,
        {"max_seq_length": "tokens of a text, with [CLS] and [SEP]; what is longer is cut"},
        only=("max_seq_length",),
    )
    devices: Devices = group(
        Devices,
        {"batch_size": "texts of max_seq_length that are computed at once; more where they are shorter"},
        precision="float32",  # Google's digits
    )
    attention: Attention = group(Attention)
    model: ModelFiles = group(ModelFiles, _BESIDE)
    hub: Hub = group(Hub, without=("hub_trainable",), after="init_checkpoint")
    log: Log = group(Log)


class Conversion(FlagGroup, heading="From and to"):
    """From which format to which."""

    source: str = option(
        "",
        "a TF1 checkpoint (prefix, file or folder), a Hugging Face folder, a .weights.h5 file, or a module for "
        "tensorflow-hub (a folder, a .tar.gz, or a URL)",
        flag="from",
        file=True,
    )
    target: str = option(
        "",
        "NAME.ckpt for a TF1 checkpoint, NAME.weights.h5 for Keras, else a Hugging Face folder",
        flag="to",
        file=True,
    )
    to_format: str = option("auto", "what to write into the folder --to; auto: hf", choices=("auto", *MODEL_FORMATS))
    overwrite: bool = option(False, "replace files that stand under the names to be written")


class Changes(FlagGroup, heading="Changes"):
    """What is changed in the model on the way."""

    head: str = option(
        "auto",
        "what to keep on top of the encoder; auto: everything. tagger: output_weights is a classifier of tokens; auto takes "
        "it for one where labels.txt has the tag O",
        choices=("auto", *HEAD_TYPES),
    )
    float16: bool = option(False, "store float16 (Hugging Face folders only: the other formats hold float32)")
    bfloat16: bool = option(False, "store bfloat16 (Hugging Face folders only)")
    average_last: int = option(
        1, "the mean of the last so many model.ckpt-N of a training run, the one of --from the last", lower=1
    )
    resize_vocab: int | None = option(None, "words of the new model; new ones start from random values", lower=1)
    resize_positions: int | None = option(
        None, "positions of the new model; new ones start from random values", lower=1
    )
    check: bool = option(False, "run both models on the same token ids, and write nothing where they differ")

    @property
    def dtype(self) -> str:
        """What weights are stored in."""
        return "float16" if self.float16 else "bfloat16" if self.bfloat16 else "float32"


@dataclasses.dataclass(frozen=True)
class ConvertSettings:
    """The flags of bert-convert; --init_checkpoint is --from here."""

    paths: Conversion = group(Conversion)
    model: ModelFiles = group(ModelFiles, _BESIDE, without=("init_checkpoint", "allow_unknown"))
    changes: Changes = group(Changes)
    seed: Seed = group(Seed, {"random_seed": "seed of new rows, and of the token ids of --check"})
    log: Log = group(Log)


class Export(FlagGroup, heading="From and to"):
    """What is exported, and where to."""

    format: str = option(
        "saved_model",
        "what to write; saved_model: a classifier of raw text, for TensorFlow Serving; hub: an encoder and a preprocessor for "
        "tensorflow-hub; onnx: any model, of token ids (needs the extra onnx)",
        choices=("saved_model", "hub", "onnx"),
    )
    export_dir: str = option("", "folder to write; for TensorFlow Serving its last part is a version, as in serving/1")
    quantize: str = option(
        "none",
        "int8: write also model_int8.onnx, about a quarter as large, and print what it costs",
        choices=("none", "int8"),
    )
    pairs: str = option(
        "auto",
        "whether the classifier takes a second text, text_b; auto: as its task does",
        choices=("auto", "yes", "no"),
    )
    overwrite: bool = option(False, "replace an earlier export in export_dir")


class ExportData(FlagGroup, heading="Data"):
    """What the data of the exported model looks like."""

    data_dir: str = remembered(
        "",
        "with --quantize, the folder with the dev file to compare accuracies on; default: that of the training run",
        path=True,
    )
    labels: tuple[str, ...] | None = option(
        None, "names of the outputs, such as 0,1,2; default: labels.txt beside the checkpoint", **names_of("labels", 1)
    )
    max_seq_length: int | None = deciding(
        None, "longest input in tokens; default: as it was trained, or 128", lower=1, remembered=True
    )


@dataclasses.dataclass(frozen=True)
class ExportSettings:
    """The flags of bert-export."""

    export: Export = group(Export)
    model: ModelFiles = group(
        ModelFiles,
        _BESIDE | {"init_checkpoint": "an output_dir, a TF1 checkpoint, a Hugging Face folder or a .weights.h5"},
        without=("allow_unknown",),
        init_checkpoint="bert_output",
    )
    data: ExportData = group(ExportData)
    log: Log = group(Log)


class Runs(FlagGroup, heading="Runs"):
    """What is no flag on the command line of bert-report."""

    runs: tuple[str, ...] = option((), "the folders of training runs (their --output_dir)", words=True)


class Shown(FlagGroup, heading="Output"):
    """How tokens are shown."""

    format: str = option("table", "a table for people, or JSON lines", choices=("table", "jsonl"))


@dataclasses.dataclass(frozen=True)
class TokenizeSettings:
    """The flags of bert-tokenize."""

    texts: Candidates = group(Candidates, only=("texts",))
    text_files: TextFiles = group(TextFiles)
    files: Files = group(
        Files, {"input_file": "a file with a text, or a pair, a line; - for standard input"}, only=("input_file",)
    )
    model: ModelFiles = group(
        ModelFiles,
        {
            "init_checkpoint": "a model whose vocabulary is taken; default: the built-in one",
            "vocab_file": "a vocab.txt, with or without a model",
        },
        without=("bert_config_file", "gelu", "strict", "allow_unknown"),
    )
    shown: Shown = group(Shown)
    log: Log = group(Log)


class Examined(FlagGroup, heading="Model"):
    """What is no flag on the command line of bert-doctor."""

    model: tuple[str, ...] = option((), "the model to look at; default: the built-in one", words=True)


@dataclasses.dataclass(frozen=True)
class DoctorSettings:
    """The flags of bert-doctor."""

    model: Examined = group(Examined)
    log: Log = group(Log)


@dataclasses.dataclass(frozen=True)
class ReportSettings:
    """The flags of bert-report."""

    runs: Runs = group(Runs)
    files: Files = group(
        Files,
        {
            "output_file": "the page to write; default: report.html in the folder of one run, comparison.html here for several"
        },
        only=("output_file",),
    )
    log: Log = group(Log)
