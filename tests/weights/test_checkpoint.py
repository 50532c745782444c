"""TF1 checkpoints: writing, reading, loading into models, and damage."""

import json
import os
import pathlib

import numpy as np
import pytest
import tensorflow as tf

from bert_cli.base.errors import InputError
from bert_cli.heads.classification import BertTextClassifier
from bert_cli.heads.pretraining import BertPretrainer
from bert_cli.model.config_files import read_config
from bert_cli.model.encoder import BertEncoder
from bert_cli.model.layers import named_weights
from bert_cli.weights.checkpoint import Tf1Reader, data_files, load_weights, open_checkpoint
from bert_cli.weights.formats.checkpoint_writer import write_tf1
from bert_cli.weights.path import find_checkpoint
from bert_cli.weights.training_folder import newest_undamaged
from tests.snapshots import check_message


@pytest.fixture
def prefix(tmp_path) -> str:
    return str(tmp_path / "model.ckpt-12")


def message_of(caught) -> str:
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_written_values_are_read_bit_for_bit(prefix):
    rng = np.random.default_rng(0)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, np.float32(1e-45), np.finfo(np.float32).max], np.float32)
    tensors = {
        "bert/a/kernel": rng.normal(size=(5, 7)).astype(np.float32),
        "bert/a/kernel/adam_m": special,
        "global_step": np.int64(2**40 + 3),
        "output_bias": np.zeros((0,), np.float32),
        "only/read": np.asarray(tf.constant(rng.normal(size=(3, 2)), tf.float32)),
        "turned": rng.normal(size=(4, 3)).astype(np.float32).T,
    }
    assert not tensors["only/read"].flags.writeable
    write_tf1(prefix, tensors)
    assert sorted(path.name for path in pathlib.Path(prefix).parent.iterdir()) == [
        "model.ckpt-12.data-00000-of-00001",
        "model.ckpt-12.index",
    ]
    assert all(os.path.exists(path) for path in data_files(prefix))
    theirs, ours = tf.train.load_checkpoint(prefix), Tf1Reader(prefix)
    assert theirs.get_variable_to_shape_map() == {name: list(np.shape(value)) for name, value in tensors.items()}
    assert ours.shapes == {name: np.shape(value) for name, value in tensors.items()}
    for name, value in tensors.items():
        for values in (theirs.get_tensor(name), ours.read(name)):
            assert np.asarray(values).dtype == np.asarray(value).dtype
            assert np.asarray(values).tobytes() == np.asarray(value).tobytes(), name


def test_a_model_is_restored_bit_for_bit(prefix, tiny_config, values_of, batch_of):
    config = tiny_config(gelu="erf")
    source, target = BertTextClassifier(config, 3, seed=1), BertTextClassifier(config, 3, seed=2)
    write_tf1(prefix, values_of(named_weights(source)))
    report = load_weights(named_weights(target), Tf1Reader(prefix))
    assert (sorted(report.loaded), report.missing, report.unused) == (sorted(named_weights(source)), [], [])
    for name, value in values_of(named_weights(target)).items():
        assert np.array_equal(value, named_weights(source)[name].numpy()), name
    inputs = batch_of([9, 3], 9)
    np.testing.assert_array_equal(source(inputs), target(inputs))


def test_the_report_of_loading_a_pretrained_encoder(prefix, tiny_config, values_of):
    """Load a pre-trained model into a classifier: the encoder matches, and moments are not unused."""
    config = tiny_config()
    source, target = BertPretrainer(config, seed=1), BertTextClassifier(config, 3, seed=2)
    tensors = values_of(named_weights(source))
    kernel = "bert/pooler/dense/kernel"
    slots = {f"{kernel}/adam_m": tensors[kernel], f"{kernel}/adam_v": tensors[kernel]}
    write_tf1(prefix, tensors | slots | {"global_step": np.int64(3)})
    before = values_of(named_weights(target))
    report = load_weights(named_weights(target), Tf1Reader(prefix))
    assert report.source == prefix
    assert report.missing == ["output_weights", "output_bias"]
    assert report.unused == sorted(name for name in tensors if name.startswith("cls/"))
    assert sorted(report.loaded) == sorted(named_weights(BertEncoder(config)))
    after = values_of(named_weights(target))
    for name, value in after.items():
        assert np.array_equal(value, before[name] if name in report.missing else tensors[name]), name
    assert report.lines() == [
        f"{prefix}: 39 variables loaded, 2 missing, 7 unused",
        "  missing (start from random values): output_weights, output_bias",
        f"  unused: {', '.join(report.unused)}",
    ]


def test_a_report_names_the_first_eight_missing_variables(prefix, tiny_config, values_of):
    variables = named_weights(BertEncoder(tiny_config()))
    kept = {name: value for name, value in values_of(variables).items() if "layer_1" not in name}
    write_tf1(prefix, kept)
    report = load_weights(variables, Tf1Reader(prefix))
    assert len(report.missing) == 16
    lines = report.lines()
    assert len(lines) == 2
    assert lines[1].endswith(f"{report.missing[7]} and 8 more")
    assert report.missing[8] not in lines[1]


