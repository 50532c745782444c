"""Cross-validation from Python, compared with the commands' files."""

import numpy as np
import pandas as pd
import pytest

from bert_cli import Classifier, Tagger
from bert_cli.base.errors import InputError
from bert_cli.outputs.sweep import mean_and_deviation
from tests.commands.conftest import SENTENCES
from tests.commands.test_api_training import LABELS, TEXTS, flags_of
from tests.rows import write_rows

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def options(model) -> dict:
    return {
        "vocab_file": str(model / "vocab.txt"),
        "bert_config_file": str(model / "bert_config.json"),
        "max_seq_length": 32,
        "train_batch_size": 4,
        "learning_rate": 0.003,
        "num_train_epochs": 1,
        "precision": "float32",
        "cross_validation": 2,
    }


def test_folds_equal_those_of_the_command(options, tmp_path, classify):
    table = write_rows(tmp_path / "train.tsv", [("text", "label"), *zip(TEXTS, LABELS, strict=True)])
    outcome = classify(f"--train_file={table}", *flags_of(options), f"--output_dir={tmp_path / 'out'}", "--do_train")
    assert outcome.code == 0, outcome.err
    index = [f"row {number}" for number in range(len(TEXTS))]
    result = Classifier.fit(pd.Series(TEXTS, index=index), LABELS, **options)
    expected = pd.read_csv(tmp_path / "out" / "out_of_fold.tsv", sep="\t")
    assert result.out_of_fold.index.tolist() == index
    assert result.out_of_fold["text"].tolist() == TEXTS
    assert result.out_of_fold["given"].tolist() == LABELS
    for name in ("fold", "predicted", "prob_animal", "prob_person"):
        assert result.out_of_fold[name].tolist() == expected[name].tolist()
    folds = pd.read_csv(tmp_path / "out" / "folds.tsv", sep="\t", index_col="folder")
    assert result.to_frame()["eval_accuracy"].tolist() == folds["eval_accuracy"].tolist()[:2]
    assert (result.mean["eval_loss"], result.std["eval_loss"]) == tuple(folds["eval_loss"].tolist()[2:])
    assert result.report["data_facts"]["train"]["columns"] == {"text": ["text"], "label": ["label"]}
    assert result.output_dir is None


def test_weights_and_numbers(options, tmp_path):
    numbers = [number / 8 for number in range(len(TEXTS))]
    weights = np.linspace(0.5, 1.5, len(TEXTS))
    result = Classifier.fit(TEXTS, numbers, sample_weight=weights, output_dir=tmp_path / "out", **options)
    assert result.out_of_fold["given"].tolist() == numbers
    errors = (result.out_of_fold["predicted"] - result.out_of_fold["given"]) ** 2
    per_fold = errors.groupby(result.out_of_fold["fold"]).mean().tolist()
    # Metrics of held-out rows are not weighted.
    assert [metrics["eval_rmse"] ** 2 for metrics in result.metrics] == pytest.approx(per_fold, rel=1e-4)
    assert [metrics["eval_loss"] for metrics in result.metrics] == pytest.approx(per_fold, rel=1e-4)
    assert Classifier.load(tmp_path / "out" / "fold-2").problem_type == "regression"
    assert mean_and_deviation(result.metrics) == (result.mean, result.std)


def test_tags(options):
    sentences = [
        (text.split(), ["B-PER" if is_of_people else "O"] * 1 + ["O"] * (len(text.split()) - 1))
        for text, is_of_people in SENTENCES
    ]
    result = Tagger.train(sentences, **options)
    assert result.out_of_fold["given"].tolist() == [tuple(tags) for _, tags in sentences]
    assert list(map(len, result.out_of_fold["predicted"])) == [len(words) for words, _ in sentences]
    assert len(result) == 2
    assert "eval_f1" in result.mean


def test_refusals(options, tmp_path):
    rows = list(zip(TEXTS, LABELS, strict=True))
    for arguments, message in (
        ({"dev": rows}, r"^dev and cross_validation: give one of them"),
        (
            {"dev_split": 0.1},
            r"^cross_validation and dev_split with no eval_every cannot be combined: each fold is held",
        ),
        ({"cross_validation": 1}, r"^cross_validation=1: two folds or more are needed"),
    ):
        with pytest.raises(InputError, match=message):
            Classifier.train(rows, output_dir=tmp_path / "out", **(options | arguments))
    assert not (tmp_path / "out").exists()
