"""Training hyperparameters in all training commands: frozen layers, optimizer, dropout, head, loss."""

import dataclasses
from typing import Any

from bert_cli.base.errors import InputError, refuse_if
from bert_cli.base.head_types import HEAD_INPUTS, POOLED, TextInput
from bert_cli.base.names import join_names, split_names
from bert_cli.flags.option import FlagGroup, deciding_option, option
from bert_cli.model.lora import DEFAULT_TARGETS, LORA_TARGETS, Lora

LOSSES = ("cross_entropy", "focal")
ADAM = "adam"  # value of --optimizer
BALANCED, NO_WEIGHTS = "balanced", "none"  # values of --class_weights
NO_RECOMPUTATION, LAYERS = "none", "layers"  # values of --recompute
_MOST_DROPOUT = 0.99
LORA_FLAGS = ("lora_rank", "lora_alpha", "lora_targets")


_WHOLE = "the whole encoder is frozen"
_NO_GRADIENT = "an encoder that is not trained needs no gradient"


def read_targets(text: str) -> tuple[str, ...]:
    """Return the names in --lora_targets; raise InputError for another name."""
    names = split_names(text)
    wrong = [name for name in names if name not in LORA_TARGETS]
    refuse_if(
        wrong or not names or len(set(names)) < len(names),
        f"--lora_targets={text}: a list of {', '.join(LORA_TARGETS)} is needed",
    )
    return tuple(name for name in LORA_TARGETS if name in names)


class LayerRates(FlagGroup, heading="Controls"):
    """Flags that freeze layers or change their learning rates."""

    freeze_encoder: bool = deciding_option(
        False,
        "train only the head; the encoder is frozen",
        excludes=("freeze_layers", "layerwise_lr_decay", "hidden_dropout_prob", "attention_dropout_prob"),
        because=_WHOLE,
    )
    freeze_layers: int | None = deciding_option(
        None, "freeze the embeddings and the lowest N layers; 0: only the embeddings", lower=0,
    )  # fmt: skip
    layerwise_lr_decay: float = deciding_option(
        1.0,
        "layer-wise learning-rate decay d; of L layers, layer i from 0 has d^(L-i) times the "
        "learning rate, the embeddings d^(L+1), pooler and head 1",
        above=0.0,
        upper=1.0,
    )

    lora_rank: int = deciding_option(
        0,
        "train adapters (LoRA) of this rank, such as 8, with pooler and head; the other weights are frozen; 0: none",
        lower=0,
        excludes=("freeze_encoder", "freeze_layers", "layerwise_lr_decay", "recompute=layers", "hub_trainable=false"),
        because="adapters freeze all other weights of the layers, and their layers are not recomputed",
    )
    lora_alpha: float = deciding_option(
        8.0, "the adapters' product is multiplied by this number / --lora_rank", above=0.0, needs="lora_rank"
    )
    lora_targets: tuple[str, ...] = deciding_option(
        DEFAULT_TARGETS,
        f"dense layers with adapters; a list of {', '.join(LORA_TARGETS)}",
        read=read_targets,
        write=join_names,
        needs="lora_rank",
    )

    @property
    def lora(self) -> Lora | None:
        """Return the adapters to train, or None."""
        return Lora(self.lora_rank, self.lora_alpha, self.lora_targets) if self.lora_rank else None

    @property
    def is_default(self) -> bool:
        """Return whether all weights of the layers are trained with the same learning rate."""
        return self.freeze_layers is None and self.layerwise_lr_decay == 1.0 and not self.lora_rank


