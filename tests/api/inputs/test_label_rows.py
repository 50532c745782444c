"""Labels as arrays, lists and data frames of 0 and 1, from NumPy, pandas and SciPy; refused labels."""

import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from bert_cli.api.inputs.label_rows import is_flags, read_distribution_rows, read_label_rows
from bert_cli.base.errors import InputError
from tests.snapshots import raises

ONE_HOT = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 0)]
ROWS = np.eye(3)[[0, 1, 2, 1]]


@pytest.mark.parametrize(
    "values",
    [
        ROWS,
        ROWS.astype(int),
        ROWS.astype(bool),
        ROWS.astype(np.float16),
        ROWS.astype(object),
        ROWS.tolist(),
        ROWS.astype(bool).tolist(),
        [tuple(row) for row in ROWS.astype(int).tolist()],
        list(ROWS),
        list(ROWS.astype(np.int8)),
        [list(row) for row in ROWS],
        (row for row in ROWS),
        pd.Series(list(ROWS)),
        scipy.sparse.csr_matrix(ROWS),
        scipy.sparse.coo_array(ROWS.astype(int)),
        np.ma.masked_array(ROWS),
    ],
    ids=lambda values: f"{type(values).__name__} {getattr(values, 'dtype', '')}",
)
def test_one_hot_rows(values):
    labels = read_label_rows("labels", values)
    assert labels == (ONE_HOT, None, True)
    assert labels.options() == {"problem_type": "single_label"}


@pytest.mark.parametrize(
    "rows",
    [[[1, 1, 0], [0, 1, 0]], [[0, 0], [1, 0]], [[True, True], [False, True]], [[0.0, 0.0, 0.0], [1.0, 0.0, 1.0]]],
)
def test_rows_with_several_labels_or_none_are_not_one_hot(rows):
    for values in (rows, np.array(rows), pd.DataFrame(rows)):
        labels = read_label_rows("labels", values)
        assert labels.items == [tuple(map(int, row)) for row in rows]
        assert not labels.have_one_label
        assert "problem_type" not in labels.options()


def test_columns_of_a_data_frame_name_the_labels():
    frame = pd.get_dummies(pd.Series(["cat", "dog", "ant", "dog"]))
    labels = read_label_rows("labels", frame)
    assert labels == ([(0, 1, 0), (0, 0, 1), (1, 0, 0), (0, 0, 1)], ("ant", "cat", "dog"), True)
    assert labels.options() == {"labels": ("ant", "cat", "dog"), "problem_type": "single_label"}
    reordered = read_label_rows("dev_labels", frame[["dog", "ant", "cat"]], labels.names)
    assert (reordered.items, reordered.names) == (labels.items, labels.names)
    assert read_label_rows("labels", pd.DataFrame({3: [0, 1], 7: [1, 0]})).names == ("3", "7")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "datasets"])
def test_columns_of_other_tables_name_the_labels(library):
    module = pytest.importorskip(library, reason="the library is not installed")
    make = {"pyarrow": "table", "datasets": "Dataset"}.get(library, "DataFrame")
    make_table = getattr(module, make)
    make_table = getattr(make_table, "from_dict", make_table)
    labels = read_label_rows("labels", make_table({"ant": [1, 0], "cat": [0, 1]}))
    assert labels == ([(1, 0), (0, 1)], ("ant", "cat"), True)
    assert read_label_rows("labels", make_table({"label": ["a", "b"]})) == (["a", "b"], None, False)


def test_scalars_become_python_objects():
    labels = read_label_rows("labels", list(np.array([0.5, 2], np.float32)))
    assert list(map(type, labels.items)) == [float, float]
    assert read_label_rows("labels", pd.array([1.5, None], dtype="Float64")).items == [1.5, None]
    assert read_label_rows("labels", pd.Series(["a", None], dtype="string")).items == ["a", None]


def test_a_data_frame_may_have_a_single_column():
    assert read_label_rows("labels", pd.DataFrame({"label": ["a", "b"]})) == (["a", "b"], None, False)
    assert read_label_rows("labels", pd.DataFrame({"label": [0, 1]})) == ([0, 1], None, False)


