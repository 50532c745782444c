"""Flags of bert-convert, bert-export, bert-doctor and bert-report."""

import dataclasses
from typing import ClassVar

from bert_cli.base.errors import refuse_if
from bert_cli.base.head_types import HEAD_TYPES
from bert_cli.base.names import MODULES
from bert_cli.base.pooling import NONE, POOLINGS, read_pooling
from bert_cli.flags.option import FlagGroup, deciding_option, group, option, remembered_option
from bert_cli.flags.paths import folder_list_reader, name_list_properties
from bert_cli.settings.groups import TOP_K, Files, Log, ModelFiles
from bert_cli.settings.training import Seed

MODEL_FORMATS = ("tf1", "hf", "h5", "hub")
NEXT_TO_CHECKPOINT: dict[str, str | dict] = {
    "vocab_file": "vocabulary, vocab.txt or tokenizer.json; default: next to the checkpoint",
    "bert_config_file": "model config, bert_config.json or config.json; default: next to the checkpoint",
}


class Conversion(FlagGroup, heading="Input and output"):
    """Source and target for a conversion, and their formats."""

    source: str = option(
        "",
        "model to convert: a TF1 checkpoint (prefix, file or directory), a Hugging Face directory, "
        "a .weights.h5 file, hf:OWNER/NAME on Hugging Face's hub, or a tensorflow-hub module (a "
        "directory, a .tar.gz, or a URL)",
        flag="from",
        file=True,
        required=True,
    )
    target: str = option(
        "",
        "target: NAME.ckpt for a TF1 checkpoint, NAME.weights.h5 for Keras, else a Hugging Face directory",
        flag="to",
        file=True,
        required=True,
    )
    to_format: str = option("auto", "format of the directory --to; auto: hf", choices=("auto", *MODEL_FORMATS))
    overwrite: bool = option(False, "replace existing files with the names of the new ones")


class ModelChanges(FlagGroup, heading="Changes"):
    """Changes to the model during conversion."""

    head: str = option(
        "auto",
        "head to keep; auto: every head; tagger: output_weights is a token classifier, which auto "
        "assumes if labels.txt has the tag O",
        choices=("auto", *HEAD_TYPES),
    )
    labels: tuple[str, ...] | None = option(
        None,
        "labels of the new head in output order; others are dropped; NEW=OLD renames one, such as yes=LABEL_1 or yes=1",
        **name_list_properties("labels", 1),
    )
    float16: bool = option(
        False, "store float16, in Hugging Face directories only; other formats are float32", excludes="bfloat16"
    )
    bfloat16: bool = option(False, "store bfloat16, in Hugging Face directories only")
    average_last: int = option(1, "average the last N checkpoints of a training run up to --from", lower=1)
    resize_vocab: int | None = option(None, "vocabulary size of the new model; new rows are random", lower=1)
    resize_positions: int | None = option(None, "number of positions of the new model; new rows are random", lower=1)
    check: bool = option(
        False, "compare texts through both tokenizers and both models, and write nothing if they differ"
    )

    @property
    def dtype(self) -> str:
        """Return the dtype for stored weights."""
        if self.float16:
            return "float16"
        return "bfloat16" if self.bfloat16 else "float32"


@dataclasses.dataclass(frozen=True)
class ConvertSettings:
    """Flags of bert-convert, which calls --init_checkpoint --from."""

    paths: Conversion = group(Conversion)
    model: ModelFiles = group(ModelFiles, NEXT_TO_CHECKPOINT, without=("init_checkpoint", "allow_unknown"))
    changes: ModelChanges = group(ModelChanges)
    seed: Seed = group(Seed, {"random_seed": "seed of new rows, and of the token ids and words of --check"})
    log: Log = group(Log)


_NOT_IN_MODULES = {
    "format=saved_model|onnx|tflite": "the modules for tensorflow-hub return vectors of tokens",
    "labels": "vectors have no labels",
}


class Export(FlagGroup, heading="Input and output"):
    """Format and directory for an export."""

    format: str = option(
        "saved_model",
        "export format; saved_model: any model of raw text, for TensorFlow Serving; hub: an "
        "encoder and a preprocessor for tensorflow-hub; onnx and tflite: any model, of token ids",
        choices=("saved_model", "hub", "onnx", "tflite"),
        excludes={"=hub": ("labels", "pairs"), "=onnx": "pairs", "=tflite": "pairs"},
        because=dict.fromkeys(("labels", "pairs"), "only saved_model has a choice"),
    )
    export_dir: str = option(
        "", "directory to write; for TensorFlow Serving it ends with a version, as in serving/1", required=True
    )
    ensemble: tuple[str, ...] = option(
        (),
        "runs of bert-classify, separated by commas, to export as one model with the mean of their probabilities; a "
        "directory with several runs names all of them",
        read=folder_list_reader("ensemble"),
        write=",".join,
        excludes=(
            "init_checkpoint",
            "vocab_file",
            "bert_config_file",
            "labels",
            "format=hub",
            "names=hugging_face",
            "pooling",
            "normalize",
            "prompt_name",
        ),
        because={
            "init_checkpoint": "both name models",
            "vocab_file": "its members have the same vocabulary",
            "bert_config_file": "each member has its own config",
            "labels": "each member has its own labels",
            "names=hugging_face": "config.json describes one network",
            "format=hub": "a module has one encoder",
        }
        | dict.fromkeys(("pooling", "normalize", "prompt_name"), "vectors have no mean over encoders"),
    )
    names: str = option(
        "google",
        "names in the ONNX file, and files next to it; google: input_word_ids, probabilities, labels.txt; "
        "hugging_face: input_ids, logits, config.json, tokenizer.json, for Optimum and transformers.js",
        choices=("google", "hugging_face"),
        needs="format=onnx",
    )
    quantize: str = option(
        "none",
        "quantization; int8: also write model_int8.onnx, about a quarter as large, and print the loss of accuracy",
        choices=("none", "int8"),
        needs="format=onnx",
    )
    pairs: str = option(
        "auto",
        "whether the classifier takes a second text, text_b; auto: as its task",
        choices=("auto", "yes", "no"),
    )
    top_k: int = option(
        TOP_K, "number of words for each [MASK] of a pre-trained model", lower=1, needs="format=saved_model"
    )
    triton: bool = option(
        False,
        "also write config.pbtxt and directories for NVIDIA Triton",
        needs="format=saved_model|onnx",
        because="Triton takes no modules for tensorflow-hub",
    )
    overwrite: bool = option(False, "replace an earlier export in export_dir")


