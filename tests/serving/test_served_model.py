"""Items, and the methods that all served models share."""

import types

import pytest

from bert_cli.base.errors import InputError
from bert_cli.features.packing import CutCounts
from bert_cli.serving.items import Item
from bert_cli.serving.responses import RequestError
from bert_cli.serving.served_model import ServedModel, check_served
from bert_cli.settings.answering import ModelFlags
from bert_cli.weights.path import HUGGING_FACE, TF1, CheckpointPath
from tests.snapshots import raises

FLAGS = ModelFlags()


class LengthModel(ServedModel):
    """A model that answers with the number of characters."""

    kind = "length"
    _longest_answered = None

    def answer(self, items):
        return [{"length": float("nan") if item.first == "nan" else item.characters} for item in items]


def length_model(location: str = "/a/model.ckpt-30", checkpoint_format: str = TF1) -> LengthModel:
    return LengthModel("lengths", FLAGS, CheckpointPath(checkpoint_format, location))


def test_items():
    assert (Item("ab").text_or_pair, Item("ab").characters) == ("ab", 2)
    assert (Item("ab", "c").text_or_pair, Item("ab", "c").characters) == (("ab", "c"), 3)


@pytest.mark.parametrize(
    ("location", "checkpoint_format", "step"),
    [("/a/model.ckpt-30", TF1, 30), ("/a/bert_model.ckpt", TF1, 0), ("/a/run-7", HUGGING_FACE, 0)],
)
def test_steps_are_in_names_of_checkpoints(location, checkpoint_format, step):
    assert length_model(location, checkpoint_format).step == step


def test_description():
    assert length_model().describe() == {
        "name": "lengths",
        "kind": "length",
        "labels": [],
        "takes_pairs": True,
        "explains": False,
    }
    assert length_model().with_index(3, Item("a"), {"length": 1}) == {"index": 3, "length": 1}


def test_tokens_are_estimated():
    model = length_model()
    assert model.estimate_tokens([Item("abcd"), Item("abcd", "efgh"), Item("a" * 400)], is_vector=False) == [4, 5, 103]
    model._longest_answered = 50
    assert model.estimate_tokens([Item("a" * 400)], is_vector=False) == [50]
    model._vectors = types.SimpleNamespace(longest=None)
    assert model.estimate_tokens([Item("a" * 400)], is_vector=True) == [103]


def test_missing_abilities_are_answered_with_400():
    model = length_model()
    with raises(RequestError):
        model.plan_explanation(Item("a"), 100)
    with raises(RequestError):
        _ = model.vectors


def test_cut_texts_are_counted(caplog):
    model = length_model()
    for count in (0, 2, 1):
        model._count_cuts(CutCounts(3, count, 20, count), 16)
    assert model.num_cut_texts == 3


def test_models_must_give_finite_numbers():
    check_served(length_model())

    class BrokenModel(LengthModel):
        def answer(self, items):
            return [{"length": float("nan")}]

    with raises(InputError):
        check_served(BrokenModel("broken", FLAGS, CheckpointPath(TF1, "/a/model.ckpt-30")))


def test_a_flag_for_one_model_must_have_an_effect():
    values = {"labels": ("a", "b")}
    LengthModel("lengths", ModelFlags(values), CheckpointPath(TF1, "/a/model.ckpt-30")).check_flags()
    model = LengthModel("lengths", ModelFlags(values, frozenset(values)), CheckpointPath(TF1, "/a/model.ckpt-30"))
    with raises(InputError):
        model.check_flags()
