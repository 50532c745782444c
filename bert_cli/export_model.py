"""Export a model for use without this package: a classifier for TensorFlow Serving, modules for tensorflow-hub, or ONNX.

    bert-export --format=saved_model --init_checkpoint=bert_output --export_dir=serving/1

writes a SavedModel that takes raw text and gives label names and probabilities; the vocabulary is an asset of it.
--format=hub writes EXPORT_DIR/encoder and EXPORT_DIR/preprocess, with the interfaces of the published BERT modules. Who loads
a model that takes text must have imported tensorflow_text before; TensorFlow Serving has its operations built in.
--format=onnx writes EXPORT_DIR/model.onnx, which takes token ids: a classifier, a tagger, a model of answers, or an encoder.
"""

import contextlib
import dataclasses
import logging
import os
from collections.abc import Iterator

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.names import VOCABULARY
from bert_cli.base.writing import atomic_write, copy_file
from bert_cli.exports import onnx_run as export_onnx
from bert_cli.exports.companions import Companions, read_companions
from bert_cli.exports.target import staging
from bert_cli.features.packing import check_max_seq_length
from bert_cli.runs import sources
from bert_cli.settings.flags import CommandFlags, define_gelu_flag, run_command
from bert_cli.training.host import prepare_host
from bert_cli.weights.kinds import TAGGER
from bert_cli.weights.path import find_checkpoint

LOG = logging.getLogger("bert_cli")
FORMATS = ("saved_model", "hub", "onnx")
QUANTIZATIONS = ("none", "int8")
_SINGLE_TEXT_TASKS = ("cola",)
# What an export leaves in its folder; what else stands there is not ours to replace.
_OURS = {"saved_model.pb", "variables", "assets", "fingerprint.pb", "encoder", "preprocess"} | export_onnx.FILES


@dataclasses.dataclass(frozen=True)
class Settings:
    """The flags of bert-export; see define_flags for their meaning."""

    export_dir: str
    format: str = "saved_model"
    init_checkpoint: str = "bert_output"
    overwrite: bool = False
    quantize: str = "none"
    data_dir: str | None = None
    labels: tuple[str, ...] | None = None
    pairs: str = "auto"
    max_seq_length: int | None = None
    do_lower_case: bool | None = None
    vocab_file: str | None = None
    bert_config_file: str | None = None
    gelu: str = "auto"


def define_flags(flags: CommandFlags) -> None:
    flags.section("From and to")
    flags.enum(
        "format", "saved_model", FORMATS, "saved_model: a classifier of raw text, for TensorFlow Serving; hub: an encoder "
        "and a preprocessor for tensorflow-hub; onnx: any model, of token ids (needs the extra onnx)"
    )  # fmt: skip
    flags.string(
        "init_checkpoint", "bert_output", "an output_dir, a TF1 checkpoint, a Hugging Face folder or a .weights.h5"
    )
    flags.string(
        "export_dir", None, "folder to write; for TensorFlow Serving its last part is a version, as in serving/1"
    )
    flags.boolean("overwrite", False, "replace an earlier export in export_dir")
    flags.enum(
        "quantize",
        "none",
        QUANTIZATIONS,
        "int8: write also model_int8.onnx, about a quarter as large, and print what it costs",
    )
    flags.section("Data")
    flags.string(
        "data_dir", None, "with --quantize, the folder with the dev file to compare accuracies on; default: that of the "
        "training run"
    )  # fmt: skip
    flags.string("labels", None, "names of the outputs, such as 0,1,2; default: labels.txt beside the checkpoint")
    flags.enum(
        "pairs",
        "auto",
        ("auto", "yes", "no"),
        "whether the classifier takes a second text, text_b; auto: as its task does",
    )
    flags.integer("max_seq_length", None, "longest input in tokens; default: as it was trained, or 128", lower=1)
    flags.boolean("do_lower_case", True, "whether text is lower-cased; default: as the files beside the checkpoint say")
    flags.section("Model")
    flags.string("vocab_file", None, "vocab.txt; default: beside the checkpoint")
    flags.string("bert_config_file", None, "bert_config.json or config.json; default: beside the checkpoint")
    define_gelu_flag(flags)


