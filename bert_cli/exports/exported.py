"""Model and target directory of an export, without TensorFlow."""

import contextlib
import dataclasses
import os
import re
from array import array
from collections.abc import Iterator, Sequence

import numpy as np

from bert_cli.base import files, pooling
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.head_types import (
    CLASSIFIER,
    ENCODER,
    FINE_TUNED,
    MASKED_LM,
    SPANS,
    TAGGER,
    HeadSpec,
    head_of,
    is_multiple_choice_head,
    is_token_head,
)
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
    read_name,
)
from bert_cli.base.recoding import UTF_8
from bert_cli.base.writing import publish_folder, staging_folder
from bert_cli.exports.triton import TRITON_CONFIG, VERSION
from bert_cli.features.encoded_text import split_pair
from bert_cli.features.packing import check_max_seq_length, pack
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.flags.run_flags import read_flags
from bert_cli.model.config import BertConfig
from bert_cli.opening.bundle import ModelBundle
from bert_cli.opening.checks import check_sizes
from bert_cli.opening.loader import load_model
from bert_cli.opening.paths import missing_file_error, run_folders
from bert_cli.opening.trained import default_length, has_text_pairs
from bert_cli.predicting.decoder import Decoder, make_decoder
from bert_cli.predicting.ensemble import mean_thresholds
from bert_cli.predicting.vector_recipe import DEFAULT_LENGTH, VectorFlags, VectorRecipe, choose_recipe
from bert_cli.problem_types.exclusive import SINGLE_LABEL
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.reading.source import Source
from bert_cli.sentence.modules import SentenceModules, modules_file
from bert_cli.sentence.vectors import PoolingAndSteps
from bert_cli.settings.answering import WINDOW_LENGTH
from bert_cli.settings.groups import TOP_K, Encoding, Inference
from bert_cli.settings.tools import ExportSettings
from bert_cli.text.vocabulary import CLS, SEP
from bert_cli.weights.checkpoint import open_checkpoint
from bert_cli.weights.path import find_checkpoint

