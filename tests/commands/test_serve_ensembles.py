"""bert-serve with several runs as one model, compared with bert-classify --ensemble."""

import functools

import pytest

from bert_cli.base.errors import InputError
from bert_cli.serving.items import Item
from bert_cli.serving.loading import load_served
from bert_cli.serving.responses import RequestError
from bert_cli.settings.answering import ModelFlags
from bert_cli.weights.path import find_checkpoint
from tests.commands.ensemble_runs import TEXTS, mean_records, variant
from tests.commands.test_serve import serving
from tests.snapshots import raises

TUNED = [{"0": 0.2, "1": 0.9}, {"1": 0.5, "0": 0.4}]


def serve(*members, **flags):
    return load_served("both", ModelFlags(flags, frozenset(flags)), *(find_checkpoint(str(path)) for path in members))


@pytest.fixture
def records(classify, tmp_path):
    """Return the records of bert-classify --ensemble for TEXTS."""
    return functools.partial(mean_records, classify, tmp_path)


def check_records(actual, expected):
    for number, (ours, theirs) in enumerate(zip(actual, expected, strict=True)):
        assert ours.keys() | {"index"} == theirs.keys()
        for name, value in theirs.items():
            if name == "probabilities":
                assert ours[name] == pytest.approx(value, abs=1e-6)
            elif name == "value":
                assert ours[name] == pytest.approx(value, rel=1e-6)
            else:
                assert ours.get(name, number) == value


def test_a_server_answers_with_the_mean(records, trained_once, tmp_path):
    members = [variant(trained_once[0], tmp_path / "a"), variant(trained_once[0], tmp_path / "b", 0.25, ("1", "0"))]
    with serving(f"--ensemble=both={members[0]},{members[1]}", "--precision=float32") as served:
        predictions = served.post("/predict", {"texts": TEXTS, "model": "both"})[1]["predictions"]
        check_records(predictions, records(*members))
        (model,) = served.ask("GET", "/v1/models")[1]["data"]
        assert (model["kind"], model["explains"], model["labels"]) == ("classifier", False, ["0", "1"])
        status, answer = served.post("/explain", {"text": TEXTS[0]})
        assert (status, "is an ensemble" in answer["error"]["message"]) == (400, True)
        status, answer = served.post("/v1/embeddings", {"input": TEXTS[0]})
        assert (status, "have no common vectors" in answer["error"]["message"]) == (400, True)


@pytest.mark.parametrize(
    ("problem_type", "thresholds"), [("regression", (None, None)), ("multi_label", TUNED), ("single_label", TUNED)]
)
def test_all_kinds_of_classifiers(records, trained_once, tmp_path, problem_type, thresholds):
    if problem_type == "single_label":
        thresholds = ({"1": 0.7}, {"0": 0.6})
    labels = ("0", "1"), (("0", "1") if problem_type == "regression" else ("1", "0"))
    members = [
        variant(trained_once[0], tmp_path / name, scale, labels[number], problem_type, thresholds[number])
        for number, (name, scale) in enumerate((("a", 1.0), ("b", 0.5)))
    ]
    model = serve(*members, precision="float32")
    check_records(model.answer([Item(text) for text in TEXTS]), records(*members))


def test_folds_of_one_directory_are_one_model(trained_once, tmp_path):
    """A length for all members is used, and a flag for vectors is not."""
    members = [variant(trained_once[0], tmp_path / name) for name in "ab"]
    model = serve(*members, max_seq_length=16)
    assert model.answer([Item("a dog " * 40)])[0]["cut"] == 80 - 14
    with raises(InputError, "both: is an ensemble, whose 2 members have no common vectors"):
        serve(*members, pooling="cls")
    with pytest.raises(RequestError, match="an explanation is about one classifier"):
        model.plan_explanation(Item("a dog"), 100)


def test_members_that_do_not_belong_together(trained_once, tagger_once, tmp_path):
    first = variant(trained_once[0], tmp_path / "a")
    with raises(InputError, "has the labels 0, 2, and "):
        serve(first, variant(trained_once[0], tmp_path / "b", labels=("0", "2")))
    with raises(InputError, "is a model for regression, and "):
        serve(first, variant(trained_once[0], tmp_path / "c", problem_type="regression"))
    pairs = variant(trained_once[0], tmp_path / "d")
    (pairs / "flags.txt").write_text((pairs / "flags.txt").read_text("utf-8") + "--task_name=mrpc\n", "utf-8")
    with raises(InputError, "takes pairs of texts, and "):
        serve(trained_once[0], pairs)
    with raises(InputError, "holds a model of bert-tag, and one of bert-classify is needed"):
        serve(first, tagger_once[0])
