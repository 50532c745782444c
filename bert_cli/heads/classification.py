"""Text classifiers: one label, several labels or a number per text, also for texts in windows."""

from typing import Any, Unpack

import tensorflow as tf

from bert_cli.base import spec
from bert_cli.base.head_types import FIRST, MEAN, POOLED, TextInput
from bert_cli.heads.losses import FORMULAS, DistillationLoss, distribution_losses
from bert_cli.heads.model import NetworkOptions, OutputLayer, TaskModel, mean_weights
from bert_cli.heads.vector_losses import same_label_losses
from bert_cli.model import ops
from bert_cli.model.config import BertConfig, ModuleConfig
from bert_cli.problem_types.registry import PROBLEM_TYPES

# Constants in the original, which ignores the config's rates for the head.
CLASSIFIER_DROPOUT = 0.1
HEAD_STDDEV = 0.02


def _mean(outputs: dict[str, tf.Tensor], mask: tf.Tensor) -> tf.Tensor:
    """Return the mean over real tokens, float32 [B, H].

    Args:
        outputs: outputs of the encoder.
        mask: int32 [B, S].
    """
    # Skip padding: it would pull the mean of short texts toward 0.
    real = tf.cast(mask, tf.float32)[:, :, tf.newaxis]  # [B, S, 1]
    return tf.reduce_sum(outputs["sequence_output"] * real, axis=1) / tf.reduce_sum(real, axis=1)


# TextInput -> function from the encoder's outputs
# and input_mask to the head's input, float32 [B, H].
TEXT_ROWS = {
    POOLED: lambda outputs, mask: outputs["pooled_output"],
    FIRST: lambda outputs, mask: outputs["first_output"],
    MEAN: _mean,
}


class ClassifierHead(OutputLayer):
    """The logits of texts or tokens, x Wᵀ + b.

    The variables are output_weights [n, H] and output_bias [n], without a scope.
    """

    def __init__(self, hidden: int, label_count: int, seed: int):
        super().__init__("classifier", hidden, label_count, HEAD_STDDEV, seed)
        # The original uses no scope in checkpoints. Set the names after creating the weights, whose
        # seeds depend on the scope.
        self.checkpoint_names = ["output_weights", "output_bias"]

    def call(self, pooled: tf.Tensor, dropout_rate: float = 0.0, seed: tf.Tensor | None = None) -> tf.Tensor:
        """Return logits, float32 [B, n].

        Args:
            pooled: float32 [B, H].
            dropout_rate: rate before the product.
            seed: seed of dropout; None for no dropout.
        """
        return super().call(ops.dropout(pooled, dropout_rate, seed))


