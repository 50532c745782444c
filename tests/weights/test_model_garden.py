"""Model Garden checkpoints, made with tf.train.Checkpoint like Google's releases."""

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.heads.pretraining import BertPretrainer
from bert_cli.model.encoder import BertEncoder
from bert_cli.model.layers import named_weights
from bert_cli.weights.checkpoint import load_weights, open_checkpoint
from bert_cli.weights.model_garden import ModelGardenReader, flat_shape, google_names
from bert_cli.weights.path import find_checkpoint
from tests.snapshots import raises

TABLES = ("word_embeddings", "position_embeddings", "token_type_embeddings")
GARDEN_WEIGHTS = {
    "attention/self/query": "_attention_layer/_query_dense",
    "attention/self/key": "_attention_layer/_key_dense",
    "attention/self/value": "_attention_layer/_value_dense",
    "attention/output/dense": "_attention_layer/_output_dense",
    "attention/output/LayerNorm": "_attention_layer_norm",
    "intermediate/dense": "_intermediate_dense",
    "output/dense": "_output_dense",
    "output/LayerNorm": "_output_layer_norm",
}


def garden_path(name: str, layers: int, has_attributes: bool = False) -> str:
    """Return the path below the encoder for Google's `name`.

    Args:
        name: Google's name.
        layers: number of layers.
        has_attributes: whether to use the attribute names of newer releases.
    """
    scope, _, weight = name.removeprefix("bert/").rpartition("/")
    if scope == "embeddings":
        table = ("_embedding_layer", "_position_embedding_layer", "_type_embedding_layer")[TABLES.index(weight)]
        return f"{table if has_attributes else f'layer_with_weights-{TABLES.index(weight)}'}/embeddings"
    if scope == "embeddings/LayerNorm":
        return f"{'_embedding_norm_layer' if has_attributes else 'layer_with_weights-3'}/{weight}"
    if scope == "pooler/dense":
        return f"{'_pooler_layer' if has_attributes else f'layer_with_weights-{4 + layers}'}/{weight}"
    number, _, weight_scope = scope.removeprefix("encoder/layer_").partition("/")
    layer = f"_transformer_layers/{number}" if has_attributes else f"layer_with_weights-{4 + int(number)}"
    return f"{layer}/{GARDEN_WEIGHTS[weight_scope]}/{weight}"


def with_heads(name: str, values: np.ndarray, heads: int) -> np.ndarray:
    """Return values with a head axis, as in einsum layers."""
    if "/attention/self/" in name:
        return values.reshape(*values.shape[:-1], heads, -1)
    return values.reshape(heads, -1, values.shape[-1]) if name.endswith("attention/output/dense/kernel") else values


class Node(tf.Module):
    pass


@pytest.fixture(scope="module")
def weights(tiny_config):
    """Return random values by Google's name for a small encoder with the pre-training heads. Do not change them."""
    rng = np.random.default_rng(0)
    variables = named_weights(BertPretrainer(tiny_config()))
    return {name: rng.normal(size=variable.shape).astype(np.float32) for name, variable in variables.items()}


@pytest.fixture
def written(tmp_path, tiny_config):
    """Return a function that writes {path: values} as a TF2 checkpoint and returns its prefix."""

    def write(tensors: dict[str, np.ndarray]) -> str:
        root = Node()
        for path, values in tensors.items():
            node = root
            *parents, last = path.split("/")
            for parent in parents:
                if not hasattr(node, parent):
                    setattr(node, parent, Node())
                node = getattr(node, parent)
            setattr(node, last, tf.Variable(values))
        children = {name: child for name, child in vars(root).items() if isinstance(child, Node)}
        return tf.train.Checkpoint(**children).save(str(tmp_path / "bert_model.ckpt"))

    return write


def encoder_tensors(weights, config, prefix="model/", has_attributes=False):
    layers, heads = config.num_hidden_layers, config.num_attention_heads
    return {
        prefix + garden_path(name, layers, has_attributes): with_heads(name, values, heads)
        for name, values in weights.items()
        if name.startswith("bert/")
    }


def read_all(prefix):
    reader = open_checkpoint(find_checkpoint(prefix))
    return {name: reader.read(name) for name in reader.shapes}, reader


PREFIXES = ("model/", "encoder/", "model/layer_with_weights-0/", "checkpoint/model/encoder/")


@pytest.mark.parametrize(
    ("prefix", "has_attributes"),
    [
        *zip(PREFIXES, (False, True, False, True), strict=True),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in zip(PREFIXES, (True, False, True, False), strict=True)
        ),
    ],
)
def test_an_encoder_is_read_bit_for_bit(weights, written, tiny_config, prefix, has_attributes):
    path = written(encoder_tensors(weights, tiny_config(), prefix, has_attributes))
    values, reader = read_all(path)
    expected = {name: value for name, value in weights.items() if name.startswith("bert/")}
    assert {name: (value.shape, value.tobytes()) for name, value in values.items()} == {
        name: (value.shape, value.tobytes()) for name, value in expected.items()
    }
    assert (reader.unused, reader.heads) == ([], tiny_config().num_attention_heads)
    assert reader.description == f"{path} (TensorFlow Model Garden)"
    assert load_weights(named_weights(BertEncoder(tiny_config())), reader).missing == []