def settings_from_flags(values: dict, given: frozenset[str]) -> Settings:
    """Flags -> Settings: do_lower_case is None where it was not given."""
    if not values["export_dir"]:
        raise InputError("--export_dir is needed: the folder to write, such as --export_dir=serving/1")
    values["do_lower_case"] = values["do_lower_case"] if "do_lower_case" in given else None
    unused = {"hub": ("labels", "pairs"), "onnx": ("pairs",), "saved_model": ()}[values["format"]]
    wrong = [name for name in unused if name in given]
    if wrong:
        raise InputError(f"--{wrong[0]} is for --format=saved_model, not for --format={values['format']}")
    if values["format"] != "onnx" and values["quantize"] != "none":
        raise InputError(f"--quantize is for --format=onnx, not for --format={values['format']}")
    if values["data_dir"] and values["quantize"] == "none":
        raise InputError("--data_dir is for --quantize: nothing else reads data here")
    if values["labels"] is not None:
        values["labels"] = tuple(label.strip() for label in values["labels"].split(","))
        if "" in values["labels"] or len(set(values["labels"])) < len(values["labels"]):
            raise InputError("--labels: different names with commas between are needed")
    return Settings(**values)


def check_target(folder: str, overwrite: bool) -> None:
    """InputError unless an export may stand in `folder`: it must be missing or empty, or hold one to replace."""
    files.check_can_write(folder, "export_dir")
    names = files.list_directory(folder)
    foreign = [name for name in names if name not in _OURS]
    if foreign:
        raise InputError(f"{folder}: holds {foreign[0]}, which no export put there; give another --export_dir")
    if names and not overwrite:
        raise InputError(
            f"{folder}: is not empty; give another --export_dir, or --overwrite to replace the export there"
        )


def agreed_labels(settings: Settings, companions: Companions) -> tuple[str, ...] | None:
    """Those of the flag or of the files beside the checkpoint; InputError where both are there and differ."""
    if settings.labels and companions.labels and settings.labels != companions.labels:
        raise InputError(
            f"--labels={','.join(settings.labels)}: the files beside the checkpoint say {','.join(companions.labels)}, the "
            "order in which it was trained; leave --labels out"
        )
    return settings.labels or companions.labels


def find_labels(settings: Settings, companions: Companions, model: sources.ModelSources) -> tuple[str, ...]:
    """Names of the classifier's outputs; InputError where the files beside the checkpoint speak against a classifier."""
    folder = model.checkpoint.folder
    if companions.kind == TAGGER:
        raise InputError(f"{folder}: holds a tagger of words; --format=saved_model exports classifiers of texts")
    labels = agreed_labels(settings, companions)
    if not labels:
        raise InputError(
            f"{folder}: has no labels.txt; give the output_dir of bert-classify, or --labels, or --format=hub for the encoder "
            "alone"
        )
    return labels


@contextlib.contextmanager
def exporting(folder: str) -> Iterator[str]:
    """A path for the folder to be written, on the disk of `folder`, whose place it takes when the block ends well."""
    with staging(folder if files.is_remote(folder) else os.path.dirname(folder)) as staged:
        new = os.path.join(staged, "export")
        yield new
        files.make_directory(os.path.dirname(folder))
        publish(new, folder)


def publish(staged: str, folder: str) -> None:
    """Put the folder `staged` in the place of `folder`, in one step where it is local."""
    if not files.is_remote(folder):
        replaced = f"{staged}-replaced"
        if os.path.isdir(folder):
            os.rename(folder, replaced)
        try:
            os.rename(staged, folder)
        except OSError:
            if os.path.isdir(replaced):
                os.rename(replaced, folder)
            raise
        return
    import tensorflow as tf

    if tf.io.gfile.exists(folder):
        tf.io.gfile.rmtree(folder)
    paths = [os.path.join(parent, name) for parent, _, names in os.walk(staged) for name in names]
    # What makes an export visible comes last.
    for path in sorted(paths, key=lambda path: os.path.basename(path) == "saved_model.pb"):
        target = f"{folder.rstrip('/')}/{os.path.relpath(path, staged)}"
        tf.io.gfile.makedirs(os.path.dirname(target))
        copy_file(path, target)