def test_a_wrong_shape_is_named_and_nothing_is_assigned(prefix, tiny_config, values_of):
    write_tf1(prefix, values_of(named_weights(BertEncoder(tiny_config(vocab_size=24), seed=1))))
    variables = named_weights(BertEncoder(tiny_config(), seed=2))
    before = values_of(variables)
    with pytest.raises(InputError) as caught:
        load_weights(variables, Tf1Reader(prefix))
    check_message(message_of(caught), f"{prefix}: ")
    assert all(np.array_equal(value, before[name]) for name, value in values_of(variables).items())


def test_several_wrong_shapes_are_counted(prefix, tiny_config, values_of):
    write_tf1(prefix, values_of(named_weights(BertEncoder(tiny_config(intermediate_size=8)))))
    with pytest.raises(InputError, match=r"dense/\w+ has the shape .* \(and 5 more such variables\)"):
        load_weights(named_weights(BertEncoder(tiny_config())), Tf1Reader(prefix))


def test_advice_for_another_number_of_labels(prefix, tiny_config, values_of):
    write_tf1(prefix, values_of(named_weights(BertTextClassifier(tiny_config(), 4))))
    with pytest.raises(InputError) as caught:
        load_weights(named_weights(BertTextClassifier(tiny_config(), 3)), Tf1Reader(prefix))
    check_message(message_of(caught))
    assert "another number of labels" in message_of(caught)


def test_a_checkpoint_of_another_model(prefix, tiny_config):
    write_tf1(prefix, {"generator/w": np.zeros(3, np.float32), "output_bias": np.zeros(3, np.float32)})
    with pytest.raises(InputError) as caught:
        load_weights(named_weights(BertTextClassifier(tiny_config(), 3)), Tf1Reader(prefix))
    message = message_of(caught)
    check_message(message, f"{prefix}: ")
    assert message.endswith("is it a BERT checkpoint?")


def load_all(prefix: str) -> None:
    reader = Tf1Reader(prefix)
    for name in reader.shapes:
        reader.read(name)


@pytest.fixture
def written(prefix) -> str:
    """Return the prefix of a checkpoint with three variables, about 10 kB."""
    rng = np.random.default_rng(0)
    write_tf1(prefix, {name: rng.normal(size=(20, 40)).astype(np.float32) for name in ("bert/a", "bert/b", "bert/c")})
    load_all(prefix)
    return prefix


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("ending", [".data-00000-of-00001", ".index"])
def test_a_cut_file(written, ending, share):
    path = written + ending
    os.truncate(path, int(os.path.getsize(path) * share))
    with pytest.raises(InputError) as caught:
        load_all(written)
    check_message(message_of(caught), f"{written}: ")


# Do not change the last bytes of an index: they are padding without a checksum.
@pytest.mark.parametrize(
    ("ending", "share"),
    [(".data-00000-of-00001", 0.1), (".data-00000-of-00001", 0.99), (".index", 0.1), (".index", 0.5)],
)
def test_a_changed_byte(written, ending, share):
    path = pathlib.Path(written + ending)
    data = bytearray(path.read_bytes())
    data[int(len(data) * share)] ^= 0x5A
    path.write_bytes(data)
    with pytest.raises(InputError, match="damaged or cut short"):
        load_all(written)


def test_a_missing_data_file(written):
    os.remove(written + ".data-00000-of-00001")
    with pytest.raises(InputError) as caught:
        load_all(written)
    check_message(message_of(caught), f"{written}: ")


def test_damage_is_found_before_anything_is_assigned(prefix, tiny_config, values_of):
    write_tf1(prefix, values_of(named_weights(BertEncoder(tiny_config(), seed=1))))
    path = prefix + ".data-00000-of-00001"
    os.truncate(path, os.path.getsize(path) - 4)
    variables = named_weights(BertEncoder(tiny_config(), seed=2))
    before = values_of(variables)
    with pytest.raises(InputError, match="damaged"):
        load_weights(variables, Tf1Reader(prefix))
    assert all(np.array_equal(value, before[name]) for name, value in values_of(variables).items())


def test_a_complete_foreign_checkpoint_loads_into_the_pretrainer(shared):
    folder = shared / "data" / "checkpoint_tf1_tiny"
    checkpoint = find_checkpoint(str(folder))
    config = read_config(checkpoint.companion("bert_config.json"))
    variables = named_weights(BertPretrainer(config))
    report = load_weights(variables, open_checkpoint(checkpoint))
    assert report.missing == report.unused == []
    assert sorted(report.loaded) == sorted(variables)
    assert sum(name.startswith("cls/") for name in report.loaded) == 7
    theirs = tf.train.load_checkpoint(str(folder / "bert_model.ckpt"))
    assert len(theirs.get_variable_to_shape_map()) == 139
    for name, variable in variables.items():
        assert np.array_equal(variable.numpy(), theirs.get_tensor(name)), name
    assert config.vocab_size == json.loads((folder / "bert_config.json").read_text())["vocab_size"]


@pytest.mark.parametrize(("before", "lost"), [(11, "step 12 is lost"), (9, "steps 10 to 12 are lost")])
def test_the_steps_after_a_checkpoint_before_the_newest_are_counted(prefix, caplog, before, lost):
    older = os.path.join(os.path.dirname(prefix), f"model.ckpt-{before}")
    for path in (older, prefix):
        write_tf1(path, {"global_step": np.int64(before)})
    os.remove(f"{prefix}.index")
    assert newest_undamaged(os.path.dirname(prefix)) == older
    check_message(caplog, prefix, lost)
