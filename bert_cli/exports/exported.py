"""What bert-export exports, put together from the flags and the files next to the checkpoint; and
the folder that it writes.

Imports no TensorFlow.
"""

import contextlib
import dataclasses
import os
from collections.abc import Iterator

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CHOICE, TAGGER
from bert_cli.base.log import LOG
from bert_cli.base.names import (
    CONFIG,
    FLAGS,
    HUGGING_FACE_CONFIG,
    LABELS,
    SPECIAL_TOKENS,
    TOKENIZER,
    TOKENIZER_CONFIG,
    VOCABULARY,
)
from bert_cli.base.recoding import UTF_8
from bert_cli.base.writing import publish_folder, staging_folder
from bert_cli.examples.classification import read_examples
from bert_cli.features.classification import ClassificationFeatures, classification_features
from bert_cli.features.packing import check_max_seq_length
from bert_cli.flags.saved import read_flags
from bert_cli.model.config import BertConfig
from bert_cli.problem_types.exclusive import SINGLE_LABEL
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.runs.loading.bundle import ModelBundle
from bert_cli.runs.loading.checks import check_sizes
from bert_cli.runs.loading.loader import load_model
from bert_cli.runs.loading.trained import has_text_pairs, merge_labels
from bert_cli.settings.data import LITERAL, TextForm
from bert_cli.settings.groups import TRUNCATE, Encoding
from bert_cli.settings.tools import ExportSettings
from bert_cli.weights.path import find_checkpoint

# The default of the commands that train.
_LENGTH = Encoding().max_seq_length  # tokens, where no run says more
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
# What an export leaves in its folder; other files there are not ours to replace.
_OURS = {"saved_model.pb", "variables", "assets", "fingerprint.pb", "encoder", "preprocess"} | _ONNX_FILES


@dataclasses.dataclass(frozen=True)
class Exported:
    """The model that is exported; texts have at most max_seq_length tokens.

    labels: of the outputs, None where they are not known, or have no names; pairs: whether a
    classifier takes a second text.
    """

    model: ModelBundle[BertConfig]
    labels: tuple[str, ...] | None
    max_seq_length: int
    pairs: bool

    @property
    def problem_type(self) -> ProblemType:
        """Of a classifier of texts: what its outputs mean, see heads.classification."""
        return self.model.problem_type or SINGLE_LABEL

    @property
    def temperatures(self) -> tuple[float, ...]:
        """Of a classifier of texts, see HeadSpec; () where it is not calibrated."""
        calibration = self.model.calibration(self.problem_type, self.labels)
        return calibration.temperatures if calibration else ()


def find_exported(settings: ExportSettings) -> Exported:
    """Load a model and check it against the flags; InputError where something is missing or does
    not fit together.
    """
    export = settings.export
    flags = settings.model
    labels = settings.data.labels
    checkpoint = find_checkpoint(flags.init_checkpoint, strict=flags.strict)
    saved = read_flags(os.path.join(checkpoint.folder, FLAGS))
    if flags.gelu == "auto":  # the config of a Google checkpoint does not say the form that the run computed
        flags = dataclasses.replace(flags, gelu=saved.get("gelu", "auto"))
    model = load_model(flags, checkpoint, None, needs_bert=True, needs_vocab=False, to_convert=True)
    if not model.optional_vocabulary:
        raise InputError(f"--vocab_file is needed ({checkpoint.name} has none): give the model's vocab.txt")
    pairs = has_text_pairs(model.guesses | saved) if export.pairs == "auto" else export.pairs == "yes"
    # A module is for training on any length; a classifier is for texts as long as those it was
    # trained on.
    default = _LENGTH if export.format == "hub" else int(saved.get("max_seq_length", _LENGTH))
    length = settings.data.max_seq_length or min(default, model.config.max_position_embeddings)
    # The preprocessor packs pairs as well, so it needs room for three special tokens.
    check_max_seq_length(length, pairs or export.format == "hub")
    check_sizes(model.config, model.vocabulary, length, model.config_name, flags.strict)
    if export.format != "hub":
        _check_text_classifier(model)
    is_numeric = model.problem_type is not None and model.problem_type.is_numeric
    if labels and is_numeric:
        raise InputError(f"--labels: the model in {model.folder} predicts a number; leave them out")
    if export.format == "hub" or is_numeric:
        names = None
    # Labels are optional here: an encoder and a model of answers have none.
    elif export.format == "onnx":
        names = merge_labels(labels, model.labels, model.folder)
    else:
        names = _classifier_labels(labels, model)
    return Exported(model, names, length, pairs)


