"""Memory of a Python program that trains and predicts again and again."""

import pytest

from bert_cli import Classifier
from bert_cli.runtime.machine import current_memory
from tests.commands.conftest import SENTENCES

TEXTS = [text for text, _ in SENTENCES]
LABELS = ["person" if of_people else "animal" for _, of_people in SENTENCES]
FITS, PREDICTIONS = 20, 50  # together 1,020 calls
WARM_UP = 8  # trainings until TensorFlow's and Python's own caches are full


@pytest.mark.slow
def test_a_thousand_calls_need_no_more_memory(model):
    options = {
        "vocab_file": str(model / "vocab.txt"),
        "bert_config_file": str(model / "bert_config.json"),
        "max_seq_length": 16,
        "train_batch_size": 8,
        "num_train_epochs": 1,
        "report": False,
        "verbose": 0,
    }
    sizes = []
    for _ in range(FITS):
        classifier = Classifier.fit(TEXTS, LABELS, **options)
        for _ in range(PREDICTIONS):
            classifier.predict(TEXTS)
        sizes.append(current_memory())
    assert sizes[-1] < 1.05 * sizes[WARM_UP], sizes
