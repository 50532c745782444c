"""Flags of bert-extract-features, and what of them goes together."""

import dataclasses

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.names import STANDARD
from bert_cli.outputs.features_files import FORMATS
from bert_cli.outputs.features_rows import COMBINATIONS, POOLINGS
from bert_cli.settings.flags import (
    CommandFlags,
    check_hub_flags,
    define_device_flags,
    define_gelu_flag,
    define_hub_flags,
)


@dataclasses.dataclass(frozen=True)
class Settings:
    """The flags of bert-extract-features; see define_flags for their meaning."""

    input_file: str | None = None
    output_file: str | None = None
    init_checkpoint: str | None = None
    hub_module: str | None = None
    hub_preprocess: str | None = None
    vocab_file: str | None = None
    bert_config_file: str | None = None
    do_lower_case: bool | None = None
    gelu: str = "auto"
    max_seq_length: int = 128
    long_text: bool = False
    layers: str | None = None
    pooling: str = "none"
    combine: str = "none"
    normalize: bool = False
    words: bool = False
    output_format: str = "jsonl"
    float16: bool = False
    resume: bool = False
    attentions: str | None = None
    show_attention: str | None = None
    layer: int = -1
    head: int | None = None
    top_k: int = 10
    batch_size: int = 32
    distribution_strategy: str = "auto"
    precision: str = "float32"
    use_tpu: bool = False
    tpu_name: str | None = None
    tpu_zone: str | None = None
    gcp_project: str | None = None


def define_flags(flags: CommandFlags) -> None:
    flags.section("Texts and vectors")
    flags.string("input_file", None, "a text, or a pair with ' ||| ' between, a line; - for standard input")
    flags.string("output_file", None, "file to write; - for standard output (JSON lines)")
    flags.enum("output_format", "jsonl", FORMATS, "npy is for one vector a line; parquet needs the package pyarrow")
    flags.boolean("float16", False, "half precision in npz, npy and parquet")
    flags.boolean("resume", False, "go on with the partial output of a run that was stopped (JSON lines)")
    flags.string(
        "layers", "-1,-2,-3,-4", "layers: numbers from 0 or from -1 back, ranges with both ends such as -4:-1 or 1-3, "
        "'embedding', 'all'; with --pooling or --words the default is -1",
    )  # fmt: skip
    flags.enum(
        "pooling", "none", POOLINGS, "none: vectors of tokens; else one vector a line: that of [CLS], the mean or the "
        "maximum over all tokens, or the pooler's output",
    )  # fmt: skip
    flags.enum("combine", "none", COMBINATIONS, "one vector of several layers; with --pooling, none means concat")
    flags.boolean("normalize", False, "scale each vector to length 1")
    flags.boolean(
        "words", False, "vectors of words, the mean over their pieces, with their places in the line in characters"
    )
    flags.integer("max_seq_length", 128, "tokens of a text, with [CLS] and [SEP]; what is longer is cut", lower=1)
    flags.boolean("long_text", False, "cut nothing: longer lines are computed in windows that overlap by half, and each "
                  "token counts where it has the most context")  # fmt: skip
    flags.integer(
        "batch_size", 32, "texts of max_seq_length that are computed at once; more where they are shorter", lower=1
    )
    flags.section("Attention")
    flags.string(
        "attentions", None, "a .npz file for the attention probabilities of all layers and heads, line by line"
    )
    flags.string("show_attention", None, "a text: print its strongest links, and do nothing else")
    flags.integer("layer", -1, "layer for --show_attention")
    flags.integer("head", None, "head for --show_attention, from 0; default: the mean over all heads")
    flags.integer("top_k", 10, "links that --show_attention prints", lower=1)
    flags.section("Model")
    flags.string("init_checkpoint", None, "a TF1 checkpoint, an output_dir of ours, or a Hugging Face folder")
    flags.string("vocab_file", None, "vocab.txt; default: beside the checkpoint")
    flags.string("bert_config_file", None, "bert_config.json; default: beside the checkpoint")
    flags.boolean("do_lower_case", True, "lower-case the text and strip accents; default: as the model was trained")
    define_hub_flags(flags, can_train=False)
    define_gelu_flag(flags)
    define_device_flags(flags, precision="float32")  # Google's digits


def settings_from_flags(values: dict, given: frozenset[str]) -> Settings:
    """Flags -> Settings: layers and do_lower_case are None where they were not given. InputError for what does not go
    together.
    """
    values = {field.name: values[field.name] for field in dataclasses.fields(Settings)}
    values |= {name: values[name] if name in given else None for name in ("layers", "do_lower_case")}
    settings = Settings(**values)
    check_hub_flags(values)
    if not settings.init_checkpoint and not settings.hub_module:
        raise InputError("--init_checkpoint is needed: give a pre-trained model")
    if settings.show_attention is not None:
        return settings
    for name in ("input_file", "output_file"):
        if not getattr(settings, name):
            raise InputError(f"--{name} is needed; - is for the standard {name.removesuffix('_file')}")
    jsonl = settings.output_format == "jsonl"
    pooled = settings.pooling != "none"
    for wrong, text in (
        (settings.words and pooled, "--words gives vectors of words, --pooling one of the line; leave one of them out"),
        (settings.pooling == "pooler" and settings.layers, "--pooling=pooler is of the last layer; leave --layers out"),
        (settings.output_format == "npy" and not pooled, "--output_format=npy holds one vector a line: add --pooling=mean, "
         "or take npz"),
        (settings.float16 and settings.output_format in ("jsonl", "tfrecord"), f"--float16: {settings.output_format} has no "
         "such numbers; leave it out, or take npz, npy or parquet"),
        (settings.output_file == STANDARD and not jsonl, "--output_file=-: only jsonl can go there; give a file"),
        (settings.resume and (not jsonl or settings.output_file == STANDARD or files.is_remote(settings.output_file)),
         "--resume is for JSON lines in a local file"),
        (settings.attentions and settings.resume, "--attentions cannot be resumed; leave --resume out"),
        (settings.attentions and settings.long_text, "--attentions is of whole lines; leave --long_text out"),
    ):  # fmt: skip
        if wrong:
            raise InputError(text)
    return settings
