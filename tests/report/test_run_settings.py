"""Settings on a run's page: first the ones that differ from their defaults."""

from bert_cli.report.page import run_page
from bert_cli.report.run_files import read_run
from bert_cli.report.run_settings import settings_card
from tests.report import folders
from tests.report.reader import Reader


def test_changed_settings_come_first(tmp_path):
    text = Reader(run_page(read_run(str(folders.one_label(tmp_path / "run"))))).text
    card = text.partition("Settings that decide the result")[2].partition("Machine")[0]
    changed, _, usual = card.partition("with their default values")
    assert "max_seq_length" in changed
    assert "learning_rate" in changed
    assert "warmup_proportion" in usual
    assert "warmup_proportion" not in changed


def test_a_run_of_an_unknown_command_shows_all_its_settings(tmp_path):
    folder = folders.begin(tmp_path / "run", "bert-newer", "eval_f1", {"of_tomorrow": True}, {}, {})
    content = settings_card(read_run(str(folder))).content
    assert ("of_tomorrow", "true") in content["first"]
    assert content["folded"] == []


def test_many_labels_are_cut(tmp_path):
    folder = folders.begin(
        tmp_path / "run", "bert-classify", "eval_f1", {"labels": [str(n) for n in range(40)]}, {}, {}
    )
    assert dict(settings_card(read_run(str(folder))).content["first"])["labels"].endswith("10, 11, … (40)")
