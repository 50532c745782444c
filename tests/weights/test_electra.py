"""Google's TF1 checkpoints of ELECTRA."""

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.weights.checkpoint import open_checkpoint
from bert_cli.weights.electra import (
    ElectraReader,
    config_of,
    electra_to_google_name,
    networks_in,
    our_to_google_names,
)
from bert_cli.weights.formats.checkpoint_writer import write_tf1
from bert_cli.weights.path import find_checkpoint
from bert_cli.weights.variables import DISCRIMINATOR, GENERATOR
from tests.snapshots import raises

ENCODER = "encoder/layer_11/attention/self/query/kernel"
BOTH = [
    "electra/embeddings/word_embeddings", f"electra/{ENCODER}", "discriminator_predictions/dense_1/bias",
    "generator/embeddings_project/kernel", f"generator/{ENCODER}", "generator_predictions/dense/kernel",
    "generator_predictions/output_bias", "generator_predictions/LayerNorm/beta", "global_step",
]  # fmt: skip


def test_the_networks_of_a_checkpoint():
    assert networks_in(BOTH) == [DISCRIMINATOR, GENERATOR]
    assert networks_in(name for name in BOTH if name != f"electra/{ENCODER}") == [GENERATOR]
    assert networks_in(["bert/encoder/layer_0/output/dense/bias", "generator_predictions/output_bias"]) == []


def test_names_of_the_discriminator():
    assert our_to_google_names(BOTH, DISCRIMINATOR) == {
        "bert/embeddings/word_embeddings": "electra/embeddings/word_embeddings",
        f"bert/{ENCODER}": f"electra/{ENCODER}",
        "discriminator_predictions/dense_1/bias": "discriminator_predictions/dense_1/bias",
        "global_step": "global_step",
    }


def test_names_of_a_generator_that_shares_the_embeddings():
    assert our_to_google_names(BOTH, GENERATOR) == {
        "bert/embeddings/word_embeddings": "electra/embeddings/word_embeddings",
        "bert/embeddings_project/kernel": "generator/embeddings_project/kernel",
        f"bert/{ENCODER}": f"generator/{ENCODER}",
        "cls/predictions/transform/dense/kernel": "generator_predictions/dense/kernel",
        "cls/predictions/transform/LayerNorm/beta": "generator_predictions/LayerNorm/beta",
        "cls/predictions/output_bias": "generator_predictions/output_bias",
        "global_step": "global_step",
    }


def test_generator_with_separate_embeddings():
    """Google's script writes this with --untied_generator_embeddings."""
    names = our_to_google_names([*BOTH, "generator/embeddings/word_embeddings"], GENERATOR)
    assert names["bert/embeddings/word_embeddings"] == "generator/embeddings/word_embeddings"


def test_one_network_that_is_generator_and_discriminator():
    """Google's script writes this with --untied_generator=false."""
    names = [name for name in BOTH if not name.startswith("generator/")]
    assert our_to_google_names(names, DISCRIMINATOR).keys() >= {
        "cls/predictions/output_bias",
        "discriminator_predictions/dense_1/bias",
        f"bert/{ENCODER}",
    }


@pytest.mark.parametrize("network", [DISCRIMINATOR, GENERATOR])
def test_names_are_inverted_exactly(network):
    for ours, google in our_to_google_names(BOTH, network).items():
        assert electra_to_google_name(ours, network) == google
    assert electra_to_google_name("output_weights", network) == "output_weights"


@pytest.fixture
def prefix(tmp_path):
    path = str(tmp_path / "electra_small")
    write_tf1(path, {name: np.full([2], number, np.float32) for number, name in enumerate(BOTH)})
    return path


def test_a_path_names_the_generator(prefix, tmp_path):
    for path in (f"{prefix}/generator", f"{prefix}.index/generator", f"{tmp_path}/generator/"):
        reader = open_checkpoint(find_checkpoint(path))
        assert reader.read(f"bert/{ENCODER}").tolist() == [4, 4]
        assert reader.unused == ["discriminator_predictions/dense_1/bias", f"electra/{ENCODER}"]
        assert reader.description == f"{prefix} (generator)"
    reader = open_checkpoint(find_checkpoint(prefix))
    assert reader.read(f"bert/{ENCODER}").tolist() == [1, 1]
    assert reader.description == f"{prefix} (discriminator; {prefix}/generator is the generator)"


def test_a_bert_has_no_generator(tmp_path):
    write_tf1(str(tmp_path / "bert_model.ckpt"), {"bert/pooler/dense/bias": np.zeros(2, np.float32)})
    path = find_checkpoint(str(tmp_path / "bert_model.ckpt" / "generator"))
    assert path.name == f"{tmp_path}/bert_model.ckpt/generator"
    with raises(InputError, "ckpt: "):
        open_checkpoint(path)
    with pytest.raises(InputError, match="no checkpoint there"):
        find_checkpoint(str(tmp_path / "nothing" / "generator"))


def shapes_of(hidden: int) -> dict[str, tuple[int, ...]]:
    shapes = {f"bert/encoder/layer_{number}/intermediate/dense/kernel": (hidden, 4 * hidden) for number in range(3)}
    tables = {"word_embeddings": 30, "position_embeddings": 12, "token_type_embeddings": 2}
    return shapes | {f"bert/embeddings/{name}": (rows, 128) for name, rows in tables.items()}


@pytest.mark.parametrize(("hidden", "heads"), [(256, 4), (768, 12), (1024, 16), (64, 1), (16, 1)])
def test_the_config_follows_from_the_shapes(hidden, heads):
    config = config_of(shapes_of(hidden), "here")
    assert (config.hidden_size, config.num_attention_heads, config.intermediate_size) == (hidden, heads, 4 * hidden)
    assert (config.vocab_size, config.max_position_embeddings, config.type_vocab_size) == (30, 12, 2)
    assert (config.embedding_size, config.num_hidden_layers, config.activation) == (128, 3, "gelu_erf")
    assert config.model_type == "electra"


def test_shapes_without_a_unique_config():
    with raises(InputError, "here: "):
        config_of(shapes_of(193), "here")
    with raises(InputError, "here: "):
        config_of({name: shape for name, shape in shapes_of(64).items() if "position" not in name}, "here")


def test_an_average_reads_one_network(tmp_path):
    from bert_cli.weights.checkpoint import AverageReader

    for step in (1, 2):
        values = {name: np.full([2], 10 * step + number, np.float32) for number, name in enumerate(BOTH)}
        write_tf1(str(tmp_path / f"model.ckpt-{step}"), values)
    reader = AverageReader(find_checkpoint(f"{tmp_path}/model.ckpt-2/generator"), 2)
    assert reader.read(f"bert/{ENCODER}").tolist() == [19, 19]
    assert isinstance(open_checkpoint(find_checkpoint(f"{tmp_path}/model.ckpt-2")), ElectraReader)
