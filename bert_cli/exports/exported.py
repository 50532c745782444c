"""Model and target directory of an export, without TensorFlow."""

import contextlib
import dataclasses
import os
import re
from collections.abc import Iterator

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.head_types import is_of_choices, is_of_tokens
from bert_cli.base.log import LOG
from bert_cli.base.names import (
    CONFIG,
    FLAGS,
    HUGGING_FACE_CONFIG,
    LABELS,
    MODULES,
    SENTENCE_BERT,
    SENTENCE_CONFIG,
    SPECIAL_TOKENS,
    TOKENIZER,
    TOKENIZER_CONFIG,
    TRUNCATE,
    VOCABULARY,
)
from bert_cli.base.recoding import UTF_8
from bert_cli.base.writing import publish_folder, staging_folder
from bert_cli.examples.task_files import TaskOptions, read_examples
from bert_cli.features.classification import ClassificationFeatures, classification_features
from bert_cli.features.packing import check_max_seq_length
from bert_cli.flags.run_flags import read_flags
from bert_cli.model.config import BertConfig
from bert_cli.opening.bundle import ModelBundle
from bert_cli.opening.checks import check_sizes
from bert_cli.opening.loader import load_model
from bert_cli.opening.paths import lacks_file
from bert_cli.opening.trained import default_length, has_text_pairs
from bert_cli.problem_types.exclusive import SINGLE_LABEL
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.reading.columns.facts import log_facts
from bert_cli.settings.data import LITERAL, TextForm
from bert_cli.settings.groups import Encoding
from bert_cli.settings.tools import ExportSettings
from bert_cli.weights.path import find_checkpoint

# Number of tokens for a model without a training run, which is the default for training.
_DEFAULT_LENGTH = Encoding().max_seq_length
MODEL, QUANTIZED = "model.onnx", "model_int8.onnx"
_ONNX_FILES = {
    MODEL,
    QUANTIZED,
    VOCABULARY,
    LABELS,
    CONFIG,
    TOKENIZER_CONFIG,
    HUGGING_FACE_CONFIG,
    TOKENIZER,
    SPECIAL_TOKENS,
}
# Files and directories that an export writes and may replace.
_EXPORT_FILES = {"saved_model.pb", "variables", "assets", "fingerprint.pb", "encoder", "preprocess"} | _ONNX_FILES
_EXPORT_FILES |= {MODULES, SENTENCE_BERT, SENTENCE_CONFIG}
# Directory of a module of sentence-transformers.
_MODULE_FOLDER = re.compile(r"\d+_[A-Z][A-Za-z]+")


@dataclasses.dataclass(frozen=True)
class Exported:
    """A model to export.

    Attributes:
        model: the model.
        labels: names of the outputs; None if they are unknown, or the outputs have no names.
        max_seq_length: maximum number of tokens.
        takes_pairs: whether a classifier takes a second text.
    """

    model: ModelBundle[BertConfig]
    labels: tuple[str, ...] | None
    max_seq_length: int
    takes_pairs: bool

    @property
    def problem_type(self) -> ProblemType:
        """Return the problem type of a text classifier, by default single-label."""
        return self.model.head.problem_type or SINGLE_LABEL

    @property
    def temperatures(self) -> tuple[float, ...]:
        """Return the temperatures of a text classifier (see HeadSpec), or () without calibration."""
        calibration = self.model.head.calibration(self.problem_type, self.labels)
        return calibration.temperatures if calibration else ()


def find_exported(settings: ExportSettings) -> Exported:
    """Load the model for an export; raise InputError if it does not fit the flags."""
    export = settings.export
    flags = settings.model
    checkpoint = find_checkpoint(flags.init_checkpoint, strict=flags.strict)
    saved_flags = read_flags(os.path.join(checkpoint.folder, FLAGS))
    # Use the run's form of gelu: the config of a Google checkpoint does not contain it.
    if flags.gelu == "auto":
        flags = dataclasses.replace(flags, gelu=saved_flags.get("gelu", "auto"))
    model = load_model(flags, checkpoint, None, needs_bert=True, needs_vocab=False, to_convert=True)
    if not model.optional_vocabulary:
        raise lacks_file(checkpoint, "vocab_file", VOCABULARY, TOKENIZER)
    takes_pairs = has_text_pairs(model.guesses | saved_flags) if export.pairs == "auto" else export.pairs == "yes"
    # Use the length from training for a classifier. A module may be trained further on any length.
    length = settings.data.max_seq_length
    if not length and export.format == "hub":
        length = min(_DEFAULT_LENGTH, model.config.max_position_embeddings)
    length = length or default_length(int(saved_flags.get("max_seq_length", _DEFAULT_LENGTH)), model)
    # Reserve three special tokens for a module: its preprocessor also packs pairs.
    check_max_seq_length(length, takes_pairs or export.format == "hub")
    check_sizes(model.config, model.vocabulary, length, model.config_name, flags.strict)
    if export.format != "hub":
        _check_text_classifier(model)
    label_names = () if export.format == "hub" else _find_labels(settings, model)
    return Exported(model, label_names or None, length, takes_pairs)


