"""Tables as texts: trained columns, usual names, missing columns, and rows without a text."""

import numpy as np
import pandas as pd
import pytest

from bert_cli.api.inputs.frames import TextColumns, as_table
from bert_cli.api.inputs.label_rows import read_label_rows
from bert_cli.api.inputs.tables import read_table
from bert_cli.api.inputs.texts import QUESTIONS, SINGLE_TEXTS, read_texts_argument
from bert_cli.base.errors import InputError, InputTypeError
from tests.snapshots import raises

REVIEWS = pd.DataFrame({"stars": [5, 1], "review": ["fine", "dull"], "title": ["A", "B"]}, index=[17, 4])


class Polars:
    """A table that is used like a polars.DataFrame."""

    def __init__(self, columns):
        self._columns = columns
        self.columns = list(columns)

    def __len__(self):
        return len(next(iter(self._columns.values())))

    def __getitem__(self, name):
        return pd.Series(self._columns[name]).array  # has neither tolist nor to_pylist


class Dataset(Polars):
    """A table that is used like a datasets.Dataset."""

    @property
    def column_names(self):
        return self.columns


def test_trained_columns_are_read():
    assert read_texts_argument(REVIEWS, columns=TextColumns("review")).pairs == [("fine", None), ("dull", None)]
    assert read_texts_argument(REVIEWS, columns=TextColumns("title", "review")).pairs == [("A", "fine"), ("B", "dull")]


@pytest.mark.parametrize(
    ("frame", "pairs"),
    [
        (REVIEWS[["stars", "review"]], [("fine", None), ("dull", None)]),
        (REVIEWS[["title"]], [("A", None), ("B", None)]),
        (pd.DataFrame({"Sentence1": ["a"], "Sentence2": ["b"]}), [("a", "b")]),
        (pd.DataFrame({0: ["a", "b"]}), [("a", None), ("b", None)]),
        (Polars({"id": [1], "text": ["a"]}), [("a", None)]),
        (Dataset({"label": [1], "sentence": ["a"]}), [("a", None)]),
        (REVIEWS[:0], []),
    ],
)
def test_columns_with_usual_names(frame, pairs):
    assert read_texts_argument(frame).pairs == pairs


@pytest.mark.parametrize(
    ("frame", "columns", "message"),
    [
        (
            REVIEWS,
            TextColumns("comment"),
            "texts: the DataFrame has no column 'comment', which the model was trained on; it has 'stars', 'review', "
            'title\'; rename a column, or pass one of its columns: df["stars"] or df["review"] or df["title"]',
        ),
        (REVIEWS, TextColumns("title", "text_b"), "no column 'text_b', which the model was trained on"),
        (REVIEWS[["stars", "title"]], TextColumns(), "has no column that is known to hold the texts; pass one of its"),
        (pd.DataFrame([["a"] * 4]), TextColumns(), "pass one of its columns: df[0] or df[1] or df[2] …"),
        (pd.DataFrame([["a", "b"]], columns=["text", "text"]), TextColumns(), "two columns of the DataFrame have the"),
    ],
)
def test_missing_columns_are_named(frame, columns, message):
    with pytest.raises(InputError) as error:
        read_texts_argument(frame, columns=columns)
    assert message.replace(", title'", ", 'title'") in str(error.value)


def test_a_column_of_labels_is_never_read():
    columns = TextColumns("review", labels=("stars",))
    unknown = TextColumns(labels=("title",))
    for values, trained in (
        (REVIEWS[["stars"]], columns),
        (REVIEWS["stars"], columns),
        (REVIEWS[["title"]], columns),
        (REVIEWS[["title"]], unknown),
        (REVIEWS["title"], unknown),
        (Dataset({"title": ["A"]}), unknown),
    ):
        with raises(InputError, "texts: "):
            read_texts_argument(values, columns=trained)
    # A column of texts needs no name, and neither does a list of any words.
    assert read_texts_argument(REVIEWS["title"], columns=columns).singles == ["A", "B"]
    assert read_texts_argument(["good"], columns=columns).singles == ["good"]


@pytest.mark.parametrize("cell", [None, float("nan"), pd.NA, b"dull", 3])
def test_the_error_about_a_cell_has_its_row(cell):
    frame = pd.DataFrame({"text": pd.Series(["fine", cell], dtype=object)})
    with raises(InputTypeError, "texts[1]: ") as error:
        read_texts_argument(frame)
    is_missing = cell is None or cell is pd.NA or isinstance(cell, float)
    assert ("df.dropna(subset=['text'])" in str(error.value)) == is_missing


def test_single_texts_and_questions():
    pairs = pd.DataFrame({"text": ["a"], "text_b": ["b"]})
    assert read_texts_argument(pairs, SINGLE_TEXTS).pairs == [("a", None)]
    assert read_texts_argument(pairs, takes_pairs=False).pairs == [("a", None)]
    questions = pd.DataFrame({"context": ["c"], "question": ["q"]})
    columns = TextColumns("question", "context")
    assert read_texts_argument(questions, QUESTIONS, columns, "questions").pairs == [("q", "c")]
    with raises(InputError, "questions: "):
        read_texts_argument(questions[["question"]], QUESTIONS, columns, "questions")


