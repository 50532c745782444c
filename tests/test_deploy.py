"""The scripts in deploy/, with a single process; tests/commands/test_mirrored_devices.py uses two."""

import json
import os
import pathlib
import signal
import subprocess

import pytest

DEPLOY = pathlib.Path(__file__).resolve().parents[1] / "deploy"


def together(*words: str, attempts: int = 3) -> subprocess.CompletedProcess:
    environment = os.environ | {"ATTEMPTS": str(attempts)}
    return subprocess.run(
        [DEPLOY / "together.sh", *words], env=environment, capture_output=True, text=True, check=False, timeout=30
    )


def test_a_process_gets_its_tf_config():
    done = together("1", "a:1,b:2", "bash", "-c", 'echo "$TF_CONFIG"; echo "$0"; exit 3', "two words")
    config, word = done.stdout.splitlines()
    assert json.loads(config) == {"cluster": {"worker": ["a:1", "b:2"]}, "task": {"type": "worker", "index": 1}}
    assert (word, done.returncode, done.stderr) == ("two words", 3, "")


def test_exit_code_75_starts_the_command_again(tmp_path):
    count = f'echo x >> "{tmp_path}/count"; [ $(wc -l < "{tmp_path}/count") = 2 ] || exit 75'
    done = together("0", "a:1", "bash", "-c", count)
    assert (done.returncode, done.stderr) == (0, "together.sh: attempt 2 of 3\n")
    assert together("0", "a:1", "bash", "-c", "exit 75", attempts=2).returncode == 75


def run_and_stop(command: list[str], **environment: str) -> tuple[str, int]:
    """Send SIGTERM to together.sh once its command is ready, and return output and exit code."""
    process = subprocess.Popen(
        [DEPLOY / "together.sh", "0", "a:1", *command], stdout=subprocess.PIPE, text=True, env=os.environ | environment
    )
    with process:
        try:
            assert process.stdout.readline() == "ready\n"
            process.send_signal(signal.SIGTERM)
            return process.communicate(timeout=30)[0], process.returncode
        finally:
            process.kill()  # otherwise a lost signal would block the test


def test_a_signal_reaches_the_command_once():
    heard = 'trap "echo heard; sleep 0.3; exit 143" TERM; echo ready; for i in $(seq 600); do sleep 0.05; done'
    assert run_and_stop(["bash", "-c", heard]) == ("heard\n", 143)


def test_a_signal_before_the_command_is_known_is_passed_on_too(tmp_path):
    # The shell pauses before each of its commands, so that the signal arrives before the process id
    # is stored.
    slow = tmp_path / "slow.sh"
    slow.write_text('case $0 in *together.sh) trap "sleep 0.05" DEBUG ;; esac\n', encoding="utf-8")
    heard = 'trap "echo heard; exit 75" TERM; echo ready; for i in $(seq 600); do sleep 0.05; done'
    assert run_and_stop(["sh", "-c", heard], BASH_ENV=str(slow)) == ("heard\n", 75)  # and it is not started again


@pytest.mark.parametrize("name", ["together.sh", "several_gpus.sh", "slurm.sbatch"])
def test_scripts_can_be_read_and_run(name):
    assert os.access(DEPLOY / name, os.X_OK)
    subprocess.run(["bash", "-n", DEPLOY / name], check=True)
    assert name in (DEPLOY / "README.md").read_text(encoding="utf-8")