# Number of tokens for a model without a training run, which is the default for training.
_DEFAULT_LENGTH = Encoding().max_seq_length
MODEL, QUANTIZED = "model.onnx", "model_int8.onnx"
TFLITE = "model.tflite"
_ONNX_FILES = {
    MODEL,
    QUANTIZED,
    TFLITE,
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
class ModelToExport:
    """A model to export.

    Attributes:
        model: the model.
        labels: names of the outputs; () if they have no names, None if the names are unknown.
        max_seq_length: maximum number of tokens.
        takes_pairs: whether a model of texts takes a second text.
        head_type: the exported head, a key of base.head_types.HEAD_TYPES.
        top_k: number of words for each mask.
        recipe: the steps from texts to their vectors, which the export includes; None without vectors.
        members: the models of an ensemble; () for a single model.
        orders: for each member, the columns with this model's labels, see ensemble.label_order.
    """

    model: ModelBundle[BertConfig]
    labels: tuple[str, ...] | None
    max_seq_length: int
    takes_pairs: bool
    head_type: str = CLASSIFIER
    top_k: int = TOP_K
    recipe: VectorRecipe | None = None
    members: tuple["ModelToExport", ...] = ()
    orders: Sequence[Sequence[int]] = ()

    @property
    def ordered_members(self) -> Iterator[tuple["ModelToExport", Sequence[int]]]:
        """Yield each member and its columns, or only this model if it is no ensemble."""
        return zip(self.members or (self,), self.orders or ((),), strict=True)

    @property
    def problem_type(self) -> ProblemType:
        """Return the problem type of a text classifier, by default single-label."""
        return self.model.head.problem_type or SINGLE_LABEL

    @property
    def vectors(self) -> PoolingAndSteps | None:
        """Return the steps after the encoder for vectors of texts, or None."""
        if self.recipe is None:
            return None
        num_skipped = self.recipe.num_skipped(self.model.tokenizer)
        return PoolingAndSteps(self.recipe.pooling, self.recipe.steps, num_skipped)

    @property
    def reads_pooler(self) -> bool:
        """Return whether the vectors of texts are the pooler's output."""
        return self.recipe is not None and self.recipe.pooling == pooling.POOLER

    @property
    def modules(self) -> SentenceModules | None:
        """Return the modules of sentence-transformers for the vectors, if there are any."""
        recipe = self.recipe
        if recipe is None:
            return None
        modules = recipe.modules
        is_same = modules and recipe.steps is modules.steps and recipe.prompt_name == modules.default_prompt_name
        return modules if is_same else recipe.to_modules(self.model.config.hidden_size)

    @property
    def temperatures(self) -> tuple[float, ...]:
        """Return the temperatures of a text classifier (see HeadSpec), or () without calibration."""
        calibration = self.model.head.calibration(self.problem_type, self.labels)
        return calibration.temperatures if calibration else ()

    def check_labels(self, spec: HeadSpec, source: str) -> tuple[str, ...] | None:
        """Return the head's labels, or None; raise InputError if the number of outputs differs.

        Args:
            source: the checkpoint, for the message.
        """
        labels = self.labels if spec.has_labels else None
        # Check this late: the number of outputs comes from the checkpoint's shapes.
        if labels and len(labels) != spec.num_outputs:
            raise InputError(
                f"{source}: has {spec.num_outputs} outputs, but there are {len(labels)} labels; check --labels"
            )
        return labels

    @property
    def thresholds(self) -> np.ndarray | None:
        """Return the thresholds of a text classifier or an ensemble, see LabelSet."""
        decoders = [member.decoder for member in self.members]
        return mean_thresholds(decoders, self.orders) if decoders else self.decoder.labels.thresholds

    @property
    def decoder(self) -> Decoder:
        """Return the decoder of a text classifier, without its calibration."""
        flags = self.model.saved_flags
        positive = flags.get("positive_label")
        inference = Inference(threshold=flags.get("threshold", Inference.threshold))
        folders = run_folders(self.model.required_checkpoint)
        positive_label = None if positive is None else read_name(positive)
        return make_decoder(self.problem_type, self.labels or (), inference, folders, positive_label)


def find_model_to_export(settings: ExportSettings) -> ModelToExport:
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
        raise missing_file_error(checkpoint, "vocab_file", VOCABULARY, TOKENIZER)
    takes_pairs = has_text_pairs(model.guesses | saved_flags) if export.pairs == "auto" else export.pairs == "yes"
    is_hub = export.format == "hub"
    head_type = ENCODER if is_hub else _find_head_type(settings, model)
    _check_head_flags(settings, model, head_type)
    # A file of token ids has the encoder's outputs, and
    # vectors only on request or if the model is made for them.
    has_vectors = export.format == "saved_model" or _wants_vectors(settings) or bool(modules_file(model.folder))
    recipe = _choose_recipe(settings, model) if head_type == ENCODER and not is_hub and has_vectors else None
    # Use the length from training for a classifier. A module may be trained further on any length.
    length = recipe.max_seq_length if recipe else settings.data.max_seq_length
    if not length and is_hub:
        length = min(_DEFAULT_LENGTH, model.config.max_position_embeddings)
    if head_type == MASKED_LM:
        # Texts with masks are not cut, so use all positions.
        length = length or model.config.max_position_embeddings
    command_default = WINDOW_LENGTH if head_type == SPANS else _DEFAULT_LENGTH
    length = length or default_length(int(saved_flags.get("max_seq_length", command_default)), model)
    # Reserve three special tokens for a module: its preprocessor also packs pairs.
    check_max_seq_length(length, takes_pairs or is_hub)
    check_sizes(model.config, model.vocabulary, length, model.config_name, flags.strict)
    if head_type == ENCODER:
        return ModelToExport(model, None, length, takes_pairs, ENCODER, recipe=recipe)
    if head_type == MASKED_LM:
        return ModelToExport(model, None, length, takes_pairs, MASKED_LM, export.top_k)
    if head_type == SPANS:
        return ModelToExport(model, None, length, takes_pairs, SPANS)
    _check_text_classifier(model)
    return ModelToExport(model, _find_labels(settings, model), length, takes_pairs, head_type)


def _check_head_flags(settings: ExportSettings, model: ModelBundle, head_type: str) -> None:
    """Raise InputError for a flag without an effect on this head."""
    export = settings.export
    for flag, is_without_effect, reason in (
        (f"--top_k={export.top_k}", export.top_k != TOP_K and head_type != MASKED_LM, "does not fill masks"),
        ("--pairs=yes", export.pairs == "yes" and head_type == TAGGER, "tags single texts"),
        ("--labels", settings.data.labels and head_type == SPANS, "answers questions, which have no labels"),
    ):
        refuse_if(is_without_effect, f"{flag}: the model in {model.folder} {reason}; leave it out")


def _wants_vectors(settings: ExportSettings) -> bool:
    return any(value is not None for value in dataclasses.astuple(settings.vectors))


def _find_head_type(settings: ExportSettings, model: ModelBundle) -> str:
    """Return the head to export; raise InputError if --labels names the outputs of a missing head."""
    if _wants_vectors(settings):
        return ENCODER
    heads = {head_of(name) for name in open_checkpoint(model.required_checkpoint).shapes}
    if heads.issuperset(FINE_TUNED):
        raise InputError(
            f"{model.required_checkpoint.name}: has a classifier and a span head; bert-convert --head leaves one of them"
        )
    head_type = next((head for head in FINE_TUNED if head in heads), ENCODER)
    if head_type == ENCODER and settings.data.labels:
        raise InputError(
            f"{model.required_checkpoint.name}: has no classifier (no output_weights), so --labels names no outputs; "
            "give the output_dir of bert-classify, or leave --labels out to export the encoder"
        )
    # A directory of sentence-transformers is made for vectors.
    if head_type == ENCODER and MASKED_LM in heads and not modules_file(model.folder):
        return MASKED_LM if settings.export.format == "saved_model" else ENCODER
    return TAGGER if head_type == CLASSIFIER and is_token_head(model.head.classifier_type) else head_type


def _choose_recipe(settings: ExportSettings, model: ModelBundle[BertConfig]) -> VectorRecipe:
    """Return the steps from texts to vectors, which are bert-extract-features' with --pooling.

    Raise InputError for steps that the export cannot include.
    """
    flags, length = settings.vectors, settings.data.max_seq_length or 0
    chosen = VectorFlags(flags.pooling, None, flags.normalize, length, flags.prompt_name, strict=settings.model.strict)
    recipe = choose_recipe(
        chosen, model.folder, model.config, default_length=default_length(0, model) or DEFAULT_LENGTH
    )
    if recipe.lower_cases and settings.export.format == "saved_model":
        raise InputError(
            f"{model.folder}: lower-cases texts before its tokenizer (do_lower_case in {SENTENCE_BERT}), which no "
            "TensorFlow graph computes; export with --format=onnx"
        )
    return recipe


def _check_text_classifier(model: ModelBundle) -> None:
    """Raise InputError for a model that reads several sequences per text."""
    if is_multiple_choice_head(model.head.classifier_type):
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


def _find_labels(settings: ExportSettings, model: ModelBundle) -> tuple[str, ...] | None:
    """Return the label names; () for a number, None for token ids if they are unknown.

    Raise InputError for a SavedModel of a classifier or a tagger with unknown names.
    """
    labels, problem_type = settings.data.labels or (), model.head.problem_type
    takes_ids = settings.export.format != "saved_model"
    # Labels are optional for a file of token ids, because not all heads have labels.
    label_names = model.head.label_names(problem_type, labels, may_number=not takes_ids)
    if label_names is None and not takes_ids:
        raise InputError(
            f"{model.folder}: has no labels.txt; give the output_dir of bert-classify or bert-tag, or --labels, or "
            "--pooling for vectors of texts"
        )
    return label_names


def read_text_sequences(exported: ModelToExport, path: str | None) -> list[RaggedFeatures]:
    """Return a file's lines as sequences for an encoder.

    Args:
        exported: the model. Without an encoder, the result is [].
        path: the file, or None, which gives [].

    Raises:
        InputError: if the file cannot be read, or has no text.
    """
    if path is None or exported.head_type != ENCODER:
        return []
    tokenizer = exported.model.tokenizer
    token_ids, segment_ids, ends = array("i"), array("b"), array("q", [0])
    for line in Source(path, UTF_8, "dev_file").lines(allows_nul=True):
        if not line.strip():
            continue
        text, second_text = split_pair(line)
        ids = None if second_text is None else tokenizer.encode(second_text)
        packed = pack(tokenizer.encode(text), ids, exported.max_seq_length, tokenizer.ids[CLS], tokenizer.ids[SEP])
        token_ids.extend(packed.token_ids)
        segment_ids.extend(packed.segment_ids)
        ends.append(len(token_ids))
    refuse_if(len(ends) == 1, f"{path}: has no text; check --dev_file")
    return [RaggedFeatures.of(token_ids, segment_ids, ends)]


def check_target(folder: str, overwrite: bool) -> None:
    """Raise InputError if an export may not be written into a directory.

    Args:
        folder: directory to write.
        overwrite: whether an older export may be replaced.
    """
    files.check_can_write(folder, "export_dir")
    # Include hidden files, so that a directory with .git is never replaced.
    names = files.list_directory(folder)
    # Without Triton's configuration, 1 is a version for TensorFlow Serving, and not this export's.
    triton_files = {TRITON_CONFIG, VERSION} if TRITON_CONFIG in names else set()
    foreign = [
        name for name in names if name not in _EXPORT_FILES | triton_files and not _MODULE_FOLDER.fullmatch(name)
    ]
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