def test_frames_keep_columns_and_index():
    frame = read_texts_argument(REVIEWS, columns=TextColumns("review")).to_frame()
    pd.testing.assert_frame_equal(frame, REVIEWS)
    assert frame is not REVIEWS
    texts = read_texts_argument(REVIEWS["review"])
    pd.testing.assert_frame_equal(texts.to_frame(), REVIEWS[["review"]])
    pd.testing.assert_frame_equal(texts.take([1]).to_frame(), REVIEWS[["review"]][1:])
    assert texts.take(range(1, -1, -1)).singles == ["dull", "fine"]
    assert list(read_texts_argument(Polars({"id": [1], "text": ["a"]})).to_frame()) == ["id", "text"]
    assert list(read_texts_argument(np.array([["a", "b"]])).to_frame()) == ["text", "text_b"]
    assert read_texts_argument([]).to_frame().shape == (0, 1)


def test_a_table_of_a_cluster_is_refused():
    spark = type("DataFrame", (), {"columns": ["text"]})()
    with raises(InputTypeError, "texts: "):
        as_table("texts", spark)


COLUMNS = {"id": [1, 2], "text": ["a", "b"], "label": [1, None]}
LIBRARIES = {
    "polars": lambda polars: polars.DataFrame(COLUMNS),
    "datasets": lambda datasets: datasets.Dataset.from_dict(COLUMNS),
    "datasets with_format": lambda datasets: datasets.Dataset.from_dict(COLUMNS).with_format("numpy"),
    "pyarrow": lambda arrow: arrow.table(COLUMNS),
    "pyarrow RecordBatch": lambda arrow: arrow.RecordBatch.from_pydict(COLUMNS),
    "pandas": lambda pandas: pandas.DataFrame(COLUMNS).convert_dtypes(),
    "pandas pyarrow": lambda pandas: pandas.DataFrame(COLUMNS).convert_dtypes(dtype_backend="pyarrow"),
    "pandas category": lambda pandas: pandas.DataFrame(COLUMNS).astype({"text": "category", "label": "Int64"}),
}


@pytest.fixture(params=LIBRARIES)
def table(request):
    """The table COLUMNS in a library's class."""
    library = pytest.importorskip(request.param.partition(" ")[0], reason="the library is not installed")
    return LIBRARIES[request.param](library)


def test_tables_of_other_libraries(table):
    texts = read_texts_argument(table)
    assert texts.singles == ["a", "b"]
    frame = texts.to_frame()
    assert list(frame) == ["id", "text", "label"]
    assert frame["id"].tolist() == [1, 2]
    assert texts.take([1]).to_frame()["text"].tolist() == ["b"]
    with raises(InputError, "'review'"):
        read_texts_argument(table, columns=TextColumns("review"))


def test_training_tables_of_other_libraries(table):
    cells = [row.cells for row in read_table("train", table).layout.rows]
    assert cells == [["1", "a", "1"], ["2", "b", ""]]


def test_columns_of_other_libraries(table):
    assert read_texts_argument(table["text"]).singles == ["a", "b"]
    labels = read_label_rows("labels", table["label"]).items
    assert labels[0] == 1
    assert labels[1] is None or labels[1] != labels[1]


def test_a_polars_series_keeps_its_name():
    polars = pytest.importorskip("polars", reason="the library is not installed")
    texts = read_texts_argument(polars.Series("review", ["a", "b"]))
    assert texts.to_frame().to_dict("list") == {"review": ["a", "b"]}
    assert list(read_texts_argument(polars.Series(["a"])).to_frame()) == ["text"]
    with pytest.raises(InputTypeError, match=r"^texts\[1\]: a text, or a pair of texts, is needed, found None"):
        read_texts_argument(polars.Series(["a", None]))


@pytest.mark.filterwarnings("ignore:Determining the column names of a LazyFrame")
def test_tables_that_are_not_in_memory_are_refused():
    polars = pytest.importorskip("polars", reason="the library is not installed")
    with pytest.raises(InputTypeError, match=r"^texts: a table in memory .*polars\.LazyFrame; call its collect\(\)"):
        read_texts_argument(polars.DataFrame(COLUMNS).lazy())


def test_a_dataset_that_is_not_in_memory_is_refused():
    datasets = pytest.importorskip("datasets", reason="the library is not installed")
    dataset = datasets.Dataset.from_dict(COLUMNS)
    with pytest.raises(InputTypeError, match=r"^texts: convert the .*IterableDataset to a pandas\.DataFrame"):
        read_texts_argument(dataset.to_iterable_dataset())
    with pytest.raises(InputTypeError, match=r"^texts: .* found a DatasetDict with the keys 'train'"):
        read_texts_argument(datasets.DatasetDict(train=dataset))