def _check_text_classifier(model: ModelBundle) -> None:
    """InputError for a model that reads several sequences for an answer, which no signature takes."""
    if model.classifier_type == CHOICE:
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


def _classifier_labels(labels: tuple[str, ...] | None, model: ModelBundle) -> tuple[str, ...]:
    """Names of the classifier's outputs; InputError where the files next to the checkpoint
    contradict a classifier.
    """
    if model.classifier_type == TAGGER:
        raise InputError(f"{model.folder}: holds a tagger of words; --format=saved_model exports classifiers of texts")
    names = merge_labels(labels, model.labels, model.folder) or model.generic_labels
    if not names:
        raise InputError(
            f"{model.folder}: has no labels.txt; give the output_dir of bert-classify, or "
            "--labels, or --format=hub for the encoder alone"
        )
    return names


def read_dev(exported: Exported, data_dir: str) -> ClassificationFeatures | None:
    """The dev file of a classifier's task, to compare accuracies on.

    None for a model that is not single-label, and where --data_dir is not given and the training
    run's is gone.
    """
    model = exported.model
    saved = exported.model.saved_flags
    labels = exported.labels
    if model.classifier_type == TAGGER or not labels or not exported.problem_type.is_exclusive:
        return None
    # A model from elsewhere has no data that we know.
    if "task_name" not in saved and not data_dir:
        return None
    folder = data_dir or saved.get("data_dir", "")
    if not data_dir and not files.is_directory(folder):
        LOG.warning(
            "warning: %s, the data of the training run, is gone: accuracies are not compared; give --data_dir", folder
        )
        return None
    task = saved.get("task_name", "cola")
    examples = read_examples(
        task,
        "dev",
        folder,
        saved.get("header", "auto"),
        labels,
        saved.get("language", "zh"),
        form=TextForm(saved.get("encoding", UTF_8), saved.get("quoting", LITERAL)),
    )
    return classification_features(examples, labels, model.tokenizer, exported.max_seq_length)


def check_target(folder: str, overwrite: bool) -> None:
    """InputError unless an export may be written into `folder`: it must be missing or empty, or
    hold one to replace.
    """
    files.check_can_write(folder, "export_dir")
    # Hidden files count: a folder with a .git is nobody's export.
    names = files.list_directory(folder)
    foreign = [name for name in names if name not in _OURS]
    if foreign:
        raise InputError(f"{folder}: holds {foreign[0]}, which no export put there; give another --export_dir")
    if names and not overwrite:
        raise InputError(
            f"{folder}: is not empty; give another --export_dir, or --overwrite to replace the export there"
        )


@contextlib.contextmanager
def exporting(folder: str) -> Iterator[str]:
    """A path for the folder to be written, on the disk of `folder`, which it replaces when the
    block ends well.
    """
    with staging_folder(folder if files.is_remote(folder) else os.path.dirname(folder)) as staged:
        # Inside of the hidden folder there is room for files that the export needs while it is
        # written, such as vocab.txt.
        new = os.path.join(staged, "export")
        yield new
        files.make_directory(os.path.dirname(folder))
        publish_folder(new, folder, last="saved_model.pb")  # a program that watches the folder loads it by this file
