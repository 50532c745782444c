"""The trained head of a model, as its files describe it: labels, problem type and calibration."""

import dataclasses
import functools
import os
from collections.abc import Sequence

from bert_cli.base import files
from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.formats import list_names
from bert_cli.base.head_types import (
    CLASSIFIER,
    HEAD_INPUTS,
    MASKED_LM,
    NEXT_SENTENCE,
    POOLED,
    TextInput,
    head_of,
    parse_layers,
)
from bert_cli.base.lines import read_text, split_lines
from bert_cli.base.log import LOG, warn_once
from bert_cli.base.names import HUGGING_FACE_CONFIG, LABELS, OUTSIDE
from bert_cli.model.config_files import (
    generic_labels,
    read_cross_encoder_activation,
    read_hugging_face_labels,
    read_hugging_face_problem,
)
from bert_cli.opening.paths import ModelPaths, run_folders
from bert_cli.problem_types.calibration import Calibration
from bert_cli.problem_types.exclusive import MULTIPLE_CHOICE, SINGLE_LABEL
from bert_cli.problem_types.kinds import TAGGING
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.problem_types.registry import PROBLEM_TYPES, TASK_FACTS, find_facts, problem_type
from bert_cli.problem_types.regression import REGRESSION
from bert_cli.run_directory.manifest import check_same_labels
from bert_cli.settings.groups import LAST_LAYER
from bert_cli.weights.path import CheckpointPath


