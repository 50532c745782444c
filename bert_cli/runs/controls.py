"""The groups of settings/controls.py in a run: what is refused, and what the model and its training are given."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from bert_cli.base.errors import InputError
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.runs.task import TrainingSettings
from bert_cli.settings.controls import Dropout, LayerRates, check_accumulation, check_rates
from bert_cli.training.factors import FROZEN_ENCODER, layer_factors, rate_factors

if TYPE_CHECKING:
    from bert_cli.heads.model import TaskModel


def check(settings: TrainingSettings, config: BertConfig | ModuleConfig, freezes_encoder: bool) -> None:
    """InputError for controls that do not go together, or not with the model."""
    rates, layers = settings.rates, config.num_hidden_layers
    check_rates(rates)
    check_accumulation(settings.training.train_batch_size, settings.optimization.gradient_accumulation_steps)
    if isinstance(config, ModuleConfig):
        if not rates.is_default:
            raise InputError(
                "--freeze_layers and --layerwise_lr_decay are about the layers of a BERT, and this module is none; "
                "--freeze_encoder leaves all of it as it is"
            )
        if settings.dropout != Dropout():
            raise InputError(
                "--hidden_dropout_prob and --attention_dropout_prob are about a BERT; this module has a dropout of its own"
            )
    elif freezes_encoder and not rates.is_default:
        raise InputError(
            "--hub_trainable=false leaves nothing for --freeze_layers and --layerwise_lr_decay to be about"
        )
    elif freezes_encoder and settings.dropout != Dropout():
        raise InputError(
            "--hidden_dropout_prob and --attention_dropout_prob: an encoder that is not trained has no dropout"
        )
    if rates.freeze_layers is not None and rates.freeze_layers > layers:
        raise InputError(f"--freeze_layers={rates.freeze_layers}: the model has {layers} layers; give at most {layers}")


def update_rules(settings: TrainingSettings) -> dict[str, Any]:
    """The fields of training.updates.Updates that say how a batch becomes an update."""
    rules = settings.optimization
    return {
        "optimizer": rules.optimizer,
        "weight_decay": rules.weight_decay,
        "lr_schedule": rules.lr_schedule,
        "parts": rules.gradient_accumulation_steps,
    }


def factors(
    names: Iterable[str], config: BertConfig | ModuleConfig, rates: LayerRates, freezes_encoder: bool
) -> dict[str, float]:
    """The factor of the learning rate of each variable; see training.factors."""
    if freezes_encoder:
        return rate_factors(names, FROZEN_ENCODER)
    if rates.is_default:
        return rate_factors(names, {})
    return rate_factors(names, layer_factors(config.num_hidden_layers, rates.layerwise_lr_decay, rates.freeze_layers))


def set_dropout(model: "TaskModel", settings: TrainingSettings) -> None:
    """The rates of dropout that training has; outside of it there is none, so nothing else reads them."""
    dropout, of_head = settings.dropout, getattr(settings, "head_dropout", None)
    if dropout != Dropout():
        model.encoder.set_dropout(dropout.hidden_dropout_prob, dropout.attention_dropout_prob)
    if of_head:
        model.head_dropout = of_head.classifier_dropout