def test_attention_output_of_the_first_releases(weights, written, tiny_config):
    tensors = encoder_tensors(weights, tiny_config())
    renamed = {
        path.replace("_attention_layer/_output_dense", "_attention_output_dense"): v for path, v in tensors.items()
    }
    values, _ = read_all(written(renamed))
    name = "bert/encoder/layer_1/attention/output/dense/kernel"
    np.testing.assert_array_equal(values[name], weights[name])


def test_the_masked_lm_of_a_pretrainer_shares_the_words(weights, written, tiny_config):
    tensors = encoder_tensors(weights, tiny_config(), "encoder/")
    tensors["masked_lm/embedding_table"] = tensors.pop("encoder/layer_with_weights-0/embeddings")
    for path, name in {
        "dense/kernel": "transform/dense/kernel", "dense/bias": "transform/dense/bias",
        "layer_norm/gamma": "transform/LayerNorm/gamma", "layer_norm/beta": "transform/LayerNorm/beta",
        "bias": "output_bias",
    }.items():  # fmt: skip
        tensors[f"masked_lm/{path}"] = weights[f"cls/predictions/{name}"]
    tensors["next_sentence.pooler_dense/kernel"] = np.ones((2, 2), np.float32)
    values, reader = read_all(written(tensors))
    for name in (
        "bert/embeddings/word_embeddings",
        "cls/predictions/transform/LayerNorm/beta",
        "cls/predictions/output_bias",
    ):
        np.testing.assert_array_equal(values[name], weights[name])
    # The encoder has a pooler of its own.
    assert reader.unused == ["next_sentence..pooler_dense/kernel"]


def test_the_pooler_of_a_pretrainer_is_in_its_next_sentence_head(weights, written, tiny_config):
    tensors = encoder_tensors(weights, tiny_config(), "encoder/")
    for name in ("kernel", "bias"):
        tensors.pop(f"encoder/layer_with_weights-{4 + tiny_config().num_hidden_layers}/{name}")
        tensors[f"next_sentence.pooler_dense/{name}"] = weights[f"bert/pooler/dense/{name}"]
    values, reader = read_all(written(tensors))
    for name in ("kernel", "bias"):
        np.testing.assert_array_equal(values[f"bert/pooler/dense/{name}"], weights[f"bert/pooler/dense/{name}"])
    assert reader.unused == []


def test_a_bias_under_the_name_that_keras_gives_it():
    assert google_names(["masked_lm/output_bias.Sbias"]) == {
        "cls/predictions/output_bias": "masked_lm/output_bias.Sbias"
    }


def test_moments_and_counters_are_not_weights(weights, written, tiny_config):
    tensors = encoder_tensors(weights, tiny_config())
    tensors["optimizer/learning_rate"] = np.float32(1)
    slot = "model/layer_with_weights-0/embeddings_slot/.OPTIMIZER_SLOT/optimizer/m/.ATTRIBUTES/VARIABLE_VALUE"
    reader = open_checkpoint(find_checkpoint(written(tensors)))._reader
    reader.shapes[slot] = (2,)
    assert ModelGardenReader(reader).unused == []


def test_a_missing_layer_does_not_renumber_the_others():
    paths = [f"model/layer_with_weights-{number}/_output_dense/bias" for number in (4, 6)]
    assert list(google_names(paths)) == [
        "bert/encoder/layer_0/output/dense/bias",
        "bert/encoder/layer_2/output/dense/bias",
    ]


def test_an_incomplete_encoder_names_missing_variables(weights, written, tiny_config):
    tensors = encoder_tensors(weights, tiny_config())
    tensors = {path: value for path, value in tensors.items() if "embeddings" in path or "_attention_layer/" in path}
    report = load_weights(named_weights(BertEncoder(tiny_config())), open_checkpoint(find_checkpoint(written(tensors))))
    assert len(report.loaded) > 3
    with raises(InputError):
        report.check_whole("it is not a complete BERT")


@pytest.mark.parametrize(
    ("paths", "fragment"),
    [
        (["model/conv/kernel"], "2 checkpoint"),
        (["model/layer_with_weights-0/embeddings", "model/layer_with_weights-1/embeddings"], "2 checkpoint"),
        (["a/layer_with_weights-4/_output_dense/bias", "b/layer_with_weights-4/_output_dense/bias"], ""),
    ],
)
def test_other_checkpoints_are_named(written, paths, fragment):
    with raises(InputError, fragment):
        open_checkpoint(find_checkpoint(written({path: np.ones(2, np.float32) for path in paths})))


def test_another_number_of_heads_in_the_config(weights, written, tiny_config):
    heads = tiny_config().num_attention_heads
    reader = open_checkpoint(find_checkpoint(written(encoder_tensors(weights, tiny_config()))))
    reader.check_heads(heads, "bert_config.json")
    with raises(InputError, "bert_config.json: "):
        reader.check_heads(1, "bert_config.json")


@pytest.mark.parametrize(
    ("name", "shape", "flat"),
    [
        ("bert/encoder/layer_0/attention/self/key/kernel", (8, 2, 4), (8, 8)),
        ("bert/encoder/layer_0/attention/self/key/bias", (2, 4), (8,)),
        ("bert/encoder/layer_0/attention/output/dense/kernel", (2, 4, 8), (8, 8)),
        ("bert/encoder/layer_0/attention/self/key/kernel", (8, 8), (8, 8)),
        ("bert/pooler/dense/kernel", (8, 8), (8, 8)),
    ],
)
def test_flat_shapes(name, shape, flat):
    assert flat_shape(name, shape) == flat
