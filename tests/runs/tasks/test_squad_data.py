"""Names for answer files, and statistics about questions."""

import json

import pytest

from bert_cli.examples.squad.records import SquadExample, split_context
from bert_cli.features.squad import squad_features
from bert_cli.flags.option import build
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.tasks.squad_data import SquadDataset, SquadSplit, backup_answer_names
from bert_cli.settings.squad import SquadSettings
from bert_cli.text.tokenization import FullTokenizer

IDS = {word: index for index, word in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "who", "dog", "barks"))}
TOKENIZER = FullTokenizer(IDS)


@pytest.mark.parametrize(
    ("earlier", "predict_file", "expected"),
    [
        ("dev.json", "/a/test.json", {"predictions.json": "dev.predictions.json"}),
        ("dev.json", "/a/dev.json", {}),
        ("dev.json", None, {}),
        (None, "/a/test.json", {}),
    ],
)
def test_answers_to_another_file_are_renamed(tmp_path, earlier, predict_file, expected):
    (tmp_path / "predictions.json").write_text("{}")
    if earlier:
        (tmp_path / "run_report.json").write_text(json.dumps({"predict_file": earlier, "total_seconds": 1}))
    assert backup_answer_names(RunDirectory(str(tmp_path)), predict_file) == expected


@pytest.fixture
def split() -> SquadSplit:
    examples = [SquadExample("1", "Who", split_context("dog barks"), "dog", 0, 0)]
    return SquadSplit(examples, squad_features(examples, TOKENIZER, 16, 4, 8, is_training=False))


def test_statistics(split):
    statistics = split.statistics()
    assert (statistics.texts, statistics.labels, statistics.unit) == ([("Who", "dog barks")], ["dog"], "window")
    assert statistics.lengths.tolist() == [6]


@pytest.mark.parametrize(("version_2", "metrics"), [(True, ("f1", "exact")), (False, ("f1", "exact_match"))])
def test_metrics_and_files(tmp_path, split, version_2, metrics):
    settings = build(SquadSettings, {"version_2_with_negative": version_2, "output_dir": str(tmp_path)})
    data = SquadDataset(settings, TOKENIZER, {"predict": split})
    assert data.metrics == metrics
    assert data.prediction_files == ("predictions.json", "nbest_predictions.json", "null_odds.json")
