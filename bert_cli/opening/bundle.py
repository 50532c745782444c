"""A loaded model as its files describe it, with its trained head. No weights, no TensorFlow."""

import dataclasses
import functools
import hashlib
import json
import os
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.formats import list_names
from bert_cli.base.head_types import CHOICE, CLASSIFIER, HEAD_INPUTS, POOLED, TAGGER, TextInput, parse_layers
from bert_cli.base.json_files import to_json
from bert_cli.base.lines import read_text, split_lines
from bert_cli.base.log import LOG, warn_once
from bert_cli.base.names import HUGGING_FACE_CONFIG, LABELS, OUTSIDE, TOKENIZER_CONFIG, VOCABULARY
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.model.config_files import (
    generic_labels,
    read_cross_encoder_activation,
    read_hugging_face_labels,
    read_hugging_face_problem,
)
from bert_cli.opening.checkpoints import run_folders
from bert_cli.opening.paths import ModelPaths
from bert_cli.problem_types.calibration import Calibration, find_calibration
from bert_cli.problem_types.exclusive import MULTIPLE_CHOICE, SINGLE_LABEL
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.problem_types.registry import PROBLEM_TYPES, TASK_FACTS, problem_type
from bert_cli.problem_types.regression import REGRESSION
from bert_cli.run_directory.manifest import check_labels
from bert_cli.settings.groups import LAST_LAYER
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.tokenizer_files import is_tokenizer_json
from bert_cli.text.tokenizer_settings import GOOGLE, LOWER_CASE, TokenizerSettings
from bert_cli.text.vocabulary import Vocabulary
from bert_cli.weights.path import CheckpointPath

Config = TypeVar("Config", bound=BertConfig | ModuleConfig, covariant=True)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelBundle(ModelPaths, Generic[Config]):
    """A model as it is known before TensorFlow is imported; made by loader.load_model.

    Attributes:
        config: the model's config.
        optional_vocabulary: the vocabulary; None for a run on token ids, and for a model that is
            converted without one.
        do_lower_case: whether text is lower-cased.
        tokenizer_settings: other settings of the tokenizer.
    """

    config: Config
    optional_vocabulary: Vocabulary | None
    do_lower_case: bool
    tokenizer_settings: TokenizerSettings = GOOGLE

    @property
    def vocabulary(self) -> Vocabulary:
        """Return the vocabulary if there must be one, as in a model that reads text."""
        assert self.optional_vocabulary is not None, "InputError is raised before, where text is read and it is missing"
        return self.optional_vocabulary

    @functools.cached_property
    def tokenizer(self) -> FullTokenizer:
        """Return the tokenizer."""
        return FullTokenizer(self.vocabulary, self.do_lower_case, settings=self.tokenizer_settings)

    @functools.cached_property
    def head(self) -> "HeadFiles":
        """Return the trained head as the model's files describe it."""
        return HeadFiles(self, self.config.num_hidden_layers)

    @property
    def vocab_bytes(self) -> bytes | None:
        """Return a vocab.txt with all tokens, from the model's own file if it has all of them."""
        is_whole = not self.tokenizer_settings.outside_wordpiece
        if self.vocab_file and is_whole and not is_tokenizer_json(self.vocab_file):
            return files.read_bytes(self.vocab_file)
        return "".join(f"{token}\n" for token in self.vocabulary.tokens).encode() if self.optional_vocabulary else None

    @property
    def tokenizer_values(self) -> dict[str, Any]:
        """Return casing and settings that differ from Google's, as for tokenizer_config.json."""
        return {LOWER_CASE: self.do_lower_case} | self.tokenizer_settings.values()

    @property
    def tokenizer_files(self) -> dict[str, bytes]:
        """Return file name -> contents, for the tokenizer files that later runs use."""
        if not self.optional_vocabulary:
            return {}
        contents = {VOCABULARY: self.vocab_bytes or b""}
        if self.tokenizer_settings != GOOGLE:
            contents[TOKENIZER_CONFIG] = f"{to_json(self.tokenizer_values, indent=2)}\n".encode()
        return contents

    @property
    def fingerprint(self) -> dict[str, Any]:
        """Return flag name -> value or digest, for flags about the model that decide predictions."""
        # Use digests, not paths: the same files may have different paths on different machines.
        tokens = self.vocabulary.tokens if self.optional_vocabulary else ()
        settings = self.tokenizer_settings.values()
        contents = "\n".join(tokens) + (json.dumps(settings, sort_keys=True) if settings else "")
        return {
            "do_lower_case": self.do_lower_case,
            # A tensorflow-hub module is also a checkpoint.
            "init_checkpoint": self.required_checkpoint.identity,
            "vocab_file": _digest(contents),
            "bert_config_file": _digest(json.dumps(self.config.values(), sort_keys=True)),
        }


AnyModel = ModelBundle[BertConfig | ModuleConfig]


def _digest(text: str) -> str:
    # 64 bits are enough to distinguish models, and keep the file readable.
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()[:16]}"


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
        """Return the labels in output order; None if no file has them."""
        return read_labels(self.paths.required_checkpoint)

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
    def generic_labels(self) -> tuple[str, ...]:
        """Return LABEL_0, LABEL_1, … for a Hugging Face classifier; () for another model.

        It is for classifiers without label names. The first use logs how to name the labels.
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
        if head_type == CHOICE:
            return MULTIPLE_CHOICE
        return next((known for known in PROBLEM_TYPES.values() if name and known.hugging_face == name), None)

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
    def classifier_type(self) -> str | None:
        """Return the classifier's head type: CLASSIFIER, TAGGER or CHOICE; None if unknown."""
        saved = self.paths.saved_flags
        # flags.txt comes before config.json. A checkpoint from a fork of Google's scripts has
        # neither, only labels.
        head_type = _hugging_face_labels(self.paths.required_checkpoint)[1]
        if "tag_scheme" in saved or (head_type is None and "task_name" not in saved and OUTSIDE in (self.labels or ())):
            head_type = TAGGER
        named_type = self.named_problem_type
        return named_type.head_type if named_type and named_type.has_choices else head_type

    def calibration(self, problem_type: ProblemType, labels: Sequence[str] | None) -> Calibration | None:
        """Return the calibration that --calibrate saved for a text classifier, or None.

        Args:
            problem_type: the classifier's problem type.
            labels: the classifier's labels.
        """
        if problem_type.decoder.calibration_refusal:
            return None
        return find_calibration(
            run_folders(self.paths.required_checkpoint), problem_type.decoder.temperature_names(labels or ())
        )

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


def read_labels(checkpoint: CheckpointPath) -> tuple[str, ...] | None:
    """Return the labels in output order, from labels.txt or a Hugging Face config.json; or None."""
    path = os.path.join(checkpoint.folder, LABELS)
    if files.exists(path):
        labels = tuple(line for line in split_lines(read_text(path), path) if line)
        check_labels(labels, checkpoint)
        if not labels:
            raise InputError(f"{path}: is empty; it has to list the labels of the model, one a line")
        return labels
    return _hugging_face_labels(checkpoint)[0]


def _hugging_face_labels(checkpoint: CheckpointPath) -> tuple[tuple[str, ...] | None, str | None]:
    if checkpoint.hugging_face_config is None:
        return None, None
    return read_hugging_face_labels(checkpoint.hugging_face_config)
