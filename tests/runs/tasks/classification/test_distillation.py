"""A teacher's logits: computed, stored and read again."""

import numpy as np
import pytest

from bert_cli.base.errors import InputError
from bert_cli.examples.classification import ClassificationExample
from bert_cli.features.classification import classification_features
from bert_cli.problem_types.registry import SINGLE_LABEL
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.tasks.classification.distillation import Teacher, read_logits
from bert_cli.text.tokenization import FullTokenizer
from tests.snapshots import raises

IDS = {word: index for index, word in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "dog"))}
EXAMPLES = [ClassificationExample("0", "dog", None, "no"), ClassificationExample("1", "dog", None, None)]
PROBABILITIES = np.array([[0.25, 0.75], [0.5, 0.5]], np.float32)


@pytest.fixture
def features():
    return classification_features(EXAMPLES, ("no", "yes"), FullTokenizer(IDS), 8)


def test_logits_have_the_order_of_the_student_and_are_stored(tmp_path, features):
    calls = []

    def predict(examples):
        calls.append(examples)
        return PROBABILITIES

    # The teacher's outputs are yes and no, and the student's are no and yes.
    teacher = Teacher("name", predict, [1, 0], SINGLE_LABEL.distiller)
    directory = RunDirectory(str(tmp_path))
    taught = teacher.teach(features, EXAMPLES, 1, directory, resumes=False, is_chief=True)
    np.testing.assert_allclose(taught.batch(np.arange(2))["teacher_logits"], np.log(PROBABILITIES[:, ::-1]), rtol=1e-6)
    resumed = teacher.teach(features, EXAMPLES, 1, directory, resumes=True, is_chief=True)
    np.testing.assert_array_equal(
        resumed.batch(np.arange(2))["teacher_logits"], taught.batch(np.arange(2))["teacher_logits"]
    )
    assert calls == [EXAMPLES]


def test_a_dry_run_does_not_ask_the_teacher(features):
    teacher = Teacher("name", pytest.fail, [0, 1], SINGLE_LABEL.distiller)
    taught = teacher.teach(features, EXAMPLES, 1, None, resumes=False, is_chief=True)
    assert not taught.batch(np.arange(2))["teacher_logits"].any()


def test_logits_of_other_rows_are_refused(tmp_path):
    path = tmp_path / "teacher.npy"
    np.save(path, np.zeros((2, 2), np.float32))
    assert read_logits(str(path), (2, 2)).shape == (2, 2)
    with raises(InputError, "teacher.npy: "):
        read_logits(str(path), (3, 2))
    path.write_bytes(path.read_bytes()[:-4])
    with raises(InputError):
        read_logits(str(path), (2, 2))