@pytest.mark.parametrize(
    "values",
    [["a", "b"], [3, 1], [0, 1], [0.5, 1], [["a", "b"], []], [[1, 7], [7]], [[0], [1]], [[0, 1], [1]], [0.5, math.nan]],
)
def test_other_labels_are_unchanged(values):
    labels = read_label_rows("labels", values)
    assert labels.items == values
    assert labels.options() == {}


def test_a_column_of_floats_is_one_number_per_text():
    assert read_label_rows("labels", np.array([[0.5], [1.5]])).items == [0.5, 1.5]


def test_rows_without_numbers_have_no_label():
    rows = [[1.0, 0.0], [math.nan, math.nan], [0.0, 1.0]]
    for values in (rows, np.array(rows), pd.DataFrame(rows), [[1, 0], None, [0, 1]], [[1, 0], math.nan, [0, 1]]):
        labels = read_label_rows("labels", values)
        assert labels.items == [(1, 0), None, (0, 1)]
        assert labels.have_one_label


@pytest.mark.parametrize(
    ("values", "place"),
    [
        (np.zeros((2, 3, 1)), "labels: "),
        (np.array(3), "labels: "),
        (np.array([[0.2, 0.8], [0.9, 0.1]]), "labels[0]: "),
        ([[0, 1], [0.5, 0.5]], "labels[1]: "),
        ([[1.0, 7.0], [7.0]], "labels[0]: "),
        ([[1.0, math.nan], [0.0, 1.0]], "labels[0]: "),
        (pd.DataFrame({"a": [0, 1], "text": ["x", "y"]}), "labels[0]: "),
        (pd.DataFrame([[0, 1], [1, 0]], columns=["a", "a"]), "labels: "),
        ("abc", "labels: "),
        ({"a": [0, 1]}, "labels: "),
    ],
)
def test_wrong_labels_are_refused(values, place):
    with raises(InputError, place):
        read_label_rows("labels", values)


def test_columns_that_are_not_labels_of_the_training():
    with raises(InputError, "dev_labels: "):
        read_label_rows("dev_labels", pd.DataFrame({"a": [0], "c": [1]}), ("a", "b"))


@pytest.mark.parametrize("value", [[1], [], "01", [0, 2], [0, "1"], {0, 1}, [[0], [1]], [0, None], 1])
def test_values_that_are_not_flags(value):
    assert not is_flags(value)


class Tensor:
    """Rows that only NumPy can convert, as TensorFlow's tensors."""

    def __init__(self, rows):
        self.rows = np.array(rows)
        self.shape = self.rows.shape

    def __array__(self, dtype=None, copy=None):
        return self.rows if dtype is None else self.rows.astype(dtype)


SHARES = [[0.25, 0.75], [1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    "values",
    [
        np.array(SHARES), np.array(SHARES, np.float32), SHARES, list(np.array(SHARES)), Tensor(SHARES),
        scipy.sparse.csr_matrix(SHARES), pd.Series(SHARES),
    ],
    ids=lambda values: f"{type(values).__name__} {getattr(values, 'dtype', '')}",
)  # fmt: skip
def test_distributions(values):
    labels = read_distribution_rows("labels", values)
    assert [list(map(float, item)) for item in labels.items] == SHARES
    assert (labels.names, labels.have_one_label) == (None, True)


def test_columns_of_distributions_are_sorted_and_differ():
    frame = pd.DataFrame(SHARES, columns=["neg", "pos"])
    sorted_labels = read_distribution_rows("labels", frame, ("pos", "neg"))
    assert (sorted_labels.names, list(map(float, sorted_labels.items[0]))) == (("pos", "neg"), [0.75, 0.25])
    with raises(InputError, "labels: two of the columns have the same name"):
        read_distribution_rows("labels", frame.set_axis(["neg", "neg"], axis=1))
    with raises(InputError, "labels: has the columns neg, pos"):
        read_distribution_rows("labels", frame, ("a", "b"))
    with raises(InputError, "labels: has the shape (1, 1, 2)"):
        read_distribution_rows("labels", np.zeros((1, 1, 2)))
    with raises(InputError, "labels[0]: a row with a probability per label"):
        read_distribution_rows("labels", frame[["neg"]])
