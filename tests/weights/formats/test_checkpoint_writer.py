"""Checkpoints have the same bytes as TensorFlow's, and are written one variable after the other."""

import pathlib
import weakref

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

from bert_cli.weights.formats.checkpoint_writer import LazyArrays, write_tf1
from tests.snapshots import raises

RNG = np.random.default_rng(0)
CASES = {
    "types": {
        "a": RNG.normal(size=(2, 3)).astype(np.float32),
        "global_step": np.int64(5),
        "empty": np.zeros((0, 4), np.float32),
        "double": np.ones(3),
        "flag": np.array([True]),
        "brain": np.ones(4, ml_dtypes.bfloat16),
        "half": np.float16(2),
        "é": np.ones((1, 1), np.int32),
        "transposed": RNG.normal(size=(3, 4)).astype(np.float32).T,
    },
    "longer than a chunk": {"a": RNG.normal(size=(300, 300)).astype(np.float32), "b": np.zeros(1, np.float32)},
    "several blocks": {f"{'x' * 300}/{number}": np.ones(number % 3, np.float32) for number in range(1000)},
    "names that begin like others": {"a" * length: np.ones(2, np.float32) for length in range(1, 900)},
    "names without a successor": {"\U0010ffff" * length: np.ones(2, np.float32) for length in range(1, 600)},
}


def files_of(prefix: pathlib.Path) -> list[bytes]:
    return [pathlib.Path(f"{prefix}{ending}").read_bytes() for ending in (".index", ".data-00000-of-00001")]


@pytest.mark.parametrize("case", CASES)
def test_the_bytes_are_tensorflows(case, tmp_path):
    tensors = CASES[case]
    names = sorted(tensors)
    tf.raw_ops.SaveV2(
        prefix=str(tmp_path / "expected"), tensor_names=names, shape_and_slices=[""] * len(names),
        tensors=[tf.convert_to_tensor(tensors[name]) for name in names],
    )  # fmt: skip
    write_tf1(str(tmp_path / "written"), tensors)
    assert files_of(tmp_path / "written") == files_of(tmp_path / "expected")


def test_one_array_is_in_memory_at_a_time(tmp_path):
    references: list[weakref.ref] = []

    class Values(np.ndarray):
        """An array with weak references, which plain arrays do not have."""

    def read() -> np.ndarray:
        assert [reference for reference in references if reference() is not None] == []
        values = np.zeros(1000, np.float32).view(Values)
        references.append(weakref.ref(values))
        return values

    write_tf1(str(tmp_path / "model.ckpt-1"), LazyArrays(dict.fromkeys("abc", read)))
    assert len(references) == 3
    assert tf.train.load_checkpoint(str(tmp_path / "model.ckpt-1")).get_tensor("c").shape == (1000,)


def test_lazy_arrays_with_more_arrays():
    reads = []
    lazy = LazyArrays({"a": lambda: reads.append("a") or np.ones(2), "b": lambda: np.zeros(1)})
    both = lazy | {"b": np.full(3, 7), "c": np.int64(4)}
    assert list(both) == ["a", "b", "c"]
    assert len(both) == 3
    assert (both["b"].tolist(), int(both["c"]), reads) == ([7, 7, 7], 4, [])
    assert both["a"].tolist() == [1, 1]


def test_a_type_that_no_checkpoint_has(tmp_path):
    with raises(TypeError):
        write_tf1(str(tmp_path / "model.ckpt-1"), {"a": np.array([None])})