def _read_text_pooling(text: str) -> str:
    """Return a value of --pooling for vectors of texts; raise InputError for other values."""
    pooling = read_pooling(text)
    refuse_if(pooling == NONE, f"--pooling={NONE}: an export has one vector per text; name another pooling")
    return pooling


class ExportVectors(FlagGroup, heading="Vectors"):
    """Vectors of texts; each flag exports them instead of a trained head."""

    pooling: str | None = option(
        None,
        "one vector per text: cls, mean, max, mean_sqrt_len, weighted_mean, last (token), several such as cls,mean, "
        f"or pooler; default: as in the model's {MODULES}, or mean",
        read=_read_text_pooling,
        suggestions=tuple(pooling for pooling in POOLINGS if pooling != NONE),
        needs="format=saved_model|onnx|tflite",
        excludes="labels",
        because=_NOT_IN_MODULES,
    )
    normalize: bool | None = option(
        None,
        f"scale vectors to length 1; default: see {MODULES}, or false",
        needs="format=saved_model|onnx|tflite",
        excludes="labels",
        because=_NOT_IN_MODULES,
    )
    prompt_name: str | None = option(
        None,
        "name of a prompt in the files of sentence-transformers, to put before each text; default: the model's own",
        needs="format=saved_model|onnx|tflite",
        excludes="labels",
        because=_NOT_IN_MODULES,
    )


class ExportData(FlagGroup, heading="Data"):
    """Data for an exported model."""

    data_dir: str = remembered_option(
        "",
        "directory with the dev file for --quantize; default: the training run's, on which int8 is compared with float32",
        path=True,
        needs="quantize",
        because="nothing else reads data here",
    )
    dev_file: str | None = option(
        None,
        "other dev file for --quantize; for an encoder, a text per line",
        path=True,
        needs="quantize",
        excludes="data_dir",
        because={"quantize": "nothing else reads data here", "data_dir": "both name the data"},
    )
    labels: tuple[str, ...] | None = option(
        None,
        "names of the outputs, such as 0,1,2; default: as in labels.txt",
        **name_list_properties("labels", 1),
    )
    max_seq_length: int | None = deciding_option(
        None,
        "maximum number of tokens; default: as in training, or the model's",
        lower=1,
        remembered=True,
    )


@dataclasses.dataclass(frozen=True)
class ExportSettings:
    """Flags of bert-export."""

    essential: ClassVar[tuple[str, ...]] = (
        "format", "export_dir", "ensemble", "names", "quantize", "pairs", "top_k", "triton", "overwrite",
        "init_checkpoint", "vocab_file", "bert_config_file", "do_lower_case", "data_dir", "dev_file", "labels",
        "max_seq_length", "pooling", "normalize", "prompt_name", "quiet",
    )  # fmt: skip

    export: Export = group(Export)
    model: ModelFiles = group(
        ModelFiles,
        NEXT_TO_CHECKPOINT
        | {
            "init_checkpoint": "model to export: an output_dir, a TF1 checkpoint, a Hugging Face "
            "directory or a .weights.h5"
        },
        without=("allow_unknown",),
        init_checkpoint="bert_output",
    )
    data: ExportData = group(ExportData)
    vectors: ExportVectors = group(ExportVectors)
    log: Log = group(Log)


class Runs(FlagGroup, heading="Runs"):
    """Arguments of bert-report that are not flags."""

    runs: tuple[str, ...] = option(
        (), "directories of training runs (their --output_dir)", words=True, file=True, required=True
    )


class DoctorModel(FlagGroup, heading="Model"):
    """Arguments of bert-doctor that are not flags."""

    model: tuple[str, ...] = option((), "model or bert_config.json; default: the built-in model", words=True, file=True)


@dataclasses.dataclass(frozen=True)
class DoctorSettings:
    """Flags of bert-doctor."""

    model: DoctorModel = group(DoctorModel)
    files: ModelFiles = group(
        ModelFiles,
        {
            "init_checkpoint": {"help": "model to describe, as without a flag", "excludes": "model"},
            "bert_config_file": {
                "help": "model config to count the parameters of an encoder, where there are no weights",
                "excludes": ("model", "init_checkpoint"),
            },
        },
        only=("init_checkpoint", "bert_config_file"),
    )
    log: Log = group(Log)


@dataclasses.dataclass(frozen=True)
class ReportSettings:
    """Flags of bert-report."""

    runs: Runs = group(Runs)
    files: Files = group(
        Files,
        {
            "output_file": "page to write; default: report.html in the directory of one run, "
            "comparison.html here for several runs"
        },
        only=("output_file",),
    )
    log: Log = group(Log)
