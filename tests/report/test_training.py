"""Plots from a training's history."""

import dataclasses

from bert_cli.report.run_files import read_run
from bert_cli.report.training import training_cards
from tests.report import folders


def test_every_curve_has_a_card(tmp_path):
    run = read_run(str(folders.one_label(tmp_path / "run")))
    loss, rate, metric, speed = training_cards(run)
    assert loss.note.startswith("Final loss: 0.1625, the mean over the last tenth of the steps. ")
    assert rate.note == "Peak of the schedule: 1e-04."
    assert metric.note == "Best: 0.9000 after step 60."
    assert speed.title == "Speed"


def test_a_single_evaluation_is_no_curve(tmp_path):
    run = read_run(str(folders.one_label(tmp_path / "run")))
    history = [line for line in run.history if "metrics" not in line or line["step"] == 30]
    cards = training_cards(dataclasses.replace(run, history=history))
    assert [card.title for card in cards] == ["Loss", "Learning rate", "Speed"]


def test_no_history_has_no_curves(tmp_path):
    run = read_run(str(folders.one_label(tmp_path / "run")))
    assert training_cards(dataclasses.replace(run, history=[])) == []
