"""Splits of texts and of multiple choice, and the dataset's files."""

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.choice import ChoiceExample
from bert_cli.examples.classification import ClassificationExample
from bert_cli.flags.option import build
from bert_cli.problem_types.registry import MULTIPLE_CHOICE, REGRESSION, SINGLE_LABEL
from bert_cli.runs.tasks.classification.dataset import ClassificationDataset, list_split_names, prediction_tables
from bert_cli.runs.tasks.classification.decoder import make_fitting_decoder
from bert_cli.runs.tasks.classification.encoded_splits import make_split
from bert_cli.settings.classification import ClassifySettings
from bert_cli.text.tokenization import FullTokenizer

IDS = {word: index for index, word in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "dog", "cat", "runs"))}
TOKENIZER = FullTokenizer(IDS)
TEXTS = [ClassificationExample("dev-0", "dog", None, "no"), ClassificationExample("dev-1", "cat", "runs", "yes")]
CHOICES = [ChoiceExample("dev-0", "dog", ("runs", "cat"), 1), ChoiceExample("dev-1", "cat", ("dog", "runs"), None)]


@pytest.fixture
def settings() -> ClassifySettings:
    return build(ClassifySettings, {"max_seq_length": 8, "task_name": "", "output_dir": "o"})


@pytest.fixture
def texts(settings):
    return make_split("dev", TEXTS, ("no", "yes"), TOKENIZER, SINGLE_LABEL, settings.encoding)


@pytest.fixture
def choices(settings):
    return make_split("dev", CHOICES, (), TOKENIZER, MULTIPLE_CHOICE, settings.encoding)


def cells(columns):
    return {name: [row[0] for row in column.cells()] for name, column in columns.items()}


def test_texts(texts):
    assert texts.ids == ["dev-0", "dev-1"]
    assert texts.texts == TEXTS
    assert texts.num_outputs(("no", "yes")) == 2
    assert texts.num_outputs(()) == 1  # a number
    assert texts.row_text(1) == {"id": "dev-1", "text": "cat", "text_b": "runs"}
    assert cells(texts.text_columns(["no", "yes"])) == {"text": ["dog", "cat"], "text_b": ["", "runs"]}
    assert texts.statistics().lengths.tolist() == [3, 5]
    assert texts.take(np.array([1])).ids == ["dev-1"]


def test_choices(choices):
    assert choices.texts == []
    assert choices.num_outputs(()) == 2
    assert choices.row_text(0) == {"id": "dev-0", "text": "dog", "endings": ["runs", "cat"]}
    assert cells(choices.text_columns([1, 0])) == {"text": ["dog", "cat"], "ending": ["cat", "dog"]}
    assert choices.statistics().lengths.tolist() == [5, 5, 5, 5]
    assert choices.lines((), TOKENIZER, 1, has_ids=False)[-1] == "label: 1"


def test_a_dataset_names_its_splits_and_files(settings, texts):
    decoder = make_fitting_decoder(SINGLE_LABEL, ("no", "yes"), settings.inference, False, [])
    data = ClassificationDataset(settings, decoder, TOKENIZER, {"dev": texts, "test": texts, "test_mismatched": texts})
    assert list_split_names(data, "test") == ["test", "test_mismatched"]
    assert prediction_tables(data).names("test") == ["test_results.tsv", "predictions.tsv"]
    assert data.prediction_files[2:] == ("test_results_mismatched.tsv", "predictions_mismatched.tsv")
    assert data.metrics[0] == "eval_accuracy"
    assert data.facts()["labels"] == ["no", "yes"]
    assert data.facts()["positive_label"] == "yes"


def test_correlations_are_undefined_for_equal_numbers(settings):
    examples = [ClassificationExample(f"dev-{row}", "dog", None, "2.5") for row in range(2)]
    split = make_split("dev", examples, (), TOKENIZER, REGRESSION, settings.encoding)
    decoder = make_fitting_decoder(REGRESSION, (), settings.inference, False, [])
    data = ClassificationDataset(settings, decoder, TOKENIZER, {"dev": split})
    reason = "all numbers of the evaluated data are 2.5"
    assert data.undefined_metrics == {"eval_pearson": reason, "eval_spearman": reason}


def test_scores_are_undefined_for_one_label_in_a_dev_split(settings):
    def undefined(labels, positive=None):
        examples = [ClassificationExample(f"dev-{row}", "dog", None, label) for row, label in enumerate(labels)]
        split = make_split("dev", examples, ("no", "yes"), TOKENIZER, SINGLE_LABEL, settings.encoding)
        decoder = make_fitting_decoder(SINGLE_LABEL, ("no", "yes"), settings.inference, False, [])
        decoder = decoder.with_positive_label(positive)
        return ClassificationDataset(settings, decoder, TOKENIZER, {"dev_mismatched": split}).undefined_metrics

    assert undefined(("no", "yes")) == {}
    both = {f"eval_{name}_mismatched" for name in ("mcc", "roc_auc", "average_precision", "kappa")}
    assert undefined(("yes", "yes")).keys() == both
    assert undefined(("yes", "yes"), "no").keys() == undefined(("no", "no")).keys() == both | {"eval_f1_mismatched"}
    assert undefined(("no", "no"))["eval_f1_mismatched"] == "no row of the evaluated data has the label yes"


def test_a_length_without_room_for_a_choice_is_refused(settings):
    short = build(ClassifySettings, {"max_seq_length": 4, "task_name": "", "output_dir": "o"})
    with pytest.raises(InputError, match="max_seq_length"):
        make_split("dev", CHOICES, (), TOKENIZER, MULTIPLE_CHOICE, short.encoding)
