"""A loaded model: where its files are, and what they say of it. No TensorFlow."""

import dataclasses
import functools
import hashlib
import json
import os
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from bert_cli.base import files
from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CLASSIFIER, HEAD_INPUTS, POOLED, TAGGER, TextInput
from bert_cli.base.json_files import to_json
from bert_cli.base.lines import read_text, split_lines
from bert_cli.base.log import LOG, warn_once
from bert_cli.base.messages import list_names
from bert_cli.base.names import FLAGS, HUGGING_FACE_CONFIG, LABELS, OUTSIDE, TOKENIZER_CONFIG, VOCABULARY
from bert_cli.examples.glue import TASKS
from bert_cli.features.layer_choice import parse_layers
from bert_cli.flags.saved import read_flags, read_guesses
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.problem_types.calibration import Calibration, find_calibration
from bert_cli.problem_types.exclusive import SINGLE_LABEL
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.problem_types.registry import problem_type
from bert_cli.problem_types.regression import REGRESSION
from bert_cli.runs.loading.checkpoints import run_folders
from bert_cli.runs.output_dir.manifest import check_labels
from bert_cli.settings.groups import LAST_LAYER
from bert_cli.text.tokenization import FullTokenizer
from bert_cli.text.tokenizer_files import is_tokenizer_json
from bert_cli.text.tokenizer_json import run_tokenizer_config
from bert_cli.text.tokenizer_settings import GOOGLE, TokenizerSettings
from bert_cli.text.vocabulary import Vocabulary
from bert_cli.weights.path import CheckpointPath


@dataclasses.dataclass(frozen=True)
class ModelPaths:
    """Files of a model. `checkpoint` is None for a start from random weights; `is_builtin`: the
    small built-in network.

    `config_file` is None only for a module for tensorflow-hub and a TF1 checkpoint of ELECTRA, whose
    variables give its sizes.
    `preprocessor` is a module that knows the casing.
    """

    vocab_file: str | None
    config_file: str | None
    checkpoint: CheckpointPath | None
    is_builtin: bool = False
    preprocessor: CheckpointPath | None = None

    @property
    def required_checkpoint(self) -> CheckpointPath:
        """The checkpoint of a run that has one: it does not train, or its config has no file but
        comes from a module.
        """
        assert self.checkpoint is not None, "InputError is raised before, where it is missing"
        return self.checkpoint

    @property
    def config_name(self) -> str:
        """What messages call the file or module of the config."""
        return self.config_file or self.required_checkpoint.name

    @functools.cached_property
    def saved_flags(self) -> dict[str, str]:
        """Flags of the bert_cli run that made the checkpoint; empty for a checkpoint from
        elsewhere.
        """
        return read_flags(os.path.join(self.checkpoint.folder, FLAGS)) if self.checkpoint else {}

    @functools.cached_property
    def guesses(self) -> dict[str, str]:
        """Values of flags that this run found in its data; see flags.saved."""
        return read_guesses(os.path.join(self.checkpoint.folder, FLAGS)) if self.checkpoint else {}


