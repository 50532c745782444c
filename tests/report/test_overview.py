"""Tiles, commands and facts for every run."""

import dataclasses

import pytest

from bert_cli.outputs.eval_examples import EvalExamples
from bert_cli.report.overview import commands, lengths_cards, machine, run_cards, tiles, title
from bert_cli.report.run_files import Run, read_run
from tests.report import folders


@pytest.fixture
def run(tmp_path) -> Run:
    return read_run(str(folders.one_label(tmp_path / "a run")))


def test_the_main_metric_is_a_tile(run):
    (tile,) = tiles(run)
    assert (tile.value, tile.name, tile.note) == ("0.7500", "accuracy", "on 4 held-out rows")
    assert title(run) == "a run · accuracy 0.7500"


def test_the_best_checkpoint_is_named_by_its_step(run):
    best = dataclasses.replace(run, report=run.report | {"global_step": 60, "last_step": 1000})
    assert tiles(best)[0].note == "on 4 held-out rows, after step 60 of 1,000"


def test_runs_before_an_evaluation_have_no_tile(run):
    new = dataclasses.replace(run, results={})
    assert tiles(new) == []
    assert title(new) == "a run"


def test_paths_in_commands_are_quoted(run):
    lines = dict(commands(run))
    assert lines["Make this page again"] == f"bert-report '{run.folder}'"
    assert (
        lines["Answer a text"] == f"bert-classify --output_dir='{run.folder}' --text 'a text' --text_b 'another text'"
    )
    assert lines["Export it"].startswith("bert-export --init_checkpoint=")


def test_single_texts_have_no_second_text(run):
    single = dataclasses.replace(run, examples=EvalExamples(run.examples.head, [{"text": "a"}]))
    assert dict(commands(single))["Answer a text"].endswith("--text 'a text'")


def test_pretraining_is_not_exported(run):
    lines = dict(commands(dataclasses.replace(run, manifest=run.manifest | {"command": "bert-pretrain"})))
    assert list(lines) == ["Repeat it in another folder", "Fill in words", "Make this page again"]


def test_machine(run):
    values = dict(machine(run))
    assert values["device"] == "1 CPU"
    assert values["memory at its peak"] == "1.50 GB"
    assert values["training"] == "1 min 15 s"
    assert values["tensorflow"] == "2.21.0"
    assert "memory of the device" not in values


def test_lengths(run):
    plot, table = lengths_cards(run)
    assert "what is longer than 32 is cut" in plot.note
    assert table.content.head == ("split", "inputs", "median", "longest", "cut")
    assert [tuple(row) for row in table.content.rows] == [("train", "5", "8", "30", "2"), ("dev", "5", "8", "30", "0")]
    assert lengths_cards(dataclasses.replace(run, report={})) == []


def test_cards_end_with_all_results(run):
    cards = run_cards(run)
    assert [card.key for card in cards] == [
        "card-commands",
        "card-settings",
        "card-machine",
        "card-model",
        "card-results",
    ]
    assert ("hidden_size", "16") in cards[3].content
    assert ("eval_accuracy", "0.75") in map(tuple, cards[4].content.rows)
