"""Checks for the flags in settings/controls.py, and their use for the model and its training."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.formats import list_names
from bert_cli.base.log import LOG
from bert_cli.flags.refusals import first_excluded
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.problem_types.optional_parts import require
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.runtime.cluster import is_multi_worker
from bert_cli.settings.classification import ClassifySettings
from bert_cli.settings.controls import (
    ADAM,
    BALANCED,
    NO_RECOMPUTATION,
    NO_WEIGHTS,
    Dropout,
    LayerRates,
    Loss,
    non_default_flags,
    parse_class_weights,
)
from bert_cli.settings.training import TrainingSettings
from bert_cli.training.optimizers.hyperparameters import FROZEN_ENCODER, layer_factors, rate_factors
from bert_cli.weights.variables import is_lora_variable

if TYPE_CHECKING:
    from bert_cli.heads.model import TrainingRule


def check_controls(settings: TrainingSettings, config: BertConfig | ModuleConfig) -> None:
    """Raise InputError for controls that do not fit the batch size, the processes or the model."""
    _check_updates(settings)
    if isinstance(config, ModuleConfig):
        _check_module(settings)
    frozen, num_layers = settings.rates.freeze_layers, config.num_hidden_layers
    is_too_large = frozen is not None and frozen > num_layers
    refuse_if(is_too_large, f"--freeze_layers={frozen}: the model has {num_layers} layers; give at most {num_layers}")


def _check_updates(settings: TrainingSettings) -> None:
    """Log the size of micro-batches; raise InputError if the batch cannot be divided into them."""
    flags, batch_size = settings.optimization, settings.training.train_batch_size
    steps = flags.gradient_accumulation_steps
    refuse_if(
        batch_size % steps,
        f"--gradient_accumulation_steps={steps}: --train_batch_size={batch_size}, the examples of "
        f"an update, is no multiple of it; {max(1, batch_size // steps) * steps} would be",
    )
    has_workers = flags.auto_batch and is_multi_worker(settings.devices.distribution_strategy)
    refuse_if(has_workers, "--auto_batch works in one process only; give --gradient_accumulation_steps")
    if steps > 1:
        LOG.info(
            "--gradient_accumulation_steps=%d: each update has the %d examples of --train_batch_size, in %d parts of %d "
            "(in transformers, an update would have %d)",
            steps, batch_size, steps, batch_size // steps, batch_size * steps,
        )  # fmt: skip


def _check_module(settings: TrainingSettings) -> None:
    """Raise InputError for controls of a BERT if the encoder is a tensorflow-hub module."""
    recompute, advice = settings.optimization.recompute, "--freeze_encoder leaves all of it as it is"
    refuse_if(
        recompute != NO_RECOMPUTATION,
        f"--recompute={recompute} recomputes the layers of a BERT, and this module computes its own; leave it out",
    )
    refuse_if(
        not settings.rates.is_default,
        f"--freeze_layers, --layerwise_lr_decay and --lora_rank need the layers of a BERT; this module is none; {advice}",
    )
    dropouts = "--hidden_dropout_prob and --attention_dropout_prob"
    is_changed = settings.dropout != Dropout()
    refuse_if(is_changed, f"{dropouts} apply to a BERT; this module has its own dropout")


def freezes_encoder(settings: TrainingSettings) -> bool:
    """Return whether training leaves all encoder weights unchanged."""
    return settings.rates.freeze_encoder or not settings.hub.hub_trainable


def update_rules(settings: TrainingSettings) -> dict[str, Any]:
    """Return the fields of TrainingHyperparameters that define how a batch becomes an update."""
    flags = settings.optimization
    is_adam = flags.optimizer == ADAM
    return {
        "optimizer": flags.optimizer,
        "bias_correction": is_adam or flags.bias_correction,
        "weight_decay": 0.0 if is_adam else flags.weight_decay,
        "lr_schedule": flags.lr_schedule,
        "accumulation_steps": flags.gradient_accumulation_steps,
        "auto_batch": flags.auto_batch,
    }


def learning_rate_factors(
    variable_names: Iterable[str],
    config: BertConfig | ModuleConfig,
    rates: LayerRates,
    freezes_encoder: bool,
) -> dict[str, float]:
    """Return each variable's learning-rate factor, 0 if it is frozen.

    Args:
        rates: flags with --layerwise_lr_decay and --freeze_layers.
        freezes_encoder: whether all encoder factors are 0.
    """
    if freezes_encoder:
        return rate_factors(variable_names, FROZEN_ENCODER)
    if rates.lora:
        frozen = {"bert/embeddings": 0.0, "bert/encoder": 0.0}
        names = list(variable_names)
        return rate_factors(names, frozen) | {name: 1.0 for name in names if is_lora_variable(name)}
    factors_by_layer = layer_factors(config.num_hidden_layers, rates.layerwise_lr_decay, rates.freeze_layers)
    return rate_factors(variable_names, factors_by_layer)


def training_rule(settings: TrainingSettings, class_weights: tuple | None) -> "TrainingRule":
    """Return loss, dropout and recomputation for these settings; import TensorFlow.

    Args:
        class_weights: result of `class_weights`.
    """
    from bert_cli.heads.losses import LossRule
    from bert_cli.heads.model import TrainingRule

    loss, dropout = settings.loss, settings.dropout
    return TrainingRule(
        LossRule(loss.label_smoothing, loss.focal_gamma if loss.loss == "focal" else None, class_weights),
        settings.head.classifier_dropout,
        dropout.hidden_dropout_prob,
        dropout.attention_dropout_prob,
        settings.optimization.recompute != NO_RECOMPUTATION,
        settings.rates.lora,
    )


def check_choice_flags(settings: ClassifySettings) -> None:
    """Raise InputError for flags that have no meaning for multiple choice.

    The training run or the task may have chosen it, so a rule of --choice_columns is not enough.
    """
    task = settings.task.task_name
    source = f"--task_name={task}" if task else "--choice_columns"
    refuse_if(
        task and settings.data.header == "no", f"{source} has its columns by name; --header=no does not go with it"
    )
    excluded = first_excluded(settings, "choice_columns")
    if len(settings.columns.label_columns) > 1:
        excluded = "--label_column with several columns"
    refuse_if(excluded, f"{source} has endings of a text, of which one is right; {excluded} does not go with it")


def class_weights(
    loss_flags: Loss, problem_type: ProblemType, labels: Sequence[str], label_ids: np.ndarray
) -> tuple | None:
    """Return label weights for the loss, with a mean of 1 over all rows, or None for equal weights.

    Single-label classification has a number per label. "balanced" is rows / (labels · rows with the
    label), as in scikit-learn. In multi-label classification, each label is a separate question, so
    it has a pair of numbers, for rows without and with the label.

    Args:
        loss_flags: flags with --class_weights.
        problem_type: the labels' problem type.
        labels: label names.
        label_ids: labels of all training rows, see LabelReader.label_array.

    Raises:
        InputError: the flags have no meaning for these labels.
    """
    changed_loss_flags = ", ".join(f"--{flag}" for flag in non_default_flags(loss_flags))
    if not changed_loss_flags:
        return None
    label_loss = require(problem_type.label_loss, changed_loss_flags)
    if loss_flags.class_weights == NO_WEIGHTS:
        return None
    label_weights = require(label_loss.class_weights, "--class_weights")
    counts = label_weights.label_counts(label_ids, len(labels))
    if loss_flags.class_weights == BALANCED:
        num_used_labels = (counts > 0).sum(axis=-1, keepdims=True)
        weights = counts.sum(axis=-1, keepdims=True) / (num_used_labels * np.maximum(counts, 1.0))
    else:
        given_by_label = parse_class_weights(loss_flags.class_weights)
        if unknown := [name for name in given_by_label if name not in labels]:
            raise InputError(f"--class_weights: {unknown[0]} is not a label; the labels are {list_names(labels)}")
        weights = label_weights.label_weights(np.array([given_by_label.get(label, 1.0) for label in labels]))
    mean_weight = (counts * weights).sum(axis=-1, keepdims=True) / counts.sum(axis=-1, keepdims=True)
    if not mean_weight.all():
        raise InputError("--class_weights: leaves nothing to train on: all rows have a weight of 0")
    return tuple((weights / mean_weight).tolist())
