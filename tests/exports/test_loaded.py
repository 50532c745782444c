"""Models with weights from a checkpoint."""

import dataclasses

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.base.head_types import CLASSIFIER, ENCODER, POOLER, HeadSpec
from bert_cli.exports.loaded import build_network, head_outputs, load_head_model, random_inputs
from bert_cli.heads.classification import BertTextClassifier
from bert_cli.model.layers import named_weights
from bert_cli.problem_types.registry import problem_type
from bert_cli.weights.checkpoint import read_with_heads
from tests.configs import small_config
from tests.snapshots import raises

CONFIG = small_config()
SINGLE = problem_type("single_label")


@dataclasses.dataclass
class StoredWeights:
    """A checkpoint in memory."""

    tensors: dict
    description: str = "memory"
    unused: list = dataclasses.field(default_factory=list)

    @property
    def shapes(self) -> dict:
        return {name: values.shape for name, values in self.tensors.items()}

    def read(self, name: str) -> np.ndarray:
        return self.tensors[name]

    def check_tied(self) -> None:
        """Accept the weights, which have no separate matrix."""


@pytest.fixture(scope="module")
def stored() -> StoredWeights:
    weights = named_weights(BertTextClassifier(CONFIG, 3, seed=1))
    return StoredWeights({name: variable.numpy() for name, variable in weights.items()})


def without(stored: StoredWeights, prefix: str) -> StoredWeights:
    return StoredWeights({name: values for name, values in stored.tensors.items() if not name.startswith(prefix)})


def test_the_model_has_the_stored_weights(stored):
    loaded = load_head_model(stored, CONFIG, HeadSpec(CLASSIFIER, 3))
    assert loaded.tensors.keys() == stored.tensors.keys()
    for name, values in stored.tensors.items():
        np.testing.assert_array_equal(loaded.tensors[name], values)
    assert loaded.has_pooler


def test_missing_weights_are_an_error_unless_they_are_optional(stored):
    no_pooler = without(stored, POOLER)
    with raises(InputError, "memory: "):
        load_head_model(no_pooler, CONFIG, HeadSpec(ENCODER))
    assert not load_head_model(no_pooler, CONFIG, HeadSpec(ENCODER), optional=POOLER).has_pooler


def test_classifiers_must_fit_the_encoder(stored):
    wide = StoredWeights(stored.tensors | {"output_weights": np.zeros((3, 9), np.float32)})
    with raises(InputError, "memory: "):
        read_with_heads(wide, CONFIG, (CLASSIFIER,))
    weights = read_with_heads(stored, CONFIG, (CLASSIFIER,))
    network = build_network(CONFIG, (CLASSIFIER,), weights.tensors)
    assert network.head.output_weights.shape == (3, 8)


def test_random_inputs_have_padding():
    inputs = random_inputs(30, 8, 2, seed=0)
    assert inputs["input_mask"].sum(axis=1).tolist() == [8, 7, 6, 5]
    assert not inputs["input_word_ids"][inputs["input_mask"] == 0].any()
    assert set(np.unique(inputs["input_type_ids"])) == {0, 1}


@pytest.mark.parametrize(
    ("spec", "is_hugging_face", "names"),
    [
        (HeadSpec(ENCODER), False, ["sequence_output", "pooled_output"]),
        (HeadSpec(ENCODER), True, ["last_hidden_state", "pooler_output"]),
        (HeadSpec(CLASSIFIER, 3), False, ["probabilities"]),
        (HeadSpec(CLASSIFIER, 3), True, ["logits"]),
    ],
)
def test_outputs_of_heads(stored, spec, is_hugging_face, names):
    model = load_head_model(stored, CONFIG, spec).model
    outputs = head_outputs(model, spec.head_type, SINGLE, random_inputs(30, 8, 2, 0), is_hugging_face)
    assert list(outputs) == names
    if names == ["probabilities"]:
        np.testing.assert_allclose(outputs["probabilities"].numpy().sum(axis=1), 1, rtol=1e-5)
