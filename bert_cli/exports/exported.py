"""What bert-export exports, put together from the flags and what stands beside the checkpoint. Imports no TensorFlow."""

import dataclasses

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import MULTIPLE_CHOICE, REGRESSION, SINGLE_LABEL, TAGGER
from bert_cli.examples.glue import TASKS, find_task
from bert_cli.exports.companions import Companions, read_companions
from bert_cli.features.packing import check_max_seq_length
from bert_cli.model.config import BertConfig
from bert_cli.runs.loading import sources
from bert_cli.runs.loading.trained_labels import agreed_labels
from bert_cli.settings.groups import TRUNCATE, Encoding, ModelFiles
from bert_cli.settings.tools import Export
from bert_cli.text.vocabulary import Vocabulary
from bert_cli.weights.path import CheckpointPath

_LENGTH = Encoding().max_seq_length  # tokens, where no run says more


@dataclasses.dataclass(frozen=True)
class Exported:
    """What is exported: `source` with its `config`, `companions` and `vocabulary`; texts have at most max_seq_length tokens.

    labels: of the outputs, None where they are not known, or have no names; pairs: whether a classifier takes a second text.
    """

    source: sources.StoredModel
    config: BertConfig
    companions: Companions
    vocabulary: Vocabulary
    labels: tuple[str, ...] | None
    max_seq_length: int
    pairs: bool

    @property
    def problem_type(self) -> str:
        """Of a classifier of texts: what its outputs mean, see heads.classification."""
        return self.companions.problem_type or SINGLE_LABEL

    @property
    def layers(self) -> tuple[int, ...]:
        """The layers that a tagger reads."""
        return tuple(int(layer) for layer in self.source.saved_flags.get("layers", "-1").split(","))

    @property
    def head_input(self) -> str:
        """What a classifier of texts reads; see base.head_types."""
        return self.companions.head_input


def find_exported(
    checkpoint: CheckpointPath,
    export: Export,
    files: ModelFiles,
    labels: tuple[str, ...] | None,
    max_seq_length: int | None,
) -> Exported:
    """Read what stands beside a checkpoint and check it against the flags `labels` and `max_seq_length`, None for not given.

    InputError where something is missing or does not fit together.
    """
    model = sources.find_model_files(files, checkpoint)
    saved = model.saved_flags
    config = sources.read_bert_config(
        model, saved.get("gelu", "auto") if files.gelu == "auto" else files.gelu, sources.words_of(model)
    )
    companions = read_companions(files, model, config)
    if companions.vocabulary is None:
        raise InputError(f"--vocab_file is needed (none stands in {checkpoint.name}): give the model's vocab.txt")
    pairs = trained_on_pairs(saved) if export.pairs == "auto" else export.pairs == "yes"
    default = _LENGTH if export.format == "hub" else int(saved.get("max_seq_length", _LENGTH))
    length = max_seq_length or min(default, config.max_position_embeddings)
    check_max_seq_length(length, pairs or export.format == "hub")
    sources.check_sizes(config, companions.vocabulary, length, model, files.strict)
    if export.format != "hub":
        _check_no_choice(companions, checkpoint.folder)
        _check_long_text(saved, checkpoint.folder)
    if labels and companions.problem_type == REGRESSION:
        raise InputError(f"--labels: the model in {checkpoint.folder} predicts a number; leave them out")
    if export.format == "hub" or companions.problem_type == REGRESSION:
        names = None
    elif export.format == "onnx":
        names = agreed_labels(labels, companions.labels, checkpoint.folder)
    else:
        names = _classifier_labels(labels, companions, checkpoint.folder)
    return Exported(model, config, companions, companions.vocabulary, names, length, pairs)


def trained_on_pairs(saved: dict[str, str]) -> bool:
    """What the flags.txt of a run says of its texts."""
    return find_task(saved["task_name"]).pairs if saved.get("task_name") in TASKS else "text_b_column" in saved


def _check_no_choice(companions: Companions, folder: str) -> None:
    """InputError for a model that chooses one of several endings: no signature takes these."""
    if companions.kind == MULTIPLE_CHOICE:
        raise InputError(
            f"{folder}: this model chooses one of several endings, which no signature takes; predict with bert-classify, or "
            "export the encoder with --format=hub"
        )


def _check_long_text(saved: dict[str, str], folder: str) -> None:
    """InputError for a classifier that does not cut the ends of long texts off, which is what is exported."""
    if saved.get("long_text", TRUNCATE) != TRUNCATE:
        raise InputError(
            f"{folder}: was trained with --long_text={saved['long_text']}, and only classifiers with "
            f"--long_text={TRUNCATE} are exported; predict with bert-classify, or export the encoder with --format=hub"
        )


def _classifier_labels(labels: tuple[str, ...] | None, companions: Companions, folder: str) -> tuple[str, ...]:
    """Names of the classifier's outputs; InputError where the files beside the checkpoint speak against a classifier."""
    if companions.kind == TAGGER:
        raise InputError(f"{folder}: holds a tagger of words; --format=saved_model exports classifiers of texts")
    names = agreed_labels(labels, companions.labels, folder)
    if not names:
        raise InputError(
            f"{folder}: has no labels.txt; give the output_dir of bert-classify, or --labels, or --format=hub for the encoder "
            "alone"
        )
    return names
