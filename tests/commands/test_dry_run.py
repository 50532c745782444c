"""--dry_run in every training command: its findings, and that it writes nothing."""

import functools
import json
import os
import re
import shutil
import types

import numpy as np
import pytest

from bert_cli import run_pretraining, run_squad
from bert_cli.features.ragged import RaggedFeatures
from bert_cli.run_directory.directory import RunDirectory
from bert_cli.runs.dry_run import count_inference_tokens
from bert_cli.runs.engine import training_run
from bert_cli.runs.engine.probe import estimate_memory_growth, expected_shapes
from bert_cli.runs.engine.training_inputs import choose_probe_batches
from bert_cli.training.optimizers.hyperparameters import TrainingHyperparameters
from tests.commands import helpers, squad_run
from tests.rows import write_rows
from tests.snapshots import check_message


def forecast_of(outcome) -> tuple[int, str]:
    """Return the reported steps and the last line; the forecast must be there."""
    assert outcome.code == 0, outcome.err
    assert re.search(r"\n  time: about \d+:\d\d \(", outcome.err)
    assert re.search(r"\n  memory: about \d+(\.\d)? [MG]B \(of the process\); a checkpoint has ", outcome.err)
    return int(re.search(r"\n  steps: (\d+), of \d+ rows", outcome.err)[1]), outcome.last_line


def test_classifier(classify, flags, cola, tmp_path, snapshot, monkeypatch):
    """The forecast includes a disk that is too small."""
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: types.SimpleNamespace(free=1000))
    train = (cola / "train.tsv").read_text().splitlines()
    write_rows(cola / "train.tsv", [*train, train[0], train[1].replace("\t0\t", "\t1\t")])
    before = snapshot(tmp_path)
    done = classify(*flags, "--do_train", "--do_eval", "--dry_run", f"--output_dir={tmp_path / 'out'}")
    assert forecast_of(done) == (32, "nothing was written; the run without --dry_run starts from the beginning")
    assert snapshot(tmp_path) == before
    for line in (
        "train: 26 rows",
        "train: tokens in a row: least 5, ",
        "train: [UNK]: ",
        "train: duplicates: 2 rows have the text of an earlier one, such as row 25 and row 1: 'the old farmer buys",
        "train: conflicting labels: 1 texts have different labels, such as rows 2 (0) and 26 (1): 'a dog chases a cat .'",
        "leak: 11 of 11 rows of dev are in train too, 2 of them with another label, such as row 1: ",
    ):
        assert f"\n  {line}" in done.err, line
    assert done.err.count("*** Example ***") == 1
    assert re.search(
        r"warning: without --dry_run this would be refused: .*out: a checkpoint of this training needs 0\.\d\d MB, "
        r"0\.00 MB are free there; make space, or use another --output_dir\n",
        done.err,
    )


def test_dry_run_in_the_folder_of_another_run(classify, flags, cola, trained, snapshot):
    """It also works while the other run holds the directory."""
    before = snapshot(trained)
    dry_flags = [*flags, "--do_train", "--dry_run", f"--output_dir={trained}", "--learning_rate=0.5"]
    with RunDirectory(str(trained)).lock("auto").hold("bert-classify"):
        classify("--do_predict", f"--output_dir={trained}").assert_refused("wait for its end", code=os.EX_TEMPFAIL)
        done = classify(*dry_flags)
    assert forecast_of(done)[0] == 30
    check_message(done.err, "--dry_run")
    assert "learning_rate was " in done.err
    assert snapshot(trained) == before


@pytest.mark.slow
def test_finished_training(classify, trained, trained_flags, snapshot):
    before = snapshot(trained)
    done = classify(*trained_flags, f"--output_dir={trained}", "--dry_run")
    assert forecast_of(done)[0] == 0
    check_message(done.err, "30 steps")
    assert snapshot(trained) == before


@pytest.mark.slow
def test_tagger(tag, model_flags, tmp_path, snapshot):
    (tmp_path / "train.txt").write_text("the\tO\nold\tB-X\ndog\tI-X\n\na\tO\ncat\tB-X\n\n" * 3)
    before = snapshot(tmp_path)
    for more in ([], ["--freeze_encoder"]):
        done = tag(
            *model_flags, f"--data_dir={tmp_path}", f"--output_dir={tmp_path / 'out'}", "--do_train", "--dry_run", *more
        )
        assert forecast_of(done)[0] == 7
        check_message(done.err, "duplicates: 4 rows")
    assert snapshot(tmp_path) == before


