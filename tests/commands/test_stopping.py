"""Killed and stopped runs, at any moment: the same command ends with an undisturbed run's weights."""

import pathlib
import random
import re
import shutil
import signal
import time

import pytest

from tests.commands import squad_run, stopping, tag_run
from tests.commands.conftest import write_cola
from tests.commands.helpers import RunFolder, assert_same_tensors
from tests.commands.test_early_stopping import evaluations
from tests.commands.test_pretrain import write_text
from tests.waiting import wait_until

FEW, MANY = 1, 5  # kills per command
STEPS = 150
SEED = 20261121


# Controls that change the training state, combined in one run if they do not interact.
CONTROLS = {
    "plain": [],
    "loss, rates, nadam": [
        "--loss=focal", "--focal_gamma=1.5", "--label_smoothing=0.1", "--class_weights=balanced", "--head_input=mean",
        "--optimizer=nadam", "--lr_schedule=cosine", "--layerwise_lr_decay=0.8", "--freeze_layers=1",
        "--gradient_accumulation_steps=2", "--hidden_dropout_prob=0.2", "--classifier_dropout=0.3",
    ],
    "windows, lamb, early end": [
        "--long_text=windows", "--max_seq_length=8", "--optimizer=lamb", "--gradient_accumulation_steps=4",
        "--learning_rate=0.02", "--lr_schedule=constant", "--do_eval", "--eval_every=10", "--metric_for_best=accuracy",
        "--early_stopping_patience=6",
    ],
    "frozen": [
        "--freeze_encoder", "--head_input=mean", "--optimizer=nadam", "--learning_rate=0.02", "--classifier_dropout=0.3",
        "--gradient_accumulation_steps=2", "--do_eval", "--eval_every=10",
    ],
    "tags": [
        "--loss=focal", "--label_smoothing=0.1", "--class_weights=O=0.5", "--optimizer=lamb", "--lr_schedule=cosine",
        "--layerwise_lr_decay=0.8", "--freeze_layers=0", "--gradient_accumulation_steps=2", "--eval_every=25",
    ],
    "answers": [
        "--loss=focal", "--label_smoothing=0.1", "--skip_padding", "--optimizer=nadam", "--lr_schedule=cosine",
        "--layerwise_lr_decay=0.8", "--freeze_layers=0", "--gradient_accumulation_steps=2",
    ],
    "masked words": [
        "--loss=focal", "--label_smoothing=0.1", "--optimizer=lamb", "--lr_schedule=cosine", "--layerwise_lr_decay=0.8",
        "--freeze_layers=0", "--gradient_accumulation_steps=2", "--weight_decay=0.1",
        "--do_eval", "--eval_every=10",
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def commands(tmp_path_factory, two_layer_flags):
    """Name -> (module, flags), each with STEPS steps and a checkpoint after every tenth."""
    folder = tmp_path_factory.mktemp("data")
    write_cola(folder / "cola")
    tag_run.write_data(folder / "tags")
    questions, text = squad_run.write_data(folder / "questions.json"), write_text(folder / "text.txt")
    fine = [*two_layer_flags, "--do_train", "--num_train_epochs=25"]
    pretraining = [*two_layer_flags, "--do_train", f"--num_train_steps={STEPS}", "--num_warmup_steps=5"]
    pretraining.remove("--num_train_epochs=5")
    return {
        "bert-classify": ("run_classifier", [*fine, "--task_name=cola", f"--data_dir={folder / 'cola'}"]),
        "bert-tag": ("run_tagging", [*fine, f"--data_dir={folder / 'tags'}", "--do_eval"]),
        "bert-squad": (
            "run_squad",
            [*fine, "--max_seq_length=64", "--max_query_length=16", f"--train_file={questions}"],
        ),
        "bert-pretrain": ("run_pretraining", [*pretraining, f"--input_file={text}"]),
    }


def assert_same_run(actual: pathlib.Path, expected: pathlib.Path) -> None:
    """Compare the last and the best weights, the evaluations and all file names."""
    folders = [""] + ["best"] * (expected / "best").exists()
    for actual_run, expected_run in ((RunFolder(actual / name), RunFolder(expected / name)) for name in folders):
        last = expected_run.checkpoints()[-1]
        assert_same_tensors(actual_run.tensors(last), expected_run.tensors(last))
        of_all = {name for name in expected_run.names() if not name.startswith("model.ckpt-")}
        assert {name for name in actual_run.names() if not name.startswith("model.ckpt-")} == of_all
    assert evaluations(actual) == evaluations(expected)


def remove_the_end_of_a_run(folder: pathlib.Path, last: int) -> None:
    """Remove the end of a run, so that the next run has something left to train."""
    if folder.exists() and RunFolder(folder).checkpoints()[-1:] > [2 * last // 3]:
        shutil.rmtree(folder)


def wait_for_saves(running: stopping.Running, count: int) -> None:
    wait_until(lambda: running.err.count("saved ") >= count, lambda: running.err)


@pytest.mark.slow  # in separate processes; test_classify_reruns stops one in this process
@pytest.mark.parametrize(
    ("command", "controls", "kills"),
    [
        ("bert-classify", "plain", MANY),
        ("bert-tag", "plain", MANY),
        ("bert-squad", "plain", MANY),
        ("bert-pretrain", "plain", MANY),
        ("bert-classify", "loss, rates, nadam", FEW),
        ("bert-classify", "windows, lamb, early end", FEW),
        ("bert-classify", "frozen", FEW),
        ("bert-tag", "tags", FEW),
        ("bert-squad", "answers", FEW),
        ("bert-pretrain", "masked words", FEW),
    ],
)
def test_killed_and_stopped_runs(command, controls, kills, starter, commands, tmp_path):
    """SIGKILLs at random moments and a SIGTERM during training interrupt a run before it ends.

    With controls, the moments are during training after a checkpoint, since
    checkpoints hold their state.
    """
    module, flags = commands[command]
    flags, steps = [*flags, *CONTROLS[controls]], STEPS
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    seconds = starter.run(module, [*flags, f"--output_dir={whole}"])
    last = RunFolder(whole).checkpoints()[-1]
    assert (last < steps) == ("early end" in controls)
    moments = random.Random(f"{SEED} {command} {kills}")
    for _ in range(kills):
        running = starter.start(module, [*flags, f"--output_dir={stopped}"])
        if controls == "plain":
            time.sleep(moments.uniform(0.2, 0.9) * seconds)
        else:
            wait_for_saves(running, moments.randint(1, 4))
            time.sleep(moments.uniform(0.0, 0.1))
        running.send(signal.SIGKILL)
        assert running.wait() in (-signal.SIGKILL, 0), running.err
        remove_the_end_of_a_run(stopped, last)

    running = starter.start(module, [*flags, f"--output_dir={stopped}"])
    wait_for_saves(running, 1)  # during training
    running.send(signal.SIGTERM)
    assert running.wait() == 143, running.err
    match = re.search(rf"\n{command}: stopped by SIGTERM after step (\d+) of {steps}; saved as (.*)\n$", running.err)
    assert match, running.err
    assert match[2] == f"{stopped}/model.ckpt-{match[1]}; the same command goes on from there"
    assert "SIGTERM received: saving after this step; a second signal exits at once" in running.err

    running = starter.start(module, [*flags, f"--output_dir={stopped}"])
    assert running.wait() == 0, running.err
    assert f"resuming from {stopped}/model.ckpt-{match[1]}\n" in running.err
    assert_same_run(stopped, whole)