Config = TypeVar("Config", bound=BertConfig | ModuleConfig, covariant=True)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelBundle(ModelPaths, Generic[Config]):
    """All that is known of a model before TensorFlow is imported; loader.load_model makes it.

    What only some commands need (labels, problem type) is read when it is first asked for, so that
    a damaged file does not stop a command that has no use for it.
    """

    config: Config
    optional_vocabulary: Vocabulary | None
    do_lower_case: bool
    tokenizer_settings: TokenizerSettings = GOOGLE

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of a model that reads text; token ids, and a model that is converted, may
        do without one.
        """
        assert self.optional_vocabulary is not None, "InputError is raised before, where text is read and it is missing"
        return self.optional_vocabulary

    @functools.cached_property
    def tokenizer(self) -> FullTokenizer:
        return FullTokenizer(self.vocabulary, self.do_lower_case, settings=self.tokenizer_settings)

    @property
    def folder(self) -> str:
        """The directory of the checkpoint."""
        return self.required_checkpoint.folder

    @functools.cached_property
    def labels(self) -> tuple[str, ...] | None:
        """The labels in the order of the outputs; None where no file has them."""
        return read_labels(self.required_checkpoint)

    @functools.cached_property
    def num_outputs(self) -> int | None:
        """Number of outputs of a Hugging Face classifier, None for another model."""
        if not (self.checkpoint and self.checkpoint.hugging_face_config):
            return None
        # Import late: it imports safetensors, which only a Hugging Face folder needs.
        from bert_cli.weights.checkpoint import open_checkpoint

        shape = open_checkpoint(self.checkpoint).shapes.get("output_weights", ())
        return shape[0] if shape else None

    @functools.cached_property
    def generic_labels(self) -> tuple[str, ...]:
        """LABEL_0, LABEL_1, … for a Hugging Face classifier whose files name no labels, () for another model.

        The first use of a model logs how to name them.
        """
        if not self.num_outputs:
            return ()
        from bert_cli.weights.hugging_face import generic_labels

        labels = generic_labels(self.num_outputs)
        warn_once(
            f"warning: {self.folder}: {HUGGING_FACE_CONFIG} does not name the labels, so they are called "
            f"{list_names(labels)}, as in transformers; name all {len(labels)} in this order with --labels (in Python "
            f"labels=[…]), or as id2label in {HUGGING_FACE_CONFIG}"
        )
        return labels

    @functools.cached_property
    def named_problem_type(self) -> ProblemType | None:
        """The problem type in flags.txt or Hugging Face's config.json, None if neither has one."""
        saved = self.saved_flags
        config_file = self.checkpoint.hugging_face_config if self.checkpoint else None
        # A GLUE task has one problem type, whatever the flag says.
        if saved.get("task_name") in TASKS:
            return TASKS[saved["task_name"]].problem_type
        if "problem_type" in saved:
            return problem_type(saved["problem_type"])
        if config_file is None:
            return None
        # Import late: it imports no TensorFlow, but safetensors, which only a Hugging Face folder needs.
        from bert_cli.weights.hugging_face import read_hugging_face_problem

        return read_hugging_face_problem(config_file)

    @functools.cached_property
    def problem_type(self) -> ProblemType | None:
        """The named problem type, or regression for a Hugging Face classifier of texts with one output.

        The first use of such a classifier logs that a number is predicted, as in transformers.
        """
        config_file = self.checkpoint.hugging_face_config if self.checkpoint else None
        named_type = self.named_problem_type
        # Of one label the probability would always be 1.
        if not config_file or named_type not in (None, SINGLE_LABEL) or not self._has_one_text_output():
            return named_type
        from bert_cli.weights.hugging_face import read_cross_encoder_activation

        activation = read_cross_encoder_activation(config_file)
        note = f", before the {activation} that sentence-transformers applies to it" if activation else ""
        LOG.info("%s: the classifier has one output, so a number is predicted: its logit%s", self.folder, note)
        return REGRESSION

    def _has_one_text_output(self) -> bool:
        names, head_type = _hugging_face_labels(self.required_checkpoint)
        return head_type in (CLASSIFIER, None) and len(names or ()) < 2 and self.num_outputs == 1

    @functools.cached_property
    def classifier_type(self) -> str | None:
        """What its classifier is, if it has one: CLASSIFIER, TAGGER or CHOICE; None where no file
        says it.
        """
        saved = self.saved_flags
        # flags.txt decides over config.json; a checkpoint of a fork of Google's scripts has
        # neither, only its labels.
        kind = _hugging_face_labels(self.required_checkpoint)[1]
        if "tag_scheme" in saved or (kind is None and "task_name" not in saved and OUTSIDE in (self.labels or ())):
            kind = TAGGER
        named_type = self.named_problem_type
        return named_type.head_type if named_type and named_type.has_endings else kind

    def calibration(self, problem_type: ProblemType, labels: Sequence[str] | None) -> Calibration | None:
        """What --calibrate has left of a classifier of texts with these labels; None where it has not."""
        if problem_type.calibration_refusal:
            return None
        return find_calibration(run_folders(self.required_checkpoint), problem_type.temperature_names(labels or ()))

    def check_files(self) -> None:
        """Read now what is else read when it is first asked for; InputError for a damaged file."""
        _ = self.labels, self.classifier_type

    @property
    def layers(self) -> tuple[int | str, ...]:
        """The layers that a tagger reads; see state_index."""
        saved = self.saved_flags.get("layers", LAST_LAYER)
        return tuple(layer.asked for layer in parse_layers(saved, self.config.num_hidden_layers))

    @property
    def text_input(self) -> TextInput:
        """What a classifier of texts reads."""
        # Models from before the flag, and from elsewhere, read the pooler, as the original does.
        return HEAD_INPUTS[self.saved_flags.get("head_input", POOLED.name)]

    @property
    def vocab_bytes(self) -> bytes | None:
        """The contents of a vocab.txt with all tokens: the file itself, if it has them."""
        is_whole = not self.tokenizer_settings.outside_wordpiece
        if self.vocab_file and is_whole and not is_tokenizer_json(self.vocab_file):
            return files.read_bytes(self.vocab_file)
        return "".join(f"{token}\n" for token in self.vocabulary.tokens).encode() if self.optional_vocabulary else None

    @property
    def tokenizer_values(self) -> dict[str, Any]:
        """The casing, and the settings that are not Google's, as in tokenizer_config.json."""
        return run_tokenizer_config(self.do_lower_case, self.tokenizer_settings)

    @property
    def tokenizer_files(self) -> dict[str, bytes]:
        """The contents of the files that a later run of this model reads text with, by name."""
        if not self.optional_vocabulary:
            return {}
        contents = {VOCABULARY: self.vocab_bytes or b""}
        if self.tokenizer_settings != GOOGLE:
            contents[TOKENIZER_CONFIG] = f"{to_json(self.tokenizer_values, indent=2)}\n".encode()
        return contents

    @property
    def fingerprint(self) -> dict[str, Any]:
        """By flag, what of a model decides its numbers; vocabulary and config by their content,
        wherever they are.
        """
        # By content, not by path: the processes of several machines may find the same files in
        # different places.
        tokens = self.vocabulary.tokens if self.optional_vocabulary else ()
        settings = self.tokenizer_settings.values()
        contents = "\n".join(tokens) + (json.dumps(settings, sort_keys=True) if settings else "")
        return {
            "do_lower_case": self.do_lower_case,
            # A module for tensorflow-hub is a checkpoint, too.
            "init_checkpoint": self.required_checkpoint.identity,
            "vocab_file": _digest(contents),
            "bert_config_file": _digest(json.dumps(self.config.values(), sort_keys=True)),
        }


AnyModel = ModelBundle[BertConfig | ModuleConfig]


def read_labels(checkpoint: CheckpointPath) -> tuple[str, ...] | None:
    """The labels in the order of the outputs: from labels.txt, else from a Hugging Face
    config.json; None for neither.
    """
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
    # Not at the top: it imports no TensorFlow, but safetensors, which only a Hugging Face folder
    # needs.
    from bert_cli.weights.hugging_face import read_hugging_face_labels

    return read_hugging_face_labels(checkpoint.hugging_face_config)


def _digest(text: str) -> str:
    # 64 bits distinguish models, and keep the file of facts readable.
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()[:16]}"