@pytest.mark.slow
def test_answers(model, tmp_path, capfd, snapshot):
    path = squad_run.write_data(tmp_path / "train.json", 6)
    articles = json.loads(path.read_text(encoding="utf-8"))
    paragraph = articles["data"][0]["paragraphs"][0]
    text = " ".join(paragraph["context"].split()[:2])
    paragraph["qas"][0]["answers"] = [{"text": text, "answer_start": 0}]
    path.write_text(json.dumps(articles), encoding="utf-8")
    before = snapshot(tmp_path)
    flags = squad_run.base_flags(model) | {"train_file": path, "output_dir": tmp_path / "out"}
    phases = ("--do_train", "--do_eval", f"--predict_file={path}", "--max_answer_length=1", "--dry_run")
    done = helpers.call(capfd, "bert-squad", run_squad.main, *helpers.words(flags), *phases)
    assert forecast_of(done)[0] > 0
    for split in ("train", "predict"):
        assert re.search(rf"{split}: warning: 1 of 12 answers have more tokens than --max_answer_length=1,", done.err)
    check_message(done.err, "train: ")
    assert snapshot(tmp_path) == before


@pytest.mark.slow
def test_pretraining(model, tmp_path, capfd, snapshot):
    (tmp_path / "corpus.txt").write_text(("a dog sees a cat .\nthe cat eats .\n\nmy bird sings .\na fish\n\n") * 20)
    before = snapshot(tmp_path)
    flags = {
        "input_file": tmp_path / "corpus.txt",
        "output_dir": tmp_path / "out",
        "vocab_file": model / "vocab.txt",
        "bert_config_file": model / "bert_config.json",
        "max_seq_length": 16,
        "max_predictions_per_seq": 3,
        "num_train_steps": 50,
        "num_warmup_steps": 5,
        "train_batch_size": 4,
    }
    call = functools.partial(helpers.call, capfd, "bert-pretrain", run_pretraining.main)
    done = call(*helpers.words(flags), "--do_train", "--dry_run")
    assert forecast_of(done)[0] == 50
    assert snapshot(tmp_path) == before


def test_batches_to_try():
    """Six rows with 1 to 6 tokens in batches of two: the largest batch first, then one per size."""
    lengths = np.arange(1, 7)
    updates = TrainingHyperparameters(steps=9, warmup_steps=0, learning_rate=1.0, batch_size=2, random_seed=3)
    chosen, mean, shapes = choose_probe_batches(lengths, updates)
    sizes = [int(lengths[rows].sum()) for rows in chosen]
    assert mean == 7.0
    assert sizes[0] == max(sizes)
    assert len(set(sizes[1:])) == len(sizes[1:]) == shapes
    assert [abs(size - 7) for size in sizes[1:]] == sorted(abs(size - 7) for size in sizes[1:])


def test_memory_grows_with_the_number_of_token_counts():
    """3 MB for each step after the second; 20 token counts, 5 of them tried."""
    megabytes = [700, 900, 910, 913, 916]
    assert estimate_memory_growth([count * 10**6 for count in megabytes], 20) == 15 * 3 * 10**6
    assert estimate_memory_growth([9, 9], 20) == 0


@pytest.mark.parametrize("steps", [10, 100, 1000])
def test_token_counts_of_a_stream(steps):
    """Twelve batches predict their number within a sixth; equal batches have one count."""
    drawn = np.random.default_rng(5).normal(1700.0, 40.0, (20, steps + 12)).round().astype(int)
    told = [expected_shapes(row[:12].tolist(), steps) for row in drawn]
    assert np.mean(told) == pytest.approx(np.mean([len(set(row[12:].tolist())) for row in drawn]), rel=1 / 6)
    assert expected_shapes([64, 64, 64], steps) == 1


def test_tokens_of_repeated_evaluations():
    """7 tokens in the dev file three times, 5 in the test file and 2 in its other half once."""

    def of(count: int) -> RaggedFeatures:
        return RaggedFeatures(np.zeros(count, np.int32), np.zeros(count, np.int8), np.array([0, count]))

    sequences = {"train": of(100), "unlabeled": of(10), "dev": of(7), "test": of(5), "test_mismatched": of(2)}
    assert count_inference_tokens(sequences, 2) == 3 * 7 + 5 + 2


@pytest.mark.parametrize("control", ["--freeze_layers=0", pytest.param("--optimizer=lamb", marks=pytest.mark.slow)])
def test_the_space_for_checkpoints_is_known_before_the_first_step(control, classify, flags, tmp_path, monkeypatch):
    plans = []
    monkeypatch.setattr(training_run, "check_space", lambda folder, plan: plans.append(plan))
    out = tmp_path / "out"
    steps = ["--save_checkpoints_steps=10", "--keep_checkpoint_max=2"]
    assert classify(*flags, "--do_train", control, *steps, f"--output_dir={out}").code == 0
    older, newest = sorted(path.stat().st_size for path in out.glob("model.ckpt-*.data-*"))
    assert newest - plans[0].whole_bytes in range(100)  # step and position in the data
    assert older - plans[0].slim_bytes in range(100)
    assert plans[0].saves == 3