class Optimization(FlagGroup, heading="Controls"):
    """Flags for the optimizer, the learning-rate schedule, and the steps from a batch to an update."""

    optimizer: str = deciding_option(
        "adamw",
        "optimizer; adamw: Google's; adam: with bias correction and without weight decay, as in "
        "Keras; lamb: for large batches; nadam: Adam with Nesterov momentum",
        choices=("adamw", ADAM, "lamb", "nadam"),
        excludes={f"={ADAM}": "weight_decay!=0.0"},
        because="adam has none; --optimizer=adamw --bias_correction has",
    )
    bias_correction: bool = deciding_option(False, "Adam's bias correction in adamw; Google's scripts have none")
    weight_decay: float = deciding_option(
        0.01, "decoupled weight decay; biases and LayerNorm weights are not decayed", lower=0.0
    )
    lr_schedule: str = deciding_option(
        "linear", "learning-rate schedule after the warm-up: linear (Google's) or cosine decay to 0, or constant",
        choices=("linear", "cosine", "constant"),
    )  # fmt: skip
    gradient_accumulation_steps: int = deciding_option(
        1, "micro-batches per update (gradient accumulation); --train_batch_size stays the batch of an update",
        lower=1,
    )  # fmt: skip
    auto_batch: bool = option(
        False,
        "on out-of-memory in the first step, double the accumulation steps and retry; where the "
        "batch cannot be divided further, recompute layers",
    )  # fmt: skip
    recompute: str = option(
        NO_RECOMPUTATION,
        "gradient checkpointing: what is computed once more for the gradient instead of being kept "
        "in memory; layers: the inside of each layer, with the same weights to the bit in less "
        "memory and more time",
        choices=(NO_RECOMPUTATION, LAYERS),
        excludes={f"={LAYERS}": ("freeze_encoder", "hub_trainable=false")},
        because=_NO_GRADIENT,
    )


class Dropout(FlagGroup, heading="Controls"):
    """Dropout rates in the encoder."""

    hidden_dropout_prob: float | None = deciding_option(
        None,
        "dropout of the encoder's layers; default: from bert_config.json",
        lower=0.0,
        upper=_MOST_DROPOUT,
    )
    attention_dropout_prob: float | None = deciding_option(
        None,
        "dropout of the attention probabilities; default: from bert_config.json",
        lower=0.0,
        upper=_MOST_DROPOUT,
    )


class HeadInput(FlagGroup, heading="Controls"):
    """Input and dropout for the classifier."""

    classifier_dropout: float = deciding_option(0.1, "dropout before the classifier", lower=0.0, upper=_MOST_DROPOUT)
    head_input: str = deciding_option(
        POOLED.name,
        f"input of the classifier; {'; '.join(f'{row.name}: {row.description}' for row in HEAD_INPUTS.values())}",
        choices=tuple(HEAD_INPUTS),
        remembered=True,
    )

    @property
    def text_input(self) -> TextInput:
        """Return the head input with this name."""
        return HEAD_INPUTS[self.head_input]


def parse_class_weights(text: str) -> dict[str, float]:
    """Return {label: weight} for a --class_weights such as 0=1,1=2.5 or "yes, always=2",no=1.

    Raises:
        ValueError: if a label is missing or repeated, or a weight is not a finite number from 0 on.
    """
    # Split at the last sign, because a label may contain one.
    pairs = [item.rpartition("=") for item in split_names(text)]
    weights = {name.strip(): float(weight) for name, _, weight in pairs}
    if len(weights) < len(pairs) or "" in weights or not all(0 <= weight < float("inf") for weight in weights.values()):
        raise ValueError(text)
    return weights


def check_class_weights(text: str) -> str:
    """Return the text of --class_weights; raise InputError if it is invalid."""
    if text not in (BALANCED, NO_WEIGHTS):
        try:
            parse_class_weights(text)
        except ValueError:
            raise InputError(
                f"--class_weights={text}: {BALANCED}, or a number from 0 on for each label, such "
                "as 0=1,1=2.5, is needed"
            ) from None
    return text


class Loss(FlagGroup, heading="Controls"):
    """Flags for the loss and the weights of examples."""

    loss: str = deciding_option(
        "cross_entropy",
        "loss function; focal: focal loss, examples that are predicted well count less",
        choices=LOSSES,
    )
    focal_gamma: float = deciding_option(
        2.0, "focusing parameter γ of --loss=focal; 0: cross-entropy", lower=0.0, needs="loss=focal"
    )
    label_smoothing: float = deciding_option(
        0.0,
        "label smoothing: fraction of the target spread evenly over all labels",
        lower=0.0,
        upper=0.99,
    )
    class_weights: str = deciding_option(
        NO_WEIGHTS,
        "class weights of the loss; balanced: inversely proportional to the frequency of the "
        "label; or label=weight,… (1 for other labels)",
        read=check_class_weights,
    )


def non_default_flags(*groups: Any) -> list[str]:
    """Return the names of flags in these groups with a value other than their default."""
    fields = [(group, field) for group in groups for field in dataclasses.fields(group)]
    return [field.name for group, field in fields if getattr(group, field.name) != field.default]
