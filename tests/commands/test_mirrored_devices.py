"""Several devices and processes in commands: mirrored logical CPUs, and workers on loopback."""

import json
import shutil
import signal

import numpy as np
import pytest

from tests.commands import stopping
from tests.commands.conftest import write_cola
from tests.commands.helpers import RunFolder, assert_same_tensors
from tests.snapshots import check_message
from tests.waiting import reserved_addresses, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def flags(tmp_path_factory, two_layer_flags):
    """Flags for a classifier with dropout in 12 steps."""
    folder = tmp_path_factory.mktemp("data")
    write_cola(folder)
    return [*two_layer_flags, "--task_name=cola", f"--data_dir={folder}", "--do_train", "--do_predict", "--num_train_epochs=2",
            "--save_checkpoints_steps=5", "--keep_moments=all",]  # fmt: skip


@pytest.fixture
def together(starter):
    """Start a chief and a worker that train together, each in its directory."""
    with reserved_addresses(2) as (chief, worker):

        def start(flags, *folders) -> list[stopping.Running]:
            config = {"cluster": {"chief": [chief], "worker": [worker]}}
            return [
                starter.start(
                    "run_classifier",
                    [*flags, f"--output_dir={folder}"],
                    TF_CONFIG=json.dumps(config | {"task": {"type": task_type, "index": 0}}),
                )
                for task_type, folder in zip(("chief", "worker"), folders, strict=False)
            ]

        yield start


def test_one_two_and_four_replicas(starter, flags, tmp_path):
    for count in (1, 2, 4):
        devices = ["--distribution_strategy=mirrored", f"--num_virtual_devices={count}"]
        starter.run("run_classifier", [*flags, *devices, f"--output_dir={tmp_path / str(count)}"])
    single_replica = RunFolder(tmp_path / "1")
    for count in (2, 4):
        replicas = RunFolder(tmp_path / str(count))
        np.testing.assert_allclose(replicas.probabilities(), single_replica.probabilities(), rtol=0, atol=2e-3)


def test_two_replicas_recompute_bit_for_bit(starter, flags, tmp_path):
    devices = ["--distribution_strategy=mirrored", "--num_virtual_devices=2"]
    for name in ("none", "layers"):
        starter.run("run_classifier", [*flags, *devices, f"--recompute={name}", f"--output_dir={tmp_path / name}"])
    assert_same_tensors(RunFolder(tmp_path / "layers").tensors(12), RunFolder(tmp_path / "none").tensors(12))


def test_a_chief_and_a_worker(together, flags, tmp_path):
    """They share output_dir, which only the chief writes; then the worker has an older directory."""
    shared, worker_folder = tmp_path / "shared", tmp_path / "own"
    finish(*together(flags, shared, shared))
    assert RunFolder(shared).checkpoints() == [5, 10, 12]
    before = RunFolder(shared).tensors(12)
    for path in shared.glob("model.ckpt-12.*"):
        path.unlink()
    shutil.copytree(shared, worker_folder)
    for path in worker_folder.glob("model.ckpt-10.*"):
        path.unlink()
    for running in together(flags, shared, worker_folder):
        assert running.wait() == 1, running.err
        assert "error: the processes that train together do not agree on the first step, which is " in running.err
    finish(*together(flags, shared, shared))
    assert_same_tensors(RunFolder(shared).tensors(12), before)


def test_signal_to_one_process_ends_all_after_the_same_step(together, flags, tmp_path):
    """The worker gets the signal and the chief saves; the resumed run ends like an undisturbed one."""
    many = [*flags, "--num_train_epochs=40", "--save_checkpoints_steps=1000", "--log_steps=20"]
    whole, folder = tmp_path / "whole", tmp_path / "stopped"
    finish(*together(many, whole, whole))
    last = RunFolder(whole).checkpoints()[-1]
    chief, worker = together(many, folder, folder)
    wait_until(lambda: "training 20/" in worker.err, lambda: worker.err)
    worker.send(signal.SIGTERM)
    assert worker.wait() == 143, worker.err
    assert chief.wait() == 75, chief.err
    (step,) = RunFolder(folder).checkpoints()
    assert 0 < step < last
    check_message(worker.err.splitlines()[-1], "bert-classify: ")
    check_message(chief.err.splitlines()[-1], "bert-classify: ")
    finish(*together(many, folder, folder))
    assert_same_tensors(RunFolder(folder).tensors(last), RunFolder(whole).tensors(last))


def test_lost_and_missing_workers(together, flags, tmp_path):
    """Both cause a message and exit code 75; then the same commands resume."""
    many = [*flags, "--num_train_epochs=200", "--worker_timeout=60"]
    chief, worker = together(many, tmp_path, tmp_path)
    wait_until((tmp_path / "model.ckpt-5.index").exists, lambda: chief.err)
    worker.send(signal.SIGKILL)
    assert chief.wait() == 75, chief.err
    assert worker.wait() == -signal.SIGKILL
    assert "Traceback" not in chief.err
    last = chief.err.splitlines()[-1]
    assert last.startswith("bert-classify: error: worker 0 (127.0.0.1:")
    assert last.endswith("start all processes again, with the same commands: they go on from the last checkpoint")

    (alone,) = together([*many, "--worker_timeout=2"], tmp_path)
    assert alone.wait() == 75, alone.err
    assert "bert-classify: error: worker 0 (127.0.0.1:" in alone.err.splitlines()[-1]
    check_message(alone.err.splitlines()[-1], "2 seconds")


def finish(*running) -> None:
    for process in running:
        assert process.wait() == 0, process.err