def _check_text_classifier(model: ModelBundle) -> None:
    """Raise InputError for a model that reads several sequences per text."""
    if is_of_choices(model.head.classifier_type):
        raise InputError(
            f"{model.folder}: this is a multiple-choice model, which no signature takes; predict "
            "with bert-classify, or export the encoder with --format=hub"
        )
    long_text = model.saved_flags.get("long_text", TRUNCATE)
    if long_text != TRUNCATE:
        raise InputError(
            f"{model.folder}: was trained with --long_text={long_text}, and only classifiers with "
            f"--long_text={TRUNCATE} are exported; predict with bert-classify, or export the "
            "encoder with --format=hub"
        )


def _find_labels(settings: ExportSettings, model: ModelBundle) -> tuple[str, ...]:
    """Return the label names; () for a number, and for an ONNX file if they are unknown.

    Raise InputError for a SavedModel of a classifier with unknown names, or of a tagger.
    """
    labels, problem_type = settings.data.labels or (), model.head.problem_type
    is_onnx = settings.export.format == "onnx"
    if not is_onnx and is_of_tokens(model.head.classifier_type):
        raise InputError(f"{model.folder}: holds a tagger of words; --format=saved_model exports classifiers of texts")
    # Labels are optional for ONNX, because not all heads have labels.
    label_names = model.head.label_names(problem_type, labels, may_number=not is_onnx)
    is_numeric = problem_type is not None and problem_type.reader.is_numeric
    if not (label_names or is_onnx or is_numeric):
        raise InputError(
            f"{model.folder}: has no labels.txt; give the output_dir of bert-classify, or "
            "--labels, or --format=hub for the encoder alone"
        )
    return label_names


def read_dev(exported: Exported, data_dir: str) -> ClassificationFeatures | None:
    """Return the dev data of a single-label classifier's task, for comparing accuracies.

    Args:
        exported: the model.
        data_dir: value of --data_dir; "" for the training run's directory.

    Returns:
        None for another model, or if the training run's data does not exist.
    """
    model = exported.model
    saved_flags = exported.model.saved_flags
    labels = exported.labels
    if is_of_tokens(model.head.classifier_type) or not labels or not exported.problem_type.decoder.is_exclusive:
        return None
    # A third-party model has no known data.
    if "task_name" not in saved_flags and not data_dir:
        return None
    folder = data_dir or saved_flags.get("data_dir", "")
    if not data_dir and not files.is_directory(folder):
        LOG.warning(
            "warning: %s, the data of the training run, is gone: accuracies are not compared; give --data_dir", folder
        )
        return None
    task = saved_flags.get("task_name", "cola")
    form = TextForm(saved_flags.get("encoding", UTF_8), saved_flags.get("quoting", LITERAL))
    options = TaskOptions(saved_flags.get("header", "auto"), saved_flags.get("language", "zh"), form=form)
    examples, facts = read_examples(task, "dev", folder, labels, options)
    log_facts(facts)
    return classification_features(examples, labels, model.tokenizer, exported.max_seq_length)


def check_target(folder: str, overwrite: bool) -> None:
    """Raise InputError if an export may not be written into a directory.

    Args:
        folder: directory to write.
        overwrite: whether an older export may be replaced.
    """
    files.check_can_write(folder, "export_dir")
    # Include hidden files, so that a directory with .git is never replaced.
    names = files.list_directory(folder)
    foreign = [name for name in names if name not in _EXPORT_FILES and not _MODULE_FOLDER.fullmatch(name)]
    if foreign:
        raise InputError(f"{folder}: holds {foreign[0]}, which no export put there; give another --export_dir")
    if names and not overwrite:
        raise InputError(
            f"{folder}: is not empty; give another --export_dir, or --overwrite to replace the export there"
        )


@contextlib.contextmanager
def exporting(folder: str) -> Iterator[str]:
    """Yield a temporary directory path, which replaces `folder` if the block ends without error."""
    with staging_folder(folder if files.is_remote(folder) else os.path.dirname(folder)) as staged:
        # Use a subdirectory, so that temporary files such as vocab.txt can be next to the export.
        export_path = os.path.join(staged, "export")
        yield export_path
        files.make_directory(os.path.dirname(folder))
        # Move saved_model.pb last: a program that watches the directory waits for this file.
        publish_folder(export_path, folder, last="saved_model.pb")
