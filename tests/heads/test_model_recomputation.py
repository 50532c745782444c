"""Gradient checkpointing gives bitwise equal weights for every head."""

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.base.head_types import HEAD_INPUTS
from bert_cli.base.spec import INPUTS
from bert_cli.heads.choice import BertChoice
from bert_cli.heads.classification import BertTextClassifier, BertWindowsClassifier
from bert_cli.heads.losses import DistillationLoss, LossRule
from bert_cli.heads.model import TaskModel, TrainingRule, tensor_specs
from bert_cli.heads.pretraining import BertPretrainer
from bert_cli.heads.squad import BertSpanModel
from bert_cli.heads.tagging import BertTagger
from bert_cli.model.config import BertConfig
from bert_cli.model.layers import named_weights
from bert_cli.training.loss_scale import LossScale
from bert_cli.training.optimizers.adamw import AdamWeightDecay
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters, layer_factors, rate_factors
from bert_cli.training.step import make_train_step

pytestmark = pytest.mark.slow
STEPS = 2
LENGTHS = {"B": 4, "S": 24, "K": 3, "P": 5, "L": 3}
SIZES = {
    "vocab_size": 90, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 2, "intermediate_size": 64,
    "max_position_embeddings": LENGTHS["S"], "type_vocab_size": 2, "gelu": "erf",
}  # fmt: skip


def batch_of(model: TaskModel) -> dict[str, tf.Tensor]:
    """Return random rows, a third of them short, which are computed separately from long rows."""
    rng, batch = np.random.default_rng(4), {}
    for column in model.columns:
        shape = [LENGTHS[letter] for letter in column.shape]
        if column.name == INPUTS[1]:
            short = np.where(np.arange(np.prod(shape[:-1])) % 3 == 1, 6, LENGTHS["S"] - 1).reshape(*shape[:-1], 1)
            values = np.arange(LENGTHS["S"]) < short
        elif column.name == INPUTS[0]:
            values = rng.integers(1, SIZES["vocab_size"], shape)
        elif column.name.startswith("masked_lm"):
            values = 1 + rng.integers(0, 5, shape)
        else:
            values = rng.integers(0, 2, shape)
        batch[column.name] = tf.constant(values.astype(column.dtype))
    return batch


def train(
    make: Callable[..., TaskModel],
    recomputes: bool,
    dtype: str = "float32",
    accumulation_steps: int = 1,
    frozen: int | None = None,
    packed: bool = True,
    rule: dict | None = None,
    **changes: object,
) -> dict[str, np.ndarray]:
    """Return the weights and losses after STEPS updates."""
    config = BertConfig(**(SIZES | changes))
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    with strategy.scope():
        model = make(config, compute_dtype=dtype, seed=2, rule=TrainingRule(**(rule or {}), recomputes=recomputes))
        variables = named_weights(model)
        layers = layer_factors(config.num_hidden_layers, 1.0, frozen)
        factors = rate_factors(variables, layers) | dict.fromkeys(model.without_gradient(), 0.0)
        optimizer = AdamWeightDecay(variables, TrainingHyperparameters(10, 0, 1e-2, 1, 0), factors)
        scale = LossScale() if dtype == "float16" else None

    def loss_fn(batch, seed):
        losses, weights = model.loss_terms(batch, seed, packed, LENGTHS["B"])
        return tf.reduce_sum(losses * weights)

    step = make_train_step(strategy, loss_fn, optimizer, 3, scale, tensor_specs(model.columns), accumulation_steps)
    batch = batch_of(model)
    losses = [step(batch)[0].numpy() for _ in range(STEPS)]
    assert np.all(np.isfinite(losses))
    return {"losses": np.array(losses)} | {name: variable.numpy() for name, variable in variables.items()}


def assert_same_bits(make: Callable[..., TaskModel], **options: object) -> None:
    expected, actual = (train(make, recomputes, **options) for recomputes in (False, True))
    assert actual.keys() == expected.keys()
    assert [name for name, value in expected.items() if actual[name].tobytes() != value.tobytes()] == []


def classifier(config, label_count=3, **options):
    return BertTextClassifier(config, label_count, **options)


HEADS = {
    "first": lambda config, **options: classifier(config, text_input=HEAD_INPUTS["cls"], **options),
    "mean": lambda config, **options: classifier(config, text_input=HEAD_INPUTS["mean"], **options),
    "multi-label": lambda config, **options: classifier(config, problem_type="multi_label", **options),
    "number": lambda config, **options: classifier(config, 1, problem_type="regression", **options),
    "distilled": lambda config, **options: classifier(config, distillation=DistillationLoss(2.0, 0.5), **options),
    "windows": lambda config, **options: BertWindowsClassifier(config, 3, **options),
    "choice": lambda config, **options: BertChoice(config, 1, "multiple_choice", **options),
    "tags": lambda config, **options: BertTagger(config, 3, **options),
    "tags of layers side by side": lambda config, **options: BertTagger(config, 3, (0, 1, -1), **options),
    "tags of a lower layer": lambda config, **options: BertTagger(config, 3, ("embedding", 0), **options),
    "answers": BertSpanModel,
    "answers without padding": lambda config, **options: BertSpanModel(config, skip_padding=True, **options),
    "masked words": BertPretrainer,
    "masked words alone": lambda config, **options: BertPretrainer(config, use_next_sentence=False, **options),
}


@pytest.mark.parametrize("name", HEADS)
def test_every_head(name):
    assert_same_bits(HEADS[name])


NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("changes", [{}, {"gelu": "tanh"}, {"hidden_act": "relu"}, NO_DROPOUT], ids=str)
def test_precisions_and_activations(dtype, changes):
    assert_same_bits(classifier, dtype=dtype, **changes)


@pytest.mark.parametrize(
    "options",
    [
        {"accumulation_steps": 4},
        {"accumulation_steps": 2, "dtype": "bfloat16"},
        {"accumulation_steps": 2, "dtype": "float16", "frozen": 1},
        {"frozen": 0},
        {"frozen": 2, "dtype": "bfloat16"},
        {"frozen": 3},
        {"packed": False},
        {"num_hidden_layers": 1},
        {"rule": {"loss": LossRule(smoothing=0.1, focal_gamma=2.0), "head_dropout": 0.3, "hidden_dropout": 0.2}},
        {"model_type": "distilbert", "type_vocab_size": 0},
        {"model_type": "electra", "embedding_size": 16},
    ],
    ids=str,
)
def test_training_options(options):
    assert_same_bits(classifier, **options)
