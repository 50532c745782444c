"""The groups of settings/controls.py in a run: what is refused, and what the model and its training
are given.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from bert_cli.base.errors import InputError
from bert_cli.base.messages import list_names
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.problem_types.problem_type import ProblemType
from bert_cli.runtime.cluster import is_multi_worker
from bert_cli.settings.checks import check_controls
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

if TYPE_CHECKING:
    from bert_cli.heads.model import TrainingRule


def check(settings: TrainingSettings, config: BertConfig | ModuleConfig, freezes_encoder: bool) -> None:
    """InputError for controls that do not go together, or not with the model."""
    rates = settings.rates
    layers = config.num_hidden_layers
    check_controls(settings)
    if settings.optimization.auto_batch and is_multi_worker(settings.devices.distribution_strategy):
        raise InputError("--auto_batch works in one process only; give --gradient_accumulation_steps")
    recompute = settings.optimization.recompute
    if recompute != NO_RECOMPUTATION and (freezes_encoder or isinstance(config, ModuleConfig)):
        reason = "an encoder that is not trained needs none" if freezes_encoder else "this module computes its own"
        raise InputError(
            f"--recompute={recompute} saves memory of the gradient of a BERT's layers, and {reason}; leave it out"
        )
    if isinstance(config, ModuleConfig):
        if not rates.is_default:
            raise InputError(
                "--freeze_layers and --layerwise_lr_decay are about the layers of a BERT, and this "
                "module is none; --freeze_encoder leaves all of it as it is"
            )
        if settings.dropout != Dropout():
            raise InputError(
                "--hidden_dropout_prob and --attention_dropout_prob apply to a BERT; this module has its own dropout"
            )
    elif freezes_encoder and not rates.is_default:
        raise InputError(
            "--hub_trainable=false cannot be combined with --freeze_layers or "
            "--layerwise_lr_decay: the whole encoder is frozen"
        )
    elif freezes_encoder and settings.dropout != Dropout():
        raise InputError(
            "--hidden_dropout_prob and --attention_dropout_prob: an encoder that is not trained has no dropout"
        )
    if rates.freeze_layers is not None and rates.freeze_layers > layers:
        raise InputError(f"--freeze_layers={rates.freeze_layers}: the model has {layers} layers; give at most {layers}")


def update_rules(settings: TrainingSettings) -> dict[str, Any]:
    """The fields of training.optimizers.hyperparameters.TrainingHyperparameters that say how a
    batch becomes an update.
    """
    rules = settings.optimization
    is_adam = rules.optimizer == ADAM
    return {
        "optimizer": rules.optimizer,
        "bias_correction": is_adam or rules.bias_correction,
        "weight_decay": 0.0 if is_adam else rules.weight_decay,
        "lr_schedule": rules.lr_schedule,
        "accumulation_steps": rules.gradient_accumulation_steps,
        "auto_batch": rules.auto_batch,
    }


def factors(
    names: Iterable[str],
    config: BertConfig | ModuleConfig,
    rates: LayerRates,
    freezes_encoder: bool,
) -> dict[str, float]:
    """The factor of the learning rate of each variable; see training.optimizers.hyperparameters.rate_factors."""
    if freezes_encoder:
        return rate_factors(names, FROZEN_ENCODER)
    by_layer = layer_factors(config.num_hidden_layers, rates.layerwise_lr_decay, rates.freeze_layers)
    return rate_factors(names, by_layer)


def training_rule(settings: TrainingSettings, weights: tuple | None) -> "TrainingRule":
    """The loss, dropout and recomputation that the settings ask for. Imports TensorFlow. weights:
    what class_weights says of the task.
    """
    from bert_cli.heads.losses import LossRule
    from bert_cli.heads.model import TrainingRule

    loss, dropout = settings.loss, settings.dropout
    return TrainingRule(
        LossRule(loss.label_smoothing, loss.focal_gamma if loss.loss == "focal" else None, weights),
        settings.head.classifier_dropout,
        dropout.hidden_dropout_prob,
        dropout.attention_dropout_prob,
        settings.optimization.recompute != NO_RECOMPUTATION,
    )


def class_weights(loss: Loss, problem_type: ProblemType, labels: Sequence[str], label_ids: np.ndarray) -> tuple | None:
    """The weight of each label in the loss, None for equal ones; the mean over all rows is 1.

    label_ids: of all rows, see ProblemType.label_array. For single-label classification a number
    for each label: balanced is rows / (labels · rows with it), as in scikit-learn. For multi-label
    classification, where each label is a question of its own, a pair of numbers for each: of the
    rows without and with it. InputError for what has no meaning.
    """
    changed = ", ".join(f"--{flag}" for flag in non_default_flags(loss))
    if problem_type.loss_refusal and changed:
        raise InputError(f"{changed}: {problem_type.loss_refusal}")
    if loss.class_weights == NO_WEIGHTS:
        return None
    if problem_type.class_weights_refusal:
        raise InputError(f"--class_weights: {problem_type.class_weights_refusal}")
    counts = problem_type.label_counts(label_ids, len(labels))
    if loss.class_weights == BALANCED:
        used = (counts > 0).sum(axis=-1, keepdims=True)
        weights = counts.sum(axis=-1, keepdims=True) / (used * np.maximum(counts, 1.0))
    else:
        given = parse_class_weights(loss.class_weights)
        if unknown := [name for name in given if name not in labels]:
            raise InputError(f"--class_weights: {unknown[0]} is not a label; the labels are {list_names(labels)}")
        weights = problem_type.label_weights(np.array([given.get(label, 1.0) for label in labels]))
    mean = (counts * weights).sum(axis=-1, keepdims=True) / counts.sum(axis=-1, keepdims=True)
    if not mean.all():
        raise InputError("--class_weights: leaves nothing to train on: all rows have a weight of 0")
    return tuple((weights / mean).tolist())
