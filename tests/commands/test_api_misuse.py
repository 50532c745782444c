"""Calls from Python that people get wrong: each is refused, and the message names arguments of that call."""

import re

import numpy as np
import pandas as pd
import pytest

from bert_cli import Classifier, MaskFiller, Tagger
from bert_cli.base.errors import InputError
from bert_cli.sklearn import BertClassifier
from tests.snapshots import check_message, raises

TEXTS = [f"the dog sees the cat {number} times ." for number in range(12)]
LABELS = ["good", "bad"] * 6
FRAME = pd.DataFrame({"review": TEXTS, "stars": LABELS})
NAN = float("nan")


@pytest.fixture
def classifier(trained_once) -> Classifier:
    return Classifier.load(trained_once[0])


@pytest.mark.parametrize(
    ("texts", "labels", "options", "place"),
    [
        (LABELS, TEXTS, {}, "labels: "),
        (FRAME["stars"], FRAME["review"], {}, "labels: "),
        (LABELS * 5, [f"{text} And {number}." for number, text in enumerate(TEXTS * 5)], {}, "labels: "),
        (TEXTS, [*LABELS[:3], NAN, *LABELS[4:]], {}, "labels[3]: "),
        (TEXTS, pd.Series([None, 1, None] * 4, dtype="Int64"), {}, "labels[0]: "),
        (TEXTS, ["a", 1] * 6, {}, "labels: "),
        (TEXTS, [1.5, "b", None] * 4, {"skip_unlabeled": True}, "labels: "),
        (TEXTS, ["a"] * 12, {}, "texts: "),
        (["", " "] * 6, LABELS, {}, "texts[0]: "),
        (TEXTS, LABELS, {"dev_texts": ["a"], "dev_labels": ["fair"]}, "dev_texts[0]: "),
        (TEXTS, LABELS, {"callbacks": print}, "callbacks: "),
        (TEXTS, LABELS, {"validation_data": (TEXTS, LABELS)}, "unknown argument validation_data"),
        (TEXTS, LABELS, {"model": "x"}, "unknown argument model"),
    ],
)
def test_fit_names_its_own_arguments(texts, labels, options, place):
    with raises(InputError, place) as error:
        Classifier.fit(texts, labels, **options)
    assert "label_column" not in str(error.value)
    assert "--" not in str(error.value)


def test_evaluate_names_its_own_arguments(classifier):
    frame = pd.DataFrame({"text": TEXTS})
    with raises(InputError, "data: ") as error:
        classifier.evaluate(frame)
    assert "second argument" in str(error.value)
    with raises(InputError, "labels[0]: 'fair'") as error:
        classifier.evaluate(["a"], ["fair"])
    assert "with labels" not in str(error.value)


@pytest.mark.parametrize("size", [0, -1, "x", 2.5, True, None])
def test_a_batch_size_is_a_count(classifier, size):
    for call in (
        lambda: classifier.predict(["a"], batch_size=size),
        lambda: classifier.evaluate(["a"], ["0"], batch_size=size),
        # None is the default of top_k.
        lambda: MaskFiller.load().fill("a [MASK]", top_k=size or 0),
    ):
        with raises(InputError):
            call()


def test_one_text_gives_one_prediction(classifier):
    prediction = classifier.predict("the dog")
    assert prediction == classifier.predict(["the dog"])[0]
    assert prediction.label in classifier.labels


def test_a_model_is_not_trained_in_place(classifier, trained_once, tagger_once):
    tagger = Tagger.load(tagger_once[0])
    for call in (
        lambda: classifier.fit(TEXTS, LABELS),
        lambda: classifier.train(FRAME),
        lambda: tagger.train([(["a"], ["O"])]),
    ):
        with raises(InputError) as error:
            call()
        assert "init_checkpoint=" in str(error.value)
    with pytest.raises(InputError, match=re.escape(str(trained_once[0]))):
        classifier.fit()


def test_masks_and_next_sentences():
    filler = MaskFiller.load()
    for call in (lambda: filler.fill("no mask"), lambda: filler.next_sentence("a", "b")):
        with raises(InputError) as error:
            call()
        assert "|||" not in str(error.value)


def test_scikit_learn_has_its_own_name_for_the_seed():
    with raises(ValueError, "random_state=a: "):
        BertClassifier(random_state="a").fit(TEXTS, LABELS)


def test_targets_out_of_reach_are_named_before_the_training(model, caplog):
    numbers = np.where(np.arange(12) % 2, 10.0, 90.0)
    options = {"vocab_file": model / "vocab.txt", "bert_config_file": model / "bert_config.json", "report": False}
    Classifier.fit(
        TEXTS, numbers, init_checkpoint="random", num_train_epochs=0.1, verbose=0, max_seq_length=8, **options
    )
    check_message(caplog, "texts: warning: ", "from 10 to 90")