class BertTextClassifier(TaskModel):
    """The encoder and classifier head for run_classifier.py.

    The input is a dict of int32 [B, S], the output is logits, float32 [B, n]. The variables are the
    same for every `problem_type`:

    single_label  softmax over n labels; loss: cross-entropy
    multi_label   a sigmoid per label; loss: the mean over n binary cross-entropies
    regression    a number, n = 1; loss: the squared error

    Args:
        config: config of the encoder.
        label_count: n.
        problem_type: a key of PROBLEM_TYPES.
        text_input: the encoder output that the head reads.
        distillation: loss with a teacher; the batches contain its logits; None for no teacher.
        temperatures: `activate` divides the logits by them, see HeadSpec. Empty in commands that
            predict: these calibrate with NumPy.
        loss_columns: further columns of training batches: spec.EXAMPLE_WEIGHT, spec.LABEL_DISTRIBUTION.
        options: see NetworkOptions.

    Raises:
        ValueError: for an unknown problem_type, and for a regression with several numbers or with
            distillation.
    """

    head_dropout = CLASSIFIER_DROPOUT

    def __init__(
        self,
        config: BertConfig | ModuleConfig,
        label_count: int,
        problem_type: str = "single_label",
        text_input: TextInput = POOLED,
        distillation: DistillationLoss | None = None,
        temperatures: tuple[float, ...] = (),
        loss_columns: tuple[spec.BatchColumn, ...] = (),
        **options: Unpack[NetworkOptions],
    ):
        problem = PROBLEM_TYPES.get(problem_type)
        if problem is None or problem.reader.num_outputs not in (None, label_count):
            raise ValueError(f"{problem_type} with {label_count} labels")
        super().__init__("classifier_model", config, **options)
        self.problem_type = problem
        self.text_input = text_input
        self.formulas = FORMULAS[problem_type]
        self.columns = problem.batch_columns
        self.distillation = distillation
        self.temperatures = temperatures
        if distillation:
            if self.formulas.divergence is None:
                raise ValueError(f"{problem_type} has no distillation")
            self.columns = (*self.columns, *spec.DISTILLATION)
        self.columns = (*self.columns, *loss_columns)
        self.head = ClassifierHead(config.hidden_size, label_count, self.seed)

    @property
    def state_columns(self) -> tuple[spec.BatchColumn, ...]:
        return spec.with_states(self.columns)

    def states(
        self, inputs: dict[str, tf.Tensor], training: bool = False, seed: tf.Tensor | None = None, packed: bool = False
    ) -> tf.Tensor:
        """Return float32 [B, W], see TaskModel."""
        only_first = not self.text_input.reads_tokens
        outputs = self.encoder(inputs, training=training, seed=seed, packed=packed, pooled_only=only_first)
        return TEXT_ROWS[self.text_input](outputs, inputs["input_mask"])

    def call(
        self,
        inputs: dict[str, tf.Tensor],
        training: bool = False,
        seed: tf.Tensor | None = None,
        packed: bool = False,
        frozen: bool = False,
    ) -> tf.Tensor:
        """Return the logits, float32 [B, n].

        Args:
            inputs: dict of int32 [B, S].
            training: apply dropout.
            seed: seed of dropout; None for a new random one.
            packed: skip padding.
            frozen: no dropout in the encoder, because it is not trained.
        """
        # Training steps pass a seed. This is for users who call the model directly.
        if training and seed is None:
            seed = tf.random.uniform([2], maxval=2**31 - 1, dtype=tf.int32)
        return self.head_logits(self.states(inputs, training and not frozen, seed, packed), seed if training else None)

    def head_logits(self, states: tf.Tensor, seed: tf.Tensor | None = None) -> tf.Tensor:
        """Return the logits [B, n] of states, float32 [B, W].

        Args:
            states: see `states`.
            seed: seed of a training step for dropout; None for no dropout.
        """
        if seed is not None:
            seed = ops.offset_seed(seed, 1, 0)  # the encoder uses even offsets
        return self.head(states, dropout_rate=self.head_dropout, seed=seed)

    def trained_logits(self, batch: dict, seed: tf.Tensor | None, packed: bool, frozen: bool) -> tf.Tensor:
        """Return the logits for a training batch, float32 [B, n].

        Args:
            batch: columns as in `columns` or `state_columns`.
            seed, packed, frozen: see `loss_terms`.
        """
        if "states" in batch:
            return self.head_logits(batch["states"], seed)
        return self(spec.encoder_inputs(batch), training=True, seed=seed, packed=packed, frozen=frozen)

    def loss_terms(
        self, batch: dict, seed: tf.Tensor | None, packed: bool, batch_size: int, frozen: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Return losses and weights for the mean over examples, see TaskModel; n = B."""
        logits = self.trained_logits(batch, seed, packed, frozen)
        if spec.LABEL_DISTRIBUTION in self.columns:
            losses = distribution_losses(batch[spec.LABEL_DISTRIBUTION.name], logits, self.loss_rule)
        else:
            losses = self.formulas.losses(batch["label_ids"], logits, self.loss_rule)
        if self.distillation:
            # Rows without a label have label_ids of 0; has_label = 0 removes their loss.
            hard = losses * batch["has_label"]
            losses = self.distillation.losses(self.formulas, batch["teacher_logits"], logits, hard)
        if spec.EXAMPLE_WEIGHT in self.columns:
            losses *= batch[spec.EXAMPLE_WEIGHT.name]
        return losses, mean_weights(losses, batch_size)

    def sequence_logits(self, inputs: dict[str, tf.Tensor], packed: bool) -> tf.Tensor:
        return self.head(self.states(inputs, packed=packed))

    def activate(self, logits: tf.Tensor) -> tf.Tensor:
        """Return the predictions for logits [B, n].

        These are probabilities, float32 [B, n], or a regression's numbers, [B].
        """
        return self.formulas.activate(logits / self.temperatures if self.temperatures else logits)


class BertWindowsClassifier(BertTextClassifier):
    """A BertTextClassifier for texts in up to K windows, which averages the windows' logits.

    The input is a dict of int32 [B, K, S], the output is logits, float32 [B, n]. So the loss is per
    text. Windows without tokens are skipped. Variables and arguments are the same as
    in BertTextClassifier.
    """

    # The number of states per text varies, so they cannot be kept for training.
    state_columns = ()

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.columns = spec.with_windows(self.columns)

    def call(
        self,
        inputs: dict[str, tf.Tensor],
        training: bool = False,
        seed: tf.Tensor | None = None,
        packed: bool = False,
        frozen: bool = False,
    ) -> tf.Tensor:
        mask = inputs["input_mask"]  # [B, K, S]
        shape = tf.shape(mask)
        # Compute only the W windows that have tokens.
        if packed:
            windows = tf.where(mask[:, :, 0] > 0)
            rows = {name: tf.gather_nd(values, windows) for name, values in inputs.items()}  # [W, S]
            logits = super().call(rows, training=training, seed=seed, packed=packed, frozen=frozen)  # [W, n]
            return tf.math.unsorted_segment_mean(logits, windows[:, 0], shape[0])
        # Without packing, for example on a TPU, compute empty windows too, and give them no weight.
        rows = {name: tf.reshape(values, [-1, shape[2]]) for name, values in inputs.items()}  # [B·K, S]
        logits = super().call(rows, training=training, seed=seed, packed=packed, frozen=frozen)  # [B·K, n]
        return mean_of_windows(tf.reshape(logits, [shape[0], shape[1], logits.shape[-1]]), mask[:, :, 0])


def mean_of_windows(logits: tf.Tensor, is_window: tf.Tensor) -> tf.Tensor:
    """Return the mean over the windows of each text, float32 [B, n].

    Args:
        logits: float32 [B, K, n].
        is_window: int32 [B, K], 0 for an empty window.
    """
    weights = tf.cast(is_window, logits.dtype)
    return tf.einsum("bkn,bk->bn", logits, weights) / tf.reduce_sum(weights, axis=1, keepdims=True)


class BertContrastiveClassifier(BertTextClassifier):
    """A BertTextClassifier that is trained to have similar vectors for texts with the same label.

    The loss of a pair of rows is (cos(u, v) - s)², with the head's inputs u and v. s is 1 if both have
    the same label, and 0 otherwise. This is CosineSimilarityLoss of sentence-transformers, as SetFit
    uses it (Tunstall et al., 2022), for all pairs in a batch. If there are several replicas, each
    has its own pairs. The head has no gradient.
    """

    def without_gradient(self, frozen: bool = False) -> set[str]:
        return super().without_gradient(frozen) | set(self.head.checkpoint_names)

    def loss_terms(
        self, batch: dict, seed: tf.Tensor | None, packed: bool, batch_size: int, frozen: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Return losses and weights for the mean over examples, see TaskModel; n = B."""
        states = self.states(spec.encoder_inputs(batch), training=True, seed=seed, packed=packed)
        losses = same_label_losses(states, batch["label_ids"])
        return losses, mean_weights(losses, batch_size)
