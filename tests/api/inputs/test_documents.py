"""Documents for pre-training, as a program has them."""

import pandas as pd
import pytest

from bert_cli.api.inputs.documents import read_documents
from bert_cli.base.errors import InputError
from tests.snapshots import raises

DOCUMENTS = ["the dog sleeps.\nit is old.", "a cat."]


@pytest.mark.parametrize(
    "data",
    [
        DOCUMENTS,
        tuple(DOCUMENTS),
        (document for document in DOCUMENTS),
        [["the dog sleeps.", "it is old."], "a cat."],
        [("the dog sleeps.", "it is old."), ["a cat."]],
        pd.Series(DOCUMENTS),
        pd.DataFrame({"text": DOCUMENTS}),
    ],
    ids=["list", "tuple", "generator", "sentences", "tuples", "Series", "DataFrame"],
)
def test_forms_of_documents(data):
    assert read_documents("texts", data) == DOCUMENTS


def test_a_sentence_in_a_list_is_one_line():
    assert read_documents("texts", [["a\ndog", "a cat"]]) == ["a dog\na cat"]


def test_an_empty_sentence_does_not_end_a_document():
    assert read_documents("texts", [["a .", "", "b ."], ["", "c .", " \n\t"], ("d .", "\n", "e .\n")]) == [
        "a .\nb .", "c .", "d .\ne . ",
    ]  # fmt: skip


@pytest.mark.parametrize("data", [[], [3], ["a", None], [["a", 3]], {"a"}, 5, b"a"])
def test_other_forms_are_refused(data):
    with raises(InputError, "texts"):
        read_documents("texts", data)