@dataclasses.dataclass(frozen=True)
class HeadFiles:
    """A trained head as the model's files describe it: labels, problem type and calibration.

    Values are read on first use. So a damaged file does not stop a command that does not need it.

    Attributes:
        paths: the model's files.
        num_hidden_layers: the encoder's number of layers.
    """

    paths: ModelPaths
    num_hidden_layers: int

    @functools.cached_property
    def labels(self) -> tuple[str, ...] | None:
        """Return the labels in the model's files, in output order; None if no file has them."""
        checkpoint = self.paths.required_checkpoint
        path = os.path.join(checkpoint.folder, LABELS)
        if not files.exists(path):
            return _hugging_face_labels(checkpoint)[0]
        labels = tuple(line for line in split_lines(read_text(path), path) if line)
        check_same_labels(labels, checkpoint)
        refuse_if(not labels, f"{path}: is empty; it has to list the labels of the model, one a line")
        return labels

    @functools.cached_property
    def num_outputs(self) -> int | None:
        """Return a Hugging Face classifier's number of outputs; None for another model."""
        if not (self.paths.checkpoint and self.paths.checkpoint.hugging_face_config):
            return None
        # Import late: it imports safetensors, which only a Hugging Face directory needs.
        from bert_cli.weights.checkpoint import open_checkpoint

        shape = open_checkpoint(self.paths.checkpoint).shapes.get("output_weights", ())
        return shape[0] if shape else None

    @functools.cached_property
    def _numbered_labels(self) -> tuple[str, ...]:
        """Return LABEL_0, LABEL_1, … for a Hugging Face classifier; () for another model.

        The first use logs how to name the labels.
        """
        if not self.num_outputs:
            return ()
        labels = generic_labels(self.num_outputs)
        warn_once(
            f"warning: {self.paths.folder}: {HUGGING_FACE_CONFIG} does not name the labels, so they are called "
            f"{list_names(labels)}, as in transformers; name all {len(labels)} in this order with --labels (in Python "
            f"labels=[…]), or as id2label in {HUGGING_FACE_CONFIG}"
        )
        return labels

    def label_names(
        self,
        problem_type: ProblemType | None,
        flag_labels: Sequence[str] = (),
        task_name: str = "",
        *,
        may_rename: bool = False,
        may_number: bool = True,
    ) -> tuple[str, ...] | None:
        """Return the names of the outputs, in their order; no other function decides them.

        They come from --labels, from the model's files, or from the task. Otherwise, outputs are
        numbered as in transformers.

        Args:
            problem_type: the head's problem type; None if it is unknown, as for a tagger.
            flag_labels: labels from the flag, or ().
            task_name: task with fixed labels, which a model from Google's scripts has; or "".
            may_rename: whether `flag_labels` may differ from the names in the model's files.
            may_number: whether outputs without names are numbered.

        Returns:
            The names, which may be unknown (None); () for outputs without names, as in regression.

        Raises:
            InputError: if names differ or occur twice, labels.txt is lost, or there is a wrong
                number of labels.
        """
        folder = self.paths.folder
        if problem_type and flag_labels:
            problem_type.reader.check_flag_labels(f"the model in {folder}")
        stored_names = self.labels or None
        names = problem_type.reader.keep_names(stored_names) if problem_type else stored_names
        if names == ():
            return names
        labels = names or ()
        if not flag_labels and not labels:
            # The manifest of a bert_cli run lists the labels, so a lost file is noticed.
            check_same_labels((), self.paths.required_checkpoint)
        # Names that occur twice say nothing, so others may replace them.
        if flag_labels and labels not in ((), tuple(flag_labels)) and not may_rename and not find_twin(labels):
            raise InputError(
                f"--labels={','.join(flag_labels)}: the model in {folder} was trained with {','.join(labels)}, in this "
                "order; leave --labels out"
            )
        if flag_labels and self.num_outputs not in (None, len(flag_labels)):
            raise InputError(
                f"--labels={','.join(flag_labels)}: {len(flag_labels)} names, but the classifier in {folder} has "
                f"{self.num_outputs} outputs; name all of them, in their order"
            )
        labels = tuple(flag_labels) or labels or (find_facts(task_name).labels if task_name else ())
        if not labels and may_number:
            labels = self._numbered_labels
        if twin := find_twin(labels):
            raise InputError(
                f"{folder}: the outputs {twin[0]} and {twin[1]} have the same label, {labels[twin[0]]}; give each "
                f"output another name in {self._labels_file}"
            )
        if len(labels) == 1 and problem_type and problem_type.reader.min_labels > 1:
            raise InputError(
                f"{folder}: one label ({labels[0]}) would always have the probability 1; give two as --labels, or "
                "--problem_type=regression or multi_label"
            )
        return labels or None

    def unknown_labels(self) -> InputError:
        """Return the error for a model without label names, or without a classifier."""
        folder = self.paths.folder
        has_config = self.paths.checkpoint and self.paths.checkpoint.hugging_face_config
        if has_config and self.num_outputs is None:
            return InputError(
                f"{folder}: has no trained classifier, only an encoder; bert-classify --do_train "
                f"--init_checkpoint={folder} trains one"
            )
        return InputError(f"{folder}: has no {LABELS}, so the labels are not known; give --labels")

    @property
    def _labels_file(self) -> str:
        """Return the name of the file with the labels."""
        checkpoint = self.paths.required_checkpoint
        is_run = files.exists(os.path.join(checkpoint.folder, LABELS))
        return LABELS if is_run or not checkpoint.hugging_face_config else HUGGING_FACE_CONFIG

    @functools.cached_property
    def named_problem_type(self) -> ProblemType | None:
        """Return the problem type from flags.txt or Hugging Face's config.json; None without one."""
        saved = self.paths.saved_flags
        config_file = self.paths.checkpoint.hugging_face_config if self.paths.checkpoint else None
        # A GLUE task has a fixed problem type, so the flag does not matter.
        if saved.get("task_name") in TASK_FACTS:
            return TASK_FACTS[saved["task_name"]].problem_type
        if "problem_type" in saved:
            return problem_type(saved["problem_type"])
        if config_file is None:
            return None
        name, head_type = read_hugging_face_problem(config_file)
        if head_type == MULTIPLE_CHOICE.head_type:
            return MULTIPLE_CHOICE
        return next(
            (candidate for candidate in PROBLEM_TYPES.values() if name and candidate.hugging_face == name), None
        )

    @functools.cached_property
    def problem_type(self) -> ProblemType | None:
        """Return the named problem type; for Hugging Face classifiers with one output, regression.

        The first use of such a classifier logs that it predicts a number, as in transformers.
        """
        config_file = self.paths.checkpoint.hugging_face_config if self.paths.checkpoint else None
        named_type = self.named_problem_type
        # The probability of a single label would always be 1.
        if not config_file or named_type not in (None, SINGLE_LABEL) or not self._has_one_text_output():
            return named_type
        activation = read_cross_encoder_activation(config_file)
        note = f", before the {activation} that sentence-transformers applies to it" if activation else ""
        LOG.info("%s: the classifier has one output, so a number is predicted: its logit%s", self.paths.folder, note)
        return REGRESSION

    def _has_one_text_output(self) -> bool:
        names, head_type = _hugging_face_labels(self.paths.required_checkpoint)
        return head_type in (CLASSIFIER, None) and len(names or ()) < 2 and self.num_outputs == 1

    @property
    def has_untrained_next_sentence(self) -> bool:
        """Return whether --no_nsp left the next-sentence head as it was before training."""
        return self.paths.saved_flags.get("no_nsp") == "true"

    @functools.cached_property
    def is_masked_lm(self) -> bool:
        """Return whether the model predicts masked words, but has no head for next sentences."""
        if not self.paths.checkpoint:
            return False
        # Import late: it imports safetensors.
        from bert_cli.weights.checkpoint import open_checkpoint

        heads = {head_of(name) for name in open_checkpoint(self.paths.checkpoint).shapes}
        return MASKED_LM in heads and NEXT_SENTENCE not in heads

    @functools.cached_property
    def classifier_type(self) -> str | None:
        """Return the classifier's head type, a key of HEAD_TYPES; None if unknown."""
        saved = self.paths.saved_flags
        # flags.txt comes before config.json. A checkpoint from a fork of Google's scripts has
        # neither, only labels.
        head_type = _hugging_face_labels(self.paths.required_checkpoint)[1]
        if TAGGING.own_flag in saved or (
            head_type is None and "task_name" not in saved and OUTSIDE in (self.labels or ())
        ):
            head_type = TAGGING.head_type
        named_type = self.named_problem_type
        return named_type.head_type if named_type is MULTIPLE_CHOICE else head_type

    def calibration(self, problem_type: ProblemType, labels: Sequence[str] | None) -> Calibration | None:
        """Return the calibration that --calibrate saved for a text classifier, or None.

        Args:
            problem_type: the classifier's problem type.
            labels: the classifier's labels.
        """
        calibrator = problem_type.calibrator
        return calibrator.load(run_folders(self.paths.required_checkpoint), labels or ()) if calibrator else None

    def check_files(self) -> None:
        """Read labels and head type now, and raise InputError for a damaged file."""
        _ = self.labels, self.classifier_type

    @property
    def layers(self) -> tuple[int | str, ...]:
        """Return the layers that a tagger reads, from the flag --layers."""
        saved = self.paths.saved_flags.get("layers", LAST_LAYER)
        return tuple(layer.asked for layer in parse_layers(saved, self.num_hidden_layers))

    @property
    def text_input(self) -> TextInput:
        """Return the encoder output that a text classifier reads."""
        # Models from other programs do not have the flag, and read the pooler.
        return HEAD_INPUTS[self.paths.saved_flags.get("head_input", POOLED.name)]


def find_twin(labels: Sequence[str]) -> tuple[int, int] | None:
    """Return the indices of two equal labels, or None if all differ."""
    for index, label in enumerate(labels):
        if label in labels[:index]:
            return labels.index(label), index
    return None


def _hugging_face_labels(checkpoint: CheckpointPath) -> tuple[tuple[str, ...] | None, str | None]:
    if checkpoint.hugging_face_config is None:
        return None, None
    return read_hugging_face_labels(checkpoint.hugging_face_config)
