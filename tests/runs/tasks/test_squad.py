"""Comparison of SQuAD 2.0's answers with no answer at all."""

import pytest

from bert_cli.flags.option import build
from bert_cli.outputs.answers.squad import SquadPrediction
from bert_cli.runs.tasks.interface import Evaluation
from bert_cli.runs.tasks.squad import SquadTask
from bert_cli.runs.tasks.squad_data import SquadDataset
from bert_cli.settings.squad import SquadSettings
from tests.runs.tasks.test_squad_data import TOKENIZER


def compare(texts, results, version_2=True):
    settings = build(SquadSettings, {"version_2_with_negative": version_2, "output_dir": "o"})
    predictions = [SquadPrediction(str(number), text, None, (), 0.0, True) for number, text in enumerate(texts)]
    data = SquadDataset(settings, TOKENIZER, {}, {})
    return SquadTask(settings).compare(data, Evaluation(results, [], {}, (predictions, 1.0)))


@pytest.mark.parametrize(("texts", "collapse"), [(("", "", ""), "no question gets an answer"), (("", "dog", ""), "")])
def test_the_baseline_answers_no_question(texts, collapse):
    comparison = compare(texts, {"f1": 50.0, "total": 3, "HasAns_total": 1, "NoAns_total": 2})
    assert comparison.baselines["no_answer"]["f1"] == pytest.approx(100 * 2 / 3)
    assert (comparison.is_varied, comparison.collapse) == (True, collapse)


def test_questions_of_one_kind():
    without = compare(("",), {"f1": 100.0, "total": 1, "NoAns_total": 1})
    assert (without.is_varied, without.collapse) == (False, "")
    assert compare(("dog",), {"f1": 1.0, "total": 1, "HasAns_total": 1}).baselines["no_answer"] == {"f1": 0, "exact": 0}
    assert compare(("dog",), {"f1": 1.0, "exact_match": 1.0}, version_2=False) is None