def run(settings: Settings) -> list[str]:
    """Do what the settings say; returns the folders of the SavedModels."""
    folder = (
        settings.export_dir.rstrip("/") if files.is_remote(settings.export_dir) else files.absolute(settings.export_dir)
    )
    check_target(folder, settings.overwrite)
    if settings.format == "onnx":
        export_onnx.check_packages()
    checkpoint = find_checkpoint(settings.init_checkpoint)
    model = sources.find_model_files(settings, checkpoint)
    saved = model.saved_flags
    config = sources.read_bert_config(model, saved.get("gelu", "auto") if settings.gelu == "auto" else settings.gelu)
    companions = read_companions(settings.do_lower_case, model, config)
    vocabulary = companions.vocabulary
    if vocabulary is None:
        raise InputError(f"--vocab_file is needed (none stands in {checkpoint.name}): give the model's vocab.txt")
    pairs = (
        saved.get("task_name", "cola") not in _SINGLE_TEXT_TASKS
        if settings.pairs == "auto"
        else settings.pairs == "yes"
    )
    remembered = 128 if settings.format == "hub" else int(saved.get("max_seq_length", 128))
    length = settings.max_seq_length or min(remembered, config.max_position_embeddings)
    check_max_seq_length(length, pairs or settings.format == "hub")
    sources.check_sizes(config, vocabulary, length, model)
    if settings.format == "onnx":
        labels = agreed_labels(settings, companions)
        exported = export_onnx.Exported(model, config, companions, labels, length)
        return [_export_onnx(folder, exported, settings)]
    labels = find_labels(settings, companions, model) if settings.format == "saved_model" else ()

    prepare_host()
    from bert_cli.exports import modules as export_modules
    from bert_cli.exports.hub_writing import save_encoder, write_extras
    from bert_cli.exports.text_graph import GraphTokenizer, vocabulary_lines

    if labels:
        loaded = export_modules.load_classifier(checkpoint, config, labels)
    else:
        loaded = export_modules.load_encoder(checkpoint, config)
    LOG.info(
        "%s: %d layers, hidden size %d, %d words, %s, text is %s", checkpoint.name, config.num_hidden_layers,
        config.hidden_size, vocabulary.size, config.activation,
        "lower-cased" if companions.do_lower_case else "taken as it is",
    )  # fmt: skip
    with export_modules.writing(folder), exporting(folder) as new:
        vocab_path = os.path.join(os.path.dirname(new), VOCABULARY)
        with atomic_write(vocab_path) as file:
            file.write(vocabulary_lines(vocabulary))
        tokenizer = GraphTokenizer(vocabulary, companions.do_lower_case, vocab_path)
        if labels:
            export_modules.save_classifier(new, loaded, tokenizer, vocabulary, labels, length, pairs)
        else:
            lower = companions.do_lower_case
            save_encoder(os.path.join(new, "encoder"), loaded, config, companions.vocab_bytes, lower)
            export_modules.save_preprocessor(os.path.join(new, "preprocess"), tokenizer, vocabulary, length)
            write_extras(os.path.join(new, "preprocess"), lower)
    if labels:
        texts = "text and text_b" if pairs else "text"
        LOG.info("labels: %s; %s, cut to %d tokens", ", ".join(labels), texts, length)
        LOG.info("wrote %s: serving_default takes %s, %s token ids", folder, texts, export_modules.TOKENS_SIGNATURE)
        return [folder]
    folders = [os.path.join(folder, name) for name in ("encoder", "preprocess")]
    LOG.info("wrote %s and %s", *folders)
    return folders


def _export_onnx(folder: str, exported: export_onnx.Exported, settings: Settings) -> str:
    with exporting(folder) as new:
        files.make_directory(new)
        names = export_onnx.write(new, exported, settings.quantize == "int8", settings.data_dir)
    LOG.info("wrote %s: %s", folder, ", ".join(names))
    return folder


def main(arguments: list[str] | None = None) -> int:
    """The command; `arguments` default to those of the process. Returns its exit code."""
    return run_command(
        "bert-export",
        __doc__,
        define_flags,
        lambda values, given: run(settings_from_flags(values, given)),
        arguments,
        interrupted="nothing was exported",
    )


if __name__ == "__main__":
    raise SystemExit(main())
