"""Values that training flags accept."""

from bert_cli.base.errors import InputError
from bert_cli.settings.training import read_eval_every, read_folds
from tests.snapshots import raises


def test_evaluations_during_training():
    assert [read_eval_every(text) for text in ("epoch", "1", "500")] == ["epoch", "1", "500"]
    for text in ("0", "-1", "1.5", "٣", "steps"):
        with raises(InputError, f"--eval_every={text}: "):
            read_eval_every(text)


def test_one_fold_is_no_cross_validation():
    assert [read_folds(count) for count in (0, 2, 10)] == [0, 2, 10]
    with raises(InputError, "--cross_validation=1: "):
        read_folds(1)
