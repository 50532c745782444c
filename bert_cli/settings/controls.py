"""What is trained, how, and on which loss: the groups of controls that the commands that train share."""

import dataclasses
from typing import Any

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import HEAD_INPUTS, POOLED, TextInput
from bert_cli.flags.option import FlagGroup, deciding, option

LOSSES = ("cross_entropy", "focal")
ADAM = "adam"  # of --optimizer
BALANCED, NO_WEIGHTS = "balanced", "none"  # of --class_weights
_MOST_DROPOUT = 0.99


class LayerRates(FlagGroup, heading="Controls"):
    """Which layers are trained, and how fast."""

    freeze_encoder: bool = deciding(
        False, "train nothing but what stands on top of the encoder, which is left as it is"
    )
    freeze_layers: int | None = deciding(
        None, "leave the embeddings and so many of the lowest layers as they are; 0: the embeddings alone", lower=0,
    )  # fmt: skip
    layerwise_lr_decay: float = deciding(
        1.0,
        "d: of L layers the top one has d times the learning rate, each layer d times that of the one above, the embeddings "
        "d^(L+1); the head and the pooler have all of it",
        lower=0.0,
        upper=1.0,
    )

    @property
    def is_default(self) -> bool:
        """Whether all layers are trained alike, as far as freeze_layers and layerwise_lr_decay say."""
        return self.freeze_layers is None and self.layerwise_lr_decay == 1.0


class Optimization(FlagGroup, heading="Controls"):
    """The optimizer, the schedule of its learning rate, and how a batch becomes an update."""

    optimizer: str = deciding(
        "adamw",
        "adamw: Google's; adam: with bias correction and without weight decay, as in Keras; lamb: for large batches; nadam: "
        "Adam with Nesterov's momentum",
        choices=("adamw", ADAM, "lamb", "nadam"),
    )
    bias_correction: bool = deciding(
        False, "of adamw: divide its moments by 1 - beta^t, as other libraries do; Google's scripts do not"
    )
    weight_decay: float = deciding(
        0.01, "what each weight but biases and normalisation shrinks by, times the learning rate", lower=0.0
    )
    lr_schedule: str = deciding(
        "linear", "how the learning rate goes on after its rise: linear (Google's) or cosine to 0, or constant",
        choices=("linear", "cosine", "constant"),
    )  # fmt: skip
    gradient_accumulation_steps: int = deciding(
        1, "compute each update's --train_batch_size in so many parts, one after the other, which takes less memory",
        lower=1,
    )  # fmt: skip
    auto_batch: bool = option(
        False, "where memory does not suffice for the first update, compute it and all others in twice as many parts, as "
        "often as it takes",
    )  # fmt: skip


class Dropout(FlagGroup, heading="Controls"):
    """Dropout of the encoder."""

    hidden_dropout_prob: float | None = deciding(
        None, "dropout of the encoder's layers; default: as bert_config.json says", lower=0.0, upper=_MOST_DROPOUT
    )
    attention_dropout_prob: float | None = deciding(
        None,
        "dropout of the attention probabilities; default: as bert_config.json says",
        lower=0.0,
        upper=_MOST_DROPOUT,
    )


class Head(FlagGroup, heading="Controls"):
    """What the classifier reads, and its dropout."""

    classifier_dropout: float = deciding(0.1, "dropout of what the classifier reads", lower=0.0, upper=_MOST_DROPOUT)
    head_input: str = deciding(
        POOLED.name,
        f"what the classifier reads: {'; '.join(f'{each.name}: {each.description}' for each in HEAD_INPUTS.values())}",
        choices=tuple(HEAD_INPUTS),
        remembered=True,
    )

    @property
    def text_input(self) -> TextInput:
        return HEAD_INPUTS[self.head_input]


def given_weights(text: str) -> dict[str, float]:
    """The weights by label that --class_weights names. ValueError where it names none, or one twice."""
    # From the right: a label may hold the sign itself.
    pairs = [part.rpartition("=") for part in text.split(",")]
    weights = {name.strip(): float(weight) for name, _, weight in pairs}
    if len(weights) < len(pairs) or "" in weights or not all(0 <= weight < float("inf") for weight in weights.values()):
        raise ValueError(text)
    return weights


def check_class_weights(text: str) -> str:
    """The value of --class_weights. InputError for one that has no meaning."""
    if text not in (BALANCED, NO_WEIGHTS):
        try:
            given_weights(text)
        except ValueError:
            raise InputError(
                f"--class_weights={text}: {BALANCED}, or a number from 0 on for each label, such as 0=1,1=2.5, is needed"
            ) from None
    return text


class Loss(FlagGroup, heading="Controls"):
    """The loss, and what its examples count."""

    loss: str = deciding("cross_entropy", "focal: what is predicted well already counts less", choices=LOSSES)
    focal_gamma: float = deciding(2.0, "how much less, with --loss=focal: the power of 1 - p", lower=0.0)
    label_smoothing: float = deciding(
        0.0, "share of each label that is spread evenly over all labels", lower=0.0, upper=0.99
    )
    class_weights: str = deciding(
        NO_WEIGHTS,
        "what the examples of a label count in the loss: balanced: each label as much as any other; or label=weight,… "
        "(1 for those not named)",
        read=check_class_weights,
    )


def changed_flags(*groups: Any) -> list[str]:
    """Names of the flags of these groups that have another value than their default."""
    fields = [(group, field) for group in groups for field in dataclasses.fields(group)]
    return [field.name for group, field in fields if getattr(group, field.name) != field.default]
