"""Runs that are killed or asked to end, at any moment: the same command ends in the very weights of an undisturbed run."""

import pathlib
import random
import re
import shutil
import signal
import time

import pytest

from tests.commands import squad_run, tag_run
from tests.commands.conftest import write_cola
from tests.commands.helpers import RunFolder, assert_same_tensors
from tests.commands.test_pretrain import write_text

FEW, MANY = 1, 5  # kills of a command
SEED = 20261121


@pytest.fixture(scope="module")
def commands(tmp_path_factory, model_flags):
    """Name -> (module, flags), each of 150 steps with a checkpoint after every tenth."""
    folder = tmp_path_factory.mktemp("data")
    write_cola(folder / "cola")
    tag_run.write_data(folder / "tags")
    questions, text = squad_run.write_data(folder / "questions.json"), write_text(folder / "text.txt")
    fine = [*model_flags, "--do_train", "--num_train_epochs=25"]
    pretraining = [*model_flags, "--do_train", "--num_train_steps=150", "--num_warmup_steps=5"]
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


def check_the_same(found: RunFolder, wanted: RunFolder) -> None:
    last = wanted.checkpoints()[-1]
    assert_same_tensors(found.tensors(last), wanted.tensors(last))
    of_all = {name for name in wanted.names() if not name.startswith("model.ckpt-")}
    assert {name for name in found.names() if not name.startswith("model.ckpt-")} == of_all


def start_anew_near_the_end(folder: pathlib.Path) -> None:
    """So that the next run has something left to train."""
    if folder.exists() and RunFolder(folder).checkpoints()[-1:] > [100]:
        shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("command", "kills"),
    [
        ("bert-classify", FEW),
        *(
            pytest.param(name, MANY, marks=pytest.mark.slow)
            for name in ("bert-classify", "bert-tag", "bert-squad", "bert-pretrain")
        ),
    ],
)
def test_killed_and_asked_to_end(command, kills, starter, commands, tmp_path):
    """So many SIGKILLs at random moments, then, during training, a SIGTERM; the last run comes to its end."""
    module, flags = commands[command]
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    seconds = starter.run(module, [*flags, f"--output_dir={whole}"])
    moments = random.Random(f"{SEED} {command} {kills}")
    for _ in range(kills):
        running = starter.start(module, [*flags, f"--output_dir={stopped}"])
        time.sleep(moments.uniform(0.2, 0.9) * seconds)
        running.send(signal.SIGKILL)
        assert running.wait() in (-signal.SIGKILL, 0), running.err
        start_anew_near_the_end(stopped)

    running = starter.start(module, [*flags, f"--output_dir={stopped}"])
    while running.err.count("saved ") < 1:  # in the middle of training
        time.sleep(0.001)
    running.send(signal.SIGTERM)
    assert running.wait() == 143, running.err
    said = re.search(rf"\n{command}: stopped by SIGTERM after step (\d+) of 150; saved as (.*)\n$", running.err)
    assert said, running.err
    assert said[2] == f"{stopped}/model.ckpt-{said[1]}; the same command goes on from there"
    assert "SIGTERM: saving after the step that is running; a second signal ends at once" in running.err

    running = starter.start(module, [*flags, f"--output_dir={stopped}"])
    assert running.wait() == 0, running.err
    assert f"going on from {stopped}/model.ckpt-{said[1]}\n" in running.err
    check_the_same(RunFolder(stopped), RunFolder(whole))
